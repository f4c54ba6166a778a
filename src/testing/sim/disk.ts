// The disk under a simulated store: a commit that is being written keeps every later one waiting. SQLite writes inside
// the process, under the lock of the file: the process is blocked, and other writers find the file locked.
import { HoldfastError } from "../../contracts/errors.ts";
import type { Driver } from "../../storage/sql/driver.ts";
import { bound } from "./driver.ts";
import type { Faults } from "./faults.ts";
import type { Process } from "./scheduler.ts";

export class Disk {
  readonly #faults: Faults;
  /** The time on the clock that all processes share. */
  #busyUntil = 0;
  #writer: Process | null = null;

  constructor(faults: Faults) {
    this.#faults = faults;
  }

  /** How long the next commit takes; usually 0. */
  #delay(client: string): number {
    const struck = this.#faults.strike(["slowDisk"], { process: client, what: "disk", names: [] });
    return struck === null ? 0 : this.#faults.length(struck);
  }

  /** Waits until a server has written this client's commit and all commits before it. */
  async written(server: Process, client: string): Promise<void> {
    const { monotonic, sleep } = server.environment;
    this.#busyUntil = Math.max(this.#busyUntil, monotonic() + this.#delay(client));
    while (monotonic() < this.#busyUntil) await sleep(this.#busyUntil - monotonic());
  }

  /** Waits until the file is free for this process and its writes may become visible. */
  async locked(process: Process, busyMs: number): Promise<void> {
    const { monotonic, sleep } = process.environment;
    const deadline = monotonic() + busyMs;
    while (this.#writer !== null && this.#writer !== process && !this.#writer.isDead) {
      if (monotonic() >= deadline) throw busy();
      await sleep(8);
    }
    const ms = this.#delay(process.name);
    if (ms === 0) return;
    this.#writer = process;
    process.freeze(ms, "disk");
    await process.schedule("disk");
    this.#writer = null;
  }
}

function busy(): HoldfastError {
  return new HoldfastError("StoreBusy", "simulated: another process holds the file locked", {
    retryable: true,
    hint: "Try again: the simulated disk of the other process is slow.",
  });
}

/** Wraps the driver of a SQLite file. */
export function onDisk(driver: Driver, process: Process, disk: Disk, busyMs: number): Driver {
  return {
    ...bound(driver),
    transact: async (plan, options) => {
      await disk.locked(process, busyMs);
      return driver.transact(plan, options);
    },
  };
}
