// The codes that one handle has in memory: those of the collections that it searched last, up to a number of bytes.
import type { Storage } from "../contracts/storage/storage.ts";
import { CollectionCodes } from "./collection-codes.ts";
import type { CollectionState, Generation } from "./collections.ts";

/** The collection that is searched stays, however large it is. */
const MOST_BYTES = 256 * 2 ** 20;

export class CodesCache {
  readonly #storage: Storage;
  /** By the collection's number, the longest unused first. */
  readonly #codes = new Map<number, CollectionCodes>();

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** The codes of the current generation, at the state's change or a later one. */
  async refreshed(state: CollectionState, current: Generation): Promise<CollectionCodes> {
    const known = this.#codes.get(state.no);
    const isUsable = known?.generation.generation === current.generation && !known.isRebuilt(state);
    const codes = isUsable ? known : new CollectionCodes(state, current);
    this.#codes.delete(state.no);
    this.#codes.set(state.no, codes);
    try {
      await codes.refresh(this.#storage, state);
    } catch (error) {
      // What was loaded in part is loaded again.
      if (this.#codes.get(state.no) === codes) this.#codes.delete(state.no);
      throw error;
    }
    this.#evict(state.no);
    return codes;
  }

  forget(collection: number): void {
    this.#codes.delete(collection);
  }

  #evict(kept: number): void {
    let bytes = 0;
    for (const codes of this.#codes.values()) bytes += codes.bytes;
    for (const [no, codes] of this.#codes) {
      if (bytes <= MOST_BYTES) return;
      if (no === kept) continue;
      this.#codes.delete(no);
      bytes -= codes.bytes;
    }
  }
}
