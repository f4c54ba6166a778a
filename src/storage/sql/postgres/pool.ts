// The connections of one handle, at most `size` of them. A connection serves one transaction, or any number of single
// reads at once. If none is free, callers wait in order. A lost connection fails only its own statements.
import type { Environment } from "../../../contracts/environment.ts";
import { HoldfastError } from "../../../contracts/errors.ts";
import { randomShare } from "../../../core/backoff.ts";
import type { Connection } from "./connection.ts";
import { isFatal, isTooManyClients, sqlState } from "./errors.ts";

/** Single reads that share a connection when all are in use. */
const MOST_SHARERS = 50;
/** How often overdue and idle connections are looked for. */
const TEND_MS = 1000;
/** A connection that was unused for so long is probed before it is used: the server may have closed it. */
const PROBE_IDLE_MS = 200;
const PROBE_ANSWER_MS = 10_000;
/** Between tries to open a connection at a server that has no room for one. */
const FIRST_BACKOFF_MS = 50;
const MOST_BACKOFF_MS = 2000;

type Use = "alone" | "shared";

interface Waiter {
  readonly use: Use;
  readonly grant: (connection: Connection) => void;
  readonly reject: (error: unknown) => void;
}

export interface PoolOptions {
  readonly size: number;
  /** When unused connections are closed, and when any connection is closed. */
  readonly idleMs: number;
  readonly lifeMs: number;
  readonly environment: Environment;
  /** Server and schema, never a password. */
  readonly target: string;
  /** Opens a connection. `onClose` is called when it is closed for any reason. */
  readonly open: (onClose: (gone: Connection) => void) => Promise<Connection>;
}

export class Pool {
  readonly #options: PoolOptions;
  readonly #all = new Set<Connection>();
  readonly #idle: Connection[] = [];
  readonly #waiting: Waiter[] = [];
  readonly #over = new AbortController();
  #opening = 0;
  #isTended = false;
  #isBackedOff = false;
  #backoffMs = 0;
  #isEnded = false;
  /** The error while the server has no room for another connection. */
  #noRoom: unknown = null;
  /** When #tend began to wait, and by how much all its waits were too long. */
  #tendsSince = 0;
  #stoodStillMs = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  get target(): string {
    return this.#options.target;
  }

  /**
   * How long this process was suspended in total (SIGSTOP, a blocked event loop), measured by a timer. This time does
   * not count as waiting.
   */
  stoodStillMs(): number {
    return this.#stoodStillMs + (this.#isTended ? this.#latenessMs() : 0);
  }

  #latenessMs(): number {
    const late = this.#options.environment.monotonic() - this.#tendsSince - TEND_MS;
    return late > TEND_MS ? late : 0;
  }

  /** Runs `work` on a connection that no other caller uses meanwhile. */
  async alone<T>(waitMs: number, run: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.#takeLiving("alone", waitMs);
    try {
      return await runOn(connection, run);
    } finally {
      connection.deadline = null;
      this.#put(connection);
    }
  }

  /** Runs a single statement, perhaps on a connection that others read on. */
  async shared<T>(waitMs: number, answerMs: number, run: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.#takeLiving("shared", waitMs);
    const due = { at: this.#options.environment.monotonic() + answerMs };
    connection.answersDue.add(due);
    connection.deadline = earliest(connection.answersDue);
    try {
      return await runOn(connection, run);
    } finally {
      connection.answersDue.delete(due);
      connection.deadline = earliest(connection.answersDue);
      connection.sharers--;
      if (connection.sharers === 0) this.#put(connection);
    }
  }

  /** The same for a statement whose answer is optional: after `waitMs` the caller continues without it. */
  async hint<T>(waitMs: number, answerMs: number, run: (connection: Connection) => Promise<T>): Promise<T> {
    const over = new AbortController();
    const late = this.#options.environment.sleep(waitMs, over.signal).then(() => {
      throw Object.assign(new Error("no answer in time"), { code: "CONNECT_TIMEOUT" });
    });
    late.catch(() => {});
    const answer = this.shared(waitMs, answerMs, run);
    answer.catch(() => {});
    try {
      return await Promise.race([answer, late]);
    } finally {
      over.abort();
    }
  }

  /** Probes a connection that was idle for long before it is used, and replaces it if the server has ended it. */
  async #takeLiving(use: Use, waitMs: number): Promise<Connection> {
    for (;;) {
      const connection = await this.#take(use, waitMs);
      if (connection.probe === null || (await connection.probe)) return connection;
      if (use === "shared") connection.sharers--;
      this.#drop(connection);
      connection.destroy();
    }
  }

  #startProbe(connection: Connection): void {
    const { environment } = this.#options;
    if (environment.monotonic() - connection.idleAt < PROBE_IDLE_MS) return;
    connection.deadline = environment.monotonic() + PROBE_ANSWER_MS;
    connection.probe = connection
      .run("SELECT 1")
      .then(
        () => connection.isOpen,
        () => false,
      )
      .finally(() => {
        connection.probe = null;
      });
  }

  #take(use: Use, waitMs: number): Promise<Connection> {
    if (this.#isEnded) return Promise.reject(endedError());
    const ready = this.#waiting.length === 0 ? this.#ready(use) : undefined;
    if (ready !== undefined) return Promise.resolve(granted(ready, use));
    return new Promise((resolve, reject) => {
      const over = new AbortController();
      const leave = () => {
        over.abort();
        const at = this.#waiting.indexOf(waiter);
        if (at >= 0) this.#waiting.splice(at, 1);
      };
      const waiter: Waiter = {
        use,
        grant: (connection) => {
          leave();
          resolve(granted(connection, use));
        },
        reject: (error) => {
          leave();
          reject(error);
        },
      };
      this.#waiting.push(waiter);
      this.#wait(waitMs, over.signal).then(() => {
        if (!over.signal.aborted) waiter.reject(this.#noRoom ?? this.#allInUse());
      });
      this.#grow();
    });
  }

  /** Time in which this process was suspended does not count. */
  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    for (let left = ms; left > 0 && !signal.aborted; ) {
      const before = this.stoodStillMs();
      await this.#options.environment.sleep(left, signal);
      left = Math.min(left, this.stoodStillMs() - before);
    }
  }

  #ready(use: Use): Connection | undefined {
    for (;;) {
      const idle = this.#idle.pop();
      if (idle === undefined) break;
      if (!idle.isOpen) continue;
      this.#startProbe(idle);
      return idle;
    }
    if (use === "alone" || this.#all.size + this.#opening < this.#options.size) return undefined;
    let best: Connection | undefined;
    for (const one of this.#all) {
      if (one.sharers === 0 || one.sharers >= MOST_SHARERS || !one.isOpen) continue;
      if (best === undefined || one.sharers < best.sharers) best = one;
    }
    return best;
  }

  /** Opens one more connection, for waiting callers. */
  #grow(): void {
    if (this.#isEnded || this.#isBackedOff || this.#opening >= this.#waiting.length) return;
    if (this.#all.size + this.#opening >= this.#options.size) return;
    this.#opening++;
    const opened = this.#options.open((gone) => this.#drop(gone));
    opened.then(
      (connection) => {
        this.#opening--;
        this.#noRoom = null;
        this.#backoffMs = 0;
        if (!connection.isOpen) return this.#grow();
        this.#all.add(connection);
        this.#put(connection);
        this.#tend();
      },
      (error: unknown) => {
        this.#opening--;
        const isFull = isTooManyClients(error) || (sqlState(error) === "CONNECT_TIMEOUT" && this.#all.size > 0);
        if (isFull) return this.#backOff(error);
        this.#waiting[0]?.reject(error);
        this.#grow();
      },
    );
  }

  /** The server has no room: waiting callers use the existing connections, and another one is tried later. */
  #backOff(error: unknown): void {
    const { environment, target } = this.#options;
    this.#noRoom = error;
    if (this.#isBackedOff) return;
    this.#isBackedOff = true;
    this.#backoffMs = Math.min(MOST_BACKOFF_MS, Math.max(FIRST_BACKOFF_MS, this.#backoffMs * 2));
    environment.log("warn", "postgres.room", { target, open: this.#all.size, backoffMs: this.#backoffMs });
    environment.sleep(this.#backoffMs * (0.5 + randomShare(environment) / 2), this.#over.signal).then(() => {
      this.#isBackedOff = false;
      this.#grow();
    });
  }

  /** Returns a connection to the pool, or gives it to the next caller in line. */
  #put(connection: Connection): void {
    const { environment, lifeMs } = this.#options;
    if (this.#isEnded || !connection.isOpen || environment.monotonic() - connection.openedAt > lifeMs) {
      this.#drop(connection);
      void connection.end();
      return;
    }
    const first = this.#waiting[0];
    if (first === undefined) {
      connection.idleAt = environment.monotonic();
      this.#idle.push(connection);
      return;
    }
    first.grant(connection);
    if (first.use === "alone") return;
    while (this.#waiting[0]?.use === "shared" && connection.sharers < MOST_SHARERS) this.#waiting[0].grant(connection);
  }

  #drop(connection: Connection): void {
    if (!this.#all.delete(connection)) return;
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#grow();
  }

  /** Destroys connections that do not answer in time, and closes unused ones. */
  #tend(): void {
    if (this.#isTended || this.#all.size === 0 || this.#isEnded) return;
    this.#isTended = true;
    const { environment, idleMs } = this.#options;
    this.#tendsSince = environment.monotonic();
    environment.sleep(TEND_MS, this.#over.signal).then(() => {
      const late = this.#latenessMs();
      this.#stoodStillMs += late;
      this.#isTended = false;
      const now = environment.monotonic();
      for (const one of [...this.#all]) {
        // The answer may be here, and not read yet.
        if (late > 0) postpone(one, late);
        if (one.deadline !== null && one.deadline < now) {
          one.isLate = true;
          this.#drop(one);
          one.destroy();
        }
      }
      for (const one of [...this.#idle]) {
        if (now - one.idleAt <= idleMs) continue;
        this.#drop(one);
        void one.end();
      }
      this.#tend();
    });
  }

  #allInUse(): Error {
    const { size, target } = this.#options;
    if (this.#all.size === 0) return Object.assign(new Error("no answer"), { code: "CONNECT_TIMEOUT" });
    return new HoldfastError("StoreBusy", `all ${size} connections of this handle to ${target} are in use`, {
      details: { target, poolSize: size, waiting: this.#waiting.length },
      retryable: true,
      hint: "Try again, ask for less at once, or open the store with a larger poolSize.",
    });
  }

  /** Calls still under way fail. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#over.abort();
    for (const waiter of [...this.#waiting]) waiter.reject(endedError());
    const idle = new Set(this.#idle.splice(0));
    const all = [...this.#all];
    this.#all.clear();
    await Promise.all(all.map(async (one) => (idle.has(one) ? one.end() : one.destroy())));
  }
}

function postpone(connection: Connection, ms: number): void {
  if (connection.deadline !== null) connection.deadline += ms;
  for (const due of connection.answersDue) due.at += ms;
}

/** Each statement that shares the connection has its own time: one that waits longer must not lengthen another's. */
function earliest(due: ReadonlySet<{ readonly at: number }>): number | null {
  let first: number | null = null;
  for (const { at } of due) if (first === null || at < first) first = at;
  return first;
}

/** A connection that fails for good is not used again. */
async function runOn<T>(connection: Connection, run: (connection: Connection) => Promise<T>): Promise<T> {
  try {
    return await run(connection);
  } catch (error) {
    if (isFatal(error)) connection.destroy();
    throw error;
  }
}

function granted(connection: Connection, use: Use): Connection {
  connection.discardOldPlans();
  if (use === "shared") connection.sharers++;
  return connection;
}

function endedError(): Error {
  return Object.assign(new Error("the pool has ended"), { code: "CONNECTION_ENDED" });
}
