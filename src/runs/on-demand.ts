// Runs whose code is loaded when one of their calls is first made. Those that answer at once do so without it.
import type { Payloads } from "../contracts/payloads.ts";
import type { Runs } from "../contracts/runs.ts";
import type { Storage } from "../contracts/storage.ts";
import type { Worker } from "../contracts/workers.ts";
import { checkOptionalId, checkRecord } from "../core/check.ts";
import { LazyModule, type LazyPart, type LazyParts, type Members } from "../core/lazy.ts";
import { newId } from "../core/new-id.ts";
import type { LoadedRuns } from "./runs.ts";
import { Tokens } from "./tokens.ts";
import { type CheckedWorker, checkWorker } from "./worker-options.ts";

const RUNS = new LazyModule(() => import("./runs.ts"));

type AtOnce = "createWorker" | "tokens";

const MEMBERS: Members<Omit<Runs, AtOnce>> = {
  ...{ execute: "call", start: "call", resume: "call", get: "call", list: "call", steps: "call", events: "call" },
  ...{ result: "call", signal: "call", cancel: "call", pause: "call", unpause: "call", retry: "call", fork: "call" },
  ...{ rewind: "call", delete: "call", recover: "call", recoverAll: "call", pending: "call", decisions: "call" },
  ...{ answer: "call", checkpoint: "call", saveCheckpoint: "call", loadCheckpoint: "call", deleteCheckpoint: "call" },
};

export function createRuns(
  storage: Storage,
  payloads: Payloads,
  lazy: LazyParts,
): { readonly runs: Runs; readonly close: () => Promise<void> } {
  const tokens = new Tokens();
  const part = lazy.part(RUNS, ({ loadRuns }) => loadRuns(storage, payloads, tokens));
  const runs: Runs = {
    ...lazy.members<LoadedRuns, Omit<Runs, AtOnce>>(part, (loaded) => loaded, MEMBERS),
    createWorker(options) {
      const checked = checkWorker(options);
      const id = newId(storage.environment, "worker");
      return part.loaded?.createWorker(checked, id) ?? new LazyWorker(part, storage, checked, id);
    },
    tokens(options) {
      const given = checkRecord(options, "options", ["run", "signal"]);
      return tokens.listen(checkOptionalId(given.run, "run"), given.signal as AbortSignal | undefined);
    },
  };
  const close = async () => {
    // Where the code is still being loaded there may be workers that wait for it.
    const loaded = part.isNeeded ? await part.load().catch(() => null) : null;
    await loaded?.close();
  };
  return { runs, close };
}

/** A worker that was created before the code of workers was loaded. */
class LazyWorker implements Worker {
  readonly id: string;
  readonly #storage: Storage;
  readonly #made: Promise<Worker>;
  #worker: Worker | null = null;

  constructor(part: LazyPart<LoadedRuns>, storage: Storage, checked: CheckedWorker, id: string) {
    this.id = id;
    this.#storage = storage;
    this.#made = part.load().then((loaded) => {
      this.#worker = loaded.createWorker(checked, id);
      return this.#worker;
    });
    // Each call says so.
    this.#made.catch(() => {});
  }

  get working(): readonly string[] {
    return this.#worker?.working ?? [];
  }

  start(): void {
    this.#made.then(
      (worker) => worker.start(),
      (error: unknown) => this.#storage.environment.log("error", "runs.worker", { error: String(error) }),
    );
  }

  async look(): Promise<number> {
    return (await this.#made).look();
  }

  async stop(options?: { readonly graceMs?: number }): Promise<void> {
    await (await this.#made).stop(options);
  }
}
