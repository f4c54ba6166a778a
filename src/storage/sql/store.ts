// Storage over an engine's driver: the commit queue, the named reads, the check of the schema beside them, and the waker of
// readers that wait for a session. openStorage() measures the engine's clock, migrates the schema and reads the store's id.
import type { Environment } from "../../contracts/environment.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { StoreClock, StoreInfo } from "../../contracts/holdfast.ts";
import type { Commit, Outcome } from "../../contracts/storage/commit.ts";
import type { EngineReport } from "../../contracts/storage/engine-report.ts";
import type { Queries, QueryName } from "../../contracts/storage/queries.ts";
import {
  DUE,
  type InspectLimits,
  type InspectParam,
  type InspectRow,
  type LogFollower,
  type Storage,
} from "../../contracts/storage/storage.ts";
import { TimeSlice } from "../../core/time-slice.ts";
import { canFence, commitPlan, fencedPlan } from "./commit.ts";
import { closedError, type Driver, type Param, type Row, StaleFence } from "./driver.ts";
import { prepareLarge } from "./large-commit.ts";
import { migrate, SCHEMA_QUERY } from "./migrations.ts";
import { type BatchResult, PositionCache } from "./positions.ts";
import { CommitQueue } from "./queue.ts";
import { requireKnownSchema } from "./schema-fence.ts";
import { openClock } from "./server-clock.ts";
import { valuesInOrder } from "./statement-texts.ts";
import { QUERIES } from "./statements.ts";
import { SessionWaker } from "./waker.ts";

export class SqlStorage implements Storage {
  readonly engine;
  readonly fragments;
  readonly environment: Environment;
  readonly #driver: Driver;
  readonly #queue: CommitQueue;
  readonly #schema: SchemaWatch;
  readonly #slice: TimeSlice;
  readonly #positions = new PositionCache();
  /** null until a caller waits for a session: a program that only writes needs no waker. */
  #waker: SessionWaker | null = null;
  #closing: Promise<void> | null = null;

  constructor(driver: Driver, environment: Environment) {
    this.engine = driver.dialect.engine;
    this.fragments = driver.dialect.fragments;
    this.environment = environment;
    this.#driver = driver;
    this.#schema = new SchemaWatch(driver, environment);
    this.#queue = new CommitQueue(environment, (batch, waitMs) => this.#write(batch, waitMs), driver.lanes);
    this.#slice = new TimeSlice(environment);
  }

  commit(commit: Commit): Promise<Outcome> {
    if (this.#closing !== null) return Promise.reject(closedError());
    return this.#queue.push(commit);
  }

  async #write(batch: readonly Commit[], waitMs?: number): Promise<readonly (Outcome | null)[]> {
    const result = await this.#run(batch, waitMs).catch(async (error: unknown) => {
      throw await this.#schema.explain(error);
    });
    this.#schema.confirm();
    this.#positions.update(batch, result);
    const changed = changedBy(batch, result);
    if (changed.size > 0) {
      this.#waker?.notifyCommit(changed);
      this.#driver.announce(changed.keys());
    }
    return result.outcomes;
  }

  async #run(batch: readonly Commit[], waitMs?: number): Promise<BatchResult> {
    const known = this.#positions.lookUp(batch);
    if (canFence(batch, known)) {
      try {
        return await this.#driver.transact(() => fencedPlan(batch, known), { waitMs });
      } catch (error) {
        // Another connection wrote to one of these sessions, or deleted it: read them again.
        if (!(error instanceof StaleFence)) throw error;
      }
    }
    this.#positions.invalidate(batch);
    const prepared = await prepareLarge(batch, this.environment);
    return this.#driver.transact(() => commitPlan(batch, this.#driver.dialect, prepared), { waitMs, prepared });
  }

  async query<N extends QueryName>(name: N, params: Queries[N]["params"]): Promise<readonly Queries[N]["row"][]> {
    // SQLite answers reads synchronously. A caller that reads many pages would block the event loop, so it pauses between them.
    if (this.#driver.answersAtOnce && this.#slice.isSpent) await this.#slice.pause();
    if (this.#closing !== null) throw closedError();
    const text = QUERIES.get(name);
    const values = valuesInOrder(text, params as Readonly<Record<string, Param>>);
    const rows = await this.#read(() => this.#driver.read(text.sql, values));
    return rows as readonly Queries[N]["row"][];
  }

  async #read<T>(read: () => Promise<T>): Promise<T> {
    const check = this.#schema.checkIfDue();
    try {
      const rows = await read();
      if (check !== null) await check;
      return rows;
    } catch (error) {
      throw await this.#schema.explain(error);
    }
  }

  async inspect(sql: string, params: readonly InspectParam[], limits: InspectLimits): Promise<readonly InspectRow[]> {
    if (this.#closing !== null) throw closedError();
    return this.#read(() => this.#driver.inspect(sql, params, limits));
  }

  waitForChange(session: string, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    return this.#wakerNow().listen(session, timeoutMs, signal);
  }

  follow(session: string): LogFollower {
    return this.#wakerNow().follow(session);
  }

  #wakerNow(): SessionWaker {
    this.#waker ??= new SessionWaker(this.#driver, this.environment);
    return this.#waker;
  }

  reclaim(): Promise<void> {
    return this.#driver.reclaim();
  }

  rewrite(): Promise<void> {
    return this.#driver.rewrite();
  }

  async examine(): Promise<EngineReport> {
    if (this.#closing !== null) throw closedError();
    return this.#driver.examine();
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
    // Creates the waker if there is none and closes it, so that a later wait ends instead of watching a closed driver.
    this.#wakerNow().close();
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
      for (const { id, mode } of used ?? []) if (mode !== "lock" && !changed.has(id)) changed.set(id, null);
  }
  return changed;
}

/** How long reads rely on the last check of the schema version. */
export const SCHEMA_CHECK_MS = 1000;

/** Refuses reads of a store that was migrated beneath its handle. */
class SchemaWatch {
  readonly #driver: Driver;
  readonly #environment: Environment;
  #seenAt: number;
  #check: Promise<void> | null = null;

  constructor(driver: Driver, environment: Environment) {
    this.#driver = driver;
    this.#environment = environment;
    this.#seenAt = environment.monotonic();
  }

  /** Called after a commit, which succeeds only with the known schema. */
  confirm(): void {
    this.#seenAt = this.#environment.monotonic();
  }

  /** Checks the version while a read runs; null if it was checked a moment ago. */
  checkIfDue(): Promise<void> | null {
    if (this.#environment.monotonic() - this.#seenAt < SCHEMA_CHECK_MS) return null;
    const check = this.#checkNow();
    // Its read may fail first.
    check.catch(() => {});
    return check;
  }

  /** The engine refused a statement of ours: perhaps because its tables are not what this version knows. */
  async explain(error: unknown): Promise<unknown> {
    if (!(error instanceof HoldfastError) || error.code !== "Internal") return error;
    return this.#checkNow().then(
      () => error,
      (refusal: unknown) => refusal,
    );
  }

  #checkNow(): Promise<void> {
    this.#check ??= this.#readVersion().finally(() => {
      this.#check = null;
    });
    return this.#check;
  }

  async #readVersion(): Promise<void> {
    let rows: readonly Row[];
    try {
      rows = await this.#driver.read(SCHEMA_QUERY, []);
    } catch (error) {
      // This check reports no connection errors: the read that runs beside it does. The next read checks again.
      this.#environment.log("debug", "schema.check", { error: String(error) });
      return;
    }
    requireKnownSchema(rows);
    this.confirm();
  }
}

export interface OpenStorageOptions {
  readonly create: boolean;
  readonly migrate: boolean;
  readonly environment: Environment;
  /** The name in errors and in `info`; it contains no password. */
  readonly target: string;
}

export interface OpenedStorage {
  readonly storage: SqlStorage;
  readonly info: StoreInfo;
  /** An environment whose wall clock is the store's clock. */
  readonly environment: Environment;
  readonly clock: () => StoreClock;
}

/** Closes the driver if this fails. */
export async function openStorage(driver: Driver, options: OpenStorageOptions): Promise<OpenedStorage> {
  try {
    const { environment, clock } = await openClock(driver, options.environment);
    const meta = await migrate(driver, { ...options, environment });
    const info: StoreInfo = { url: options.target, engine: driver.dialect.engine, ...meta };
    return { storage: new SqlStorage(driver, environment), info, environment, clock };
  } catch (error) {
    await driver.close();
    throw error;
  }
}
