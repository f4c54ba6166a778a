// The model's sessions.
import { HoldfastError } from "../../contracts/errors.ts";
import type { Session } from "../../contracts/session.ts";
import type { SessionBasics } from "../../contracts/sessions.ts";
import { idOf, type ModelSession, type ModelStore } from "./store.ts";

export function modelSessions(store: ModelStore): SessionBasics {
  const shown = (session: ModelSession): Session => {
    const { id, agent, title, status, tags, metadata, request, createdAt, updatedAt, seq, version } = session;
    const aliases = [...store.aliases].filter(([, owner]) => owner === id).map(([name]) => name);
    const facts = { id, agent, title, status, tags, aliases, metadata, request, createdAt, updatedAt, seq, version };
    const born = { kind: "entry", origin: null, cacheId: id, head: null } as const;
    return structuredClone({ ...facts, ...born, chain: "", messages: session.messages.length });
  };
  const byName = (name: string) => {
    if (store.sessions.some(({ id }) => id === name)) return store.find(name);
    const owner = store.aliases.get(name);
    return owner === undefined ? undefined : store.find(owner);
  };
  return {
    create: async ({ id = `model_${store.next()}`, agent, title, tags = [], metadata = {}, request } = {}) => {
      const taken = store.sessions.find((one) => one.id === id);
      if (taken !== undefined) {
        throw new HoldfastError(taken.deleted ? "SessionDeleted" : "AlreadyExists", `${id} is or was taken`);
      }
      const given = { id, agent: agent ?? null, title: title ?? null, tags, metadata, request: request ?? null };
      return shown(store.add(structuredClone(given)));
    },
    get: async (name) => {
      const session = byName(idOf(name));
      return session === undefined ? null : shown(session);
    },
    list: async (filter = {}) => {
      const { agent, tag, status, request, createdAfter = 0, createdBefore = Number.POSITIVE_INFINITY } = filter;
      const { limit = 100, cursor } = filter;
      const before = cursor === undefined ? store.sessions.length : Number(cursor);
      if (!/^\d{0,9}$/.test(cursor ?? "0") || cursor === "") throw new HoldfastError("InvalidArgument", "no cursor");
      const found = [...store.sessions.entries()]
        .filter(([n, one]) => n < before && !one.deleted)
        .filter(([, one]) => agent === undefined || one.agent === agent)
        .filter(([, one]) => tag === undefined || one.tags.includes(tag))
        .filter(([, one]) => status === undefined || one.status === status)
        .filter(([, one]) => request === undefined || one.request === request)
        .filter(([, one]) => one.createdAt > createdAfter && one.createdAt < createdBefore)
        .toReversed();
      const page = found.slice(0, limit);
      return {
        items: page.map(([, one]) => shown(one)),
        next: found.length > limit ? String(page.at(-1)?.[0] ?? before) : null,
      };
    },
    update: async (id, patch) => {
      const session = store.existing(idOf(id));
      const { version, ...fields } = structuredClone(patch);
      if (version !== undefined && version !== session.version) throw new HoldfastError("Conflict", "another version");
      Object.assign(session, fields, { version: session.version + 1, updatedAt: store.now() });
      session.seq++;
      return shown(session);
    },
    setAlias: async (at, name, { move = false } = {}) => {
      const id = idOf(at);
      const session = store.existing(id);
      const owner = store.aliases.get(name);
      if (owner === id) return;
      if (owner !== undefined && !move) throw new HoldfastError("AlreadyExists", `${name} is another session's`);
      store.aliases.set(name, id);
      session.seq++;
    },
    removeAlias: async (name) => store.aliases.delete(name),
    delete: async (at) => {
      const id = idOf(at);
      const session = store.find(id);
      if (session === undefined) return null;
      const removed = { messages: session.messages.length };
      Object.assign(session, { deleted: true, messages: [], boards: [], state: new Map(), stateVersion: 0 });
      for (const [name, owner] of store.aliases) if (owner === id) store.aliases.delete(name);
      return { removed, kept: {} };
    },
  };
}
