// Storage over an engine's driver: the commit queue, the named reads, and the hint that a session has changed.
import type { Environment } from "../../contracts/environment.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Queries, QueryName } from "../../contracts/queries.ts";
import {
  type Commit,
  DUE,
  type InspectLimits,
  type InspectParam,
  type InspectRow,
  type Outcome,
  type Storage,
} from "../../contracts/storage.ts";
import { TimeSlice } from "../../core/time-slice.ts";
import { type BatchResult, canFence, commitPlan, fencedPlan } from "./commit.ts";
import { type Driver, type Param, StaleFence } from "./driver.ts";
import { prepareLarge } from "./large.ts";
import { Memory } from "./memory.ts";
import { CommitQueue } from "./queue.ts";
import { QUERIES } from "./statements.ts";

/** Nobody is told: without it, every wait that ends would make an error with its stack. */
const OVER = "the wait is over";

export class SqlStorage implements Storage {
  readonly engine;
  readonly words;
  readonly environment: Environment;
  readonly #driver: Driver;
  readonly #queue: CommitQueue;
  readonly #slice: TimeSlice;
  readonly #memory = new Memory();
  readonly #listeners = new Map<string, Set<() => void>>();
  #unwatch: (() => void) | null = null;
  #closing: Promise<void> | null = null;

  constructor(driver: Driver, environment: Environment) {
    this.engine = driver.dialect.engine;
    this.words = driver.dialect.words;
    this.environment = environment;
    this.#driver = driver;
    this.#slice = new TimeSlice(environment);
    this.#queue = new CommitQueue(environment, (batch) => this.#write(batch));
  }

  commit(commit: Commit): Promise<Outcome> {
    if (this.#closing !== null) return Promise.reject(closed());
    return this.#queue.push(commit);
  }

  async #write(batch: readonly Commit[]): Promise<readonly (Outcome | null)[]> {
    const result = await this.#run(batch);
    this.#memory.learn(batch, result);
    const changed = new Set<string>();
    for (const { events, wakes } of batch) {
      for (const event of events ?? []) changed.add(event.session);
      if (wakes === true) changed.add(DUE);
    }
    if (changed.size > 0) {
      if (this.#listeners.size > 0) this.#hear(changed);
      this.#driver.announce(changed);
    }
    return result.outcomes;
  }

  async #run(batch: readonly Commit[]): Promise<BatchResult> {
    const known = this.#memory.recall(batch);
    if (canFence(batch, known)) {
      try {
        return await this.#driver.transact(() => fencedPlan(batch, known));
      } catch (error) {
        // Another connection wrote to one of these sessions, or deleted it: read them again.
        if (!(error instanceof StaleFence)) throw error;
      }
    }
    this.#memory.forget(batch);
    const prepared = await prepareLarge(batch, this.environment);
    return this.#driver.transact(() => commitPlan(batch, this.#driver.dialect, prepared), prepared);
  }

  async query<N extends QueryName>(name: N, ...params: Queries[N]["params"]): Promise<readonly Queries[N]["row"][]> {
    // A caller that reads page after page would keep the event loop until its last one, where reads are answered at once.
    if (this.#driver.answersAtOnce && this.#slice.isSpent) await this.#slice.pause();
    if (this.#closing !== null) throw closed();
    const rows = await this.#driver.read(QUERIES[name], params as readonly Param[]);
    return rows as readonly Queries[N]["row"][];
  }

  async inspect(sql: string, params: readonly InspectParam[], limits: InspectLimits): Promise<readonly InspectRow[]> {
    if (this.#closing !== null) throw closed();
    return this.#driver.inspect(sql, params, limits);
  }

  changed(session: string, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    if (this.#closing !== null) return Promise.resolve();
    this.#unwatch ??= this.#driver.watch((sessions) => this.#hear(sessions));
    const over = new AbortController();
    const done = new Promise<void>((resolve) => {
      const listeners = this.#listeners.get(session) ?? new Set();
      this.#listeners.set(session, listeners);
      const stop = () => {
        // Its own sleep comes back to it, too, when others may be waiting under the same name already.
        if (!listeners.delete(stop)) return;
        if (listeners.size === 0) this.#listeners.delete(session);
        signal?.removeEventListener("abort", stop);
        over.abort(OVER);
        resolve();
      };
      listeners.add(stop);
      signal?.addEventListener("abort", stop, { once: true });
      this.environment.sleep(timeoutMs, over.signal).then(stop);
    });
    return done.then(() => {
      if (this.#listeners.size === 0) this.#stopWatching();
    });
  }

  #hear(sessions: Iterable<string> | null): void {
    const heard = sessions ?? [...this.#listeners.keys()];
    for (const session of heard) for (const stop of [...(this.#listeners.get(session) ?? [])]) stop();
  }

  /** A little later, because a tail asks again at once and would only start it anew. */
  #stopWatching(): void {
    this.environment.sleep(200).then(() => {
      if (this.#listeners.size > 0) return;
      this.#unwatch?.();
      this.#unwatch = null;
    });
  }

  reclaim(): Promise<void> {
    return this.#driver.reclaim();
  }

  rewrite(): Promise<void> {
    return this.#driver.rewrite();
  }

  size(): Promise<number> {
    return this.#driver.size();
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    await this.#queue.idle();
    this.#hear(null);
    this.#unwatch?.();
    this.#unwatch = null;
    await this.#driver.close();
  }
}

function closed(): HoldfastError {
  return new HoldfastError("Closed", "the store is closed", { hint: "Open it again; close() comes last." });
}
