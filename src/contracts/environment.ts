// The only access of Holdfast's code to the outside: clock, randomness, timers, processes, logger. The simulator
// replaces it, so that one integer seed reproduces everything. For the same reason SQL never uses now() or random().

export interface Environment {
  /**
   * Wall clock, epoch milliseconds. It is recorded in rows, but never decides an order. On PostgreSQL the store uses
   * the server's clock instead: see isTimeSource.
   */
  now(): number;
  /** Milliseconds on a clock that never goes back. Deadlines and leases are measured with it. */
  monotonic(): number;
  /** This many random bytes, good enough for salts and ids. */
  random(bytes: number): Uint8Array;
  /** Resolves after this time, or at once when the signal aborts. It never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Like sleep(), but a process that has nothing else to do may end meanwhile. Without it, sleep() takes its place. */
  idle?(ms: number, signal?: AbortSignal): Promise<void>;
  /** Runs the function in a later macrotask: calls made until then are handled together. */
  defer(run: () => void): void;
  log(level: LogLevel, event: string, fields?: Readonly<Record<string, unknown>>): void;
  /**
   * true: now() is the authoritative time, for example in a simulation, and a database server's clock is not read.
   * Otherwise now() is a machine's clock, which may be wrong, and stores on PostgreSQL correct it by the server's.
   */
  readonly isTimeSource?: boolean;
  /**
   * Without it, the store cannot know whether a worker's process is gone, and a lease ends only when its time is over.
   */
  readonly processes?: Processes;
}

export interface Processes {
  /** Names the process of this environment, uniquely on its machine; null if the platform does not report it. */
  self(): string | null;
  /**
   * Names another process of this machine in the same way; null if there is none or the platform does not report it.
   */
  identify?(pid: number): string | null;
  /**
   * Whether a process that self() or identify() named is alive. unknown: it may be on another machine or in another
   * container.
   */
  liveness(process: string): "alive" | "gone" | "unknown";
}

export type LogLevel = "debug" | "info" | "warn" | "error";
