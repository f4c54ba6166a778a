// Moves new embeddings into pages, in the background: a full page of codes at a time. Searches compare exactly what is not packed yet, so
// that packing changes no result. Several processes may pack one collection: the guard refuses the slower one.
import { HoldfastError } from "../contracts/errors.ts";
import type { Commit } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { TimeSlice } from "../core/time-slice.ts";
import { makePage, ROWS_AT_ONCE, readPageRows, requireFinite } from "./collection-codes.ts";
import { type CollectionState, type Generation, readCollection } from "./collections.ts";
import { VectorCoder } from "./kernel/code.ts";
import { encodePage, PAGE_SLOTS } from "./kernel/pages.ts";

/** How long packing may keep the event loop busy. */
const PACK_MS = 4;

/** Whether a page's worth of embeddings may be waiting. */
export function isPackable({ lastItem, current }: CollectionState): boolean {
  return current !== null && lastItem - current.packed >= PAGE_SLOTS;
}

export class Packer {
  readonly #storage: Storage;
  readonly #waiting = new Set<string>();
  #running: Promise<void> | null = null;
  #isClosing = false;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** Packs the collection's new embeddings soon. */
  schedule(collection: string): void {
    if (this.#isClosing) return;
    this.#waiting.add(collection);
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
  }

  /** Waits for the page under way; what is left is packed by the next handle that adds or searches. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    const { environment } = this.#storage;
    await new Promise<void>((resolve) => environment.defer(resolve));
    for (const collection of this.#waiting) {
      // Before its state is read: a later call of schedule() is about what this pass may not see.
      this.#waiting.delete(collection);
      try {
        while (!this.#isClosing && (await packPage(this.#storage, collection)));
        while (!this.#isClosing && (await refillPage(this.#storage, collection)));
      } catch (error) {
        // Nothing is lost: the embeddings stay where they are, and a later call packs them.
        environment.log("info", "vectors.pack", { collection, error: String(error) });
        if (error instanceof HoldfastError && error.code === "Closed") return;
      }
    }
  }
}

/** Makes a page of the oldest embeddings that are in none; false if they do not fill one. */
async function packPage(storage: Storage, name: string): Promise<boolean> {
  const state = await readCollection(storage, name);
  if (state === null || state.current === null || !isPackable(state)) return false;
  const { current } = state;
  const rows = await readUnpacked(storage, state, current);
  const last = rows.at(-1);
  if (last === undefined || rows.length < PAGE_SLOTS) return false;
  const coder = new VectorCoder(current.seed, current.dimension);
  const page = await makePage(coder, rows, new TimeSlice(storage.environment, PACK_MS));
  await storage.commit(
    packCommit(state, current, { first: rows[0]?.item ?? 0, last: last.item, codes: encodePage(page) }),
  );
  return true;
}

/** Makes the codes of a page again that an erasure has emptied; false if there is none, or an erasure was faster. */
async function refillPage(storage: Storage, name: string): Promise<boolean> {
  const state = await readCollection(storage, name);
  if (state === null || state.current === null) return false;
  const { no: collection, current } = state;
  const { generation } = current;
  const [empty] = await storage.query("vectors.emptyPages", { collection, generation, limit: 1 });
  if (empty === undefined) return false;
  const { first_item: first, change } = empty;
  const rows = await readPageRows(storage, collection, current, name, first);
  const coder = new VectorCoder(current.seed, current.dimension);
  const page = await makePage(coder, rows, new TimeSlice(storage.environment, PACK_MS));
  const outcome = await storage.commit({
    solo: true,
    guards: [
      { check: "collection.generation", key: [collection], expect: generation },
      { check: "page.change", key: [collection, generation, first], expect: change },
    ],
    writes: [
      { op: "run", statement: "vectors.touch", params: { collection } },
      {
        op: "run",
        statement: "vectors.refillPage",
        params: { collection, generation, first, codes: encodePage(page) },
      },
    ],
  });
  return outcome.ok;
}

async function readUnpacked(storage: Storage, { no: collection, name }: CollectionState, current: Generation) {
  const { generation, packed } = current;
  const rows: { readonly item: number; readonly vector: Float32Array }[] = [];
  for (let after = packed; rows.length < PAGE_SLOTS; ) {
    const limit = Math.min(ROWS_AT_ONCE, PAGE_SLOTS - rows.length);
    const read = await storage.query("vectors.after", { collection, generation, after, limit });
    for (const { item, embedding } of read) rows.push({ item, vector: requireFinite(embedding, current, name, item) });
    const last = read.at(-1);
    if (last === undefined || read.length < limit) break;
    after = last.item;
  }
  return rows;
}

/**
 * It does not guard the collection's change, or a collection that is written to all the time would never be packed: additions do not
 * concern the page, and a removal of one of its embeddings changes the guard of the tail.
 */
function packCommit(
  { no: collection }: CollectionState,
  { generation, packed, removals }: Generation,
  { first, last, codes }: { readonly first: number; readonly last: number; readonly codes: Uint8Array },
): Commit {
  return {
    solo: true,
    guards: [
      { check: "collection.generation", key: [collection], expect: generation },
      { check: "generation.tail", key: [collection, generation], expect: `${packed}:${removals}` },
    ],
    writes: [
      { op: "run", statement: "vectors.touch", params: { collection } },
      { op: "run", statement: "vectors.pack", params: { collection, generation, packed: last } },
      { op: "run", statement: "vectors.addPage", params: { collection, generation, first, codes } },
    ],
  };
}
