// Runs a plan on a connection: BEGIN goes with the first trip and COMMIT with the last, so that a plan of one trip is one
// round trip. How long each may take is bounded on both sides; a transaction that the server ended is never continued.
import type { Environment } from "../../../contracts/environment.ts";
import { TimeSlice } from "../../../core/time-slice.ts";
import { LostRace, type Plan, type RoundTrip, type Row, type Statement } from "../driver.ts";
import type { Connection } from "./connection.ts";
import { isConnectionLost, isFatal, isUnreachable, lostError, silentError } from "./errors.ts";
import { IDLE_IN_TRANSACTION_MS, localSettings, type Settings, WORK_MS } from "./settings.ts";
import { type PlanTexts, settle } from "./statements.ts";

/**
 * Set explicitly, because the database's default may differ: a read after a lock must see what earlier holders of the
 * lock have committed.
 */
const BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED";
/** Beside its wait for locks, a trip of ordinary size is answered within that time unless the server hangs. */
const ANSWER_MS = 10_000;
const ANSWER_MS_PER_ROW = 5;
/** So many rows in a statement, or statements in a trip, take long to encode. No commit of ordinary size has them. */
const MANY_ROWS = 100;
const MANY_STATEMENTS = 32;
/** Reads, and changes of single rows: those of runs, their leases among them, must not wait long for a hung connection. */
const QUICK = /^\s*(SELECT|UPDATE (runs|signals|decisions|sessions|agents|captures|counters|segments|state) SET)\b/i;

export interface RunnerOptions {
  readonly environment: Environment;
  readonly texts: PlanTexts;
  readonly settings: Settings;
  readonly isPooled: boolean;
  readonly target: string;
}

export interface LockWait {
  /** The longest wait for each lock; null: the setting of the connection. */
  readonly lockMs: number | null;
  /** How long all of them together, before the server's silence means that it hangs. */
  readonly totalMs: number;
  /** Called with the server process that works on the plan. */
  readonly onProcess?: (pid: number) => void;
}

export class PlanRunner {
  readonly #options: RunnerOptions;
  readonly #slice: TimeSlice;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#slice = new TimeSlice(options.environment);
  }

  async run<T>(connection: Connection, plan: Plan<T>, wait: LockWait): Promise<T> {
    let hasBegun = false;
    let isCommitSent = false;
    try {
      let next = plan.next();
      while (!next.done) {
        const trip = next.value;
        if (hasBegun) await this.#requireOpen(connection);
        this.#expectAnswer(connection, trip, wait);
        isCommitSent ||= trip.last;
        const rows = hasBegun ? await this.#later(connection, trip) : await this.#first(connection, trip, wait);
        hasBegun = true;
        next = plan.next(rows);
      }
      if (hasBegun && !isCommitSent) await connection.send("ROLLBACK", []);
      return next.value;
    } catch (error) {
      if (connection.isLate) throw silentError(this.#options.target, isCommitSent, error);
      if (isFatal(error)) {
        connection.destroy();
        // Nothing of it can have happened: it is made again over another connection.
        if (!isCommitSent && isConnectionLost(error))
          throw new LostRace("the connection was lost before the commit was sent", { cause: error });
        if (isCommitSent && isUnreachable(error)) throw lostError(this.#options.target, error);
      }
      // Harmless when the failed COMMIT has rolled back already; it must not leave the connection inside a transaction.
      else if (connection.isOpen) await connection.send("ROLLBACK", []).catch(() => connection.destroy());
      throw error;
    }
  }

  async #first(
    connection: Connection,
    { statements, last }: RoundTrip,
    wait: LockWait,
  ): Promise<readonly (readonly Row[])[]> {
    const { texts, isPooled } = this.#options;
    const together = last && !isPooled && wait.lockMs === null ? texts.together(statements) : null;
    if (together !== null)
      return [await connection.send(together.text, together.params), ...statements.slice(1).map(() => [])];
    const before = this.#begin(connection, wait);
    return this.#send(connection, before, statements, last);
  }

  #later(connection: Connection, { statements, last }: RoundTrip): Promise<readonly (readonly Row[])[]> {
    return this.#send(connection, [], statements, last);
  }

  async #send(
    connection: Connection,
    before: readonly Promise<readonly Row[]>[],
    statements: readonly Statement[],
    last: boolean,
  ): Promise<readonly (readonly Row[])[]> {
    const sent = [...before];
    for (const statement of statements) {
      const isLong =
        statements.length > MANY_STATEMENTS || (statement.kind === "bulk" && statement.rows.length >= MANY_ROWS);
      if (isLong && this.#slice.isSpent) await this.#pause(sent);
      sent.push(this.#options.texts.send(connection, statement));
    }
    if (last) sent.push(connection.send("COMMIT", []));
    const results = await settle(sent);
    return results.slice(before.length, before.length + statements.length);
  }

  async #pause(sent: readonly Promise<unknown>[]): Promise<void> {
    // A failure meanwhile is thrown when all are settled.
    for (const one of sent) one.catch(() => {});
    await this.#slice.pause();
  }

  #begin(connection: Connection, { lockMs, onProcess }: LockWait): Promise<readonly Row[]>[] {
    const { settings, isPooled } = this.#options;
    if (!isPooled) {
      if (connection.pid !== null) onProcess?.(connection.pid);
      return [connection.run(lockMs === null ? BEGIN : `${BEGIN}; SET LOCAL lock_timeout = ${lockMs}`)];
    }
    const local = lockMs === null ? settings : { ...settings, lock_timeout: String(lockMs) };
    const begun = connection.run(BEGIN);
    const set = connection.run(localSettings(local));
    set.then(
      ([row]) => onProcess?.(Number(row?.pid)),
      () => {},
    );
    return [begun, set];
  }

  /**
   * A process that was stopped for long finds its transaction ended by the server. It asks before it continues: once
   * COMMIT is sent into a connection that is gone, it is unknown whether it happened.
   */
  async #requireOpen(connection: Connection): Promise<void> {
    const { environment } = this.#options;
    if (connection.isOpen && environment.monotonic() - connection.sentAt < IDLE_IN_TRANSACTION_MS / 2) return;
    try {
      await connection.run("SELECT 1");
    } catch (error) {
      if (!isFatal(error)) throw error;
      connection.destroy();
      throw new LostRace("the server ended the transaction while this process was idle", { cause: error });
    }
  }

  #expectAnswer(connection: Connection, { statements }: RoundTrip, { totalMs }: LockWait): void {
    let rows = 0;
    let isHeavy = false;
    for (const statement of statements) {
      if (statement.kind === "bulk") rows += statement.rows.length;
      // An erasure is a short statement that may be much work.
      else if (statement.kind === "query" && !QUICK.test(statement.sql)) isHeavy = true;
    }
    const now = this.#options.environment.monotonic();
    connection.sentAt = now;
    connection.deadline = now + totalMs + ANSWER_MS + rows * ANSWER_MS_PER_ROW + (isHeavy ? WORK_MS : 0);
  }
}
