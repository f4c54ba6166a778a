// A worker: claims runs that are due, works on several at a time, and takes over runs whose worker shows no sign of life.

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

/** What a worker is created with, checked and with its defaults. */
export type CheckedWorker = ValueOf<typeof WORKER_OPTIONS>;

const PAGE = 200;
const GRACE_MS = 10_000;
/** Between two looks, so that a worker which is notified all the time leaves the store to others. */
const REST_MS = 20;

/** Claims at a time. */
const CLAIMS = 8;

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 300_000;

/** Codes of errors for which the run is not to blame. */
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
  /** As the rows of its runs name it. */
  readonly #owner: string;
  /** Runs that cannot go on here, by the version at which that was found out. */
  readonly #refused = new Map<string, number>();
  /** How often in a row the work on a run failed. */
  readonly #failures = new Map<string, number>();
  readonly #onStopped: () => void;
  /** Runs that are being claimed, and the claims, each one run after the other. */
  readonly #claiming = new Set<string>();
  readonly #claims = new Set<Promise<number>>();
  #running: Promise<void> | null = null;
  #looking: Promise<number> | null = null;

  /** `onStopped`: it was stopped, and none of its runs is at work. */
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

  /** Calls at the same time share one look. */
  look(): Promise<number> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  /** Something was asked of a run that may be at work here. */
  checkNow(run: string): void {
    this.#working.get(run)?.execution.checkNow();
  }

  async #look(): Promise<number> {
    await this.#startClaims();
    const begun = await Promise.all(this.#claims);
    return begun.reduce((sum, count) => sum + count, 0);
  }

  /**
   * Several claims at a time, so that one that waits for a lock does not delay the others. Each of these goes through the due runs
   * from where the others have come to, and resolves with the number of runs that it has begun.
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

  /** A run that is being claimed counts: it may be begun. */
  #hasRoom(): boolean {
    return this.#working.size + this.#claiming.size < this.#settings.concurrency;
  }

  /** Chosen one by one, when there is room: another claim may have reached the run meanwhile. */
  *#candidates(due: readonly RunRow[], alive: ReadonlySet<string>): Generator<Candidate, undefined> {
    for (const row of this.#inOrder(due)) {
      if (this.#working.has(row.id) || this.#claiming.has(row.id)) continue;
      const isOurs = this.#agents.has(row.agent) && this.#isFree(row);
      // A parent that was due a moment ago had not ended; it is read again before a child is claimed.
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

  /** Ends a run that no worker will continue, of any agent: it is to be cancelled and has no owner, or its parent has ended. */
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
        // Does not wait for the claims to end: runs that become due meanwhile are begun meanwhile.
        await this.#startClaims();
      } catch (error) {
        storage.environment.log("warn", "worker.look", { error: String(error) });
      }
      await storage.environment.sleep(REST_MS, signal);
      if (!signal.aborted) await storage.changed(DUE, this.#settings.pollMs, signal);
    }
  }

  #forget(there: ReadonlySet<string>): void {
    this.#leases.forgetAllBut(there);
    for (const id of this.#refused.keys()) if (!there.has(id)) this.#refused.delete(id);
  }

  #isFree(row: RunRow): boolean {
    return this.#refused.get(row.id) !== row.version && this.#leases.isClaimable(row);
  }

  /** false when another worker was faster, or the run cannot go on here. */
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

  /** A run that cannot go on here is not claimed again until it changes, and never blocks the others. */
  #refuse(row: RunRow, error: unknown): void {
    if (error instanceof HoldfastError && (error.code === "LeaseLost" || error.retryable)) return;
    this.#refused.set(row.id, row.version);
    this.#tellRefused(row, error);
  }

  #tellRefused(row: RunRow, error: unknown): void {
    this.#host.storage.environment.log("error", "worker.refused", { run: row.id, error: String(error) });
    this.#tell({ kind: "refused", run: runOf(row), error: errorOf(error) });
  }

  /** A listener that throws does not disturb the work. */
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
      // The lease is given back, so that no worker has to wait until it expires.
      const pause = this.#pauseAfter(execution.row.id, trouble);
      const wakeAt = storage.environment.now() + pause;
      await releaseOrAbandon(this.#host, execution.row, pause === 0 ? null : { error: errorOf(trouble), wakeAt });
      const row = await existingRun(storage, execution.row.id);
      if (pause > 0) this.#tellRefused(row, trouble);
      this.#tell({ kind: "left", run: runOf(row, await errorOfRun(storage, row)) });
    } catch (error) {
      storage.environment.log("warn", "worker.release", { run: execution.row.id, error: String(error) });
    }
  }

  /** How long no worker claims it, so that a failing run is not tried all the time: longer after each failure here. */
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
   * Higher priority first; then sessions that have none at work here before those that have; then as it happens, so that
   * workers that look at the same moment do not all reach for the same run.
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
