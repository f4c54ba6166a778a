// The items of collections, as they are embedded: documents of callers, or passages of messages and memories. Both have numbers that
// never change their text, and a mark while they wait.
import type { EmbeddedKind } from "../contracts/embeddings.ts";
import type { Commit, Write } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { CheckedEmbedder } from "../core/embed-texts.ts";
import { type CollectionState, collectionGuards, collectionOf, type Generation } from "../vectors/collections.ts";
import { encodeEmbedding } from "../vectors/documents.ts";
import { checkVector } from "../vectors/kernel/vector.ts";
import { stateWrites } from "../vectors/write.ts";
import type { EmbeddingFault } from "./failures.ts";
import type { EmbeddingOutcome, TextItem } from "./source.ts";

/** An item that is there; `moveWrites` are for its rows in other tables if its number becomes another one. */
export interface StoredItem {
  readonly item: number;
  moveWrites(to: number): readonly Write[];
}

export interface ItemTable {
  readonly kind: EmbeddedKind;
  readonly table: "documents" | "passages";
  readonly precision: Generation["precision"];
  /** Whether the collection is one of these. */
  has(collection: string): boolean;
  /** The texts of those items that are there. */
  readTexts(state: CollectionState, items: readonly number[]): Promise<readonly TextItem[]>;
  findItems(state: CollectionState, items: readonly number[]): Promise<readonly StoredItem[]>;
  /** For the text index, of items that got other numbers. */
  indexWrites(state: CollectionState, moved: ReadonlyMap<number, number>): readonly Write[];
  /** Items without any text need no embedding. */
  skipCommit(state: CollectionState, items: readonly number[]): Commit;
}

export interface SourceContext {
  readonly storage: Storage;
  readonly items: ItemTable;
  readonly embedder: CheckedEmbedder;
  /** Embedders that the store has left. */
  left(): readonly string[];
}

export async function readCollectionAt(storage: Storage, no: number): Promise<CollectionState | null> {
  const [row] = await storage.query("vectors.collectionAt", { no });
  return row === undefined ? null : collectionOf(row);
}

/** A commit that relies on the collection as it was read, and counts its change. Erasures change collections without a guard. */
export function changeCommit(state: CollectionState, writes: readonly Write[], next = state): Commit {
  const changed = { ...next, change: state.change + 1 };
  return { solo: true, guards: collectionGuards(state, false), writes: [...writes, ...stateWrites(changed)] };
}

/** False for what the collection cannot store, such as a vector of zeros, which has no direction. */
function isUsableVector({ dimension, metric, precision }: Generation, vector: Float32Array): boolean {
  try {
    checkVector(vector, dimension, metric, "embedding");
    encodeEmbedding(vector, precision, "embedding");
    return true;
  } catch {
    return false;
  }
}

/** A vector is the same at every try. */
const UNUSABLE: EmbeddingFault = {
  reason: "its vector is all zeros, or too large",
  isRetryable: false,
  retryAfterMs: 0,
};

/** Halves have no room for larger numbers, and few digits for much smaller ones. */
const HALF_MAX = 65_504;
const HALF_MIN = 2 ** -8;

/** For a cosine only the direction counts, which a power of two does not change. */
function fitHalves({ metric, precision }: Generation, vector: Float32Array): Float32Array {
  if (precision !== "f16" || metric !== "cosine") return vector;
  const largest = vector.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
  if (largest === 0 || (largest >= HALF_MIN && largest <= HALF_MAX)) return vector;
  const factor = 2 ** -Math.floor(Math.log2(largest));
  return vector.map((one) => one * factor);
}

/** The vector to store, or why there is none. */
export function usableOutcome(generation: Generation, outcome: EmbeddingOutcome): EmbeddingOutcome {
  if (!(outcome instanceof Float32Array)) return outcome;
  const vector = fitHalves(generation, outcome);
  return isUsableVector(generation, vector) ? vector : UNUSABLE;
}
