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
  /** Runs the function in a later macrotask: calls made until then are handled together. */
  defer(run: () => void): void;
  log(level: LogLevel, event: string, fields?: Readonly<Record<string, unknown>>): void;
  /**
   * true: now() is the authoritative time, for example in a simulation, and a database server's clock is not read.
   * Otherwise now() is a machine's clock, which may be wrong, and stores on PostgreSQL correct it by the server's.
   */
  readonly isTimeSource?: boolean;
  /** Not given: it is unknown whether a worker's process is gone, and its lease ends by time alone. */
  readonly processes?: Processes;
}

export interface Processes {
  /** Names the process that this environment belongs to, uniquely on its machine; null: the platform does not say. */
  self(): string | null;
  /** Names another process of this machine in the same way; null: there is none, or the platform does not tell. */
  identify?(pid: number): string | null;
  /** Of a process that self() or identify() named. unknown: it may be on another machine or in another container. */
  liveness(process: string): "alive" | "gone" | "unknown";
}

export type LogLevel = "debug" | "info" | "warn" | "error";
