// The time of a store that many machines share. Their clocks differ, and a due time that one of them wrote is judged by
// another; so the store uses one clock, that of the database's server. A handle measures it when it opens and again
// from time to time, and in between adds its own monotonic clock, which cannot be set.
import type { Environment } from "../../contracts/environment.ts";
import type { StoreClock } from "../../contracts/holdfast.ts";
import type { Driver } from "./driver.ts";

/** The interval between two measurements; shorter if the machine's clock was set. */
export const REMEASURE_MS = 60_000;
/** The least time between two attempts. */
const RETRY_MS = 1000;
/** The machine's clock was set, or the machine slept, if its two clocks disagree by more than this. */
const STEP_MS = 500;
/** A difference that is logged. */
const LOGGED_DRIFT_MS = 5000;

interface Measurement {
  /** The server's time minus the monotonic clock's. */
  readonly offset: number;
  readonly uncertaintyMs: number;
  /** The machine's wall clock minus its monotonic clock, when it was measured. */
  readonly wall: number;
}

export class ServerClock {
  readonly #environment: Environment;
  readonly #readServer: () => Promise<number>;
  #last: Measurement;
  #triedAt: number;
  #isMeasuring = false;
  #loggedMs = 0;

  private constructor(environment: Environment, readServer: () => Promise<number>, first: Measurement) {
    this.#environment = environment;
    this.#readServer = readServer;
    this.#last = first;
    this.#triedAt = environment.monotonic();
    this.#logDrift();
  }

  static async open(environment: Environment, readServer: () => Promise<number>): Promise<ServerClock> {
    return new ServerClock(environment, readServer, await measure(environment, readServer, null));
  }

  /** Epoch milliseconds of the server. */
  now(): number {
    const monotonic = this.#environment.monotonic();
    if (this.#isDue(monotonic)) void this.#remeasure(monotonic);
    return Math.floor(monotonic + this.#last.offset);
  }

  read(): StoreClock {
    const now = this.now();
    const machineAheadMs = this.#aheadMs();
    return { now, source: "server", machineAheadMs, uncertaintyMs: Math.ceil(this.#last.uncertaintyMs) };
  }

  #isDue(monotonic: number): boolean {
    const waited = monotonic - this.#triedAt;
    if (this.#isMeasuring || waited < RETRY_MS) return false;
    return waited >= REMEASURE_MS || Math.abs(wallOffset(this.#environment) - this.#last.wall) > STEP_MS;
  }

  async #remeasure(monotonic: number): Promise<void> {
    this.#isMeasuring = true;
    this.#triedAt = monotonic;
    try {
      this.#last = await measure(this.#environment, this.#readServer, this.#last);
      this.#logDrift();
    } catch (error) {
      // Keep the last measurement. Commits and reads report whether the server can be reached.
      this.#environment.log("debug", "store.clock", { error: String(error) });
    } finally {
      this.#isMeasuring = false;
    }
  }

  #aheadMs(): number {
    return Math.round(wallOffset(this.#environment) - this.#last.offset);
  }

  #logDrift(): void {
    const aheadMs = this.#aheadMs();
    if (Math.abs(aheadMs) < LOGGED_DRIFT_MS || Math.abs(aheadMs - this.#loggedMs) < LOGGED_DRIFT_MS) return;
    this.#loggedMs = aheadMs;
    const difference = `${Math.round(Math.abs(aheadMs) / 1000)} s ${aheadMs > 0 ? "ahead of" : "behind"}`;
    this.#environment.log("warn", "store.clock", {
      error: `this machine's clock is ${difference} the database server's clock, which the store uses; synchronise this machine with NTP`,
      machineAheadMs: aheadMs,
      uncertaintyMs: Math.ceil(this.#last.uncertaintyMs),
    });
  }
}

function wallOffset(environment: Environment): number {
  return environment.now() - environment.monotonic();
}

/** The server read its clock at some moment of the round trip. If the previous offset is possible within this round trip, it is kept. */
async function measure(
  environment: Environment,
  readServer: () => Promise<number>,
  before: Measurement | null,
): Promise<Measurement> {
  const sent = environment.monotonic();
  const server = await readServer();
  const [earliest, latest] = [server - environment.monotonic(), server - sent];
  const wall = wallOffset(environment);
  if (before !== null && before.offset >= earliest && before.offset <= latest) {
    const uncertaintyMs = Math.min(before.uncertaintyMs, Math.max(before.offset - earliest, latest - before.offset));
    return { offset: before.offset, uncertaintyMs, wall };
  }
  return { offset: (earliest + latest) / 2, uncertaintyMs: (latest - earliest) / 2, wall };
}

/** The store's clock, and the environment for everything above it, whose wall clock is that clock. */
export interface Timekeeping {
  readonly environment: Environment;
  readonly clock: () => StoreClock;
}

/** Uses the server's clock if there is one, unless the environment is its own time source, as in a simulation. */
export async function openClock(driver: Driver, environment: Environment): Promise<Timekeeping> {
  const { serverTime } = driver.dialect;
  if (serverTime === null || environment.isTimeSource === true) {
    const clock = (): StoreClock => ({
      now: environment.now(),
      source: "machine",
      machineAheadMs: 0,
      uncertaintyMs: 0,
    });
    return { environment, clock };
  }
  const server = await ServerClock.open(environment, async () => {
    const [row] = await driver.read(serverTime, []);
    return Number(row?.ms);
  });
  return { environment: withClock(environment, () => server.now()), clock: () => server.read() };
}

function withClock(environment: Environment, now: () => number): Environment {
  const { processes } = environment;
  return {
    now,
    monotonic: () => environment.monotonic(),
    random: (bytes) => environment.random(bytes),
    sleep: (ms, signal) => environment.sleep(ms, signal),
    defer: (run) => environment.defer(run),
    log: (level, event, fields) => environment.log(level, event, fields),
    ...(processes === undefined ? {} : { processes }),
  };
}
