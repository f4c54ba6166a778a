// From a driver to a store that can be used: its clock, its schema in the version that this code knows, and what it is called.
import type { Environment } from "../../contracts/environment.ts";
import type { StoreClock, StoreInfo } from "../../contracts/holdfast.ts";
import type { Driver } from "./driver.ts";
import { migrate } from "./migrations.ts";
import { openClock } from "./server-clock.ts";
import { SqlStorage } from "./store.ts";

export interface OpenStorageOptions {
  readonly create: boolean;
  readonly migrate: boolean;
  readonly environment: Environment;
  /** What errors and `info` call it: never a password. */
  readonly target: string;
}

export interface OpenedStorage {
  readonly storage: SqlStorage;
  readonly info: StoreInfo;
  /** Its wall clock is the store's. */
  readonly environment: Environment;
  readonly clock: () => StoreClock;
}

/** The driver is closed where this fails. */
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
