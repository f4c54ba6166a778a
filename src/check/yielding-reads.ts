// A check takes long and is not urgent. An engine in this process answers without yielding to the event loop, so the
// checker yields between reads.
import type { Blobs } from "../contracts/blobs.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { overrideStorage } from "../core/storage-overrides.ts";

/** The checker yields after so many milliseconds, or after so many reads. */
const SLICE_MS = 8;
const SLICE_READS = 32;

export type BlobReader = Pick<Blobs, "stream">;

export function yieldBetweenReads(
  storage: Storage,
  blobs: BlobReader,
): { readonly storage: Storage; readonly blobs: BlobReader } {
  const { environment } = storage;
  let since = environment.monotonic();
  let reads = 0;
  const pause = async () => {
    if (++reads < SLICE_READS && environment.monotonic() - since < SLICE_MS) return;
    await new Promise<void>((resolve) => environment.defer(resolve));
    [since, reads] = [environment.monotonic(), 0];
  };
  return {
    storage: overrideStorage(storage, {
      query: async (name, params) => {
        await pause();
        return storage.query(name, params);
      },
    }),
    blobs: {
      stream: async function* (ref) {
        await pause();
        yield* blobs.stream(ref);
      },
    },
  };
}
