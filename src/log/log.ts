// The log: reading, following and verifying a session's chain, and notes of the caller's.
import { HoldfastError } from "../contracts/errors.ts";
import type { JsonObject } from "../contracts/json.ts";
import {
  type Anchor,
  EVENT_SCHEMA_VERSION,
  type Log,
  type LogEvent,
  type ReadRange,
  type TailOptions,
} from "../contracts/log.ts";
import type { Payloads, PreparedPayload } from "../contracts/payloads.ts";
import type { EventRow } from "../contracts/queries.ts";
import type { EventDraft, Storage } from "../contracts/storage.ts";
import { toHex } from "../core/bytes.ts";
import { envelope } from "../core/chain.ts";
import {
  checkArray,
  checkId,
  checkInt,
  checkLimit,
  checkOptionalId,
  checkPlain,
  checkRecord,
  checkSome,
  encodeJson,
  invalid,
} from "../core/check.ts";
import { decide } from "../core/decide.ts";
import {
  decodeRow,
  digest,
  jsonObject,
  optional,
  plainObject,
  plainTexts,
  type RowName,
  text,
  whole,
  withBlob,
} from "../core/decode.ts";
import { existingSession } from "../core/existing.ts";
import { verifyChain } from "./verify.ts";

const PAGE = 1000;
const WAIT_MS = 2000;

export function createLog(storage: Storage, payloads: Payloads): Log {
  return {
    read: async (session, range) => read(storage, checkId(session, "session"), range),
    tail: (session, options) => tail(storage, checkId(session, "session"), options),
    verify: async (session, options) => {
      const given = checkRecord(options, "options", ["from", "anchor"]);
      const from = given.from === undefined ? undefined : checkAnchor(given.from, "from");
      const anchor = given.anchor === undefined ? undefined : checkAnchor(given.anchor, "anchor");
      return verifyChain(storage, checkId(session, "session"), from, anchor);
    },
    async anchor(session) {
      const id = checkId(session, "session");
      const row = await existingSession(storage, id);
      const { seq, chain } = decodeRow({ kind: "session", session: id }, row, { seq: whole, chain: digest });
      return { session: id, seq, hash: toHex(chain) };
    },
    note: async (session, seq) => {
      const id = checkId(session, "session");
      return readNote(storage, payloads, id, checkInt(seq, "seq", 0, Number.MAX_SAFE_INTEGER));
    },
    annotate: async (session, note, options) => annotate(storage, payloads, checkId(session, "session"), note, options),
  };
}

function checkAnchor(value: unknown, what: string): Anchor {
  const given = checkSome(value, what, ["session", "seq", "hash"]);
  const hash = given.hash;
  if (typeof hash !== "string" || !/^[0-9a-f]{64}$/.test(hash)) throw invalid(`${what}.hash`, "64 hex digits", hash);
  return {
    session: checkId(given.session, `${what}.session`),
    seq: checkInt(given.seq, `${what}.seq`, 0, Number.MAX_SAFE_INTEGER),
    hash,
  };
}

function checkTypes(types: unknown): ReadonlySet<string> | null {
  if (types === undefined) return null;
  return new Set(checkArray(types, "types", "page").map((type, i) => checkId(type, `types[${i}]`)));
}

async function read(storage: Storage, session: string, range: ReadRange | undefined): Promise<readonly LogEvent[]> {
  const given = checkRecord(range, "range", ["after", "limit", "types"]);
  const limit = checkLimit(given.limit, "eventsPage", 1000);
  const types = checkTypes(given.types);
  let after = given.after === undefined ? 0 : checkInt(given.after, "after", 0, Number.MAX_SAFE_INTEGER);
  await existingSession(storage, session);
  const events: LogEvent[] = [];
  while (events.length < limit) {
    const rows = await storage.query("events.read", session, after, types === null ? limit : PAGE);
    for (const row of rows) {
      if (events.length < limit && (types === null || types.has(row.type))) events.push(eventOf(session, row));
    }
    const last = rows.at(-1);
    if (types === null || last === undefined || rows.length < PAGE) break;
    after = last.seq;
  }
  return events;
}

const EVENT = { seq: whole, type: text, at: whole, body: jsonObject, hash: digest };
const ENVELOPE = {
  agent: optional(text),
  run: optional(text),
  data: optional(plainObject),
  commitments: optional(plainTexts),
};

/** The envelope is what was hashed; unknown fields are ignored, an unknown schema version is refused (rule LG3). */
function eventOf(session: string, row: EventRow): LogEvent {
  const name: RowName = { kind: "event", session, seq: row.seq };
  const { seq, type, at, body, hash } = decodeRow(name, row, EVENT);
  const { v: version } = decodeRow(name, body, { v: whole });
  if (version !== EVENT_SCHEMA_VERSION) {
    throw new HoldfastError("UnsupportedSchemaVersion", `event ${seq} has schema version ${version}`, {
      details: { session, seq, version, known: EVENT_SCHEMA_VERSION },
      hint: "Update holdfast on this machine.",
    });
  }
  const { agent, run, data, commitments } = decodeRow(name, body, ENVELOPE);
  return {
    session,
    seq,
    type,
    at,
    schemaVersion: EVENT_SCHEMA_VERSION,
    ...(agent === null ? {} : { agent }),
    ...(run === null ? {} : { run }),
    data: data ?? {},
    commitments: commitments ?? {},
    hash: toHex(hash),
  };
}

async function* tail(storage: Storage, session: string, options: TailOptions | undefined): AsyncGenerator<LogEvent> {
  const given = checkRecord(options, "options", ["after", "types", "signal"]);
  const types = checkTypes(given.types);
  const signal = given.signal as AbortSignal | undefined;
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid("signal", "an AbortSignal", signal);
  const start = given.after === undefined ? 0 : given.after;
  let after =
    start === "end"
      ? (await existingSession(storage, session)).seq
      : checkInt(start, "after", 0, Number.MAX_SAFE_INTEGER);
  await existingSession(storage, session);
  while (!signal?.aborted) {
    // Asked for before the read: what is written between the two is then heard.
    const waiting = new AbortController();
    const changed = storage.changed(
      session,
      WAIT_MS,
      signal === undefined ? waiting.signal : AbortSignal.any([signal, waiting.signal]),
    );
    const rows = await nextRows(storage, session, after);
    if (rows === null) {
      waiting.abort();
      return;
    }
    for (const row of rows) {
      after = row.seq;
      if (types !== null && !types.has(row.type)) continue;
      yield eventOf(session, row);
      if (signal?.aborted) break;
    }
    if (rows.length > 0) waiting.abort();
    await changed;
  }
}

/** null when the session or the store is no more. */
async function nextRows(storage: Storage, session: string, after: number): Promise<readonly EventRow[] | null> {
  try {
    const rows = await storage.query("events.read", session, after, PAGE);
    if (rows.length > 0) return rows;
    const [row] = await storage.query("session.get", session);
    return row === undefined || row.deleted_at !== null ? null : rows;
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "Closed") return null;
    // Out of reach for now: looked at again when the wait is over.
    if (error instanceof HoldfastError && error.code === "StoreUnreachable") return [];
    throw error;
  }
}

async function readNote(
  storage: Storage,
  payloads: Payloads,
  session: string,
  seq: number,
): Promise<JsonObject | null> {
  await existingSession(storage, session);
  const [row] = await storage.query("annotation.get", session, seq);
  if (row === undefined) return null;
  const name = { kind: "annotation", session, seq };
  return decodeRow(name, { note: await payloads.read(withBlob(name, "note", row)) }, { note: jsonObject }).note;
}

async function annotate(
  storage: Storage,
  payloads: Payloads,
  session: string,
  note: unknown,
  options: { readonly agent?: string; readonly run?: string } | undefined,
): Promise<LogEvent> {
  const bytes = encodeJson(checkPlain(note, "note"), "note", "metadataBytes");
  const given = checkRecord(options, "options", ["agent", "run"]);
  const agent = checkOptionalId(given.agent, "agent");
  const run = checkOptionalId(given.run, "run");
  return payloads.preparing(async (prepare) => {
    const payload = await prepare(bytes, { media: "application/json", utf8: true });
    return writeNote(storage, payload, session, agent, run);
  });
}

function writeNote(
  storage: Storage,
  payload: PreparedPayload,
  session: string,
  agent: string | undefined,
  run: string | undefined,
): Promise<LogEvent> {
  const at = storage.environment.now();
  const draft: EventDraft = {
    session,
    type: "annotation",
    at,
    ...(agent === undefined ? {} : { agent }),
    ...(run === undefined ? {} : { run }),
    payloads: { note: payload },
    writes: [{ op: "insert", table: "annotations", row: { payload: payload.sha256, salt: payload.salt } }],
  };
  return decide(storage, async () => ({
    commit: {
      sessions: [{ id: session, mode: "existing", at }],
      blobs: payload.blobs,
      writes: payload.writes,
      uses: payload.uses,
      events: [draft],
    },
    answer: ({ events: [written] }) => {
      if (written === undefined) throw new Error("bug: a commit answered without its event");
      const { seq, hash } = written;
      return eventOf(session, { seq, type: draft.type, at, body: envelope(draft, seq), hash });
    },
  }));
}
