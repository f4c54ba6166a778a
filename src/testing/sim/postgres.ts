// A driver for a simulated PostgreSQL: it sends each round trip of a plan separately, so that the process can freeze,
// die or lose its connection between two of them, with the transaction open. It retries, waits and fails as the real
// one does.
import { randomShare } from "../../core/backoff.ts";
import { type Driver, type Plan, type RoundTrip, type Row, StaleFence } from "../../storage/sql/driver.ts";
import { isLocked, isRace, isUnreachable, postgresError } from "../../storage/sql/postgres/errors.ts";
import { FIRST_LOCK_MS, IDLE_IN_TRANSACTION_MS, WORK_MS } from "../../storage/sql/postgres/settings.ts";
import { sqlite } from "../../storage/sql/sqlite/dialect.ts";
import { bound } from "./driver.ts";
import type { Faults, Opportunity } from "./faults.ts";
import { never, type Process } from "./scheduler.ts";
import { LOCK_ROW, type ServerConnection, type ServerTimeouts, type SimulatedServer } from "./server.ts";

/** The timeouts that the driver requests from its server, and its own. */
export interface PostgresTimeouts extends ServerTimeouts {
  /** After so long the driver gives up a connection without an answer; TCP alone takes a quarter of an hour. */
  readonly hungMs: number;
  /** How long a commit waits for locks of others. */
  readonly busyMs: number;
}

const BUSY_MS = 30_000;
/** Transactions of a handle at once: as many as a pool of the default size has for commits. */
const LANES = 8;

/** The timeouts of the real driver. */
export const TIMEOUTS: PostgresTimeouts = {
  lockMs: FIRST_LOCK_MS,
  idleInTransactionMs: IDLE_IN_TRANSACTION_MS,
  // A statement that may take long cannot be judged sooner; others are given up after ten seconds beside their wait.
  hungMs: BUSY_MS + 10_000 + WORK_MS,
  busyMs: BUSY_MS,
};

const MOST_RACES = 100;
/** The longest wait before the first further attempt; the tenth and later ones wait up to ten times as long. */
const RACE_MS = 5.12;
const TARGET = "simulated PostgreSQL";

export function postgresDriver(
  real: Driver,
  server: SimulatedServer,
  process: Process,
  faults: Faults,
  timeouts: PostgresTimeouts,
): Driver {
  const client = new PostgresClient(server, process, faults, timeouts);
  return {
    ...bound(real),
    // Its SQL is SQLite's, but for the guards whose rows are locked.
    dialect: { ...sqlite, lockRow: LOCK_ROW },
    lanes: { most: LANES, waitMs: timeouts.busyMs },
    transact: (plan, options) => client.transact(plan, options?.waitMs),
    read: (sql, params) => client.read(() => server.read(sql, params)),
  };
}

class PostgresClient {
  readonly #server: SimulatedServer;
  readonly #process: Process;
  readonly #faults: Faults;
  readonly #timeouts: PostgresTimeouts;

  constructor(server: SimulatedServer, process: Process, faults: Faults, timeouts: PostgresTimeouts) {
    this.#server = server;
    this.#process = process;
    this.#faults = faults;
    this.#timeouts = timeouts;
  }

  /** Waits that long for locks; the first time only briefly. */
  async transact<T>(plan: () => Plan<T>, waitMs = this.#timeouts.busyMs): Promise<T> {
    const { environment } = this.#process;
    const deadline = environment.monotonic() + waitMs;
    const { lockMs } = this.#timeouts;
    let timeouts: ServerTimeouts = { ...this.#timeouts, lockMs: lockMs === null ? null : Math.min(lockMs, waitMs) };
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#drive(plan(), timeouts);
      } catch (error) {
        if (error instanceof StaleFence) throw error;
        const now = environment.monotonic();
        if (!isRace(error) || attempt >= MOST_RACES || now >= deadline) throw postgresError(error, TARGET);
        if (isLocked(error)) timeouts = { ...timeouts, lockMs: Math.max(1, deadline - now) };
      }
      await environment.sleep(Math.min(attempt, 10) * randomShare(environment) * RACE_MS);
    }
  }

  async #drive<T>(plan: Plan<T>, timeouts: ServerTimeouts): Promise<T> {
    const connection = this.#server.connect(this.#process);
    try {
      let next = plan.next();
      while (!next.done) next = plan.next(await this.#trip(connection, next.value, timeouts));
      this.#server.disconnect(connection);
      return next.value;
    } catch (error) {
      // A broken connection reaches the server no more.
      if (!isUnreachable(error)) this.#server.disconnect(connection);
      throw error;
    }
  }

  async #trip(
    connection: ServerConnection,
    trip: RoundTrip,
    timeouts: ServerTimeouts,
  ): Promise<readonly (readonly Row[])[]> {
    const at = { process: this.#process.name, what: "trip", names: [trip.last ? "commit" : "statement"] };
    await this.#process.schedule("trip");
    const delay = this.#faults.strike(["latency"], at);
    if (delay !== null) await this.#process.environment.sleep(this.#faults.length(delay));
    const execute = () => this.#server.execute(connection, trip, timeouts);
    return this.#sent(at, execute, trip.last ? "acknowledge" : "answer", () => this.#server.disconnect(connection));
  }

  async read(read: () => Promise<readonly Row[]>): Promise<readonly Row[]> {
    const at = { process: this.#process.name, what: "read", names: [] };
    try {
      return await this.#sent(at, read, "read", () => {});
    } catch (error) {
      throw postgresError(error, TARGET);
    }
  }

  async #sent<T>(at: Opportunity, execute: () => Promise<T>, answer: string, lost: () => void): Promise<T> {
    const struck = this.#faults.strike(["connectionLost", "connectionHung"], at);
    if (struck === null) return this.#answered(execute(), answer);
    if (this.#faults.part(2) === 1) {
      // The statement is executed, but its answer or error is lost.
      const done = execute().catch(() => {});
      if (struck.kind === "connectionLost") await this.#answered(done, answer);
    }
    if (struck.kind === "connectionLost") {
      lost();
      throw broken("ECONNRESET");
    }
    await this.#process.environment.sleep(this.#timeouts.hungMs);
    throw broken("ETIMEDOUT");
  }

  /** Delivers the server's answer when the scheduler selects the process; never to a dead process. */
  async #answered<T>(answer: Promise<T>, what: string): Promise<T> {
    const settled = await Promise.allSettled([answer]);
    await this.#process.schedule(what);
    const [result] = settled;
    if (this.#process.isDead) return never();
    if (result.status === "rejected") throw result.reason;
    return result.value;
  }
}

function broken(code: string): Error {
  return Object.assign(new Error(`simulated: the connection is gone (${code})`), { code });
}
