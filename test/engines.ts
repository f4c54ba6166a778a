// Both engines as tests below the public API need them: a migrated driver on fresh ground, and a way to look at rows.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HoldfastError } from "../src/contracts/errors.ts";
import type { Storage } from "../src/contracts/storage/storage.ts";
import { realEnvironment } from "../src/core/environment.ts";
import type { Driver } from "../src/storage/sql/driver.ts";
import { migrate } from "../src/storage/sql/migrations.ts";
import { openSqlite } from "../src/storage/sql/sqlite/driver.ts";
import { scaled } from "../src/testing/scale.ts";
import { takeSchema } from "./schemas.ts";

export { postgresUrl } from "./schemas.ts";

export interface EngineStore {
  readonly driver: Driver;
  /** What open() takes to reach the same store. */
  readonly url: string;
  /** A second handle on the same store, closed with the first. */
  another(): Promise<Driver>;
  end(): Promise<void>;
}

export interface Engine {
  readonly name: "sqlite" | "postgres";
  fresh(): Promise<EngineStore>;
}

const environment = realEnvironment();
const COMMON = { durability: "full", busyMs: 10_000, environment } as const;

async function migrated(driver: Driver): Promise<void> {
  await migrate(driver, { create: true, migrate: true, environment, target: "test" });
}

function kept(drivers: Driver[], driver: Driver): Driver {
  drivers.push(driver);
  return driver;
}

const sqlite: Engine = {
  name: "sqlite",
  async fresh() {
    const directory = mkdtempSync(join(tmpdir(), "holdfast-test-"));
    const path = join(directory, "store.db");
    const open = () => openSqlite({ ...COMMON, path });
    const driver = await open();
    await migrated(driver);
    const others: Driver[] = [];
    return {
      driver,
      url: path,
      another: async () => kept(others, await open()),
      end: async () => {
        for (const one of [...others, driver]) await one.close();
        rmSync(directory, { recursive: true, force: true });
      },
    };
  },
};

const postgres: Engine = {
  name: "postgres",
  async fresh() {
    const schema = await takeSchema();
    const { durability, busyMs } = COMMON;
    const open = () => schema.driver({ durability, busyMs, poolSize: 1 });
    const driver = await open();
    const others: Driver[] = [];
    return {
      driver,
      url: schema.url,
      another: async () => kept(others, await open()),
      end: async () => {
        for (const one of [...others, driver]) await one.close();
        await schema.leave();
      },
    };
  },
};

/** A store that is out of reach from its first commit on: code that reads back what it has written fails the test. */
export function lostAfterCommit(storage: Storage): Storage {
  let lost = false;
  return {
    engine: storage.engine,
    fragments: storage.fragments,
    inspect: (sql, params, limits) => storage.inspect(sql, params, limits),
    environment: storage.environment,
    commit: async (commit) => {
      const outcome = await storage.commit(commit);
      lost = true;
      return outcome;
    },
    query: async (name, params) => {
      if (lost) throw new HoldfastError("StoreUnreachable", `${name} was asked after the commit`);
      return storage.query(name, params);
    },
    changed: (session, timeoutMs, signal) => storage.changed(session, timeoutMs, signal),
    follow: (session) => storage.follow(session),
    reclaim: () => storage.reclaim(),
    rewrite: () => storage.rewrite(),
    examine: () => storage.examine(),
    size: () => storage.size(),
    close: () => storage.close(),
  };
}

export const ENGINES: readonly Engine[] = [sqlite, postgres];

/**
 * Cases of a table that both engines must pass. SQLite always gets all of them. A check on PostgreSQL takes ten times as
 * long: there `npm test` tries the first case of each kind, and `npm run test:long` all of them.
 */
export function casesFor<T>({ name }: Engine, all: readonly T[], kindOf: (one: T) => string): readonly T[] {
  if (name === "sqlite") return all;
  const firsts = new Map(all.toReversed().map((one) => [kindOf(one), one]));
  return scaled({ short: [...firsts.values()].toReversed(), long: all });
}
