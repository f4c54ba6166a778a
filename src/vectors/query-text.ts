// How a text is searched for: by its words, by its embedding, or by both.
import { HoldfastError } from "../contracts/errors.ts";
import type { TextSearchMode } from "../contracts/vectors.ts";
import { invalid } from "../core/check.ts";
import { embeddingReason } from "../core/embedding-reason.ts";
import type { CollectionState } from "./collections.ts";

/** Embeds a question with the store's embedder. */
export interface QueryEmbedder {
  /** The id of the embedder. */
  readonly model: string;
  /** EmbeddingFailed at once for some seconds after a failure that took long. */
  embed(text: string, signal?: AbortSignal): Promise<Float32Array>;
  /** Why the embedder failed last, if no call has succeeded since. */
  knownFailure(): Promise<string | null>;
}

/** Why a search is by words only although there is an embedder; null if nothing of the collection could be found by it. */
export async function describeTextMode(state: CollectionState, embedder: QueryEmbedder): Promise<string | null> {
  const { current, documents } = state;
  if (current !== null && current.model !== embedder.model) {
    const of = current.model === "" ? "a model without a name" : current.model;
    return `found by words only: the collection's embeddings are of ${of}, and the embedder is ${embedder.model}`;
  }
  if (documents === 0) return null;
  const failure = await embedder.knownFailure();
  return `found by words only: no document has an embedding yet${failure === null ? "" : `, because the embedder failed (${failure})`}`;
}

const MEANING = /[\p{L}\p{N}\p{Extended_Pictographic}]/u;

/** Punctuation alone is no question: nothing is near to it. */
export function isQuestion(text: string): boolean {
  return MEANING.test(text);
}

/** The mode that the caller wants, or what is possible. An error says why a wanted one is not. */
export function chooseMode(
  wanted: TextSearchMode | undefined,
  state: CollectionState | null,
  embedder: QueryEmbedder | null,
  { hasIndex }: { readonly hasIndex: boolean },
): TextSearchMode {
  if (wanted === "text" || (embedder === null && wanted === undefined)) return "text";
  const current = state?.current ?? null;
  const isEmbedded = current === null || current.model === embedder?.model;
  if (wanted === undefined && hasIndex) return current !== null && isEmbedded ? "hybrid" : "text";
  const mode = wanted ?? "vector";
  if (embedder === null) throw noEmbedder(mode);
  if (!isEmbedded && state !== null) throw otherModel(state.name, current.model, embedder.model);
  return mode;
}

export function describeFailedQuestion(model: string, error: unknown): string {
  return `found by words only: the embedder ${model} could not embed the query (${embeddingReason(error)})`;
}

/** A search by text names no model: the embedder has one. */
export function checkQueryModel(model: string | undefined, embedder: QueryEmbedder | null): void {
  if (model === undefined || model === embedder?.model) return;
  const wanted = embedder === null ? "left out" : `left out, or ${JSON.stringify(embedder.model)},`;
  throw invalid("model", `${wanted} in a search by text`, model);
}

function noEmbedder(mode: TextSearchMode): HoldfastError {
  return new HoldfastError(
    "InvalidArgument",
    `mode "${mode}" needs an embedder, and this store was opened without one`,
    {
      hint: 'Open the store with one, open(url, { embedder }), or search by words: mode "text".',
    },
  );
}

function otherModel(collection: string, expected: string, actual: string): HoldfastError {
  const named = expected === "" ? "a model without a name" : expected;
  return new HoldfastError(
    "EmbeddingMismatch",
    `the collection ${JSON.stringify(collection)} has embeddings of ${named}; the store's embedder is ${actual}`,
    {
      details: { collection, expected, actual },
      hint:
        "Search by words, mode \"text\", or give the query's embedding by the collection's model. While embeddings.status() shows that " +
        "texts wait, those of a new embedder are being made. To go back to an embedder that the store has left, call embeddings.adopt().",
    },
  );
}
