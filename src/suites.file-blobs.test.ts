// The suites that concern blobs, on SQLite with the bytes in files beside the database.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, test } from "vitest";
import type { Holdfast } from "./contracts/holdfast.ts";
import { open } from "./open.ts";
import { fileBlobs } from "./storage/blobs/file.ts";
import * as suites from "./testing/entry.ts";

async function make(): Promise<suites.Fixture> {
  const directory = await mkdtemp(path.join(tmpdir(), "holdfast-file-blobs-"));
  const environment = suites.adjustableEnvironment();
  const handles: Holdfast[] = [];
  const another = async () => {
    const blobs = fileBlobs(path.join(directory, "blobs"));
    const store = await open(path.join(directory, "store.db"), { environment, blobs });
    handles.push(store);
    return store;
  };
  const close = async () => {
    for (const handle of handles) await handle.close();
    await rm(directory, { recursive: true });
  };
  return { store: await another(), environment, another, close };
}

const name = "sqlite with blobs in files";
const options = { harness: { describe, test } };

suites.runBlobsSuite(name, make, options);
suites.runHistorySuite(name, make, options);
suites.runStoreSuite(name, make, options);
