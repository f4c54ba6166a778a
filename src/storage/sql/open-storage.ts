// Makes a storage from a driver: measures its clock, migrates its schema, and reads its id.
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
  /** The name in errors and in `info`; it contains no password. */
  readonly target: string;
}

export interface OpenedStorage {
  readonly storage: SqlStorage;
  readonly info: StoreInfo;
  /** An environment whose wall clock is the store's clock. */
  readonly environment: Environment;
  readonly clock: () => StoreClock;
}

/** Closes the driver if this fails. */
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
