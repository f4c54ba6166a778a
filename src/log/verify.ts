// Verifies a chain: computes every hash again from the stored rows, compares every column with the hashed envelope, and
// compares the end with the session row, so that a cut-off tail is detected too.
import { HoldfastError } from "../contracts/errors.ts";
import type { Anchor, VerifyReport } from "../contracts/log.ts";
import type { PlacedEventRow, WholeEventRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { fromHex, sameBytes, sha256, toHex } from "../core/bytes.ts";
import { commitment, envelope, genesis, nextHash } from "../core/hashing.ts";
import { existingSession } from "../core/session-lookup.ts";
import { TimeSlice } from "../core/time-slice.ts";

const PAGE = 1000;
const SALT_BYTES = 16;
const DIGEST_BYTES = 32;
export const FIRST_BRANCH = 1;

export const BEGINS_BRANCH: ReadonlySet<string> = new Set(["branch/begun", "head/moved"]);

/** Columns that are empty in every event without a message. */
const MESSAGE_COLUMNS = [
  "role",
  "agent",
  "run",
  "key",
  "sha256",
  "salt",
  "words",
  "content",
  "chars",
  "erased_seq",
] as const satisfies readonly (keyof WholeEventRow)[];

export interface ChainFault {
  readonly seq: number;
  readonly reason: string;
}

/** The last verified event. */
interface VerifiedPosition {
  readonly seq: number;
  readonly hash: Uint8Array;
  readonly branch: number;
}

const ANCHOR_DIFFERS = "the anchor has another hash";

/** `see` is called with every event in order, after it was verified. */
export async function verifyChain(
  storage: Storage,
  session: string,
  from: Anchor | undefined,
  anchor: Anchor | undefined,
  see?: (event: WholeEventRow) => void,
): Promise<VerifyReport> {
  for (const point of [from, anchor]) {
    if (point !== undefined && point.session !== session) {
      throw new HoldfastError("InvalidArgument", "the anchor belongs to another session", {
        details: { session: point.session },
      });
    }
  }
  const row = await existingSession(storage, session);
  // Verified up to the length that the log had at the call; writers continue meanwhile.
  const end = row.seq;
  let events = 0;
  const bad = (found: ChainFault): VerifyReport => ({
    ok: false,
    session,
    badSeq: found.seq,
    reason: found.reason,
    events,
  });
  const start = await startOf(storage, session, from, anchor);
  if ("reason" in start) return bad(start);
  let { seq, hash, branch } = start;
  let beyond: { readonly seq: number } | undefined;
  const clears = new Clears(storage, session);
  const slice = new TimeSlice(storage.environment);
  while (seq < end) {
    const most = Math.min(PAGE, end - seq);
    // One row more, because the next page would skip a second event with the last seq of this page.
    const rows = await storage.query("events.whole", { session, after: seq, limit: most + 1 });
    if (rows.length === 0)
      return bad({ seq: seq + 1, reason: `the log ends at ${seq}, but the session row says ${end}` });
    const last = rows[most - 1]?.seq;
    if (last !== undefined && rows[most]?.seq === last) return bad({ seq: last, reason: `event ${last} exists twice` });
    beyond = rows[most];
    for (const event of rows.slice(0, most)) {
      if (slice.isSpent) await slice.pause();
      // The event that begins a branch is its first event, and its seq is the number of the branch.
      if (BEGINS_BRANCH.has(event.type)) branch = event.seq;
      const wrong = checkEvent(event, { seq, hash, branch });
      if (wrong !== null) return bad(wrong);
      const { erased_seq } = event;
      if (erased_seq !== null && !(await clears.cover(event, erased_seq))) {
        return bad({ seq: event.seq, reason: `the message is missing, and event ${erased_seq} did not clear it` });
      }
      see?.(event);
      seq = event.seq;
      hash = event.hash;
      events++;
      if (anchor?.seq === seq && anchor.hash !== toHex(hash)) return bad({ seq, reason: ANCHOR_DIFFERS });
    }
  }
  if (seq !== end) return bad({ seq: end + 1, reason: `the session row says that its log ends at ${end}` });
  if (!sameBytes(hash, row.chain)) return bad({ seq: end, reason: "the session row has another chain hash" });
  if (row.branch !== branch) return bad({ seq: end, reason: "the session row is on another branch" });
  // If the log ends at the start of the verification, no event was read.
  if (start.seq === end) [beyond] = await storage.query("events.at", { session, seq: end + 1 });
  if (beyond !== undefined) {
    const [now] = await storage.query("session.get", { id: session });
    if (now !== undefined && now.seq <= end)
      return bad({ seq: end + 1, reason: `there is an event after the end of the log` });
  }
  if (anchor !== undefined && anchor.seq > end)
    return bad({ seq: end + 1, reason: `the log is shorter than the anchor` });
  return { ok: true, session, events, seq: end, hash: toHex(hash) };
}

/** Where the verification begins. The log before it must at least contain the given anchors. */
async function startOf(
  storage: Storage,
  session: string,
  from: Anchor | undefined,
  anchor: Anchor | undefined,
): Promise<VerifiedPosition | ChainFault> {
  let place: VerifiedPosition = { seq: 0, hash: genesis(session), branch: FIRST_BRANCH };
  if (from !== undefined) {
    place = { ...place, seq: from.seq, hash: fromHex(from.hash) ?? new Uint8Array() };
    if (from.seq > 0) {
      const [start] = await storage.query("events.at", { session, seq: from.seq });
      if (start === undefined) return { seq: from.seq, reason: "the anchor to start from is not in the log" };
      if (!sameBytes(start.hash, place.hash))
        return { seq: from.seq, reason: "the log has another hash at the starting point" };
      place = { ...place, branch: start.branch };
    }
  }
  if (anchor !== undefined && anchor.seq <= place.seq) {
    const [held] = await storage.query("events.at", { session, seq: anchor.seq });
    const known = anchor.seq === 0 ? genesis(session) : held?.hash;
    if (known === undefined) return { seq: anchor.seq, reason: "the anchor's event is missing" };
    if (toHex(known) !== anchor.hash) return { seq: anchor.seq, reason: ANCHOR_DIFFERS };
  }
  return place;
}

/** What is wrong with an event that should follow a position. Imports use it too. */
export function checkEvent(event: WholeEventRow, { seq, hash: previous, branch }: VerifiedPosition): ChainFault | null {
  const expected = seq + 1;
  if (event.seq !== expected) return { seq: expected, reason: `event ${expected} is missing` };
  if (!sameBytes(nextHash(previous, event.body), event.hash))
    return { seq: expected, reason: "the hash does not match" };
  if (event.branch !== branch) return { seq: expected, reason: "the event is on another branch" };
  return checkColumns(event);
}

/** Compares an event's columns with its envelope. */
export function checkColumns(event: WholeEventRow): ChainFault | null {
  const { seq: expected } = event;
  if (isAsWritten(event)) return null;
  const body = parse(event.body);
  if (body === null) return { seq: expected, reason: "the envelope is not JSON" };
  for (const [name, column] of [
    ["seq", event.seq],
    ["type", event.type],
    ["at", event.at],
  ] as const) {
    if (body[name] !== column) return { seq: expected, reason: `the column ${name} does not agree with the envelope` };
  }
  const column = wrongColumn(event, body);
  return column === null ? null : { seq: expected, reason: `the column ${column} does not agree with the envelope` };
}

/**
 * A fast check: builds the envelope from the columns of a message, and compares it with the hashed one. If they are
 * equal, all columns are as they were written. Other events are checked field by field.
 */
function isAsWritten(event: WholeEventRow): boolean {
  const { type, at, agent, run, role, key, sha256: digest, salt, words, content, erased_seq } = event;
  if (type !== "message/added" || agent === null || role === null || erased_seq !== null) return false;
  if (words === null || content !== null || salt?.byteLength !== SALT_BYTES) return false;
  if (digest?.byteLength !== DIGEST_BYTES) return false;
  const draft = {
    session: "",
    type,
    at,
    agent,
    data: key === null ? { role } : { key, role },
    ...(run === null ? {} : { run }),
    payloads: { content: { sha256: digest, salt } },
  };
  return sameBytes(envelope(draft, event.seq), event.body) && sameBytes(sha256(words), digest);
}

type Envelope = Readonly<Record<string, unknown>>;

/** The first column of the event's message that differs from what was hashed. */
function wrongColumn(event: WholeEventRow, body: Envelope): string | null {
  const { role, agent, run, key, sha256: digest, salt, words, content: blob, erased_seq } = event;
  if (JOURNAL.test(event.type)) return wrongInJournal(event, body);
  if (event.type !== "message/added") return MESSAGE_COLUMNS.find((name) => event[name] !== null) ?? null;
  const data = (body.data ?? {}) as Envelope;
  if (role !== data.role) return "role";
  if (agent !== body.agent) return "agent_no";
  if (run !== (body.run ?? null)) return "run";
  if (erased_seq !== null) return [digest, salt, words, blob, key].every((cell) => cell === null) ? null : "erased_seq";
  if (key !== (data.key ?? null)) return "key";
  const { content } = (body.commitments ?? {}) as Envelope;
  if (digest === null || !opens(content, salt, digest)) return "sha256";
  return wrongCarried(event, digest);
}

function opens(said: unknown, salt: Uint8Array | null, digest: Uint8Array): boolean {
  if (salt?.byteLength !== SALT_BYTES || digest.byteLength !== DIGEST_BYTES) return false;
  return commitment(salt, digest) === said;
}

/** The inline content must hash to the digest, or the blob must have this name. */
function wrongCarried({ words, content, content_sha256: blob }: WholeEventRow, digest: Uint8Array): string | null {
  if ((words === null) === (content === null)) return "content";
  if (words !== null) return sameBytes(sha256(words), digest) ? null : "words";
  return blob !== null && sameBytes(blob, digest) ? null : "content";
}

/** Checks an event of a run. It has no message, and one payload or none. */
const JOURNAL = /^(run|step|iteration|checkpoint)\//;
const OF_MESSAGES_ONLY = ["role", "agent", "key", "chars"] as const;

function wrongInJournal(event: WholeEventRow, body: Envelope): string | null {
  const { run, sha256: digest, salt, words, content: blob, erased_seq } = event;
  const strange = OF_MESSAGES_ONLY.find((name) => event[name] !== null);
  if (strange !== undefined) return strange;
  if (run !== (body.run ?? null)) return "run";
  const [carried, ...more] = Object.values((body.commitments ?? {}) as Envelope);
  if (more.length > 0) return "sha256";
  const isEmpty = [digest, salt, words, blob].every((cell) => cell === null);
  if (carried === undefined) return erased_seq !== null ? "erased_seq" : isEmpty ? null : "sha256";
  if (erased_seq !== null) return isEmpty ? null : "erased_seq";
  if (digest === null || !opens(carried, salt, digest)) return "sha256";
  return wrongCarried(event, digest);
}

/** Cache of the events that cleared messages. An erased message is valid only if one of them cleared it. */
export class Clears {
  readonly #storage: Storage;
  readonly #session: string;
  readonly #known = new Map<number, Envelope | null>();

  constructor(storage: Storage, session: string) {
    this.#storage = storage;
    this.#session = session;
  }

  async cover({ seq, type, agent, run, body }: WholeEventRow, by: number): Promise<boolean> {
    const clear = by > seq ? await this.#find(by) : null;
    if (JOURNAL.test(type)) return clear !== null && coversJournal(clear, run, body);
    return (
      clear?.type === "messages/cleared" && clear.agent === agent && (clear.run === undefined || clear.run === run)
    );
  }

  /** Whether there is an event that clears at this seq. */
  async has(seq: number): Promise<boolean> {
    return (await this.#find(seq)) !== null;
  }

  async #find(seq: number): Promise<Envelope | null> {
    const known = this.#known.get(seq);
    if (known !== undefined) return known;
    const [event] = await this.#storage.query("events.at", { session: this.#session, seq });
    const body = clearOf(event);
    this.#known.set(seq, body);
    return body;
  }
}

/** Decoded from the envelope alone, because the envelope is hashed, and columns are compared with it separately. */
function clearOf(event: PlacedEventRow | undefined): Envelope | null {
  const body = event === undefined ? null : parse(event.body);
  return CLEARS.has(body?.type) ? body : null;
}

const CLEARS: ReadonlySet<unknown> = new Set(["messages/cleared", "run/deleted", "checkpoint/deleted"]);

/** A run's payloads are removed with the run; those of a caller's own loop when the caller deletes its checkpoint. */
function coversJournal(clear: Envelope, run: string | null, body: Uint8Array): boolean {
  const data = (clear.data ?? {}) as Envelope;
  if (run !== null) return clear.type === "run/deleted" && data.run === run;
  return clear.type === "checkpoint/deleted" && clear.agent === parse(body)?.agent;
}

function parse(bytes: Uint8Array): Readonly<Record<string, unknown>> | null {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
  } catch {
    return null;
  }
}
