// The log: reads, follows and verifies a session's chain, and writes the caller's notes.
import type { JsonObject } from "../contracts/json.ts";
import type { Locator } from "../contracts/locators.ts";
import { type Anchor, EVENT_SCHEMA_VERSION, type Log, type LogEvent, type VerifyReport } from "../contracts/log.ts";
import type { EventDraft } from "../contracts/storage/commit.ts";
import type { Payloads, PreparedPayload } from "../contracts/storage/payloads.ts";
import type { EventRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { type EVENT_RANGE, LOG_VERBS } from "../contracts/verbs/log.ts";
import type { ValueOf } from "../contracts/verbs/vocabulary.ts";
import { toHex } from "../core/bytes.ts";
import { encodeJson, invalid } from "../core/check.ts";
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
  unsupportedVersion,
  whole,
  withBlob,
} from "../core/decode.ts";
import { envelope } from "../core/hashing.ts";
import { lineTo } from "../core/lineage.ts";
import type { SessionLookup } from "../core/session-lookup.ts";
import { existingSession, findAt } from "../core/session-lookup.ts";
import { TimeSlice } from "../core/time-slice.ts";
import { bindVerbs } from "../core/verbs.ts";
import { verifyInherited } from "./inherited.ts";
import { SharedReads } from "./shared-reads.ts";
import { Tail } from "./tail.ts";
import { verifyChain } from "./verify.ts";

const PAGE = 1000;

export function createLog(storage: Storage, payloads: Payloads, lookup: SessionLookup): Log {
  const reads = new SharedReads(storage, eventOf);
  return bindVerbs(LOG_VERBS, lookup, {
    read: (at, range) => read(storage, at, range),
    tail: (locate, options) => new Tail(reads, locate, options),
    verify: async (at, { from, anchor, inherited }) => {
      const { session, head } = await verified(storage, at);
      if (head !== null && anchor !== undefined)
        throw invalid("options", "left out if the locator names a head", "anchor");
      const report = await verifyChain(storage, session, from, anchor ?? head ?? undefined);
      return report.ok ? withInherited(storage, report, inherited, from) : report;
    },
    anchor: (at) => anchorAt(storage, at),
    note: (at, seq) => readNote(storage, payloads, at, seq),
    annotate: (session, note, by) => annotate(storage, payloads, session, note, by),
  });
}

/** A session's log up to the position of a locator: all of it, or the events on the line that leads to a head. */
export interface LogAt {
  readonly id: string;
  readonly upTo: number;
  isOn(event: { readonly branch: number; readonly seq: number }): boolean;
}

export async function logAt(storage: Storage, locator: Locator): Promise<LogAt> {
  const { session, head } = await findAt(storage, locator);
  if (head === null) return { id: session.id, upTo: Number.MAX_SAFE_INTEGER, isOn: () => true };
  const isOn = await lineTo(storage, { no: session.no, branch: head.branch, seq: head.seq });
  return { id: session.id, upTo: head.seq, isOn };
}

export type EventRange = ValueOf<typeof EVENT_RANGE.schema>;

async function read(storage: Storage, at: Locator, range: EventRange): Promise<readonly LogEvent[]> {
  const { limit } = range;
  const types = range.types === undefined ? null : new Set(range.types);
  let { after } = range;
  const { id: session, upTo, isOn } = await logAt(storage, at);
  const isAll = types === null && at.head === undefined;
  const slice = new TimeSlice(storage.environment);
  const events: LogEvent[] = [];
  while (events.length < limit) {
    const size = isAll ? Math.min(PAGE, limit - events.length) : PAGE;
    const rows = await storage.query("events.read", { session, after, limit: size });
    for (const row of rows) {
      if (slice.isSpent) await slice.pause();
      const isWanted = (types === null || types.has(row.type)) && row.seq <= upTo && isOn(row);
      if (events.length < limit && isWanted) events.push(eventOf(session, row));
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < size || last.seq >= upTo) break;
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

/** The envelope is what was hashed. Unknown fields are ignored; an unknown schema version is refused (rule LG3). */
export function eventOf(session: string, row: EventRow): LogEvent {
  const name: RowName = { kind: "event", session, seq: row.seq };
  const { seq, type, at, body, hash } = decodeRow(name, row, EVENT);
  const { v: version } = decodeRow(name, body, { v: whole });
  if (version !== EVENT_SCHEMA_VERSION) throw unsupportedVersion(session, seq, version);
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

async function anchorAt(storage: Storage, locator: Locator): Promise<Anchor> {
  const { session: row, head } = await findAt(storage, locator);
  const { id } = row;
  if (head !== null) {
    const [event] = await storage.query("events.at", { session: id, seq: head.seq });
    const { hash } = decodeRow({ kind: "event", session: id, seq: head.seq }, event ?? {}, { hash: digest });
    return { session: id, seq: head.seq, hash: toHex(hash) };
  }
  const { seq, chain } = decodeRow({ kind: "session", session: id }, row, { seq: whole, chain: digest });
  return { session: id, seq, hash: toHex(chain) };
}

/**
 * A head commits to the chain before its own event. If the locator names one, the log must still contain that position.
 */
async function verified(
  storage: Storage,
  locator: Locator,
): Promise<{ readonly session: string; readonly head: Anchor | null }> {
  if (locator.head === undefined) return { session: locator.session, head: null };
  const { session, head } = await findAt(storage, locator);
  if (head === null) return { session: session.id, head };
  return { session: session.id, head: { session: session.id, seq: head.seq - 1, hash: toHex(head.chain) } };
}

/** Events inherited before the caller's trusted anchor are trusted too. */
async function withInherited(
  storage: Storage,
  report: VerifyReport,
  of: "all" | "deleted",
  from: Anchor | undefined,
): Promise<VerifyReport> {
  const { session, events } = report;
  const row = await existingSession(storage, session);
  for await (const { session: source, seq, reason } of verifyInherited(storage, row, of, from?.seq)) {
    const why = `in the part inherited from the session ${JSON.stringify(source)}: ${reason}`;
    return { ok: false, session, badSeq: seq, source, reason: why, events };
  }
  return report;
}

async function readNote(storage: Storage, payloads: Payloads, at: Locator, seq: number): Promise<JsonObject | null> {
  const { id: session, isOn } = await logAt(storage, at);
  const [event] = at.head === undefined ? [] : await storage.query("events.at", { session, seq });
  if (event !== undefined && !isOn(event)) return null;
  const [row] = await storage.query("annotation.get", { session, seq });
  if (row === undefined) return null;
  const name = { kind: "annotation", session, seq };
  return decodeRow(name, { note: await payloads.read(withBlob(name, "note", row)) }, { note: jsonObject }).note;
}

interface NoteAuthor {
  readonly agent?: string | undefined;
  readonly run?: string | undefined;
}

async function annotate(
  storage: Storage,
  payloads: Payloads,
  session: string,
  note: object,
  by: NoteAuthor,
): Promise<LogEvent> {
  const bytes = encodeJson(note, "note", "metadataBytes");
  return payloads.preparing(async (prepare) => {
    const payload = await prepare(bytes, { media: "application/json", utf8: true });
    return writeNote(storage, payload, session, by);
  });
}

function writeNote(
  storage: Storage,
  payload: PreparedPayload,
  session: string,
  { agent, run }: NoteAuthor,
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
      if (written === undefined) throw new Error("bug: a commit returned no event");
      const { seq, hash } = written;
      return eventOf(session, { seq, type: draft.type, at, body: envelope(draft, seq), hash });
    },
  }));
}
