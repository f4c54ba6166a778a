// Both engines as tests below the public API need them: a migrated driver on fresh ground, and a way to look at rows.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HoldfastError } from "../src/contracts/errors.ts";
import type { Holdfast } from "../src/contracts/holdfast.ts";
import type { Storage } from "../src/contracts/storage/storage.ts";
import { realEnvironment } from "../src/core/environment.ts";
import { overrideStorage } from "../src/core/storage-overrides.ts";
import { open } from "../src/open.ts";
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
  fresh(options?: FreshOptions): Promise<EngineStore>;
}

interface FreshOptions {
  /** Nothing was ever in it, and nothing that the engine knows of its tables is left of a former use. */
  readonly unused?: boolean;
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
  async fresh(options) {
    const schema = await takeSchema(options);
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
  return overrideStorage(storage, {
    commit: async (commit) => {
      const outcome = await storage.commit(commit);
      lost = true;
      return outcome;
    },
    query: async (name, params) => {
      if (lost) throw new HoldfastError("StoreUnreachable", `${name} was asked after the commit`);
      return storage.query(name, params);
    },
  });
}

export const ENGINES: readonly Engine[] = [sqlite, postgres];

export interface OpenedStore {
  readonly hf: Holdfast;
  /** The same store, below its public API. */
  readonly ground: EngineStore;
  close(): Promise<void>;
}

/** A fresh store of the engine. A hook can return `close`: Vitest calls it after the tests. */
export async function openOn(engine: Engine): Promise<OpenedStore> {
  const ground = await engine.fresh();
  const hf = await open(ground.url);
  return {
    hf,
    ground,
    close: async () => {
      await hf.close();
      await ground.end();
    },
  };
}

/** One store of each engine, in the order of ENGINES. */
export async function openOnEach(): Promise<{ readonly stores: readonly Holdfast[]; close(): Promise<void> }> {
  const opened: OpenedStore[] = [];
  for (const engine of ENGINES) opened.push(await openOn(engine));
  return {
    stores: opened.map(({ hf }) => hf),
    close: async () => {
      for (const one of opened) await one.close();
    },
  };
}

export interface StorePair {
  /** Of the engine. */
  readonly here: Holdfast;
  readonly ground: EngineStore;
  /** In memory. */
  readonly home: Holdfast;
  close(): Promise<void>;
}

/** Two stores, for what travels between them. */
export async function openPair(engine: Engine): Promise<StorePair> {
  const { hf: here, ground, close } = await openOn(engine);
  const home = await open(":memory:");
  return {
    here,
    ground,
    home,
    close: async () => {
      await home.close();
      await close();
    },
  };
}

/**
 * Cases of a table that both engines must pass. SQLite always gets all of them. A check on PostgreSQL takes ten times as
 * long: there `npm test` tries the first case of each kind, and `npm run test:long` all of them.
 */
export function casesFor<T>({ name }: Engine, all: readonly T[], kindOf: (one: T) => string): readonly T[] {
  if (name === "sqlite") return all;
  const firsts = new Map(all.toReversed().map((one) => [kindOf(one), one]));
  return scaled({ short: [...firsts.values()].toReversed(), long: all });
}
