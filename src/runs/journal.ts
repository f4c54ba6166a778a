// A run's journal: its events in the session's log, and the recorded steps and states. A replay begins by reading it.
import { HoldfastError } from "../contracts/errors.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import { EVENT_SCHEMA_VERSION } from "../contracts/log.ts";
import type { RunError } from "../contracts/run-record.ts";
import type { Step } from "../contracts/steps.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { JournalRow, RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { copyJson, encodeCopy } from "../core/check.ts";
import { decodeRow, json, jsonObject, optional, plainObject, text, unsupportedVersion, whole } from "../core/decode.ts";
import { rowId } from "../core/row-id.ts";
import { decodePosition } from "./position.ts";

const PAGE = 1000;
const FOREVER = Number.MAX_SAFE_INTEGER;

/** An event of the run. */
export interface JournalEntry {
  readonly seq: number;
  readonly type: string;
  readonly at: number;
  readonly agent: string | null;
  readonly data: JsonObject;
  readonly commitments: JsonObject;
  readonly row: JournalRow;
}

export function decodeEntry(session: string, row: JournalRow): JournalEntry {
  const { seq, type, at } = row;
  return { seq, type, at, ...decodeEnvelope(session, seq, row.envelope), row };
}

/** The part of an envelope that is not in a column. */
export function decodeEnvelope(
  session: string,
  seq: number,
  bytes: Uint8Array,
): Pick<JournalEntry, "agent" | "data" | "commitments"> {
  const name = { kind: "event", session, seq };
  const { envelope } = decodeRow(name, { envelope: bytes }, { envelope: jsonObject });
  const { v: version, agent } = decodeRow(name, envelope, { v: whole, agent: optional(text) });
  // Rule LG3: an event of a newer format is not replayed.
  if (version !== EVENT_SCHEMA_VERSION) throw unsupportedVersion(session, seq, version);
  const data = plainObject.read(envelope.data) ?? {};
  const commitments = plainObject.read(envelope.commitments) ?? {};
  return { agent, data, commitments };
}

/** The last seq that can have an event of the run: no event follows its end. */
export function lastSeqOf({ seq, ended_at }: Pick<RunRow, "seq" | "ended_at">): number {
  return ended_at === null ? FOREVER : seq;
}

/** Reads the events after a seq, in order. */
export async function readJournal(
  storage: Storage,
  row: Pick<RunRow, "session" | "session_no" | "id" | "seq" | "ended_at">,
  after: number,
): Promise<readonly JournalEntry[]> {
  const { session, session_no, id } = row;
  const entries: JournalEntry[] = [];
  for (let last = after; ; ) {
    const rows = await storage.query("run.journal", {
      session: session_no,
      run: id,
      after: last,
      upTo: lastSeqOf(row),
      limit: PAGE,
    });
    entries.push(...rows.map((row) => decodeEntry(session, row)));
    last = rows.at(-1)?.seq ?? last;
    if (rows.length < PAGE) return entries;
  }
}

/** The payload of an event; null if it has none. */
export async function payloadOf(payloads: Payloads, session: string, { row }: Pick<StepEnd, "row">): Promise<Json> {
  if (row === undefined) throw new Error("bug: a step that was not read from the journal has no payload to read");
  if (row.sha256 === null) return null;
  const name = { kind: "event", session, seq: row.seq };
  if (row.form === null || row.size === null) {
    throw new HoldfastError("StoreCorrupted", `the payload of event ${rowId(session, row.seq)} is missing`, {
      details: name,
    });
  }
  const bytes = await payloads.read({ ...row, sha256: row.sha256, size: row.size });
  return decodeRow(name, { payload: bytes }, { payload: json }).payload;
}

/** How a step ended, with its row if it was read from the journal. */
export type StepEnd = Pick<JournalEntry, "seq" | "type" | "at" | "data"> & { readonly row?: JournalRow };

/** One attempt of a step, beginning with its intent. */
export interface StepRecord {
  readonly seq: number;
  readonly iteration: number;
  readonly path: string;
  readonly kind: Step["kind"];
  readonly name: string;
  readonly attempt: number;
  readonly digest: string;
  readonly key: string;
  readonly startedAt: number;
  readonly data: JsonObject;
  status: Step["status"];
  end: StepEnd | null;
  /** True if a person permitted one more attempt. */
  isAllowed: boolean;
  /** The open question: whether the step may be executed, or whether it happened. */
  isAsked: boolean;
  /** True if the retried run failed at this step: this run executes it again, regardless of decisions in that run. */
  isRetryPoint?: boolean;
}

/** Events of a step between its intent and its end. */
const BETWEEN: ReadonlySet<string> = new Set(["step/asked", "step/again", "step/begun"]);

const STEP = { iteration: whole, path: text, kind: text, name: text, attempt: whole, digest: text, key: text };

/** Builds the records of steps, in the order of their first events. */
export function buildStepRecords(session: string, entries: readonly JournalEntry[]): ReadonlyMap<number, StepRecord> {
  const records = new Map<number, StepRecord>();
  for (const entry of entries) {
    const { seq, type, at, data } = entry;
    const first = typeof data.step === "number" ? records.get(data.step) : undefined;
    if (type === "run/answered" && first !== undefined) {
      first.isAsked = false;
      first.isAllowed = data.verdict === "retry";
    }
    if (!type.startsWith("step/") && !(type === "message/added" && data.step !== undefined)) continue;
    if (first !== undefined) {
      if (type === "step/asked") first.isAsked = true;
      // A permission is valid for one attempt.
      if (type === "step/again" || type === "step/begun") first.isAllowed = false;
      if (type === "step/begun") first.status = "started";
      // The step is executed again: its outcome is unknown until this attempt ends.
      if (type === "step/again") Object.assign(first, { status: "started", end: null });
      if (BETWEEN.has(type)) continue;
      first.status = type === "step/failed" ? "failed" : "done";
      first.end = entry;
      continue;
    }
    // The step began before the first entry that was read.
    if (typeof data.step === "number") continue;
    const said = type === "message/added" ? (plainObject.read(data.step) ?? {}) : data;
    const found = decodeRow({ kind: "step", session, seq }, said, STEP);
    records.set(seq, {
      ...found,
      kind: found.kind as Step["kind"],
      seq,
      startedAt: at,
      data,
      isAllowed: false,
      isAsked: data.approval === true,
      status: type === "step/started" ? intentStatus(data) : type === "step/failed" ? "failed" : "done",
      end: type === "step/started" ? null : entry,
    });
  }
  return records;
}

/** An intent that asks for approval is the question itself: the effect follows only after `step/begun`. */
function intentStatus({ approval }: JsonObject): Step["status"] {
  return approval === true ? "asked" : "started";
}

export function stepOf(session: string, run: string, record: StepRecord): Step {
  return {
    id: rowId(session, record.seq),
    run,
    iteration: record.iteration,
    path: record.path,
    kind: record.kind,
    name: record.name,
    attempt: record.attempt,
    status: record.status,
    idempotencyKey: record.key,
    startedAt: record.startedAt,
    endedAt: record.end?.at ?? null,
    error: record.end?.type === "step/failed" ? errorIn(record.end.data) : null,
    ...(record.kind === "tool" ? { idempotent: record.data.repeatable === true } : {}),
    ...(record.end?.data.effectDone === true ? { effectDone: true } : {}),
    ...(record.kind === "read" ? { position: positionIn(session, record) } : {}),
  };
}

function positionIn(session: string, { seq, data }: StepRecord): NonNullable<Step["position"]> {
  const { position, count } = decodePosition(session, seq, data);
  return { branch: position.branch, seq: position.seq, count };
}

/** The error in the event: its code, and the beginning of its message. */
export function errorIn(data: JsonObject): RunError {
  const error = plainObject.read(data.error) ?? {};
  const said = { code: String(error.code ?? "Error"), message: String(error.message ?? "") };
  return typeof error.hint === "string" ? { ...said, hint: error.hint } : said;
}

export async function loadEventPayload(
  storage: Storage,
  payloads: Payloads,
  session: string,
  seq: number,
): Promise<Json> {
  return payloadOf(payloads, session, await eventOf(storage, session, seq));
}

export async function eventOf(storage: Storage, session: string, seq: number): Promise<JournalEntry> {
  const [row] = await storage.query("run.event", { session, seq });
  if (row !== undefined) return decodeEntry(session, row);
  throw new HoldfastError("StoreCorrupted", `event ${rowId(session, seq)} is not there`, {
    details: { kind: "event", session, seq },
  });
}

/** The run that this one retries, from its first event; null if none. */
export function retriedRun({ data }: Pick<JournalEntry, "data">): JsonObject | null {
  const from = plainObject.read(data.from);
  return from?.retry === true ? from : null;
}

/** All runs of a retry chain use the seed of the first, so that random() returns the same numbers in each of them. */
export function randomSeed(run: string, created: Pick<JournalEntry, "data">): string {
  const seed = retriedRun(created)?.chance;
  return typeof seed === "string" ? seed : run;
}

/** The state of a checkpoint: its bytes for the journal, and the value as it will be read back. */
export function encodeState(
  state: unknown,
  { created_at }: RunRow,
): { readonly bytes: Uint8Array; readonly state: Json } {
  // JSON leaves out a property that is undefined.
  if (state === undefined) throw noState("next() was given");
  try {
    const kept = copyJson({ state, startedAt: created_at }, "state", "payloadBytes");
    return { bytes: encodeCopy(kept, "state", "payloadBytes"), state: (kept as JsonObject).state as Json };
  } catch (error) {
    // Renamed, so that the error names the state as the agent does.
    copyJson(state, "state");
    throw error;
  }
}

export function noState(what: string): HoldfastError {
  return new HoldfastError("InvalidJson", `${what} undefined: pass null if there is no state to keep`);
}

/** The state that the next iteration starts with. */
export async function loadState(
  storage: Storage,
  payloads: Payloads,
  session: string,
  checkpoint_seq: number,
): Promise<Json> {
  const kept = await loadEventPayload(storage, payloads, session, checkpoint_seq);
  return (kept as JsonObject | null)?.state ?? null;
}
