// The contract suites on one kind of place: how a case's store is made, opened once more and thrown away is written
// here; the files src/suites.*.test.ts only say where stores are.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { describe, test } from "vitest";
import { claudeSessionStore } from "../src/adapters/claude/entry.ts";
import type { Holdfast, OpenOptions } from "../src/contracts/holdfast.ts";
import { open } from "../src/open.ts";
import * as suites from "../src/testing/entry.ts";

/** Where the store of one case is. */
export interface Place {
  readonly url: string;
  readonly options?: OpenOptions;
  remove(): Promise<unknown>;
}

export type MakePlace = () => Promise<Place>;

const harness = { describe, test };

/** A folder of its own; the bytes of blobs are where `blobs` puts them. */
export function inFolder(blobs?: (folder: string) => OpenOptions["blobs"]): MakePlace {
  return async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "holdfast-suite-"));
    const backend = blobs?.(path.join(folder, "blobs"));
    const options = backend === undefined ? {} : { blobs: backend };
    return { url: path.join(folder, "store.db"), options, remove: () => rm(folder, { recursive: true }) };
  };
}

export async function inMemory(): Promise<Place> {
  return { url: ":memory:", remove: async () => undefined };
}

export interface Extent {
  /** How many sequences of commands are compared with the model. */
  readonly runs: number;
  /** Why such a store cannot be opened a second time, when it cannot. */
  readonly oneHandle?: string;
}

export function runEverySuite(name: string, place: MakePlace, { runs, oneHandle }: Extent): void {
  const make = fixture(place, oneHandle === undefined);
  const skip = oneHandle === undefined ? [] : [{ reason: oneHandle, needs: ["another"] as const }];
  const options = { harness, skip };
  suites.runStoreSuite(name, make, options);
  suites.runSessionsSuite(name, make, options);
  suites.runHistorySuite(name, make, options);
  suites.runStateSuite(name, make, options);
  suites.runTasksSuite(name, make, options);
  suites.runAgentsSuite(name, make, options);
  suites.runLineageSuite(name, make, options);
  suites.runArchiveSuite(name, make, options);
  suites.runRunsSuite(name, make, options);
  suites.runLogSuite(name, make, options);
  suites.runBlobsSuite(name, make, options);
  suites.runCapturesSuite(name, make, options);
  suites.runQuerySuite(name, make, options);
  suites.runTraceSuite(name, make, options);
  suites.runCheckSuite(name, make, options);
  suites.runSessionStoreSuite(name, make, { ...options, sessionStore: claudeSessionStore });
  suites.runHostileSuite(name, make, options);
  suites.runPropertySuite(name, stillFixture(place, oneHandle === undefined), { fc, harness, runs });
}

/** Those that concern blobs. */
export function runBlobSuites(name: string, place: MakePlace): void {
  const make = fixture(place, true);
  suites.runBlobsSuite(name, make, { harness });
  suites.runCapturesSuite(name, make, { harness });
  suites.runHistorySuite(name, make, { harness });
  suites.runArchiveSuite(name, make, { harness });
  suites.runStoreSuite(name, make, { harness });
  suites.runCheckSuite(name, make, { harness });
}

function fixture(make: MakePlace, again: boolean): suites.MakeFixture {
  return async () => {
    const place = await make();
    const environment = suites.adjustableEnvironment();
    const handles: Holdfast[] = [];
    const another = async () => {
      const store = await open(place.url, { ...place.options, environment });
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
function stillFixture(make: MakePlace, again: boolean): () => Promise<suites.PropertyFixture> {
  return async () => {
    const place = await make();
    const environment = suites.simulatedEnvironment(1);
    const opened = () => open(place.url, { ...place.options, environment, durability: "normal" });
    let current = await opened();
    const reopen = async () => {
      await current.close();
      current = await opened();
      return current;
    };
    const close = async () => {
      await current.close();
      await place.remove();
    };
    return { store: current, environment, close, ...(again ? { reopen } : {}) };
  };
}
