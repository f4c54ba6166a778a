// Sessions: create, find, list, describe, alias and erase them.
import { HoldfastError } from "../contracts/errors.ts";
import type { Page } from "../contracts/json.ts";
import type { Session } from "../contracts/session.ts";
import type { LiveSessions } from "../contracts/sessions.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { SessionListParams } from "../contracts/storage/queries.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { SESSION_VERBS } from "../contracts/verbs/sessions.ts";
import type { ValuesOf } from "../contracts/verbs/vocabulary.ts";
import { encodeText, toHex } from "../core/bytes.ts";
import { encodeJson } from "../core/check.ts";
import { type ListCall, type ListOrder, listStart, readPage, writeCursor } from "../core/cursor.ts";
import { decide } from "../core/decide.ts";
import { noteDirectRead } from "../core/direct-reads.ts";
import { newId } from "../core/new-id.ts";
import { existingSession, findAt, requireNoHead, type SessionLookup } from "../core/session-lookup.ts";
import type { LoadSystemSource } from "../core/system-source.ts";
import { bindVerbs } from "../core/verbs.ts";
import { removeAlias, setAlias } from "./aliases.ts";
import { readAttachment, startAttach } from "./attach.ts";
import { fork, resume, rewind } from "./branching.ts";
import { contextAt } from "./context.ts";
import { countShownMessages } from "./counts.ts";
import {
  changes,
  createCommit,
  createdSession,
  describeSession,
  describeWrites,
  type NewSession,
  type SessionColumns,
  type SessionOrigin,
  sessionOf,
  tagsColumn,
} from "./describe.ts";
import { eraseSession } from "./erase-session.ts";
import { viewAt } from "./view.ts";

export function createSessions(
  storage: Storage,
  payloads: Payloads,
  lookup: SessionLookup,
  source: LoadSystemSource,
): LiveSessions {
  return bindVerbs(SESSION_VERBS, lookup, {
    create: (input) => create(storage, input),
    get: async (at) => {
      const name = requireNoHead(at, "sessions.get() shows a session as it is now", FORK_HINT);
      const [byId] = await storage.query("session.get", { id: name });
      if (byId !== undefined) return byId.deleted_at === null ? withAliases(storage, byId) : null;
      const [byAlias] = await storage.query("session.byAlias", { name });
      return byAlias === undefined ? null : withAliases(storage, byAlias);
    },
    list: (filter) => list(storage, filter),
    update: (id, patch) => update(storage, id, patch),
    setAlias: (id, name, { move }) => setAlias(storage, id, name, move),
    removeAlias: (name) => removeAlias(storage, name),
    async at(at) {
      noteDirectRead("hf.sessions.at()");
      const found = await findAt(storage, at);
      return viewAt(storage, payloads, await withAliases(storage, found.session), found);
    },
    fork: (at, input) => fork(storage, at, input),
    resume: (at) => resume(storage, at),
    rewind: (at) => rewind(storage, at),
    attach: (at, { caller, ...attachment }) => startAttach(storage, at, caller, readAttachment(attachment)),
    async context(at, options) {
      noteDirectRead("hf.sessions.context()");
      return contextAt(storage, payloads, await findAt(storage, at), options, source);
    },
    delete: (id, { everywhere }) => eraseSession(storage, payloads, id, everywhere),
  });
}

const FORK_HINT = "sessions.at() reads the session at that head, and heads.get() the head itself.";

async function withAliases(storage: Storage, row: SessionRow): Promise<Session> {
  const aliases = (await storage.query("session.aliases", { session: row.id })).map((alias) => alias.name);
  return { ...sessionOf(row, aliases), messages: await countShownMessages(storage, row) };
}

async function create(storage: Storage, input: NewSession): Promise<Session> {
  const id = input.id ?? newId(storage.environment, "ses");
  const described = describeSession(input);
  const at = storage.environment.now();
  const birth: SessionOrigin = { kind: "entry", origin: input.origin ?? null, cacheId: input.cacheId ?? null };
  return decide(storage, async () => ({
    commit: createCommit(id, described, birth, at),
    answer: ({ events }) => createdSession(id, described, birth, at, events),
  }));
}

type SessionArguments<V extends keyof typeof SESSION_VERBS> = ValuesOf<(typeof SESSION_VERBS)[V]>;

async function list(storage: Storage, filter: SessionArguments<"list">[0]): Promise<Page<Session>> {
  const { agent, tag, request, status, createdAfter, createdBefore, limit, cursor, order } = filter;
  const params = { status, createdAfter, createdBefore };
  const filtered = [agent, tag, request, status, createdAfter, createdBefore];
  const call: ListCall = { list: "sessions.list", order, filter: filtered };
  return readPage({
    ...call,
    limit,
    cursor,
    start: listStart(order),
    read: ([last], most) => found(storage, { agent, tag, request }, order, { ...params, last, limit: most }),
    item: (row) => listed(storage, row, call),
    position: ({ no }) => [no],
  });
}

/** The error for a damaged row contains the cursor after it, so that the caller can continue the list. */
async function listed(storage: Storage, row: SessionRow, call: ListCall): Promise<Session> {
  try {
    return await withAliases(storage, row);
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "StoreCorrupted") throw error;
    const { code, message, hint, details } = error;
    const read = hint === undefined ? {} : { hint };
    throw new HoldfastError(code, message, {
      ...read,
      details: { ...details, next: writeCursor(call, [row.no]) },
      cause: error,
    });
  }
}

interface CheckedFilter {
  readonly agent: string | undefined;
  readonly tag: string | undefined;
  readonly request: string | undefined;
}

/**
 * Uses the most selective index. The other filters are checked on the rows, page after page, until the result is full.
 */
async function found(
  storage: Storage,
  by: CheckedFilter,
  order: ListOrder,
  params: SessionListParams,
): Promise<readonly SessionRow[]> {
  const wanted = params.limit;
  const kept: SessionRow[] = [];
  const suffix = order === "oldest" ? ".oldest" : "";
  let { last: seen } = params;
  for (;;) {
    const page = { ...params, last: seen };
    const rows =
      by.tag !== undefined
        ? await storage.query(`sessions.byTag${suffix}`, { ...page, tag: by.tag })
        : by.request !== undefined
          ? await storage.query(`sessions.byRequest${suffix}`, { ...page, request: by.request })
          : by.agent !== undefined
            ? await storage.query(`sessions.byAgent${suffix}`, { ...page, agent: by.agent })
            : await storage.query(`sessions.list${suffix}`, page);
    kept.push(
      ...rows.filter(
        (row) =>
          (by.agent === undefined || row.agent === by.agent) &&
          (by.request === undefined || row.request === by.request),
      ),
    );
    const last = rows.at(-1);
    if (kept.length >= wanted || rows.length < wanted || last === undefined) return kept.slice(0, wanted);
    seen = last.no;
  }
}

async function update(storage: Storage, id: string, patch: SessionArguments<"update">[1]): Promise<Session> {
  const { title, status, tags, metadata, request, version: expected } = patch;
  const changed = {
    ...(title === undefined ? {} : { title: title === null ? null : encodeText(title) }),
    ...(status === undefined ? {} : { status }),
    ...(tags === undefined ? {} : { tags: tagsColumn(tags) }),
    ...(metadata === undefined ? {} : { metadata: encodeJson(metadata, "metadata", "metadataBytes") }),
    ...(request === undefined ? {} : { request }),
  };
  return decide(storage, async () => {
    const row = await existingSession(storage, id);
    if (expected !== undefined && row.version !== expected) throw versionConflict(id, expected, row.version);
    const aliases = (await storage.query("session.aliases", { session: id })).map((alias) => alias.name);
    const at = storage.environment.now();
    const next = { ...row, ...changed, updated_at: at, version: row.version + 1 };
    // Before the commit: a damaged row is refused, unless the patch replaces exactly the damaged fields.
    const session = { ...sessionOf(next, aliases), messages: await countShownMessages(storage, row) };
    const { agent, status, tags, request, version } = session;
    const described: SessionColumns = { agent, title: next.title, status, tags, metadata: next.metadata, request };
    return {
      commit: {
        sessions: [{ id, mode: "existing", at }],
        agents: agent === null ? [] : [{ id: agent, at }],
        guards: [{ check: "session.version", key: [id], expect: row.version }],
        events: [
          {
            session: id,
            type: "session/updated",
            at,
            // The event contains the request only if it changes, because most updates do not change it.
            data: { ...changes(described), ...(request === row.request ? {} : { request }) },
            writes: describeWrites(described, version),
          },
        ],
      },
      answer: ({ events }) => {
        const { seq, hash } = events[0] ?? { seq: row.seq, hash: row.chain };
        return { ...session, seq, chain: toHex(hash) };
      },
    };
  });
}

function versionConflict(id: string, expected: number, actual: number): HoldfastError {
  return new HoldfastError("Conflict", `the session ${JSON.stringify(id)} has version ${actual}, not ${expected}`, {
    details: { kind: "session", id, expected, actual },
    hint: "Read the session again, and repeat the update if it is still right.",
  });
}
