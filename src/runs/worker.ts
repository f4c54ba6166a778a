// A worker: claims runs that can go on, works on some at a time, and takes over those whose worker shows no sign of life.
import { HoldfastError } from "../contracts/errors.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { AgentDefinition, ResumeOptions } from "../contracts/runs.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { Storage } from "../contracts/storage.ts";
import { newId } from "../core/environment.ts";
import { checkSame, defineAgent } from "./agents.ts";
import { claimRun, releaseRun } from "./create.ts";
import { Execution, type Host } from "./execution.ts";
import { verifyRun } from "./verify.ts";

export interface WorkerOptions extends ResumeOptions {
  readonly concurrency: number;
  readonly pollMs: number;
}

const PAGE = 200;

/** A lease as it was seen, and since when by our own clock. */
interface Seen {
  readonly epoch: number;
  readonly beat: number;
  readonly since: number;
}

export class Worker {
  readonly #host: Host;
  readonly #owner: string;
  readonly #agents: ReadonlyMap<string, AgentDefinition>;
  readonly #options: WorkerOptions;
  readonly #stop = new AbortController();
  readonly #working = new Map<string, { readonly execution: Execution; readonly done: Promise<void> }>();
  readonly #seen = new Map<string, Seen>();
  /** Runs that cannot go on here; looked at again when they change. */
  readonly #refused = new Map<string, number>();
  #running: Promise<void> | null = null;

  constructor(host: Host, owner: string, agents: readonly AgentDefinition[], options: WorkerOptions) {
    this.#host = host;
    this.#owner = owner;
    this.#agents = new Map(agents.map((agent) => [agent.id, agent]));
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#loop();
  }

  /** Those at work get so long to reach their next step; then they are given back. */
  async stop(): Promise<void> {
    this.#stop.abort();
    const leaving = [...this.#working.values()];
    for (const { execution } of leaving) execution.stop();
    await Promise.allSettled(leaving.map(({ done }) => done));
    await this.#running;
  }

  /** Looks once for what there is to do; how many were begun. */
  async look(): Promise<number> {
    const { storage } = this.#host;
    const now = storage.environment.now();
    const due = await storage.query("runs.due", now, PAGE);
    this.#forget(due);
    let begun = 0;
    for (const row of fairly(due, this.#working)) {
      if (this.#working.size >= this.#options.concurrency || this.#stop.signal.aborted) break;
      if (this.#working.has(row.id) || !this.#agents.has(row.agent) || !this.#isFree(row)) continue;
      if (await this.#take(row)) begun++;
    }
    return begun;
  }

  async #loop(): Promise<void> {
    const { environment } = this.#host.storage;
    while (!this.#stop.signal.aborted) {
      try {
        await this.look();
      } catch (error) {
        environment.log("warn", "worker.look", { error: String(error) });
      }
      await environment.sleep(this.#options.pollMs, this.#stop.signal);
    }
  }

  #forget(due: readonly RunRow[]): void {
    const there = new Set(due.map(({ id }) => id));
    for (const known of [this.#seen, this.#refused])
      for (const id of known.keys()) if (!there.has(id)) known.delete(id);
  }

  /** Nobody has it, or whoever has it showed no sign of life for the length of a lease, by our clock alone. */
  #isFree({ id, owner, epoch, beat, version }: RunRow): boolean {
    if (this.#refused.get(id) === version) return false;
    if (owner === null) return true;
    const now = this.#host.storage.environment.monotonic();
    const seen = this.#seen.get(id);
    if (seen !== undefined && seen.epoch === epoch && seen.beat === beat) return now - seen.since >= this.#host.leaseMs;
    this.#seen.set(id, { epoch, beat, since: now });
    return false;
  }

  /** false when somebody else was faster, or it cannot go on here. */
  async #take(seen: RunRow): Promise<boolean> {
    const { storage } = this.#host;
    const agent = this.#agents.get(seen.agent);
    if (agent === undefined) return false;
    let row: RunRow;
    try {
      checkSame(seen, agent, this.#options);
      await verifyRun(storage, seen, this.#options.verify ?? "whole");
      row = await claimRun(storage, seen, this.#owner);
    } catch (error) {
      if (error instanceof HoldfastError && (error.code === "LeaseLost" || error.retryable)) return false;
      // One bad run never blocks the others.
      this.#refused.set(seen.id, seen.version);
      storage.environment.log("error", "worker.refused", { run: seen.id, error: String(error) });
      return false;
    }
    const execution = new Execution(this.#host, agent, row);
    const done = this.#work(execution).finally(() => this.#working.delete(row.id));
    this.#working.set(row.id, { execution, done });
    return true;
  }

  async #work(execution: Execution): Promise<void> {
    const { storage } = this.#host;
    try {
      await execution.work();
    } catch (error) {
      storage.environment.log("warn", "worker.run", { run: execution.row.id, error: String(error) });
    }
    // What it still has is given back, so that nobody has to wait for the lease to end.
    await releaseRun(storage, execution.row).catch((error: unknown) =>
      storage.environment.log("warn", "worker.release", { run: execution.row.id, error: String(error) }),
    );
  }
}

/** Higher priority first; then sessions that have none at work here before those that have. */
function fairly(
  due: readonly RunRow[],
  working: ReadonlyMap<string, { readonly execution: Execution }>,
): readonly RunRow[] {
  const busy = new Set([...working.values()].map(({ execution }) => execution.row.session));
  const rank = ({ session }: RunRow) => (busy.has(session) ? 1 : 0);
  return due.toSorted((a, b) => b.priority - a.priority || rank(a) - rank(b));
}

export function createWorkers(storage: Storage, payloads: Payloads) {
  return (agents: readonly AgentDefinition[], options: Partial<WorkerOptions> & { readonly leaseMs?: number } = {}) => {
    const { leaseMs = 30_000, concurrency = 16, pollMs = 1000, ...rest } = options;
    const host: Host = { storage, payloads, leaseMs, token: () => {} };
    return new Worker(host, newId(storage.environment, "worker"), agents.map(defineAgent), { concurrency, pollMs, ...rest });
  };
}
