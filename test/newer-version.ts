// A version of Holdfast that is still to come, as far as a store can tell: its schema has one number more.
import { realEnvironment } from "../src/core/environment.ts";
import type { Driver } from "../src/storage/sql/driver.ts";
import { MIGRATIONS, type Migration, migrate, SCHEMA_VERSION } from "../src/storage/sql/migrations.ts";

export const NEWER_VERSION = SCHEMA_VERSION + 1;

/** Migrates the store as that version would. Its migration notes how many events there are while it runs. */
export async function migrateToNewer(driver: Driver, changes: readonly string[] = []): Promise<void> {
  const noting = "CREATE TABLE events_at_migration AS SELECT count(*) AS n FROM events";
  const newer: Migration = { version: NEWER_VERSION, up: [noting, ...changes] };
  const options = { create: false, migrate: true, environment: realEnvironment(), target: "test" };
  await migrate(driver, options, [...MIGRATIONS, newer]);
}

/** Events at the migration, and now. */
export async function countEvents(driver: Driver): Promise<readonly [number, number]> {
  const [row] = await driver.read(
    "SELECT (SELECT n FROM events_at_migration) AS before, (SELECT count(*) FROM events) AS now",
    [],
  );
  return [Number(row?.before), Number(row?.now)];
}
