// The question of a search as its vector, and why there is none. A search that cannot embed its question answers by words, and says so.
import { HoldfastError } from "../contracts/errors.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { SearchQuery } from "../search/text/query.ts";
import type { OpenedPassages, PassageVectors, ScoredPassages } from "../vectors/passage-vectors.ts";
import { describeFailedQuestion, isQuestion, type QueryEmbedder } from "../vectors/query-text.ts";

/** What a search by meaning needs. */
export interface MeaningSearch {
  readonly embedder: QueryEmbedder;
  loadPassages(): Promise<PassageVectors>;
}

/** The nearest passages to a question can be found; or not, and `warning` says why, unless none is embedded yet. */
export type Meaning =
  | { readonly vector: Float32Array; readonly passages: ScoredPassages }
  | { readonly vector: null; readonly warning: string | null };

/** What is embedded of a query: all of it or, with filters or exclusions, its other words. */
export function questionOf(text: string, { terms, phrases, prefixes, filters, excluded }: SearchQuery): string {
  if (filters.length === 0 && excluded.length === 0) return text.toWellFormed();
  return [...terms, ...phrases, ...prefixes].join(" ").toWellFormed();
}

export async function readMeaning(
  storage: Storage,
  { embedder, loadPassages }: MeaningSearch,
  collection: string,
  question: string,
  signal?: AbortSignal,
): Promise<Meaning> {
  if (!isQuestion(question)) return { vector: null, warning: null };
  const opened = await (await loadPassages()).open(collection, embedder.model);
  if (opened.state !== "open") return { vector: null, warning: await readWarning(opened, embedder) };
  try {
    return { vector: await embedder.embed(question, signal), passages: opened.passages };
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code === "Closed" || signal?.aborted === true) throw error;
    storage.environment.log("warn", "search.embedder", { embedder: embedder.model, error: error.code });
    return { vector: null, warning: describeFailedQuestion(embedder.model, error) };
  }
}

async function readWarning(
  opened: Exclude<OpenedPassages, { readonly state: "open" }>,
  { model, knownFailure }: QueryEmbedder,
): Promise<string | null> {
  if (opened.state === "empty") {
    const failure = await knownFailure();
    return failure === null
      ? null
      : `found by words only: nothing is embedded yet, because the embedder ${model} failed (${failure})`;
  }
  return (
    `found by words only: the embeddings are of ${opened.model}, and the embedder is ${model}. While embeddings.status() ` +
    "shows that texts wait, they are embedded again; embeddings.adopt() makes this embedder the store's"
  );
}
