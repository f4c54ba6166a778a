// Searches of documents by a text: the text index ranks them by their words; if the store's embedder made the collection's embeddings,
// the question is embedded too, and both rankings become one. A text index and the rows are read one after the other: if something
// that was found is gone, a writer was faster, and the search begins again.
import { HoldfastError } from "../contracts/errors.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { DocumentRow } from "../contracts/storage/vector-queries.ts";
import type { DocumentSignal, TextMatch, TextMatches, TextSearchMode } from "../contracts/vectors.ts";
import { checkText } from "../core/check.ts";
import type { ParsedFilter } from "../core/metadata-filter.ts";
import { findItems } from "../core/metadata-index.ts";
import { runInSlices, TimeSlice } from "../core/time-slice.ts";
import { documentIndex, documentText } from "../search/index/document-index.ts";
import { searchIsOff } from "../search/index/search-off.ts";
import type { MessageIndexOptions } from "../search/index/snapshot.ts";
import { hybridWeights, rankHybrid } from "../search/ranking/hybrid.ts";
import { matchesText } from "../search/ranking/match-text.ts";
import { readPassage } from "../search/ranking/snippet.ts";
import type { IndexQuery } from "../search/text/query.ts";
import { type CollectionState, DOCUMENTS, readCollection } from "./collections.ts";
import { readDocument } from "./documents.ts";
import type { RowBitmap } from "./kernel/row-bitmap.ts";
import { chooseMode, describeFailedQuestion, describeTextMode, isQuestion, type QueryEmbedder } from "./query-text.ts";
import { bitmapOf, findNearest, type SearchContext, scoreItems } from "./search.ts";
import { type SearchOutcome, searchUntilSettled } from "./settled-search.ts";
import { rankByWords, type WordMatch, WordQuery } from "./word-search.ts";

export interface TextQuery {
  readonly text: string;
  readonly collection: string;
  readonly limit: number;
  readonly filter: ParsedFilter | null;
  /** undefined: what is possible. */
  readonly mode: TextSearchMode | undefined;
}

export interface TextSearch {
  search(context: SearchContext, query: TextQuery): Promise<TextMatches>;
  /** No word of what was erased stays in memory. */
  forget(): void;
}

/** `options` is null if the store was opened without the text index. */
export function createTextSearch(
  storage: Storage,
  options: MessageIndexOptions | null,
  embedder: QueryEmbedder | null,
): TextSearch {
  const index = options === null ? null : documentIndex(storage, options);
  return {
    search: async (context, query) => {
      const text = checkText(query.text, "query", "documentBytes");
      const state = await readCollection(storage, query.collection);
      const mode = chooseMode(query.mode, state, embedder, { hasIndex: index !== null });
      if (mode !== "vector" && index === null) throw searchIsOff();
      if (state === null || !isQuestion(text)) return listOf([], mode);
      const asked = await askQuestion(query, state, mode, embedder, { hasIndex: index !== null });
      const { vector, warning } = asked;
      const words = mode === "vector" || index === null ? null : await WordQuery.read(index, text);
      const slice = new TimeSlice(storage.environment);
      const search = { context, query, vector, model: embedder?.model, words, slice };
      return listOf(await searchUntilSettled(query.collection, () => searchOnce(search)), asked.mode, warning);
    },
    forget: () => index?.forget(),
  };
}

/** Not enumerable: a list of matches compares as any other list. */
function listOf(matches: readonly TextMatch[], mode: TextSearchMode, warning: string | null = null): TextMatches {
  const list = [...matches];
  Object.defineProperties(list, { mode: { value: mode }, warning: { value: warning } });
  return list as readonly TextMatch[] as TextMatches;
}

interface Question {
  readonly mode: TextSearchMode;
  /** null: the search is by words only. */
  readonly vector: Float32Array | null;
  readonly warning: string | null;
}

/** A search whose mode the caller left open is by words if the embedder fails. */
async function askQuestion(
  { text, mode: wanted }: TextQuery,
  state: CollectionState,
  mode: TextSearchMode,
  embedder: QueryEmbedder | null,
  { hasIndex }: { readonly hasIndex: boolean },
): Promise<Question> {
  if (embedder === null) return { mode, vector: null, warning: null };
  if (mode === "text") {
    const warning = wanted === undefined ? await describeTextMode(state, embedder) : null;
    return { mode, vector: null, warning };
  }
  try {
    return { mode, vector: await embedder.embed(text), warning: null };
  } catch (error) {
    const isFailure = error instanceof HoldfastError && error.code === "EmbeddingFailed";
    if (!isFailure || wanted !== undefined || !hasIndex) throw error;
    return { mode: "text", vector: null, warning: describeFailedQuestion(embedder.model, error) };
  }
}

interface OneSearch {
  readonly context: SearchContext;
  readonly query: TextQuery;
  /** null: the search is by words only. */
  readonly vector: Float32Array | null;
  /** The model of the vector. */
  readonly model: string | undefined;
  /** null: the search is by the embedding only. */
  readonly words: WordQuery | null;
  readonly slice: TimeSlice;
}

/** Documents of each ranking that both are made one of. */
const CANDIDATES = 4;
const CANDIDATES_MIN = 100;

async function searchOnce(search: OneSearch): Promise<SearchOutcome<TextMatch>> {
  const { context, query, vector } = search;
  const state = await readCollection(context.storage, query.collection);
  if (state === null) return { matches: [], isStale: false };
  // Most documents that are ranked are matches. If not, more are ranked.
  const first = vector === null ? query.limit : Math.max(CANDIDATES_MIN, CANDIDATES * query.limit);
  for (let wanted = first; ; wanted *= 4) {
    const ranked = await rankDocuments(search, state, wanted);
    const taken = await takeMatches(search, state, ranked.documents);
    const isStale = ranked.isStale || taken.isStale;
    if (isStale || ranked.isAll || taken.matches.length === query.limit) return { ...taken, isStale };
  }
}

interface RankedDocument {
  readonly item: number;
  readonly score: number;
  readonly similarity: number | null;
  readonly signals: readonly DocumentSignal[];
  /** The passage that has most of the query. */
  readonly part: number;
}

interface RankedDocuments {
  /** Best first. */
  readonly documents: readonly RankedDocument[];
  /** No others match. */
  readonly isAll: boolean;
  readonly isStale: boolean;
}

async function rankDocuments(search: OneSearch, state: CollectionState, wanted: number): Promise<RankedDocuments> {
  const { context, query, model, vector, words, slice } = search;
  const items = await readAllowedItems(context.storage, state, query.filter);
  if (items?.length === 0) return { documents: [], isAll: true, isStale: false };
  const selection = { collection: state.no, items, limit: wanted };
  const byWords = words === null ? [] : await rankByWords(words, selection, slice);
  const isAll = byWords.length < wanted;
  if (vector === null) {
    const documents = byWords.map(({ item, part, share }) => {
      const signals = [{ name: "text", value: share, weight: 1 } as const];
      return { item, part, score: share, similarity: null, signals };
    });
    return { documents, isAll, isStale: false };
  }
  const allowed: RowBitmap | null | "nothing" = items === null ? null : bitmapOf(items);
  const nearest = await findNearest(context, state, { vector, model, limit: wanted }, async () => allowed);
  const near = new Map(nearest.best.map(({ row, score }) => [row, score]));
  const others = byWords.flatMap(({ item }) => (near.has(item) ? [] : [item]));
  for (const { row, score } of await scoreItems(context.storage, state, vector, others)) near.set(row, score);
  const documents = mixRankings(byWords, near, words !== null);
  return { documents, isAll: isAll && nearest.best.length < wanted, isStale: nearest.isStale };
}

/** null: all. */
async function readAllowedItems(
  storage: Storage,
  { no }: CollectionState,
  filter: ParsedFilter | null,
): Promise<readonly number[] | null> {
  if (filter === null) return null;
  return findItems(storage, { kind: DOCUMENTS, scope: no }, filter, () => readItems(storage, no));
}

const ITEMS_AT_ONCE = 10_000;

async function readItems(storage: Storage, collection: number): Promise<readonly number[]> {
  const items: number[] = [];
  for (let after = 0; ; after = items.at(-1) ?? after) {
    const rows = await storage.query("documents.items", { collection, after, limit: ITEMS_AT_ONCE });
    for (const { item } of rows) items.push(item);
    if (rows.length < ITEMS_AT_ONCE) return items;
  }
}

function mixRankings(
  byWords: readonly WordMatch[],
  near: ReadonlyMap<number, number>,
  hasWords: boolean,
): readonly RankedDocument[] {
  const parts = new Map(byWords.map(({ item, part }) => [item, part]));
  const shares = new Map(byWords.map(({ item, share }) => [item, share]));
  const weights = hybridWeights(hasWords);
  return rankHybrid(shares, near, { weights }).map(({ key: item, score, text, vector }) => {
    return {
      item,
      part: parts.get(item) ?? 0,
      score,
      similarity: near.get(item) ?? null,
      signals: [
        ...(text > 0 ? [{ name: "text" as const, value: text, weight: weights.text }] : []),
        ...(vector > 0 ? [{ name: "vector" as const, value: vector, weight: weights.vector }] : []),
      ],
    };
  });
}

/** Documents that are read at once, at most. */
const BATCH = 16;

async function takeMatches(
  search: OneSearch,
  state: CollectionState,
  ranked: readonly RankedDocument[],
): Promise<SearchOutcome<TextMatch>> {
  const { context, query } = search;
  const matches: TextMatch[] = [];
  let isStale = false;
  for (let read = 0; read < ranked.length && matches.length < query.limit; ) {
    const batch = ranked.slice(read, read + Math.min(BATCH, query.limit - matches.length));
    read += batch.length;
    const items = JSON.stringify(batch.map(({ item }) => item));
    const rows = await context.storage.query("documents.byItems", { collection: state.no, items });
    const byItem = new Map(rows.map((row) => [row.item, row]));
    for (const one of batch) {
      const row = byItem.get(one.item);
      if (row === undefined) isStale = true;
      const match = row === undefined ? null : await readMatch(search, state, one, row);
      if (match !== null) matches.push(match);
    }
  }
  return { matches, isStale };
}

/** null: the text has not what the query demands, or has what it excludes. */
async function readMatch(
  { context, words, slice }: OneSearch,
  { name }: CollectionState,
  { score, similarity, signals, part }: RankedDocument,
  row: DocumentRow,
): Promise<TextMatch | null> {
  const { id, content, metadata, ...document } = await readDocument(context.payloads, name, row);
  const text = documentText(content);
  const language = document.language ?? words?.language ?? "none";
  const query = words?.in(language) ?? NO_WORDS;
  if (!(await runInSlices(matchesText(text, query, language), slice))) return null;
  const { snippet } = await runInSlices(readPassage(text, part, query, language), slice);
  return { id, content, score, similarity, metadata, signals, snippet };
}

const NO_WORDS: IndexQuery = {
  terms: [],
  compounds: [],
  phrases: [],
  prefixes: [],
  excluded: { phrases: [], prefixes: [] },
};
