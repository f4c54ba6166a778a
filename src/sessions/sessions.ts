// Sessions: created, found, listed, described, named by aliases, erased.
import { HoldfastError } from "../contracts/errors.ts";
import type { Page } from "../contracts/json.ts";
import type { SessionVerbs } from "../contracts/lineage.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { SessionRow } from "../contracts/queries.ts";
import type { Session, SessionFilter, Sessions } from "../contracts/sessions.ts";
import type { Storage } from "../contracts/storage.ts";
import { encodeText, toHex } from "../core/bytes.ts";
import {
  checkBoolean,
  checkId,
  checkInt,
  checkLimit,
  checkOneOf,
  checkOptionalId,
  checkPlain,
  checkRecord,
  checkTags,
  checkText,
  encodeJson,
} from "../core/check.ts";
import { readCursor, writeCursor } from "../core/cursor.ts";
import { decide } from "../core/decide.ts";
import { noteDirectRead } from "../core/direct-reads.ts";
import { existingSession } from "../core/existing.ts";
import { newId } from "../core/new-id.ts";
import { removeAlias, setAlias } from "./aliases.ts";
import { checkAttach, startAttach } from "./attach.ts";
import { fork, resume, rewind } from "./branching.ts";
import { contextAt } from "./context.ts";
import { countShownMessages } from "./counts.ts";
import {
  changes,
  checkDescribed,
  createCommit,
  createdSession,
  describeWrites,
  INPUT,
  type SessionColumns,
  type SessionOrigin,
  STATUSES,
  sessionOf,
  tagsColumn,
} from "./describe.ts";
import { eraseSession } from "./erase-session.ts";
import { findAt } from "./find.ts";
import { acceptLocators, type Locate, type RequireCurrent, requireNoHead, resolveCaller } from "./locate.ts";
import { viewAt } from "./view.ts";

export function createSessions(
  storage: Storage,
  payloads: Payloads,
  locate: Locate,
  requireCurrent: RequireCurrent,
): Sessions & SessionVerbs {
  const verbs: Sessions & SessionVerbs = {
    create: async (input) => create(storage, input),
    get: async (at) => {
      const name = requireNoHead(await locate(at), "sessions.get() shows a session as it is now", FORK_HINT);
      const [byId] = await storage.query("session.get", name);
      if (byId !== undefined) return byId.deleted_at === null ? withAliases(storage, byId) : null;
      const [byAlias] = await storage.query("session.byAlias", name);
      return byAlias === undefined ? null : withAliases(storage, byAlias);
    },
    list: async (filter) => list(storage, filter),
    update: async (id, patch) => update(storage, checkId(id, "session"), patch),
    setAlias: async (id, name, options) => {
      const move = checkRecord(options, "options", ["move"]).move;
      const moves = move !== undefined && checkBoolean(move, "move");
      return setAlias(storage, checkId(id, "session"), checkId(name, "alias"), moves);
    },
    removeAlias: async (name) => removeAlias(storage, checkId(name, "alias")),
    async at(at) {
      noteDirectRead("hf.sessions.at()");
      const found = await findAt(storage, await locate(at));
      return viewAt(storage, payloads, await withAliases(storage, found.session), found);
    },
    fork: async (at, input) => fork(storage, await locate(at), input),
    resume: async (at) => resume(storage, await locate(at)),
    rewind: async (at) => rewind(storage, await locate(at)),
    attach: async (at, input) => {
      const attachment = checkAttach(input, ["caller"]);
      const caller = await resolveCaller(requireCurrent, input.caller);
      return startAttach(storage, await locate(at), caller, attachment);
    },
    async context(at, options) {
      noteDirectRead("hf.sessions.context()");
      return contextAt(storage, payloads, await findAt(storage, await locate(at)), options);
    },
    delete: async (id, options) => {
      const everywhere = checkRecord(options, "options", ["everywhere"]).everywhere;
      const all = everywhere !== undefined && checkBoolean(everywhere, "everywhere");
      return eraseSession(storage, payloads, checkId(id, "session"), all);
    },
  };
  return acceptLocators(verbs, requireCurrent, {
    ...{ update: "a session is changed", setAlias: "a name points at a session", delete: "a session is erased" },
  });
}

const FORK_HINT = "sessions.at() shows what there was at that head, heads.get() the head itself.";

async function withAliases(storage: Storage, row: SessionRow): Promise<Session> {
  const aliases = (await storage.query("session.aliases", row.id)).map((alias) => alias.name);
  return { ...sessionOf(row, aliases), messages: await countShownMessages(storage, row) };
}

async function create(storage: Storage, input: unknown): Promise<Session> {
  const given = checkRecord(input, "session", INPUT);
  const id = checkOptionalId(given.id, "session.id") ?? newId(storage.environment, "ses");
  const described = checkDescribed(given);
  const at = storage.environment.now();
  const birth: SessionOrigin = {
    kind: "entry",
    origin: checkOptionalId(given.origin, "session.origin") ?? null,
    cacheId: checkOptionalId(given.cacheId, "session.cacheId") ?? null,
  };
  return decide(storage, async () => ({
    commit: createCommit(id, described, birth, at),
    answer: ({ events }) => createdSession(id, described, birth, at, events),
  }));
}

const FILTER = ["agent", "tag", "status", "request", "createdAfter", "createdBefore", "limit", "cursor"] as const;

async function list(storage: Storage, filter: SessionFilter | undefined): Promise<Page<Session>> {
  const given = checkRecord(filter, "filter", FILTER);
  const limit = checkLimit(given.limit, "page", 100);
  const status = given.status === undefined ? null : checkOneOf(given.status, "status", STATUSES);
  const time = (name: string, fallback: number) =>
    given[name] === undefined ? fallback : checkInt(given[name], name, 0, Number.MAX_SAFE_INTEGER);
  const params = [
    readCursor(given.cursor) ?? Number.MAX_SAFE_INTEGER,
    status,
    status,
    time("createdAfter", 0),
    time("createdBefore", Number.MAX_SAFE_INTEGER),
    // One more row than requested shows whether there is a next page.
    limit + 1,
  ] as const;
  const agent = checkOptionalId(given.agent, "agent");
  const tag = checkOptionalId(given.tag, "tag");
  const request = checkOptionalId(given.request, "request");
  const rows = await found(storage, { agent, tag, request }, params);
  const page = rows.slice(0, limit);
  const items = await Promise.all(page.map((row) => listed(storage, row)));
  const last = page.at(-1);
  return { items, next: rows.length > limit && last !== undefined ? writeCursor(last.no) : null };
}

/** The error about a damaged row contains the cursor after it, so that a list can be read past it. */
async function listed(storage: Storage, row: SessionRow): Promise<Session> {
  try {
    return await withAliases(storage, row);
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "StoreCorrupted") throw error;
    const { code, message, hint, details } = error;
    const read = hint === undefined ? {} : { hint };
    throw new HoldfastError(code, message, {
      ...read,
      details: { ...details, next: writeCursor(row.no) },
      cause: error,
    });
  }
}

interface CheckedFilter {
  readonly agent: string | undefined;
  readonly tag: string | undefined;
  readonly request: string | undefined;
}

type ListParams = readonly [number, string | null, string | null, number, number, number];

/** The narrowest index leads; what it cannot tell is checked on the rows, page after page, until the page is full. */
async function found(storage: Storage, by: CheckedFilter, params: ListParams): Promise<readonly SessionRow[]> {
  const wanted = params[5];
  const kept: SessionRow[] = [];
  let before = params[0];
  for (;;) {
    const asked = [before, params[1], params[2], params[3], params[4], wanted] as const;
    const rows =
      by.tag !== undefined
        ? await storage.query("sessions.byTag", by.tag, ...asked)
        : by.request !== undefined
          ? await storage.query("sessions.byRequest", by.request, ...asked)
          : by.agent !== undefined
            ? await storage.query("sessions.byAgent", by.agent, ...asked)
            : await storage.query("sessions.list", ...asked);
    kept.push(
      ...rows.filter(
        (row) =>
          (by.agent === undefined || row.agent === by.agent) &&
          (by.request === undefined || row.request === by.request),
      ),
    );
    const last = rows.at(-1);
    if (kept.length >= wanted || rows.length < wanted || last === undefined) return kept.slice(0, wanted);
    before = last.no;
  }
}

const PATCH = ["title", "status", "tags", "metadata", "request", "version"] as const;

async function update(storage: Storage, id: string, patch: unknown): Promise<Session> {
  const given = checkRecord(checkPlain(patch, "patch"), "patch", PATCH);
  const expected =
    given.version === undefined ? undefined : checkInt(given.version, "version", 1, Number.MAX_SAFE_INTEGER);
  const title = given.title;
  const changed = {
    ...(title === undefined
      ? {}
      : { title: title === null ? null : encodeText(checkText(title, "title", "titleBytes")) }),
    ...(given.status === undefined ? {} : { status: checkOneOf(given.status, "status", STATUSES) }),
    ...(given.tags === undefined ? {} : { tags: tagsColumn(checkTags(given.tags, "tags")) }),
    ...(given.metadata === undefined
      ? {}
      : { metadata: encodeJson(checkRecord(given.metadata, "metadata"), "metadata", "metadataBytes") }),
    ...(given.request === undefined ? {} : { request: checkOptionalId(given.request ?? undefined, "request") ?? null }),
  };
  return decide(storage, async () => {
    const row = await existingSession(storage, id);
    if (expected !== undefined && row.version !== expected) throw versionConflict(id, expected, row.version);
    const aliases = (await storage.query("session.aliases", id)).map((alias) => alias.name);
    const at = storage.environment.now();
    const next = { ...row, ...changed, updated_at: at, version: row.version + 1 };
    // Before the commit: a damaged row is refused, unless what is damaged is just what is given anew.
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
            // The request stands in the log where it is given or changes: most updates leave it alone.
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
  return new HoldfastError("Conflict", `session ${JSON.stringify(id)} has version ${actual}, not ${expected}`, {
    details: { kind: "session", id, expected, actual },
    hint: "Read it again and decide anew.",
  });
}
