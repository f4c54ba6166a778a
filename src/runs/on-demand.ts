// The noun `runs`. Its code is loaded with the first call; synchronous verbs answer without it.
import type { Runs } from "../contracts/runs.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { LOCAL_RUN_VERBS, RUN_CALLS } from "../contracts/verbs/runs.ts";
import type { Worker } from "../contracts/workers.ts";
import { LazyModule, type LazyPart, type LazyParts } from "../core/lifetime.ts";
import { newId } from "../core/new-id.ts";
import type { SessionLookup } from "../core/session-lookup.ts";
import { bindVerbs } from "../core/verbs.ts";
import { checkAgent, refuseSameIds } from "./agents.ts";
import type { RunHost } from "./iteration-host.ts";
import type { LoadedRuns } from "./runs.ts";
import { Tokens } from "./tokens.ts";
import type { CheckedWorker } from "./worker.ts";

const RUNS = new LazyModule(() => import("./runs.ts"));

type AtOnce = keyof typeof LOCAL_RUN_VERBS;

export function createRuns(
  host: Omit<RunHost, "tokens">,
  lookup: SessionLookup,
  lazy: LazyParts,
): { readonly runs: Runs; readonly close: () => Promise<void> } {
  const { storage } = host;
  let tokens: Tokens | undefined;
  const tokensNow = () => {
    tokens ??= new Tokens();
    return tokens;
  };
  const part = lazy.part(RUNS, ({ loadRuns }) => loadRuns({ ...host, tokens: tokensNow() }, lookup));
  const atOnce = bindVerbs<Pick<Runs, AtOnce>, typeof LOCAL_RUN_VERBS>(
    LOCAL_RUN_VERBS,
    null,
    {
      createWorker(checked) {
        refuseSameIds(checked.agents);
        const id = newId(storage.environment, "worker");
        return part.loaded?.createWorker(checked, id) ?? new LazyWorker(part, storage, checked, id);
      },
      tokens: ({ run, signal }) => tokensNow().listen(run, signal),
    },
    { agent: checkAgent },
  );
  const runs: Runs = {
    ...lazy.members<LoadedRuns, Omit<Runs, AtOnce>>(part, (loaded) => loaded, RUN_CALLS),
    ...atOnce,
  };
  const close = async () => {
    // While the code is being loaded, workers may be waiting for it.
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
    // Every call reports the error itself.
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
