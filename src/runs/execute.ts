// Executes a run from a call: begins or continues it, works on it in this process, and waits for what the run waits
// for. After a crash the same call continues the run, so the program only has to be started again (rules RU2, RU3).
// LocalWorkers has all runs that this handle works on, and releases them when the handle is closed.
import type { AgentDefinition } from "../contracts/agent-definitions.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { RunResult } from "../contracts/run-results.ts";
import type { ResumeOptions, RunWait } from "../contracts/run-waits.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { EXECUTE_OPTIONS, RUN_INPUT } from "../contracts/verbs/runs.ts";
import type { ValueOf } from "../contracts/verbs/vocabulary.ts";
import { newId } from "../core/new-id.ts";
import { isHeldRun, ownerLiveness, ownerText } from "../core/run-owner.ts";
import { ownerWait, sleepWait, waitsOf } from "../core/run-waits.ts";
import { sessionBusy } from "../core/session-guards.ts";
import { quoteArgument } from "../core/shell.ts";
import { checkSame } from "./agents.ts";
import { describeRun, findOrCreateRun, type OwnerWaiting } from "./begin.ts";
import { errorOf, leaseLost } from "./errors.ts";
import { Execution } from "./execution.ts";
import type { RunHost } from "./iteration-host.ts";
import { awaitFree, beatMs, isDue, livingWorkerError, type ReleaseReason, releaseOrAbandon } from "./lease.ts";
import { LeaseWatch } from "./lease-watch.ts";
import { admitVerified, takeOver, takeOverWhenDue } from "./recover.ts";
import { existingRun, namedRun, QuestionCache, refuseEnded, resultOf } from "./rows.ts";
import { type CheckedWorker, isTroubleOfStore, RunWorker } from "./worker.ts";

/** How often a waiting call reads the run without a notification. */
const LOOK_MS = 1000;
/**
 * The same while its owner, or a child that it waits for, is on this machine: the end of a process sends no
 * notification.
 */
const NEAR_LOOK_MS = 200;

type ExecuteValues = ValueOf<typeof EXECUTE_OPTIONS>;

interface FollowOptions extends Omit<ExecuteValues, "wait" | "onWait"> {
  readonly wait: boolean;
  /** Calls `onWait` once for each reason to wait. If the listener throws, the run is not affected. */
  readonly onWait: (wait: RunWait) => void;
}

export async function executeRun(
  workers: LocalWorkers,
  agent: AgentDefinition,
  described: ValueOf<typeof RUN_INPUT>,
  given: ExecuteValues,
): Promise<RunResult> {
  const run = describeRun(described);
  const options = { ...given, onWait: tellChanges(given.onWait) };
  const waiting = ownerWaiting(workers, options);
  waiting.refuseStopped();
  const { row, isNew } = await findOrCreateRun(workers.host, agent, run, workers.owner, waiting);
  waiting.refuseStopped();
  if (isNew) return follow(workers, agent, row.id, options, await stillOurs(workers.host.storage, row, options));
  if (row.ended_at === null) {
    if (isHeldRun(row)) throw sessionBusy(row);
    checkSame(row, agent, options);
  }
  if (options.wait || row.ended_at !== null) return follow(workers, agent, row.id, options, null);
  const free = await awaitFree(workers.host.storage, row.id, waiting.signal, options.onWait);
  waiting.refuseStopped();
  return free === null ? resultNow(workers, row.id) : continueOnce(workers, agent, free, options);
}

/** Continues a run, unless a living worker has it. */
export async function resumeRun(
  workers: LocalWorkers,
  agent: AgentDefinition,
  id: string,
  given: ExecuteValues,
): Promise<RunResult> {
  const { storage } = workers.host;
  const run = await namedRun(storage, id);
  const options = { ...given, onWait: tellChanges(given.onWait) };
  refuseAborted(options.signal);
  const first = await existingRun(storage, run);
  refuseEnded(first, "there is nothing to resume");
  checkSame(first, agent, options);
  if (options.wait) {
    if (isHeldRun(first)) await admitVerified(storage, first, options.verify);
    return follow(workers, agent, run, options, null);
  }
  const waiting = ownerWaiting(workers, options);
  const row = await awaitFree(storage, run, waiting.signal, options.onWait);
  waiting.refuseStopped();
  if (row === null) throw livingWorkerError(await existingRun(storage, run));
  return continueOnce(workers, agent, row, options);
}

/** null if another worker claimed the run while this process was suspended, and the call waits for that worker. */
async function stillOurs(storage: Storage, row: RunRow, { wait }: FollowOptions): Promise<RunRow | null> {
  const now = await existingRun(storage, row.id);
  if (now.epoch === row.epoch) return now;
  if (wait) return null;
  throw leaseLost(row);
}

/** Executes a run that may be claimed, until it ends or waits. */
async function continueOnce(
  workers: LocalWorkers,
  agent: AgentDefinition,
  row: RunRow,
  options: FollowOptions,
): Promise<RunResult> {
  const { storage } = workers.host;
  if (row.ended_at !== null) return resultNow(workers, row.id);
  const claimed = await takeOverWhenDue(storage, row, workers.owner, options.verify);
  if (claimed === null) return resultNow(workers, row.id);
  await workers.work(agent, claimed, options);
  refuseAborted(options.signal);
  refuseClosed(workers, await existingRun(storage, row.id), options);
  return resultNow(workers, row.id);
}

/**
 * Executes or watches the run until it has ended, here or in another worker. `claimed`: its row, if this owner has the
 * lease already.
 */
async function follow(
  workers: LocalWorkers,
  agent: AgentDefinition,
  run: string,
  options: FollowOptions,
  claimed: RunRow | null,
): Promise<RunResult> {
  const { storage } = workers.host;
  const watch = { leases: LeaseWatch.of(storage), questions: new QuestionCache(storage) };
  const { signal: stop } = ownerWaiting(workers, options);
  let waited = "";
  for (let lease = claimed; ; ) {
    if (lease !== null) await workOn(workers, agent, lease, options);
    refuseAborted(options.signal);
    const row = await existingRun(storage, run);
    // Do not try again at once if the work ended in the same wait in which it began.
    const wait = lease === null ? "" : `${row.iteration} ${row.waits ?? ""}`;
    if (wait !== "" && wait === waited) await storage.environment.sleep(LOOK_MS, stop);
    if (lease !== null) waited = row.waits === null ? "" : wait;
    refuseClosed(workers, row, options);
    const isLeft = lease !== null && !options.wait;
    if (row.ended_at !== null || isLeft) return resultNow(workers, run);
    lease = await tryClaim(workers, agent, row, watch.leases, options);
    if (lease === null) await waitForChange(storage, await existingRun(storage, run), watch, options, stop);
  }
}

async function workOn(
  workers: LocalWorkers,
  agent: AgentDefinition,
  lease: RunRow,
  options: FollowOptions,
): Promise<void> {
  try {
    await workers.work(agent, lease, options);
  } catch (error) {
    // Another worker claimed the run while this process was suspended: wait for that worker.
    if (!options.wait || !isLeaseLost(error)) throw error;
  }
}

/** Claims the run; null if it is not due, a living worker has it, or another worker was faster. */
async function tryClaim(
  { host: { storage }, owner }: LocalWorkers,
  agent: AgentDefinition,
  row: RunRow,
  leases: LeaseWatch,
  options: FollowOptions,
): Promise<RunRow | null> {
  if (isHeldRun(row)) throw sessionBusy(row);
  if (!leases.isClaimable(row) || !(await isDue(storage, row))) return null;
  checkSame(row, agent, options);
  try {
    return await takeOver(storage, row, owner, options.verify);
  } catch (error) {
    if (isLeaseLost(error)) return null;
    throw error;
  }
}

function isLeaseLost(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "LeaseLost";
}

/** What a waiting call remembers about the run between two reads. */
interface RunWatch {
  readonly leases: LeaseWatch;
  readonly questions: QuestionCache;
}

async function waitForChange(
  storage: Storage,
  row: RunRow,
  { leases, questions }: RunWatch,
  { onWait }: FollowOptions,
  stop: AbortSignal,
): Promise<void> {
  if (row.ended_at !== null) return;
  const now = storage.environment.now();
  if (row.owner !== null) {
    const remaining = leases.remainingMs(row);
    if (remaining <= 0) return;
    onWait(ownerWait(row, remaining));
    const isNear = ownerLiveness(storage.environment, row.owner) === "alive";
    await storage.waitForChange(row.session, Math.min(remaining, isNear ? NEAR_LOOK_MS : beatMs(row) / 2), stop);
    return;
  }
  if (row.status !== "waiting" && row.status !== "paused") return;
  onWait(sleepWait(row, now, await questions.read(row)));
  const waitsForRun = waitsOf(row).some(({ kind }) => kind === "run");
  const left = row.wake_at === null ? LOOK_MS : Math.max(0, row.wake_at - now);
  await storage.waitForChange(row.session, Math.min(left, waitsForRun ? NEAR_LOOK_MS : LOOK_MS), stop);
}

function tellChanges(onWait: ((wait: RunWait) => void) | undefined): (wait: RunWait) => void {
  let last = "";
  return (wait) => {
    const what = JSON.stringify([wait.reason, wait.owner, wait.waitsFor]);
    if (onWait === undefined || what === last) return;
    last = what;
    try {
      onWait(wait);
    } catch {
      // A listener that throws does not disturb the run.
    }
  };
}

async function resultNow({ host }: LocalWorkers, run: string): Promise<RunResult> {
  const { storage, payloads } = host;
  const row = await existingRun(storage, run);
  const result = await resultOf(storage, payloads, row);
  if (result.error === null || row.ended_at === null || row.parent !== null) return result;
  const id = JSON.stringify(run);
  const retry = `\`npx holdfast runs retry ${quoteArgument(run)}\` or runs.retry(${id})`;
  const hint = `${retry} continues it from the step at which it ended; execute it again after that.`;
  const known = result.error.hint === undefined ? "" : `${result.error.hint} `;
  return { ...result, error: { ...result.error, hint: `${known}${hint}` } };
}

/** The call waits until its own signal aborts, or until the handle is closed. */
function ownerWaiting({ closing }: LocalWorkers, { signal, onWait }: FollowOptions): OwnerWaiting {
  return {
    signal: signal === undefined ? closing : AbortSignal.any([signal, closing]),
    onWait,
    refuseStopped: () => {
      refuseAborted(signal);
      if (closing.aborted) throw new HoldfastError("Closed", "The store was closed while the call waited.");
    },
  };
}

function refuseAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  throw new HoldfastError("Aborted", "The call was aborted; the run can be continued.", {
    hint: "Execute it again with the same id, or call runs.resume().",
    cause: signal.reason,
  });
}

/** Throws if close() ended the call early, unless the run has reached the point at which the call returns. */
function refuseClosed({ closing }: LocalWorkers, { id, status, ended_at }: RunRow, { wait }: FollowOptions): void {
  const isAsleep = status === "waiting" || status === "paused";
  if (!closing.aborted || ended_at !== null || (!wait && isAsleep)) return;
  throw new HoldfastError("Closed", `The store was closed before the run ${JSON.stringify(id)} had ended.`, {
    details: { run: id, status },
    hint: "The run can be continued: open the store again and execute it with the same id, or call runs.resume().",
  });
}

export interface WorkOptions {
  readonly signal?: AbortSignal;
  readonly erased: NonNullable<ResumeOptions["erased"]>;
}

export class LocalWorkers {
  readonly host: RunHost;
  /** The owner in the leases of runs that calls of this handle execute. */
  readonly owner: string;
  readonly #executions = new Map<string, Execution>();
  readonly #workers = new Set<RunWorker>();
  readonly #closing = new AbortController();

  constructor(host: RunHost) {
    this.host = host;
    this.owner = ownerText(host.storage.environment, newId(host.storage.environment, "worker"));
  }

  /** Aborted when the handle is being closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Executes a run whose lease this handle has, until the run ends or waits, or `signal` aborts; then releases the
   * lease.
   */
  async work(agent: AgentDefinition, row: RunRow, { signal, erased }: WorkOptions): Promise<void> {
    const { storage } = this.host;
    const execution = new Execution(this.host, agent, row, { erased });
    const stop = () => execution.stop();
    this.#executions.set(row.id, execution);
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted === true || this.closing.aborted) stop();
    let trouble: ReleaseReason | null = null;
    try {
      await execution.work();
    } catch (error) {
      // The release records the error, so that people can see it; workers may try the run again at once.
      if (!isTroubleOfStore(error)) trouble = { error: errorOf(error), wakeAt: storage.environment.now() };
      throw error;
    } finally {
      signal?.removeEventListener("abort", stop);
      this.#executions.delete(row.id);
      await releaseOrAbandon(this.host, execution.row, trouble).catch((error: unknown) =>
        storage.environment.log("warn", "runs.release", { run: row.id, error: String(error) }),
      );
    }
  }

  createWorker(settings: CheckedWorker, id: string): RunWorker {
    const worker = new RunWorker(this.host, id, settings, () => this.#workers.delete(worker));
    this.#workers.add(worker);
    return worker;
  }

  /** Makes the execution of a run check its row now, because a caller has changed the row. */
  checkNow(run: string): void {
    this.#executions.get(run)?.checkNow();
    for (const worker of this.#workers) worker.checkNow(run);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const execution of this.#executions.values()) execution.stop();
    await Promise.all([...this.#workers].map((worker) => worker.stop({ graceMs: 0 })));
  }
}
