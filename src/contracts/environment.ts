// The only way out of the product's own code: clock, randomness, timers, logger. The simulator replaces it, so
// that one integer seed reproduces everything; SQL never says now() or random().

export interface Environment {
  /**
   * Wall clock, epoch milliseconds. Recorded in rows; nothing is ever ordered by it. On PostgreSQL the store goes by the
   * server's clock instead: see isTimeSource.
   */
  now(): number;
  /** Milliseconds on a clock that never goes back. Deadlines and leases are judged by it. */
  monotonic(): number;
  /** That many bytes fit for salts and ids. */
  random(bytes: number): Uint8Array;
  /** Resolves after that time, or at once when the signal aborts (it never rejects). */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Runs the function in a later macrotask: what is asked for until then goes together. */
  defer(run: () => void): void;
  log(level: LogLevel, event: string, fields?: Readonly<Record<string, unknown>>): void;
  /**
   * true: what now() says is the time, for example in a simulation, and a database server's clock is not asked. Otherwise
   * now() is a machine's clock, which may be wrong, and stores on PostgreSQL correct it by the server's.
   */
  readonly isTimeSource?: boolean;
  /** Not given: whether a worker's process is gone cannot be told, and its lease ends by time alone. */
  readonly processes?: Processes;
}

export interface Processes {
  /** Names the process that this environment belongs to, as no other on its machine is named; null: the platform does not tell. */
  self(): string | null;
  /** Names another process of this machine in the same way; null: there is none, or the platform does not tell. */
  identify?(pid: number): string | null;
  /** Of a process that self() or identify() named. unknown: it may be on another machine or in another container. */
  liveness(process: string): Liveness;
}

export type Liveness = "alive" | "gone" | "unknown";

export type LogLevel = "debug" | "info" | "warn" | "error";
