// Which run a call of execute() or start() means: a new one, or one that is there already, so that a program that was killed
// can simply be started again (rule RU2).

import type { AgentDefinition } from "../contracts/agent-definitions.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Json } from "../contracts/json.ts";
import type { RunWait } from "../contracts/run-waits.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { orderedJson } from "../core/canonical.ts";
import { isHeldRun } from "../core/imported-runs.ts";
import { ownerLiveness } from "../core/run-owner.ts";
import { sessionBusy } from "../core/session-guards.ts";
import { createRun, type RunDescription, refuseId } from "./create.ts";
import type { RunHost } from "./iteration-host.ts";
import { eventOf, payloadOf } from "./journal.ts";
import { awaitFree } from "./lease.ts";
import { findRetry, findRewind } from "./retry-chain.ts";
import { existingRun, isAtWork } from "./rows.ts";

export interface MeantRun {
  readonly row: RunRow;
  /** This call created it, and its owner has the lease. */
  readonly isNew: boolean;
}

/** Of several calls at once with the same id, one creates the run and the others find it. */
const MOST_TRIES = 8;

/** How the call waits until an owner in an unknown state has shown whether it is alive. */
export interface OwnerWaiting {
  readonly signal: AbortSignal;
  readonly onWait: (wait: RunWait) => void;
  /** Throws when the call was aborted or the handle is being closed. */
  readonly refuseStopped: () => void;
}

/** `waiting` is null for a call that does not work on the run itself: it continues none that was interrupted. */
export async function findOrCreateRun(
  host: RunHost,
  agent: AgentDefinition,
  run: RunDescription,
  owner: string | null,
  waiting: OwnerWaiting | null,
): Promise<MeantRun> {
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

/** Another call has just created the run with that id: the session is busy with it, or the id is in use. */
function isCreatedMeanwhile(error: unknown, id: string | undefined): boolean {
  if (id === undefined || !(error instanceof HoldfastError)) return false;
  return error.code === "AlreadyExists" || (error.code === "SessionBusy" && error.details.run === id);
}

/** The run of that id, or the one that retries it in the end; null: there is none yet. */
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

/** null: no run has the id, or ever had it. An id whose run is gone is never used again. */
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

/** The run that continues a failed or cancelled one in the end: its retry, or the one that a rewind began in its place. */
async function lastRetry(storage: Storage, row: RunRow): Promise<RunRow> {
  if (row.status !== "failed" && row.status !== "cancelled") return row;
  const next = (await findRetry(storage, row)) ?? (await findRewind(storage, row));
  const [retry] = next === null ? [] : await storage.query("run.get", { id: next });
  return retry === undefined ? row : lastRetry(storage, retry);
}

/**
 * The unfinished run of the session, if it is one of this agent with this input that no living worker has; null: there is no
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
  const isMeant = waiting !== null && active.nested === 0 && active.agent === agent.id && !isHeldRun(active);
  if (!isMeant || !(await hasInput(storage, payloads, active, input))) throw busy(storage, active);
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

/** Whether it was begun with that input; an input that was erased with its session is no input. */
async function hasInput(storage: Storage, payloads: RunHost["payloads"], row: RunRow, input: Json): Promise<boolean> {
  const created = await eventOf(storage, row.session, row.first_seq);
  return orderedJson(await payloadOf(payloads, row.session, created)) === orderedJson(input);
}

function otherRun({ id, status }: RunRow, what: "session" | "agent" | "input", recorded?: string, given?: string) {
  const differs =
    recorded === undefined
      ? "it was begun with another input"
      : `its ${what} is ${JSON.stringify(recorded)}, not ${JSON.stringify(given)}`;
  return new HoldfastError("Conflict", `There is a run ${JSON.stringify(id)} already, and ${differs}.`, {
    details: { kind: "run", id, what, status, ...(recorded === undefined ? {} : { recorded, given }) },
    hint: `Give another id to another piece of work. runs.get(${JSON.stringify(id)}) shows the run.`,
  });
}
