// What this handle works on: the runs that its calls execute, and its workers. They check a run at once when a caller asks something
// of it, and release every run when the handle is closed.
import type { Payloads } from "../contracts/payloads.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { AgentDefinition } from "../contracts/runs.ts";
import type { ErasedContent } from "../contracts/session-steps.ts";
import type { Storage } from "../contracts/storage.ts";
import { newId } from "../core/new-id.ts";
import { errorOf } from "./errors.ts";
import { Execution } from "./execution.ts";
import type { RunHost } from "./iteration-host.ts";
import { type ReleaseReason, releaseOrAbandon } from "./lease.ts";
import { ownerText } from "./owner.ts";
import type { Tokens } from "./tokens.ts";
import { isTroubleOfStore, RunWorker, type WorkerSettings } from "./worker.ts";

export interface WorkOptions {
  readonly signal: AbortSignal | undefined;
  readonly erased: ErasedContent;
}

export class LocalWorkers {
  readonly host: RunHost;
  /** The owner of the runs that calls of this handle execute. */
  readonly owner: string;
  readonly #executions = new Map<string, Execution>();
  readonly #workers = new Set<RunWorker>();
  readonly #closing = new AbortController();

  constructor(storage: Storage, payloads: Payloads, tokens: Tokens) {
    this.host = { storage, payloads, tokens };
    this.owner = ownerText(storage.environment, newId(storage.environment, "worker"));
  }

  /** Aborted when the handle is being closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Works on a run whose lease is ours until it ends or waits, or `signal` aborts; then gives the lease back. */
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
      // The release says why it did not go on: workers may try it at once, and people can see the error.
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

  createWorker(agents: readonly AgentDefinition[], settings: WorkerSettings, id: string): RunWorker {
    const worker = new RunWorker(this.host, id, agents, settings, () => this.#workers.delete(worker));
    this.#workers.add(worker);
    return worker;
  }

  /** A caller asked something of a run that may be at work here: its execution checks now. */
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
