// A worker: claims runs that are due, executes several at a time, and takes over runs whose worker sends no heartbeat.
import type { AgentDefinition } from "../contracts/agent-definitions.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import { DUE } from "../contracts/storage/storage.ts";
import type { WORKER_OPTIONS } from "../contracts/verbs/runs.ts";
import type { ValueOf } from "../contracts/verbs/vocabulary.ts";
import type { Worker, WorkerNote } from "../contracts/workers.ts";
import { exponentialBackoff } from "../core/backoff.ts";
import { ownerText } from "../core/run-owner.ts";
import { checkSame } from "./agents.ts";
import { errorOf } from "./errors.ts";
import { Execution } from "./execution.ts";
import type { RunHost } from "./iteration-host.ts";
import { releaseOrAbandon } from "./lease.ts";
import { LeaseWatch } from "./lease-watch.ts";
import { takeOver } from "./recover.ts";
import { errorOf as errorOfRun, existingRun, isOver, runOf } from "./rows.ts";
import { cancelRun } from "./verbs.ts";

/** The options of a worker, checked and with defaults. */
export type CheckedWorker = ValueOf<typeof WORKER_OPTIONS>;

const PAGE = 200;
const GRACE_MS = 10_000;
/** The pause between two searches, so that a worker which is notified all the time does not occupy the store. */
const REST_MS = 20;

/** Concurrent claims. */
const CLAIMS = 8;

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 300_000;

/** Codes of errors that the run did not cause. */
const STORE_TROUBLE: ReadonlySet<string> = new Set([
  "LeaseLost",
  "StoreBusy",
  "StoreUnreachable",
  "StoreFull",
  "Closed",
  "Aborted",
]);

interface ActiveRun {
  readonly execution: Execution;
  readonly done: Promise<void>;
}

/** A due run that this worker may claim, or end because no worker will continue it. */
interface Candidate {
  readonly row: RunRow;
  readonly isOurs: boolean;
}

export class RunWorker implements Worker {
  readonly id: string;
  readonly #host: RunHost;
  readonly #agents: ReadonlyMap<string, AgentDefinition>;
  readonly #settings: CheckedWorker;
  readonly #stop = new AbortController();
  readonly #working = new Map<string, ActiveRun>();
  readonly #leases: LeaseWatch;
  /** The worker's name in the rows of its runs. */
  readonly #owner: string;
  /** Runs that cannot continue here, with the version at which this was found out. */
  readonly #refused = new Map<string, number>();
  /** How often in a row the execution of a run failed. */
  readonly #failures = new Map<string, number>();
  readonly #onStopped: () => void;
  /** Runs that are being claimed, and the concurrent claim loops. */
  readonly #claiming = new Set<string>();
  readonly #claims = new Set<Promise<number>>();
  #running: Promise<void> | null = null;
  #looking: Promise<number> | null = null;

  /** `onStopped` is called when the worker was stopped and executes no run any more. */
  constructor(host: RunHost, id: string, settings: CheckedWorker, onStopped: () => void) {
    this.#onStopped = onStopped;
    this.#host = host;
    this.id = id;
    this.#owner = ownerText(host.storage.environment, id);
    this.#leases = LeaseWatch.of(host.storage);
    this.#agents = new Map(settings.agents.map((agent) => [agent.id, agent]));
    this.#settings = settings;
  }

  get working(): readonly string[] {
    return [...this.#working.keys()];
  }

  start(): void {
    this.#running ??= this.#loop();
  }

  async stop({ graceMs = GRACE_MS }: { readonly graceMs?: number } = {}): Promise<void> {
    this.#stop.abort();
    await this.#looking?.catch(() => {});
    await Promise.allSettled(this.#claims);
    const leaving = [...this.#working.values()];
    for (const { execution } of leaving) execution.stopAfterIteration();
    const all = Promise.allSettled(leaving.map(({ done }) => done));
    const over = new AbortController();
    void all.then(() => over.abort());
    await this.#host.storage.environment.sleep(graceMs, over.signal);
    for (const { execution } of this.#working.values()) execution.stop();
    await all;
    await this.#running;
    this.#onStopped();
  }

  /** Concurrent calls share one search. */
  look(): Promise<number> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  /** Makes a run check its row now, if this worker executes it. */
  checkNow(run: string): void {
    this.#working.get(run)?.execution.checkNow();
  }

  async #look(): Promise<number> {
    await this.#startClaims();
    const begun = await Promise.all(this.#claims);
    return begun.reduce((sum, count) => sum + count, 0);
  }

  /**
   * Starts several claim loops, so that a claim that waits for a lock does not delay the others. The loops share one
   * iterator over the due runs; each resolves with the number of runs that it has begun.
   */
  async #startClaims(): Promise<void> {
    const { storage } = this.#host;
    if (!this.#hasRoom()) return;
    const due = await storage.query("runs.due", { now: storage.environment.now(), limit: PAGE });
    const alive = new Set(due.map(({ id }) => id));
    this.#forget(alive);
    const candidates = this.#candidates(due, alive);
    const room = this.#settings.concurrency - this.#working.size - this.#claiming.size;
    for (let n = Math.min(room, CLAIMS - this.#claims.size, due.length); n > 0; n--) {
      const claims = this.#claimEach(candidates).finally(() => this.#claims.delete(claims));
      this.#claims.add(claims);
    }
  }

  /** A run that is being claimed counts, because it may be begun. */
  #hasRoom(): boolean {
    return this.#working.size + this.#claiming.size < this.#settings.concurrency;
  }

  /** Candidates are chosen one by one, when there is room, because another claim may have claimed the run meanwhile. */
  *#candidates(due: readonly RunRow[], alive: ReadonlySet<string>): Generator<Candidate, undefined> {
    for (const row of this.#inOrder(due)) {
      if (this.#working.has(row.id) || this.#claiming.has(row.id)) continue;
      const isOurs = this.#agents.has(row.agent) && this.#isFree(row);
      // A parent in the list of due runs has not ended. Any other parent is read before its child is claimed.
      const isKnown = !isOurs && row.cancel === 0 && (row.parent === null || alive.has(row.parent));
      if (!isKnown) yield { row, isOurs };
    }
  }

  async #claimEach(candidates: Generator<Candidate, undefined>): Promise<number> {
    let begun = 0;
    while (this.#hasRoom() && !this.#stop.signal.aborted) {
      const { value: candidate } = candidates.next();
      if (candidate === undefined) break;
      const { row, isOurs } = candidate;
      this.#claiming.add(row.id);
      try {
        if (!(await this.#isSettled(row)) && isOurs && (await this.#take(row))) begun++;
      } catch (error) {
        this.#host.storage.environment.log("warn", "worker.claim", { run: row.id, error: String(error) });
      } finally {
        this.#claiming.delete(row.id);
      }
    }
    return begun;
  }

  /**
   * Whether the worker may end the run, of any agent, because no worker will continue it: it is cancelled and has no
   * owner, or its parent has ended.
   */
  async #isSettled({ id, cancel, owner, parent }: RunRow): Promise<boolean> {
    const { storage, payloads } = this.#host;
    try {
      if (cancel === 0) {
        const [above] = parent === null ? [] : await storage.query("run.get", { id: parent });
        if (above === undefined || !isOver(above)) return false;
      } else if (owner !== null) return false;
      await cancelRun(storage, payloads, id);
    } catch (error) {
      storage.environment.log("warn", "worker.settle", { run: id, error: String(error) });
    }
    return true;
  }

  async #loop(): Promise<void> {
    const { storage } = this.#host;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        // Does not wait for the claims, so that runs that become due meanwhile can be begun.
        await this.#startClaims();
      } catch (error) {
        storage.environment.log("warn", "worker.look", { error: String(error) });
      }
      await storage.environment.sleep(REST_MS, signal);
      if (!signal.aborted) await storage.waitForChange(DUE, this.#settings.pollMs, signal);
    }
  }

  #forget(there: ReadonlySet<string>): void {
    this.#leases.forgetAllBut(there);
    for (const id of this.#refused.keys()) if (!there.has(id)) this.#refused.delete(id);
  }

  #isFree(row: RunRow): boolean {
    return this.#refused.get(row.id) !== row.version && this.#leases.isClaimable(row);
  }

  /** false if another worker was faster, or the run cannot continue here. */
  async #take(seen: RunRow): Promise<boolean> {
    const { storage } = this.#host;
    const agent = this.#agents.get(seen.agent);
    if (agent === undefined) return false;
    let row: RunRow;
    try {
      checkSame(seen, agent, this.#settings);
      row = await takeOver(storage, seen, this.#owner, this.#settings.verify);
    } catch (error) {
      this.#refuse(seen, error);
      return false;
    }
    const execution = new Execution(this.#host, agent, row, this.#settings);
    const done = this.#work(execution).finally(() => this.#working.delete(row.id));
    this.#working.set(row.id, { execution, done });
    this.#tell({ kind: "begun", run: runOf(row) });
    return true;
  }

  /** A run that cannot continue here is not claimed again until it changes, and does not block the others. */
  #refuse(row: RunRow, error: unknown): void {
    if (error instanceof HoldfastError && (error.code === "LeaseLost" || error.retryable)) return;
    this.#refused.set(row.id, row.version);
    this.#reportRefusal(row, error);
  }

  #reportRefusal(row: RunRow, error: unknown): void {
    this.#host.storage.environment.log("error", "worker.refused", { run: row.id, error: String(error) });
    this.#tell({ kind: "refused", run: runOf(row), error: errorOf(error) });
  }

  /** A listener that throws does not affect the work. */
  #tell(note: WorkerNote): void {
    try {
      this.#settings.watch?.(note);
    } catch (error) {
      this.#host.storage.environment.log("warn", "worker.watch", { run: note.run.id, error: String(error) });
    }
  }

  async #work(execution: Execution): Promise<void> {
    const { storage } = this.#host;
    let trouble: unknown = null;
    try {
      await execution.work();
    } catch (error) {
      trouble = error;
      storage.environment.log("warn", "worker.run", { run: execution.row.id, error: String(error) });
    }
    try {
      // Release the lease, so that no worker has to wait until it expires.
      const pause = this.#pauseAfter(execution.row.id, trouble);
      const wakeAt = storage.environment.now() + pause;
      await releaseOrAbandon(this.#host, execution.row, pause === 0 ? null : { error: errorOf(trouble), wakeAt });
      const row = await existingRun(storage, execution.row.id);
      if (pause > 0) this.#reportRefusal(row, trouble);
      this.#tell({ kind: "left", run: runOf(row, await errorOfRun(storage, row)) });
    } catch (error) {
      storage.environment.log("warn", "worker.release", { run: execution.row.id, error: String(error) });
    }
  }

  /**
   * How long no worker claims the run, so that a failing run is not tried all the time: the pause grows with each
   * failure here.
   */
  #pauseAfter(run: string, trouble: unknown): number {
    if (trouble === null || isTroubleOfStore(trouble)) {
      this.#failures.delete(run);
      return 0;
    }
    const before = this.#failures.get(run) ?? 0;
    this.#failures.set(run, before + 1);
    return exponentialBackoff(before, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  }

  /**
   * Sorts by priority, then puts runs of sessions without a run in this worker first. The rest is random, so that
   * workers that search at the same moment do not all claim the same run.
   */
  #inOrder(due: readonly RunRow[]): readonly RunRow[] {
    const busy = new Set([...this.#working.values()].map(({ execution }) => execution.row.session));
    const rank = ({ session }: RunRow) => (busy.has(session) ? 1 : 0);
    const chance = this.#host.storage.environment.random(due.length);
    const drawn = due.map((row, i) => ({ row, chance: chance[i] ?? 0 }));
    drawn.sort((a, b) => b.row.priority - a.row.priority || rank(a.row) - rank(b.row) || a.chance - b.chance);
    return drawn.map(({ row }) => row);
  }
}

export function isTroubleOfStore(error: unknown): boolean {
  return error instanceof HoldfastError && STORE_TROUBLE.has(error.code);
}
