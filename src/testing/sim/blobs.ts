// A blob backend that fails: the bytes live in memory that all processes of a simulation share, as they would share a
// disk.
import type { BlobBackend } from "../../contracts/blobs.ts";
import { type FaultKind, type Faults, unreachable } from "./faults.ts";
import type { Process } from "./scheduler.ts";

export type SharedBytes = Map<string, Uint8Array>;

/** The backend without faults, for the reads at the end. */
export function sharedBlobs(held: SharedBytes): BlobBackend {
  return {
    name: "simulated",
    put: async (key, bytes) => {
      held.set(key, copy(bytes));
    },
    get: async (key) => {
      const bytes = held.get(key);
      return bytes === undefined ? null : copy(bytes);
    },
    delete: async (key) => {
      held.delete(key);
    },
    list: async function* () {
      for (const [key, { length }] of [...held]) yield { key, bytes: length, ageMs: 0 };
    },
  };
}

/** Copies the bytes: a Buffer's slice() would share the memory. */
function copy(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

/** Damages only the returned bytes, not the stored ones, so that a run can continue when it reads them again. */
export function faultyBlobs(held: SharedBytes, process: Process, faults: Faults): BlobBackend {
  const real = sharedBlobs(held);
  const strike = (kinds: readonly FaultKind[], name: string) =>
    faults.strike(kinds, { process: process.name, what: "blob", names: [name] });
  return {
    ...real,
    put: async (key, bytes) => {
      await process.schedule("blob");
      const struck = strike(["writeFail", "blobTorn"], "put");
      if (struck?.kind === "writeFail") throw unreachable("a blob could not be written");
      await real.put(key, struck === null ? bytes : bytes.subarray(0, faults.part(bytes.length)));
    },
    get: async (key) => {
      await process.schedule("blob");
      const bytes = await real.get(key);
      const struck = strike(["readFail", "blobCorrupted", "blobMissing"], "get");
      if (struck === null || bytes === null || bytes.length === 0) return bytes;
      if (struck.kind === "readFail") throw unreachable("a blob could not be read");
      if (struck.kind === "blobMissing") return null;
      const at = faults.part(bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ 0x40;
      return bytes;
    },
    delete: async (key) => {
      await process.schedule("blob");
      await real.delete(key);
    },
  };
}
