// The model's sessions.
import { HoldfastError } from "../../contracts/errors.ts";
import type { At } from "../../contracts/lineage.ts";
import type { Session, Sessions } from "../../contracts/sessions.ts";
import type { ModelSession, ModelStore } from "./store.ts";

export function modelSessions(world: ModelStore): Sessions {
  const shown = (session: ModelSession): Session => {
    const { id, agent, title, status, tags, metadata, request, createdAt, updatedAt, seq, version } = session;
    const aliases = [...world.aliases].filter(([, owner]) => owner === id).map(([name]) => name);
    const facts = { id, agent, title, status, tags, aliases, metadata, request, createdAt, updatedAt, seq, version };
    const born = { kind: "entry", origin: null, cacheId: id, head: null } as const;
    return structuredClone({ ...facts, ...born, chain: "", messages: session.messages.length });
  };
  const idOf = (at: At) => (typeof at === "string" ? at : at.session);
  const byName = (name: string) => {
    if (world.sessions.some(({ id }) => id === name)) return world.find(name);
    const owner = world.aliases.get(name);
    return owner === undefined ? undefined : world.find(owner);
  };
  return {
    create: async ({ id = `model_${world.next()}`, agent, title, tags = [], metadata = {}, request } = {}) => {
      const taken = world.sessions.find((one) => one.id === id);
      if (taken !== undefined) {
        throw new HoldfastError(taken.deleted ? "SessionDeleted" : "AlreadyExists", `${id} is or was taken`);
      }
      const given = { id, agent: agent ?? null, title: title ?? null, tags, metadata, request: request ?? null };
      return shown(world.add(structuredClone(given)));
    },
    get: async (name) => {
      const session = byName(idOf(name));
      return session === undefined ? null : shown(session);
    },
    list: async (filter = {}) => {
      const { agent, tag, status, request, createdAfter = 0, createdBefore = Number.POSITIVE_INFINITY } = filter;
      const { limit = 100, cursor } = filter;
      const before = cursor === undefined ? world.sessions.length : Number(cursor);
      if (!/^\d{0,9}$/.test(cursor ?? "0") || cursor === "") throw new HoldfastError("InvalidArgument", "no cursor");
      const found = [...world.sessions.entries()]
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
      const session = world.existing(idOf(id));
      const { version, ...fields } = structuredClone(patch);
      if (version !== undefined && version !== session.version) throw new HoldfastError("Conflict", "another version");
      Object.assign(session, fields, { version: session.version + 1, updatedAt: world.now() });
      session.seq++;
      return shown(session);
    },
    setAlias: async (at, name, { move = false } = {}) => {
      const id = idOf(at);
      const session = world.existing(id);
      const owner = world.aliases.get(name);
      if (owner === id) return;
      if (owner !== undefined && !move) throw new HoldfastError("AlreadyExists", `${name} is another session's`);
      world.aliases.set(name, id);
      session.seq++;
    },
    removeAlias: async (name) => world.aliases.delete(name),
    delete: async (at) => {
      const id = idOf(at);
      const session = world.find(id);
      if (session === undefined) return null;
      const removed = { messages: session.messages.length };
      Object.assign(session, { deleted: true, messages: [], boards: [], state: new Map(), stateVersion: 0 });
      for (const [name, owner] of world.aliases) if (owner === id) world.aliases.delete(name);
      return { removed, kept: {} };
    },
  };
}
