// What this handle works on: the runs that its calls execute, and its workers. They check a run at once when a caller asks something
// of it, and release every run when the handle is closed.

import type { AgentDefinition } from "../contracts/agent-definitions.ts";
import type { ErasedContent } from "../contracts/session-steps.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { newId } from "../core/new-id.ts";
import { ownerText } from "../core/run-owner.ts";
import { errorOf } from "./errors.ts";
import { Execution } from "./execution.ts";
import type { RunHost } from "./iteration-host.ts";
import { type ReleaseReason, releaseOrAbandon } from "./lease.ts";
import type { Tokens } from "./tokens.ts";
import { type CheckedWorker, isTroubleOfStore, RunWorker } from "./worker.ts";

export interface WorkOptions {
  readonly signal?: AbortSignal;
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

  createWorker(settings: CheckedWorker, id: string): RunWorker {
    const worker = new RunWorker(this.host, id, settings, () => this.#workers.delete(worker));
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
