// PostgreSQL through postgres.js. A trip of a plan is pipelined: BEGIN goes with the first one, COMMIT with the last, so
// that a plan of one trip is one round trip. Every handle has its own connections, whose search_path is the store's schema.
import type { EngineReport } from "../../../contracts/storage/engine-report.ts";
import type { InspectLimits } from "../../../contracts/storage/storage.ts";
import { TABLES } from "../../../contracts/storage/tables.ts";
import { randomShare } from "../../../core/backoff.ts";
import {
  type CommitLanes,
  type Driver,
  type Execute,
  type Param,
  type Plan,
  type Row,
  StaleFence,
  type TransactOptions,
} from "../driver.ts";
import { outOfRange, timedOut, tooManyRows, tooMuch } from "../inspection.ts";
import { BLOCKERS, type Blocker, blockerOf, lockedError } from "./blockers.ts";
import { type ConnectOptions, connectPostgres, type PostgresAccess } from "./connect.ts";
import type { Connection } from "./connection.ts";
import { arrayLiteral, postgres } from "./dialect.ts";
import {
  isConnectionLost,
  isFatal,
  isLocked,
  isRace,
  isStale,
  isTooMuch,
  postgresError,
  silentError,
  sqlState,
} from "./errors.ts";
import { examinePostgres } from "./examiner.ts";
import { Notifications } from "./notifications.ts";
import { FIRST_LOCK_MS, localSettings, quoteIdentifier, settingsRefused, WORK_MS } from "./settings.ts";
import { PlanTexts, settle } from "./statements.ts";
import { type LockWait, PlanRunner } from "./transaction.ts";

export type PostgresOptions = ConnectOptions;

/** How many races in a row a plan may lose before its caller gets an error. */
const MOST_RACES = 100;
/** The longest wait before the first further attempt; the tenth and later ones wait up to ten times as long. */
const RACE_MS = 5.12;
/** How long a statement whose answer is optional may wait for a connection, and for its answer. */
const HINT_MS = 1000;
/** How long a client that migrates or checks may pause between two statements. */
const LONG_WORK_IDLE_MS = 60_000;
/** Vacuuming and rewriting a table have no time limit. */
const UNBOUNDED_MS = 24 * 3_600_000;
/** Connections that commits leave to reads. */
const READERS = 2;

class PostgresDriver implements Driver {
  readonly dialect = postgres;
  readonly answersAtOnce = false;
  readonly lanes: CommitLanes;
  readonly #options: PostgresOptions;
  readonly #access: PostgresAccess;
  readonly #notifications: Notifications;
  readonly #texts = new PlanTexts();
  readonly #runner: PlanRunner;
  #vacuum: { readonly running: Promise<void> | null; readonly next: Promise<void> | null } = {
    running: null,
    next: null,
  };

  constructor(options: PostgresOptions, access: PostgresAccess) {
    const { environment, busyMs, poolSize } = options;
    const { settings, isPooled, pool } = access;
    this.#options = options;
    this.#access = access;
    this.lanes = {
      most: Math.max(1, poolSize - READERS),
      waitMs: busyMs,
      stoodStillMs: () => pool.stoodStillMs(),
    };
    this.#notifications = new Notifications(access, environment, options.schema, HINT_MS);
    this.#runner = new PlanRunner({ environment, texts: this.#texts, settings, isPooled, target: pool.target });
  }

  /**
   * Waits this long for locks; the first time only briefly, unless little time is left. Time in which this process was
   * suspended does not count.
   */
  async transact<T>(plan: () => Plan<T>, { waitMs = this.#options.busyMs }: TransactOptions = {}): Promise<T> {
    const { environment, busyMs } = this.#options;
    const { pool, hasOwnLockTimeout } = this.#access;
    const clock = () => environment.monotonic() - pool.stoodStillMs();
    const start = clock();
    const deadline = start + waitMs;
    const blockers = new BlockerWatch(this);
    let lockMs: number | null = waitMs < FIRST_LOCK_MS && waitMs < busyMs ? Math.max(1, waitMs) : null;
    for (let attempt = 0; ; attempt++) {
      const left = Math.max(1, deadline - clock());
      const wait: LockWait = { lockMs: hasOwnLockTimeout ? null : lockMs, totalMs: left };
      try {
        return await pool.alone(busyMs, (connection) => {
          if (lockMs === null || left < FIRST_LOCK_MS * 2) return this.#runner.run(connection, plan(), wait);
          return blockers.during(left, (onProcess) => this.#runner.run(connection, plan(), { ...wait, onProcess }));
        });
      } catch (error) {
        if (isStale(error)) throw new StaleFence();
        const now = clock();
        // A race was lost before anything happened: the plan is made again from fresh reads.
        if (!isRace(error) || attempt >= MOST_RACES || now >= deadline || (isLocked(error) && hasOwnLockTimeout)) {
          if (isLocked(error)) throw lockedError(pool.target, now - start, blockers.found, error);
          throw this.#error(error);
        }
        if (isLocked(error)) lockMs = Math.max(1, Math.ceil(deadline - now));
      }
      await environment.sleep(Math.min(attempt, 10) * randomShare(environment) * RACE_MS);
    }
  }

  /** The processes that hold the locks for which this server process waits. */
  async blockersOf(pid: number): Promise<readonly Blocker[]> {
    const { pool } = this.#access;
    const rows = await pool.hint(HINT_MS, WORK_MS, (connection) => connection.send(BLOCKERS, [pid]));
    return rows.map(blockerOf);
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.#options.environment.sleep(ms, signal);
  }

  #error(error: unknown): unknown {
    return postgresError(error, this.#access.pool.target);
  }

  read(sql: string, params: readonly Param[]): Promise<readonly Row[]> {
    return this.#readText(this.#texts.render(sql), params);
  }

  lookup(sql: string, keys: readonly Param[]): Promise<readonly Row[]> {
    return this.#readText(this.#texts.renderLookup(sql, false), [arrayLiteral(keys)]);
  }

  async #readText(text: string, params: readonly Param[]): Promise<readonly Row[]> {
    const { pool, isPooled } = this.#access;
    try {
      // A plain array: what the client returns carries more than rows.
      if (isPooled) return [...(await this.#readAlone(text, params))];
      return [...(await pool.shared(this.#options.busyMs, WORK_MS, (connection) => connection.send(text, params)))];
    } catch (error) {
      // A connection that is lost in the middle of a read is replaced, once; a server that is down says so then.
      if (!isLocked(error) && !isConnectionLost(error)) throw this.#error(error);
    }
    // A table that is being rewritten is waited for as long as a commit waits for a lock.
    try {
      return [...(await this.#readAlone(text, params))];
    } catch (error) {
      throw this.#error(error);
    }
  }

  #readAlone(text: string, params: readonly Param[]): Promise<readonly Row[]> {
    const { settings, isPooled } = this.#access;
    const own = { lock_timeout: String(Math.max(1, this.#options.busyMs)) };
    return this.#within(WORK_MS, async (connection) => {
      const local = localSettings(isPooled ? { ...settings, ...own } : own);
      const before = ["BEGIN READ ONLY", local].map((one) => connection.run(one));
      const results = await settle([...before, connection.send(text, params), connection.run("COMMIT")]);
      return results[before.length] ?? [];
    });
  }

  /** A transaction of statements outside a plan, on a connection of its own; it is rolled back when it fails. */
  #within<T>(answerMs: number, run: (connection: Connection) => Promise<T>): Promise<T> {
    const { environment, busyMs } = this.#options;
    const { pool } = this.#access;
    return pool.alone(busyMs, async (connection) => {
      connection.deadline = environment.monotonic() + answerMs;
      try {
        return await run(connection);
      } catch (error) {
        if (connection.isLate) throw silentError(pool.target, false, error);
        if (isFatal(error)) connection.destroy();
        else if (connection.isOpen) await connection.run("ROLLBACK").catch(() => connection.destroy());
        throw error;
      }
    });
  }

  /** A transaction that cannot write, on a connection of its own, planned for these very values. */
  async inspect(sql: string, params: readonly Param[], limits: InspectLimits): Promise<readonly Row[]> {
    const text = postgres.render(sql);
    const timeoutMs = Math.max(1, Math.ceil(limits.timeoutMs));
    const { isPooled, settings } = this.#access;
    const before = [
      "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
      ...(isPooled ? [localSettings(settings)] : []),
      `SET LOCAL statement_timeout = ${timeoutMs}; SET LOCAL lock_timeout = ${timeoutMs}`,
      "SET LOCAL plan_cache_mode = force_custom_plan",
    ];
    try {
      return await this.#within(timeoutMs + this.#options.busyMs, async (connection) => {
        const sent = before.map((one) => connection.run(one));
        sent.push(connection.send(text, params, false));
        const results = await settle([...sent, connection.run("COMMIT")]);
        const rows = [...(results[before.length] ?? [])];
        if (rows.length > limits.maxRows) throw tooManyRows(limits.maxRows);
        return rows;
      });
    } catch (error) {
      if (sqlState(error) === "57014") throw timedOut(limits.timeoutMs);
      if (sqlState(error) === "22003") throw outOfRange(error);
      if (isTooMuch(error)) throw tooMuch("PostgreSQL", error);
      throw this.#error(error);
    }
  }

  async migrate(create: boolean, run: (execute: Execute) => Promise<void>): Promise<void> {
    try {
      await this.#within(UNBOUNDED_MS, async (connection) => {
        await connection.run("BEGIN");
        await connection.run(this.#longWorkSettings());
        // One lock for all stores of the database: creating schemas at once would collide in the catalogue.
        await connection.run("SELECT pg_advisory_xact_lock(7310868735)");
        if (create) await this.#requireSchema(connection);
        await run(async (...sql) => {
          const answers = await connection.run(sql.join(";\n"));
          return [...(sql.length === 1 ? answers : ((answers.at(-1) ?? []) as unknown as readonly Row[]))];
        });
        await connection.run("COMMIT");
      });
    } catch (error) {
      throw this.#error(error);
    }
  }

  /** Creates the schema only if it is missing: a role may own its schema but have no right to create one. */
  async #requireSchema(connection: Connection): Promise<void> {
    const { schema } = this.#options;
    const name = quoteIdentifier(schema);
    const literal = `'${schema.replaceAll("'", "''")}'`;
    const there = await connection.run(`SELECT 1 FROM pg_namespace WHERE nspname = ${literal}`);
    if (there.length === 0) await connection.run(`CREATE SCHEMA ${name}`);
    const [row] = await connection.run("SELECT current_schema() AS name");
    // null: this role may not use it, which the first statement that needs it says better.
    if (row?.name !== schema && row?.name !== null) throw settingsRefused(this.#access.pool.target, ["search_path"]);
  }

  announce(sessions: Iterable<string>): void {
    this.#notifications.announce(sessions);
  }

  watch(onChange: (sessions: readonly string[] | null) => void): () => void {
    return this.#notifications.watch(onChange);
  }

  /** Removes dead rows at once instead of leaving them to autovacuum. Calls during a vacuum share the next one. */
  reclaim(): Promise<void> {
    if (this.#vacuum.next !== null) return this.#vacuum.next;
    const before = this.#vacuum.running ?? Promise.resolve();
    const next = before.then(() => {
      this.#vacuum = { running: next, next: null };
      return this.#vacuumAll();
    });
    this.#vacuum = { ...this.#vacuum, next };
    return next;
  }

  async #vacuumAll(): Promise<void> {
    const tables = this.#tables();
    try {
      // As one statement: the server looks through its whole catalogue once for each.
      await this.#maintain(`VACUUM ${tables.join(", ")}`);
      return;
    } catch {
      // The others are not left because of one.
    }
    for (const table of tables) {
      await this.#maintain(`VACUUM ${table}`).catch((error) => {
        this.#options.environment.log("warn", "postgres.vacuum", { table, error: String(error) });
      });
    }
  }

  #tables(): readonly string[] {
    return Object.keys(TABLES).map((table) => `${quoteIdentifier(this.#options.schema)}.${table}`);
  }

  /** Runs a statement that is not allowed in a transaction, without a time limit. */
  async #maintain(text: string): Promise<void> {
    const { isPooled } = this.#access;
    await this.#within(UNBOUNDED_MS, async (connection) => {
      // Behind a pooler, a setting of the session would stay on a connection that other clients use.
      const lockMs = Math.max(1, this.#options.busyMs);
      if (!isPooled) await connection.run(`SET statement_timeout = 0; SET lock_timeout = ${lockMs}`);
      try {
        await connection.run(text);
      } finally {
        if (!isPooled && connection.isOpen) await connection.run("RESET statement_timeout; RESET lock_timeout");
      }
    });
  }

  /** Table by table, each into a new file; the old one is deleted and not overwritten. */
  async rewrite(): Promise<void> {
    for (const table of this.#tables()) {
      try {
        await this.#maintain(`VACUUM (FULL) ${table}`);
      } catch (error) {
        throw this.#error(error);
      }
    }
  }

  async examine(): Promise<EngineReport> {
    try {
      return await this.#within(UNBOUNDED_MS, async (connection) => {
        await connection.run("BEGIN");
        await connection.run(this.#longWorkSettings());
        const report = await examinePostgres(connection);
        await connection.run("ROLLBACK");
        return report;
      });
    } catch (error) {
      throw this.#error(error);
    }
  }

  /** For a transaction whose statements may take as long as they take, and whose client may think between two of them. */
  #longWorkSettings(): string {
    const { settings, isPooled } = this.#access;
    const own = {
      lock_timeout: String(Math.max(1, this.#options.busyMs)),
      statement_timeout: "0",
      idle_in_transaction_session_timeout: String(LONG_WORK_IDLE_MS),
    };
    return localSettings(isPooled ? { ...settings, ...own } : own);
  }

  async size(): Promise<number> {
    const rows = await this.read(
      "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint AS n FROM pg_class c " +
        "JOIN pg_namespace s ON s.oid = c.relnamespace WHERE s.nspname = current_schema() AND c.relkind = 'r'",
      [],
    );
    return Number(rows[0]?.n ?? 0);
  }

  async close(): Promise<void> {
    await this.#notifications.flush();
    await this.#access.pool.end();
  }
}

/** Finds the holder of the lock during the wait: afterwards it cannot be found any more. */
class BlockerWatch {
  readonly #driver: PostgresDriver;
  found: readonly Blocker[] = [];

  constructor(driver: PostgresDriver) {
    this.#driver = driver;
  }

  async during<T>(waitMs: number, run: (onProcess: (pid: number) => void) => Promise<T>): Promise<T> {
    const over = new AbortController();
    const look = async (pid: number) => {
      await this.#driver.sleep(waitMs / 2, over.signal);
      if (over.signal.aborted) return;
      this.found = await this.#driver.blockersOf(pid).catch(() => []);
    };
    try {
      return await run((pid) => void look(pid));
    } finally {
      over.abort();
    }
  }
}

export async function openPostgres(options: PostgresOptions): Promise<Driver> {
  return new PostgresDriver(options, await connectPostgres(options));
}
