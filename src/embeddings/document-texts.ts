// Documents as texts to embed, and what the commits of embeddings have in common.
import type { Commit, Write } from "../contracts/storage/commit.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { CheckedEmbedder } from "../core/embed-texts.ts";
import { type CollectionState, collectionGuards, collectionOf, type Generation } from "../vectors/collections.ts";
import { encodeEmbedding, readDocument, type StoredDocument } from "../vectors/documents.ts";
import { checkVector } from "../vectors/kernel/vector.ts";
import { stateWrites } from "../vectors/write.ts";
import type { TextItem } from "./source.ts";

export interface SourceContext {
  readonly storage: Storage;
  readonly payloads: Payloads;
  readonly embedder: CheckedEmbedder;
  /** Embedders that the store has left. */
  left(): readonly string[];
}

export async function readCollectionAt(storage: Storage, no: number): Promise<CollectionState | null> {
  const [row] = await storage.query("vectors.collectionAt", { no });
  return row === undefined ? null : collectionOf(row);
}

export async function readDocuments(
  { storage, payloads }: Pick<SourceContext, "storage" | "payloads">,
  { no: collection, name }: CollectionState,
  items: readonly number[],
): Promise<readonly StoredDocument[]> {
  const rows = await storage.query("documents.byItems", { collection, items: JSON.stringify(items) });
  const documents: StoredDocument[] = [];
  for (const row of rows) documents.push(await readDocument(payloads, name, row));
  return documents;
}

/** The texts of a document's blocks, which is all that an embedder of texts can embed of it. */
export function textItem({ item, content }: StoredDocument): TextItem {
  const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  return { item, text: text.toWellFormed() };
}

/** A commit that relies on the collection as it was read, and counts its change. */
export function changeCommit(state: CollectionState, writes: readonly Write[], next = state): Commit {
  const changed = { ...next, change: state.change + 1 };
  return { guards: collectionGuards(state, false), writes: [...writes, ...stateWrites(changed)] };
}

/** False for what the collection cannot store, such as a vector of zeros, which has no direction. */
export function isUsableVector({ dimension, metric, precision }: Generation, vector: Float32Array): boolean {
  try {
    checkVector(vector, dimension, metric, "embedding");
    encodeEmbedding(vector, precision, "embedding");
    return true;
  } catch {
    return false;
  }
}

export function unusableWrite({ environment }: Storage, scope: number, item: number): Write {
  const failure = { attempts: 1, due_at: null, reason: "UnusableVector", at: environment.now() };
  return { op: "put", table: "embedding_failures", row: { kind: "documents", scope, item, ...failure } };
}
