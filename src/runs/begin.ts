// Begins runs. Decides whether a call of execute() or start() means a new run or an existing one, so that a killed
// program can simply be started again (rule RU2). Writes a new run: its row, its first event and, if it continues
// another run, the checkpoint that it continues from.
import type { AgentDefinition } from "../contracts/agent-definitions.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import type { RunLimits } from "../contracts/run-record.ts";
import type { RunWait } from "../contracts/run-waits.ts";
import type { Commit, EventDraft } from "../contracts/storage/commit.ts";
import type { PayloadOptions, Payloads, Prepare, PreparedPayload } from "../contracts/storage/payloads.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { RUN_INPUT } from "../contracts/verbs/runs.ts";
import type { ValueOf } from "../contracts/verbs/vocabulary.ts";
import { encodeText, toHex } from "../core/bytes.ts";
import { copyJson, encodeCopy } from "../core/check.ts";
import { decide } from "../core/decide.ts";
import { canonicalJson, orderedJson } from "../core/hashing.ts";
import { newId } from "../core/new-id.ts";
import { isHeldRun, ownerLiveness } from "../core/run-owner.ts";
import { BEGUN } from "../core/run-projection.ts";
import { sessionBusy } from "../core/session-guards.ts";
import { toolsetOf, validateInput } from "./agents.ts";
import type { RunHost } from "./iteration-host.ts";
import { eventOf, payloadOf } from "./journal.ts";
import { awaitFree } from "./lease.ts";
import { findRetry, findRewind } from "./retry-chain.ts";
import { existingRun, isAtWork } from "./rows.ts";
import { payloadExtras, payloadFields } from "./writer.ts";

export interface ResolvedRun {
  readonly row: RunRow;
  /** True if this call created the run, and its owner has the lease. */
  readonly isNew: boolean;
}

/** Of several concurrent calls with the same id, one creates the run and the others find it. */
const MOST_TRIES = 8;

/** How the call waits to find out whether an owner in an unknown state is alive. */
export interface OwnerWaiting {
  readonly signal: AbortSignal;
  readonly onWait: (wait: RunWait) => void;
  /** Throws if the call was aborted or the handle is being closed. */
  readonly refuseStopped: () => void;
}

/** `waiting` is null for a call that does not execute the run itself, and so continues no interrupted run. */
export async function findOrCreateRun(
  host: RunHost,
  agent: AgentDefinition,
  run: RunDescription,
  owner: string | null,
  waiting: OwnerWaiting | null,
): Promise<ResolvedRun> {
  const { session, id, input } = run;
  for (let tries = 1; ; tries++) {
    const found =
      id === undefined
        ? await findInterrupted(host, agent, session, input, waiting)
        : await findNamed(host, agent, session, id, input);
    if (found !== null) return { row: found, isNew: false };
    try {
      return {
        row: await createRun(host.storage, host.payloads, agent, run, { owner }),
        isNew: true,
      };
    } catch (error) {
      if (!isCreatedMeanwhile(error, id) || tries >= MOST_TRIES) throw error;
    }
  }
}

/** Whether another call has just created the run with this id: the session is busy with it, or the id is in use. */
function isCreatedMeanwhile(error: unknown, id: string | undefined): boolean {
  if (id === undefined || !(error instanceof HoldfastError)) return false;
  return error.code === "AlreadyExists" || (error.code === "SessionBusy" && error.details.run === id);
}

/** The run with this id, or the last run of its retry chain; null if there is none yet. */
async function findNamed(
  { storage, payloads }: RunHost,
  agent: AgentDefinition,
  session: string,
  id: string,
  input: Json,
): Promise<RunRow | null> {
  const row = await findRun(storage, id);
  if (row === null) return null;
  if (row.session !== session) throw otherRun(row, "session", row.session, session);
  if (row.agent !== agent.id) throw otherRun(row, "agent", row.agent, agent.id);
  if (!(await hasInput(storage, payloads, row, input))) throw otherRun(row, "input");
  return lastRetry(storage, row);
}

/** null if no run has or ever had the id. The id of a deleted run is never used again. */
async function findRun(storage: Storage, id: string): Promise<RunRow | null> {
  const [row] = await storage.query("run.get", { id });
  if (row !== undefined) return row;
  const [taken] = await storage.query("run.taken", { id });
  if (taken === undefined) return null;
  // Another call may have created it between the two reads.
  const [made] = await storage.query("run.get", { id });
  if (made === undefined) await refuseId(storage, id);
  return made ?? null;
}

/** The last run that continues a failed or cancelled one: its retry, or the run that a rewind began in its place. */
async function lastRetry(storage: Storage, row: RunRow): Promise<RunRow> {
  if (row.status !== "failed" && row.status !== "cancelled") return row;
  const next = (await findRetry(storage, row)) ?? (await findRewind(storage, row));
  const [retry] = next === null ? [] : await storage.query("run.get", { id: next });
  return retry === undefined ? row : lastRetry(storage, retry);
}

/**
 * The unfinished run of the session, if it has this agent and this input and no living worker; null if there is no
 * unfinished run. An owner in an unknown state is watched for the length of its lease.
 */
async function findInterrupted(
  { storage, payloads }: RunHost,
  agent: AgentDefinition,
  session: string,
  input: Json,
  waiting: OwnerWaiting | null,
): Promise<RunRow | null> {
  const [active] = await storage.query("run.active", { session });
  if (active === undefined) return null;
  const isMatch = waiting !== null && active.nested === 0 && active.agent === agent.id && !isHeldRun(active);
  if (!isMatch || !(await hasInput(storage, payloads, active, input))) throw busy(storage, active);
  if (!isAtWork(active)) return active;
  if (active.owner !== null && ownerLiveness(storage.environment, active.owner) === "alive")
    throw busy(storage, active);
  const free = await awaitFree(storage, active.id, waiting?.signal, waiting?.onWait);
  waiting?.refuseStopped();
  if (free === null) throw busy(storage, await existingRun(storage, active.id));
  return free;
}

function busy({ environment }: Storage, active: RunRow): HoldfastError {
  return sessionBusy(active, environment);
}

/** Whether the run was begun with this input; an erased input equals no input. */
async function hasInput(storage: Storage, payloads: RunHost["payloads"], row: RunRow, input: Json): Promise<boolean> {
  const created = await eventOf(storage, row.session, row.first_seq);
  return orderedJson(await payloadOf(payloads, row.session, created)) === orderedJson(input);
}

function otherRun({ id, status }: RunRow, what: "session" | "agent" | "input", recorded?: string, given?: string) {
  const differs =
    recorded === undefined
      ? "it was begun with another input"
      : `its ${what} is ${JSON.stringify(recorded)}, not ${JSON.stringify(given)}`;
  return new HoldfastError("Conflict", `A run ${JSON.stringify(id)} exists already, and ${differs}.`, {
    details: { kind: "run", id, what, status, ...(recorded === undefined ? {} : { recorded, given }) },
    hint: `Use another id for other work. runs.get(${JSON.stringify(id)}) shows the run.`,
  });
}

/** The session of a run that was deleted. */
const DELETED = 0;
export const INLINE_JSON = {
  media: "application/json",
  utf8: true,
  inline: true,
  owned: true,
} as const satisfies PayloadOptions;

/** Everything that a new run is created from. */
export interface NewRun {
  readonly id: string;
  readonly session: string;
  readonly agent: string;
  readonly agentVersion: string;
  readonly toolset: Uint8Array;
  readonly limits: RunLimits;
  readonly priority: number;
  readonly leaseMs: number;
  readonly parent: string | null;
  /** The value of the column `nested`. */
  readonly nested: 0 | 1 | 2;
  /** The owner that has the lease from the beginning; null: any worker may claim the run. */
  readonly owner: string | null;
  readonly input: PreparedPayload;
  /**
   * The run and the iteration to continue after. `isRetry`: the steps that this run has completed since count as done.
   */
  readonly from?: {
    readonly run: string;
    readonly session: string;
    readonly iteration: number;
    /** null if it starts from the beginning. */
    readonly state: PreparedPayload | null;
    readonly isRetry: boolean;
    /** The random seed of the retry chain. */
    readonly chance: string;
  };
}

export interface BegunRun {
  readonly events: readonly EventDraft[];
  readonly commit: Pick<Commit, "blobs" | "writes" | "uses" | "guards" | "agents" | "wakes">;
  /** Makes the row, from the seq of the run's first event. */
  readonly row: (seq: number) => RunRow;
}

export function beginRun(birth: NewRun, at: number): BegunRun {
  const { id, session, agent, agentVersion, toolset, limits, priority, leaseMs, parent, nested, owner } = birth;
  const { input, from } = birth;
  const epoch = owner === null ? 0 : 1;
  const state = from?.state ?? null;
  const iteration = state === null ? 0 : (from?.iteration ?? 0);
  const first = {
    id,
    parent,
    nested,
    agent_version: agentVersion,
    toolset,
    ...BEGUN,
    epoch,
    beat: 0,
    held: 0,
    owner,
    limits: encodeText(canonicalJson(limits)),
    priority,
    lease_ms: leaseMs,
    created_at: at,
    updated_at: at,
  };
  const created: EventDraft = {
    session,
    type: "run/created",
    at,
    agent,
    run: id,
    data: {
      agentVersion,
      toolset: toHex(toolset),
      limits: { ...limits },
      priority,
      leaseMs,
      epoch,
      version: 1,
      nested,
      ...(owner === null ? {} : { owner }),
      ...(parent === null ? {} : { parent }),
      ...(from === undefined ? {} : { from: fromData(from) }),
    },
    ...payloadFields(["input", input]),
    writes: [{ op: "insert", table: "runs", row: { ...first, first_seq: { slot: "seq" }, agent_no: { agent } } }],
  };
  const taken = state === null ? [] : [readRetryChain(birth, state, iteration, at)];
  return {
    events: [created, ...taken],
    commit: {
      agents: [{ id: agent, at }],
      wakes: owner === null,
      guards: [
        { check: "run.version", key: [id], expect: null },
        ...(nested === 0 ? [{ check: "run.active", key: [session], expect: null } as const] : []),
      ],
      ...payloadExtras(state === null ? [input] : [input, state]),
    },
    row: (seq) => ({
      no: 0,
      session_no: 0,
      branch: 0,
      session,
      agent,
      ...first,
      first_seq: seq,
      ...(state === null ? { seq } : { iteration, version: 2, seq: seq + 1, checkpoint_seq: seq + 1 }),
    }),
  };
}

function fromData({ run, session, iteration, isRetry, chance }: NonNullable<NewRun["from"]>): JsonObject {
  return { run, session, iteration, ...(isRetry ? { chance, retry: true } : {}) };
}

/** Writes the checkpoint of another run as the first checkpoint of this run. */
function readRetryChain(
  { id, session, agent }: NewRun,
  state: PreparedPayload,
  iteration: number,
  at: number,
): EventDraft {
  return {
    session,
    type: "checkpoint/taken",
    at,
    run: id,
    data: { version: 2, checkpoint: true, iteration },
    ...payloadFields(["state", state]),
    writes: [
      { op: "run", statement: "run.continueFrom", params: [iteration, { slot: "seq" }, { slot: "seq" }, id] },
      { op: "insert", table: "checkpoints", row: { agent_no: { agent }, run: id, iteration } },
    ],
  };
}

export interface RunPlacement {
  readonly parent?: string;
  readonly nested?: 0 | 1 | 2;
  readonly owner: string | null;
}

/** The caller's description of a new run, checked and with defaults. */
export interface RunDescription extends Omit<ValueOf<typeof RUN_INPUT>, "input"> {
  /** A private copy. */
  readonly input: Json;
}

export function describeRun(given: ValueOf<typeof RUN_INPUT>): RunDescription {
  return { ...given, input: copyInput(given.input) };
}

export function copyInput(input: unknown): Json {
  return copyJson(input ?? null, "run.input", "payloadBytes");
}

export async function prepareRun(
  storage: Storage,
  prepare: Prepare,
  definition: AgentDefinition,
  { id: givenId, session, limits: givenLimits = {}, priority, leaseMs, input }: RunDescription,
  { parent = undefined, nested = 0, owner }: RunPlacement,
): Promise<NewRun> {
  const { id: agent, version: agentVersion } = definition;
  const id = givenId ?? newId(storage.environment, "run");
  const limits = { ...definition.limits, ...givenLimits };
  const kept = await prepare(encodeCopy(input, "run.input", "payloadBytes"), INLINE_JSON);
  await validateInput(definition, input);
  return {
    id,
    session,
    agent,
    agentVersion,
    toolset: toolsetOf(definition),
    limits,
    priority,
    leaseMs,
    parent: parent ?? null,
    nested,
    owner,
    input: kept,
  };
}

async function createRun(
  storage: Storage,
  payloads: Payloads,
  definition: AgentDefinition,
  run: RunDescription,
  setting: RunPlacement,
): Promise<RunRow> {
  return payloads.preparing(async (prepare) => {
    const birth = await prepareRun(storage, prepare, definition, run, setting);
    return decide<RunRow>(storage, async () => {
      await refuseTaken(storage, birth);
      const at = storage.environment.now();
      const { events, commit, row } = beginRun(birth, at);
      return {
        commit: {
          sessions: [{ id: birth.session, mode: "ensure", agent: birth.agent, at }],
          events,
          ...commit,
        },
        answer: (done) => row(done.events.at(-events.length)?.seq ?? 0),
      };
    });
  });
}

/**
 * An id is used once, because idempotency keys contain it, and a worker of a deleted run must not be mistaken for one
 * of a new run.
 */
export async function refuseId(storage: Storage, id: string): Promise<void> {
  const [taken] = await storage.query("run.taken", { id });
  if (taken !== undefined) throw taken.session_no === DELETED ? runDeleted(id) : runExists(id);
}

export async function refuseTaken(storage: Storage, { id, session, nested }: NewRun): Promise<void> {
  await refuseId(storage, id);
  const [busy] = nested === 0 ? await storage.query("run.active", { session }) : [];
  if (busy !== undefined) throw sessionBusy(busy, storage.environment);
}

function runDeleted(id: string): HoldfastError {
  return new HoldfastError("Conflict", `the run ${JSON.stringify(id)} was deleted, and its id cannot be used again`, {
    details: { kind: "run", id, deleted: true },
    hint: "Choose another id, or leave it out: then the store makes one.",
  });
}

function runExists(id: string): HoldfastError {
  return new HoldfastError("AlreadyExists", `a run ${JSON.stringify(id)} exists already`, {
    details: { kind: "run", id },
    hint: "Leave the id out: then the store makes one. runs.get() shows the existing run.",
  });
}
