// The query of a search as its vector: given by the caller, or the embedding of a text by the store's embedder.
import { HoldfastError } from "../contracts/errors.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { checkText, invalid } from "../core/check.ts";
import { readCollection } from "./collections.ts";
import { toVector } from "./embedding.ts";

/** Embeds a question with the store's embedder. */
export interface QueryEmbedder {
  /** The id of the embedder. */
  readonly model: string;
  embed(text: string): Promise<Float32Array>;
}

export interface ModelVector {
  readonly vector: Float32Array;
  readonly model: string | undefined;
}

/** null: there is nothing to search for. */
export async function readQuery(
  storage: Storage,
  embedder: QueryEmbedder | null,
  query: unknown,
  { collection, model }: { readonly collection: string; readonly model?: string },
): Promise<ModelVector | null> {
  if (typeof query !== "string") return { vector: toVector(query, "query"), model };
  const text = checkText(query, "query", "documentBytes");
  if (embedder === null) {
    throw new HoldfastError(
      "InvalidArgument",
      "a search by text needs an embedder, and this store was opened without one",
      {
        hint: "Open the store with one, open(url, { embedder }), or give the query's embedding.",
      },
    );
  }
  if (model !== undefined && model !== embedder.model) {
    throw invalid("model", `left out, or ${JSON.stringify(embedder.model)}, in a search by text`, model);
  }
  const state = text.trim() === "" ? null : await readCollection(storage, collection);
  if (state === null || state.current === null) return null;
  const { current } = state;
  if (current.model !== embedder.model) {
    const named = current.model === "" ? "a model without a name" : current.model;
    throw new HoldfastError(
      "EmbeddingMismatch",
      `the collection ${JSON.stringify(collection)} has embeddings of ${named}; the store's embedder is ${embedder.model}`,
      {
        details: { collection, expected: current.model, actual: embedder.model },
        hint:
          "Give the query's embedding by the collection's model. While embeddings.status() shows that texts wait, those of a new " +
          "embedder are being made. To go back to an embedder that the store has left, call embeddings.adopt().",
      },
    );
  }
  return { vector: await embedder.embed(text), model: embedder.model };
}
