// The embeddings of passages as searches of messages and memories read them: scores of all of them by their codes, and exact scores of
// chosen ones. A collection whose embeddings are of another model is not read.
import type { Storage } from "../contracts/storage/storage.ts";
import { CodesCache } from "./codes-cache.ts";
import { type CollectionCodes, requireFinite } from "./collection-codes.ts";
import { type CollectionState, type Generation, readCollection } from "./collections.ts";
import { exactScore } from "./kernel/rescore.ts";
import { normOf } from "./kernel/vector.ts";
import { isPackable, Packer } from "./pack.ts";
import { PassageMap } from "./passage-map.ts";

/** Embeddings that are read by one statement. */
const ROWS_AT_ONCE = 500;
/** Passages that are remembered of so many collections: of messages, and of the scopes that were searched last. */
const MAPS = 64;

export type OpenedPassages =
  | { readonly state: "open"; readonly passages: ScoredPassages }
  /** No passage has an embedding yet. */
  | { readonly state: "empty" }
  /** The embeddings are of another model. */
  | { readonly state: "foreign"; readonly model: string };

export class PassageVectors {
  readonly #storage: Storage;
  readonly #cache: CodesCache;
  readonly #packer: Packer;
  /** By the collection's number, the longest unused first. Embeddings come in the order of items only within a generation. */
  readonly #maps = new Map<number, { readonly generation: number; readonly map: PassageMap }>();

  constructor(storage: Storage) {
    this.#storage = storage;
    this.#cache = new CodesCache(storage);
    this.#packer = new Packer(storage);
  }

  async open(collection: string, model: string): Promise<OpenedPassages> {
    const state = await readCollection(this.#storage, collection);
    if (state === null || state.current === null || state.current.vectors === 0) return { state: "empty" };
    if (state.current.model !== model) return { state: "foreign", model: state.current.model };
    const codes = await this.#cache.refreshed(state, state.current);
    const map = this.#mapOf(state.no, state.current.generation);
    await map.refresh();
    if (isPackable(state) || codes.hasEmptyPages) this.#packer.schedule(state.name);
    return { state: "open", passages: new ScoredPassages(this.#storage, state, state.current, codes, map) };
  }

  #mapOf(collection: number, generation: number): PassageMap {
    const known = this.#maps.get(collection);
    const map = known?.generation === generation ? known.map : new PassageMap(this.#storage, collection);
    this.#maps.delete(collection);
    this.#maps.set(collection, { generation, map });
    for (const no of this.#maps.keys()) {
      if (this.#maps.size <= MAPS) break;
      this.#maps.delete(no);
    }
    return map;
  }

  close(): Promise<void> {
    return this.#packer.close();
  }
}

export class ScoredPassages {
  readonly map: PassageMap;
  readonly #storage: Storage;
  readonly #state: CollectionState;
  readonly #generation: Generation;
  readonly #codes: CollectionCodes;

  constructor(
    storage: Storage,
    state: CollectionState,
    generation: Generation,
    codes: CollectionCodes,
    map: PassageMap,
  ) {
    this.#storage = storage;
    this.#state = state;
    this.#generation = generation;
    this.#codes = codes;
    this.map = map;
  }

  /** How near each passage is to the query, estimated; the entries are those of the map. */
  async estimateAll(query: Float32Array, onScore: (entry: number, score: number) => void): Promise<void> {
    await this.#codes.estimateAll(this.#storage, query, (item, score) => {
      const entry = this.map.entryOf(item);
      if (entry >= 0) onScore(entry, score);
    });
  }

  /** The exact scores of entries; one whose text was erased meanwhile has none. */
  async exactScores(query: Float32Array, entries: readonly number[]): Promise<ReadonlyMap<number, number>> {
    const { no: collection, name } = this.#state;
    const { generation, metric } = this.#generation;
    const norm = normOf(query);
    const scores = new Map<number, number>();
    for (let start = 0; start < entries.length; start += ROWS_AT_ONCE) {
      const items = entries.slice(start, start + ROWS_AT_ONCE).map((entry) => this.map.items[entry]);
      const of = { collection, generation, items: JSON.stringify(items) };
      for (const { item, embedding } of await this.#storage.query("vectors.byItems", of)) {
        const vector = requireFinite(embedding, this.#generation, name, item);
        scores.set(this.map.entryOf(item), exactScore(metric, query, norm, vector));
      }
    }
    return scores;
  }
}
