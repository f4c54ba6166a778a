// Data that payloads wrote before their commit: parts with a holder row, and bytes outside the database. The commit
// takes them over. If it is refused, or the rule does not commit, they are released at once. After a crash, gc removes
// them.
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

  /** Waits for work in progress and ignores its error, which its caller handles. */
  expect(coming: Promise<unknown>): void {
    coming.catch(() => {});
    this.#expected.push(coming);
  }

  /** `holds` is an existing blob. It may have been erased since; then only the holder keeps it. */
  addHolder(holder: Uint8Array, holds: Uint8Array | null = null): void {
    this.#holders.push({ holder, holds });
  }

  addStored(placed: Pick<StoredBytes, "store" | "key">): void {
    this.#stored.push(placed);
  }

  /** Data that a commit took over is not affected: its holder is gone, and a row names its bytes. */
  async releaseAll(): Promise<void> {
    await Promise.allSettled(this.#expected);
    const { storage, byteStore } = this.#context;
    let bytes = 0;
    try {
      for (const { holder, holds } of this.#holders) {
        bytes += await takeApart(this.#context, holder);
        if (holds !== null) bytes += await reap(this.#context, [holds]);
      }
      await byteStore.drop(this.#stored);
      // If it was erased while it was held, it must be removed from the files too.
      if (bytes > 0) await storage.reclaim();
    } catch (error) {
      storage.environment.log("warn", "blobs.leftovers", { error: String(error) });
    }
  }
}

/** Whether the outcome of the commit is unknown: then none of its data may be removed. */
export function leavesOpen(error: unknown): boolean {
  if (!(error instanceof HoldfastError)) return true;
  return error.code === "StoreUnreachable" || error.code === "Internal" || error.code === "StoreCorrupted";
}
