// Storage over an engine's driver: the commit queue, the named reads, and the waker of those that wait for a session.
import type { Environment } from "../../contracts/environment.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Queries, QueryName } from "../../contracts/queries.ts";
import {
  type Commit,
  DUE,
  type InspectLimits,
  type InspectParam,
  type InspectRow,
  type LogFollower,
  type Outcome,
  type Storage,
} from "../../contracts/storage.ts";
import { type BatchResult, canFence, commitPlan, fencedPlan } from "./commit.ts";
import { type Driver, type Param, StaleFence } from "./driver.ts";
import { Memory } from "./memory.ts";
import { CommitQueue } from "./queue.ts";
import { QUERIES } from "./statements.ts";
import { SessionWaker } from "./waker.ts";

export class SqlStorage implements Storage {
  readonly engine;
  readonly words;
  readonly environment: Environment;
  readonly #driver: Driver;
  readonly #queue: CommitQueue;
  readonly #memory = new Memory();
  readonly #waker: SessionWaker;
  #closing: Promise<void> | null = null;

  constructor(driver: Driver, environment: Environment) {
    this.engine = driver.dialect.engine;
    this.words = driver.dialect.words;
    this.environment = environment;
    this.#driver = driver;
    this.#waker = new SessionWaker(driver, environment);
    this.#queue = new CommitQueue(environment, (batch) => this.#write(batch));
  }

  commit(commit: Commit): Promise<Outcome> {
    if (this.#closing !== null) return Promise.reject(closed());
    return this.#queue.push(commit);
  }

  async #write(batch: readonly Commit[]): Promise<readonly (Outcome | null)[]> {
    const result = await this.#run(batch);
    this.#memory.learn(batch, result);
    const changed = changedBy(batch, result);
    if (changed.size > 0) {
      this.#waker.committed(changed);
      this.#driver.announce(changed.keys());
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
    return this.#driver.transact(() => commitPlan(batch, this.#driver.dialect));
  }

  async query<N extends QueryName>(name: N, ...params: Queries[N]["params"]): Promise<readonly Queries[N]["row"][]> {
    if (this.#closing !== null) throw closed();
    const rows = await this.#driver.read(QUERIES[name], params as readonly Param[]);
    return rows as readonly Queries[N]["row"][];
  }

  async inspect(sql: string, params: readonly InspectParam[], limits: InspectLimits): Promise<readonly InspectRow[]> {
    if (this.#closing !== null) throw closed();
    return this.#driver.inspect(sql, params, limits);
  }

  changed(session: string, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    return this.#waker.listen(session, timeoutMs, signal);
  }

  follow(session: string): LogFollower {
    return this.#waker.follow(session);
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
    this.#waker.close();
    await this.#driver.close();
  }
}

/** The sessions that a batch has changed, with the lengths of their logs; null where it is not known. */
function changedBy(batch: readonly Commit[], { outcomes, sessions }: BatchResult): Map<string, number | null> {
  const changed = new Map<string, number | null>();
  for (const [i, { events, wakes, solo, sessions: used }] of batch.entries()) {
    if (outcomes[i]?.ok !== true) continue;
    for (const { session } of events ?? []) changed.set(session, sessions.get(session)?.seq ?? null);
    if (wakes === true) changed.set(DUE, null);
    // What is deleted or restored changes without an event.
    if (solo === true)
      for (const { id, mode } of used ?? []) if (mode !== "still" && !changed.has(id)) changed.set(id, null);
  }
  return changed;
}

function closed(): HoldfastError {
  return new HoldfastError("Closed", "the store is closed", { hint: "Open it again; close() comes last." });
}
