// What payloads left behind before their commit: parts under a holder, bytes outside the database. The commit takes
// them over; when it is refused, or the rule decides not to commit, they are released at once. A crash before that
// leaves them to gc.
import { HoldfastError } from "../../contracts/errors.ts";
import type { BlobContext, StoredBytes } from "./byte-store.ts";
import { reap, takeApart } from "./drop.ts";

export class Leftovers {
  readonly #context: BlobContext;
  readonly #expected: Promise<unknown>[] = [];
  readonly #holders: { readonly holder: Uint8Array; readonly holds: Uint8Array | null }[] = [];
  readonly #stored: Pick<StoredBytes, "store" | "key">[] = [];

  constructor(context: BlobContext) {
    this.#context = context;
  }

  /** Waits for work in progress and ignores its failure: its caller handles that. */
  expect(coming: Promise<unknown>): void {
    coming.catch(() => {});
    this.#expected.push(coming);
  }

  /** `holds` is a blob that was there already; it may have been erased since, and then only the holder keeps it. */
  addHolder(holder: Uint8Array, holds: Uint8Array | null = null): void {
    this.#holders.push({ holder, holds });
  }

  addStored(placed: Pick<StoredBytes, "store" | "key">): void {
    this.#stored.push(placed);
  }

  /** Of what a commit took over nothing is found: its holder is gone, and a row names its bytes. */
  async letGo(): Promise<void> {
    await Promise.allSettled(this.#expected);
    const { storage, byteStore } = this.#context;
    let bytes = 0;
    try {
      for (const { holder, holds } of this.#holders) {
        bytes += await takeApart(this.#context, holder);
        if (holds !== null) bytes += await reap(this.#context, [holds]);
      }
      await byteStore.drop(this.#stored);
      // It may have been erased while it was held: then it has to leave the files, too.
      if (bytes > 0) await storage.reclaim();
    } catch (error) {
      storage.environment.log("warn", "blobs.leftovers", { error: String(error) });
    }
  }
}

/** Whether it may still turn out that the commit has happened: then nothing of it may be touched. */
export function leavesOpen(error: unknown): boolean {
  if (!(error instanceof HoldfastError)) return true;
  return error.code === "StoreUnreachable" || error.code === "Internal" || error.code === "StoreCorrupted";
}
