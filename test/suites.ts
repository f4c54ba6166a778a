// The contract suites on one kind of place: how a case's store is made, opened once more and thrown away is written
// here; the files src/suites.*.test.ts only say where stores are.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { describe, test } from "vitest";
import { claudeSessionStore } from "../src/adapters/claude/entry.ts";
import type { Holdfast, OpenOptions } from "../src/contracts/holdfast.ts";
import { open, openOn } from "../src/open.ts";
import type { Driver } from "../src/storage/sql/driver.ts";
import * as suites from "../src/testing/entry.ts";
import type { PropertyFixture } from "../src/testing/property.ts";

/** Where the store of one case is. */
export interface SuiteStore {
  readonly url: string;
  readonly options?: OpenOptions;
  /** What a handle may be opened on instead, where it takes long to reach the store by its URL. */
  driver?(durability: "full" | "normal"): Promise<Driver>;
  remove(): Promise<unknown>;
}

export type MakeSuiteStore = () => Promise<SuiteStore>;

const harness = { describe, test };

/** A folder of its own; the bytes of blobs are where `blobs` puts them. */
export function inFolder(blobs?: (folder: string) => OpenOptions["blobs"]): MakeSuiteStore {
  return async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "holdfast-suite-"));
    const backend = blobs?.(path.join(folder, "blobs"));
    const options = backend === undefined ? {} : { blobs: backend };
    return { url: path.join(folder, "store.db"), options, remove: () => rm(folder, { recursive: true }) };
  };
}

export async function inMemory(): Promise<SuiteStore> {
  return { url: ":memory:", remove: async () => undefined };
}

export interface Extent {
  /** How many sequences of commands are compared with the model. */
  readonly runs: number;
  /** Why such a store cannot be opened a second time, when it cannot. */
  readonly oneHandle?: string;
}

/** All suites, in parts that take about equally long: on PostgreSQL, a file of tests for each part. */
const PARTS = {
  work: ["runs", "sessions", "history", "state", "tasks", "agents", "log", "trace"],
  contents: ["store", "blobs", "captures", "archive", "check", "search", "session store"],
  records: ["hostile", "lineage", "embeddings", "memory", "query", "vectors", "properties"],
} as const;
export type SuitePart = keyof typeof PARTS;

export function runEverySuite(name: string, place: MakeSuiteStore, extent: Extent): void {
  for (const part of Object.keys(PARTS) as SuitePart[]) runSuites(part, name, place, extent);
}

export function runSuites(part: SuitePart, name: string, place: MakeSuiteStore, { runs, oneHandle }: Extent): void {
  const make = fixture(place, oneHandle === undefined);
  const skip = oneHandle === undefined ? [] : [{ reason: oneHandle, needs: ["another"] as const }];
  const options = { harness, skip };
  for (const suite of PARTS[part]) {
    if (suite === "session store")
      suites.runSessionStoreSuite(name, make, { ...options, sessionStore: claudeSessionStore });
    else if (suite === "properties")
      suites.runPropertySuite(name, stillFixture(place, oneHandle === undefined), { fc, harness, runs });
    // What opening and closing mean is the subject of the suite of stores.
    else
      suites.runSuite(suite, name, suite === "store" ? fixture(byUrl(place), oneHandle === undefined) : make, options);
  }
}

/** Those that concern blobs. */
export function runBlobSuites(name: string, place: MakeSuiteStore): void {
  const make = fixture(place, true);
  suites.runSuite("blobs", name, make, { harness });
  suites.runSuite("captures", name, make, { harness });
  suites.runSuite("history", name, make, { harness });
  suites.runSuite("archive", name, make, { harness });
  suites.runSuite("store", name, make, { harness });
  suites.runSuite("check", name, make, { harness });
}

export function runVectorSuite(name: string, place: MakeSuiteStore): void {
  suites.runSuite("vectors", name, fixture(place, true), { harness });
}

function byUrl(make: MakeSuiteStore): MakeSuiteStore {
  return async () => {
    const { driver: _, ...place } = await make();
    return place;
  };
}

async function opened(place: SuiteStore, own: OpenOptions): Promise<Holdfast> {
  const options = { ...place.options, ...own };
  const driver = await place.driver?.(options.durability ?? "full");
  return driver === undefined ? open(place.url, options) : openOn(driver, options);
}

function fixture(make: MakeSuiteStore, again: boolean): () => Promise<suites.Fixture> {
  return async () => {
    const place = await make();
    const environment = suites.adjustableEnvironment();
    const handles: Holdfast[] = [];
    const another = async (own: OpenOptions = {}) => {
      const store = await opened(place, { environment, ...own });
      handles.push(store);
      return store;
    };
    const close = async () => {
      for (const handle of handles) await handle.close();
      await place.remove();
    };
    const store = await another();
    return { store, environment, close, ...(again ? { another } : {}) };
  };
}

/** Its clock stands still until it is moved, so that a sequence of commands always does the same. */
function stillFixture(make: MakeSuiteStore, canReopen: boolean): () => Promise<PropertyFixture> {
  return async () => {
    const place = await make();
    const environment = suites.simulatedEnvironment(1);
    const again = () => opened(place, { environment, durability: "normal" });
    let current = await again();
    const reopen = async () => {
      await current.close();
      current = await again();
      return current;
    };
    const close = async () => {
      await current.close();
      await place.remove();
    };
    return { store: current, environment, close, ...(canReopen ? { reopen } : {}) };
  };
}
