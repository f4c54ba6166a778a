// Runs whose code is loaded when one of their calls is first made. Those that answer at once do so without it.
import type { Payloads } from "../contracts/payloads.ts";
import type { Runs } from "../contracts/runs.ts";
import type { Storage } from "../contracts/storage.ts";
import { RUN_VERBS } from "../contracts/verbs/runs.ts";
import type { Worker } from "../contracts/workers.ts";
import { LazyModule, type LazyPart, type LazyParts } from "../core/lazy.ts";
import { newId } from "../core/new-id.ts";
import { bindVerbs } from "../core/verbs.ts";
import type { LoadedRuns } from "./runs.ts";
import { Tokens } from "./tokens.ts";
import { type CheckedWorker, checkWorker } from "./worker-options.ts";

const RUNS = new LazyModule(() => import("./runs.ts"));

type AtOnce = "createWorker" | "tokens";

const { createWorker: _createWorker, tokens: _tokens, ...LAZY_VERBS } = RUN_VERBS;

export function createRuns(
  storage: Storage,
  payloads: Payloads,
  lazy: LazyParts,
): { readonly runs: Runs; readonly close: () => Promise<void> } {
  const tokens = new Tokens();
  const part = lazy.part(RUNS, ({ loadRuns }) => loadRuns(storage, payloads, tokens));
  const runs: Runs = {
    ...lazy.members<LoadedRuns, Omit<Runs, AtOnce>>(part, (loaded) => loaded, LAZY_VERBS),
    createWorker(options) {
      const checked = checkWorker(options);
      const id = newId(storage.environment, "worker");
      return part.loaded?.createWorker(checked, id) ?? new LazyWorker(part, storage, checked, id);
    },
    tokens: bindVerbs<Pick<Runs, "tokens">, { readonly tokens: typeof RUN_VERBS.tokens }>(
      { tokens: RUN_VERBS.tokens },
      null,
      {
        tokens: ({ run, signal }) => tokens.listen(run, signal),
      },
    ).tokens,
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
