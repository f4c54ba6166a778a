// Converts rows of runs to the runs that callers get, with their result or error, and their open questions to a person.
// Finds runs by id.
import type { Decision } from "../contracts/decisions.ts";
import type { Environment } from "../contracts/environment.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Run, RunError, RunLimits } from "../contracts/run-record.ts";
import type { RunResult } from "../contracts/run-results.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { DecisionRow, ListedRunRow, RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { toHex } from "../core/bytes.ts";
import { decodeRow, digest, jsonObject, oneOf, optional, plainObject, text, whole } from "../core/decode.ts";
import { parseRowId } from "../core/row-id.ts";
import { describeOwner, isHeldRun } from "../core/run-owner.ts";
import { idleReason, type OpenQuestion, type OpenQuestions, waitsOf } from "../core/run-waits.ts";
import { errorIn, eventOf, loadEventPayload } from "./journal.ts";

const STATUSES: readonly Run["status"][] = [
  "running",
  "paused",
  "waiting",
  "recovering",
  "completed",
  "failed",
  "cancelled",
];

const RUN = {
  id: text,
  session: text,
  agent: text,
  agent_version: text,
  toolset: digest,
  status: oneOf(STATUSES),
  version: whole,
  epoch: whole,
  iteration: whole,
  cancel: whole,
  priority: whole,
  limits: jsonObject,
  lease_ms: whole,
  tokens: whole,
  created_at: whole,
  updated_at: whole,
  parent: optional(text),
  owner: optional(text),
  stop: optional(text),
};

/**
 * `error` comes from the event that ended the run. `environment` is needed to find out whether the owner's process is
 * gone, `questions` to name the open questions.
 */
export function runOf(
  row: RunRow,
  error: RunError | null = null,
  environment?: Environment,
  questions?: OpenQuestions,
): Run {
  const found = decodeRow({ kind: "run", id: row.id }, row, RUN);
  const owner = found.owner === null ? null : describeOwner(found.owner);
  return {
    id: found.id,
    session: found.session,
    agent: found.agent,
    agentVersion: found.agent_version,
    toolset: toHex(found.toolset),
    parent: found.parent,
    status: found.status,
    version: found.version,
    epoch: found.epoch,
    owner: owner?.worker ?? null,
    process: owner === null || owner.host === null || owner.pid === null ? null : { host: owner.host, pid: owner.pid },
    idle: idleReason(row, error, environment, questions),
    iteration: found.iteration,
    pausedUntil: found.status === "paused" ? row.wake_at : null,
    waitsFor: found.status === "waiting" ? waitsOf(row) : [],
    wakesAt: isAsleep(row) ? row.wake_at : null,
    cancelRequested: found.cancel === 1,
    pauseRequested: row.pause_at,
    stopReason: found.stop as NonNullable<Run["stopReason"]> | null,
    held: isHeldRun(row),
    error,
    limits: found.limits as RunLimits,
    priority: found.priority,
    leaseMs: found.lease_ms,
    tokens: found.tokens,
    costUsd: row.cost_usd,
    createdAt: found.created_at,
    updatedAt: found.updated_at,
    endedAt: row.ended_at,
  };
}

/** Whether the run is not due now. A running one is asleep if its last attempts failed. */
function isAsleep({ status, wake_at, ended_at }: RunRow): boolean {
  return ended_at === null && (status === "waiting" || status === "paused" || (wake_at ?? 0) > 0);
}

export async function existingRun(storage: Storage, id: string): Promise<RunRow> {
  const [row] = await storage.query("run.get", { id });
  if (row !== undefined) return row;
  throw new HoldfastError("NotFound", `there is no run ${JSON.stringify(id)}`, {
    details: { kind: "run", id },
    hint: "List the runs with runs.list().",
  });
}

/**
 * Whether a worker of this store has the lease. The owner of a held run is a worker of the store that it was exported
 * from.
 */
export function isAtWork(row: Pick<RunRow, "owner" | "beat">): boolean {
  return row.owner !== null && !isHeldRun(row);
}

export function isOver({ ended_at }: Pick<RunRow, "ended_at">): boolean {
  return ended_at !== null;
}

export function refuseEnded(row: RunRow, what: string): void {
  if (!isOver(row)) return;
  throw new HoldfastError("InvalidTransition", `the run ${JSON.stringify(row.id)} is ${row.status}: ${what}`, {
    details: { kind: "run", id: row.id, status: row.status },
    hint:
      row.status === "completed"
        ? "Continue from one of its iterations in a new session with runs.fork()."
        : "runs.retry() continues it from where it ended; runs.fork() continues one of its iterations in a new session.",
  });
}

const BEGINNING = /^run_[0-9a-z]{4,31}$/;
/**
 * Generated ids: those of newId(), and those of children, which are derived from the step. Only such ids may be
 * shortened: "job-1" never means "job-10".
 */
const GENERATED_ID = /^run_(?:[0-9a-hj-km-np-tv-z]{20}|[0-9a-f]{32})$/;
const MOST_NAMED = 100;

/**
 * The id of the run with this id, or of the only run whose id begins with the text. If there is none, returns the text
 * itself, and the caller reports the error.
 */
export async function namedRun(storage: Storage, text: string): Promise<string> {
  if (!BEGINNING.test(text) || GENERATED_ID.test(text)) return text;
  const [exact] = await storage.query("run.get", { id: text });
  if (exact !== undefined) return text;
  // "~" sorts after every letter.
  const rows = await storage.query("runs.beginning", { from: text, to: `${text}~`, limit: MOST_NAMED });
  const [id, ...others] = rows.map((row) => row.id).filter((one) => GENERATED_ID.test(one));
  if (id === undefined) return text;
  if (others.length === 0) return id;
  const all = [id, ...others];
  throw new HoldfastError("InvalidArgument", `${all.length} runs begin with ${JSON.stringify(text)}`, {
    hint: `Give more characters: ${all
      .slice(0, 5)
      .map((one) => one.slice(0, text.length + 6))
      .join(", ")}.`,
    details: { kind: "run", id: text, runs: all },
  });
}

export async function resultOf(storage: Storage, payloads: Payloads, row: RunRow): Promise<RunResult> {
  const error = await errorOf(storage, row);
  const run = runOf(row, error, storage.environment, await readQuestions(storage, row));
  if (run.status !== "completed") return { run, status: run.status, value: null, error };
  const value = await loadEventPayload(storage, payloads, row.session, row.seq);
  return { run, status: run.status, value, error: null };
}

export async function errorOf(storage: Storage, row: RunRow): Promise<RunError | null> {
  const isTroubled = row.ended_at === null && row.owner === null && row.status === "running";
  if (!isTroubled && row.status !== "failed" && row.status !== "cancelled") return null;
  const [event] = await storage.query("run.event", { session: row.session, seq: row.seq });
  return event === undefined ? null : troubleIn(row, event.envelope);
}

function troubleIn({ session, seq }: Pick<RunRow, "session" | "seq">, body: Uint8Array): RunError | null {
  const found = decodeRow({ kind: "event", session, seq }, { body }, { body: jsonObject }).body;
  const data = plainObject.read(found.data) ?? {};
  return data.error === undefined ? null : errorIn(data);
}

/** The error of a listed run, whose last event was read with its row. */
export function endingOf(row: ListedRunRow): RunError | null {
  return row.ending === null ? null : troubleIn(row, row.ending);
}

/** If the question is the step's intent, it asks for approval. */
export function decisionReason({ seq, step_seq }: DecisionRow): Decision["reason"] {
  return seq === step_seq ? "approval" : "in-doubt";
}

export async function readQuestions(storage: Storage, row: RunRow): Promise<OpenQuestions> {
  const questions = new Map<string, OpenQuestion>();
  for (const wait of row.status === "waiting" ? waitsOf(row) : []) {
    if (wait.kind !== "decision") continue;
    const { session, seq } = parseRowId(wait.decision, "decision");
    const [asked] = await storage.query("decision.get", { session, step: seq });
    if (asked === undefined) continue;
    const { data } = await eventOf(storage, session, asked.step_seq);
    if (typeof data.name === "string") questions.set(wait.decision, { reason: decisionReason(asked), tool: data.name });
  }
  return questions;
}

/** Caches a run's open questions: reads them again only if the run has changed. */
export class QuestionCache {
  readonly #storage: Storage;
  #version = -1;
  #questions: OpenQuestions = new Map();

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  async read(row: RunRow): Promise<OpenQuestions> {
    if (row.version !== this.#version) {
      this.#questions = await readQuestions(this.#storage, row);
      this.#version = row.version;
    }
    return this.#questions;
  }
}
