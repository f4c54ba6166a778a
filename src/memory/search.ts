// Finds memories by a query: the text index ranks them, recency decides between those that say about as much, and their rows say
// whether they hold, match the filter, and have the query's phrases.
import type { MemoryHit, MemoryHits, MemorySignal } from "../contracts/memory.ts";
import type { MemoryRow } from "../contracts/storage/memory-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { TextLanguage } from "../contracts/text-index.ts";
import type { MEMORY_VERBS } from "../contracts/verbs/memory.ts";
import type { ValuesOf } from "../contracts/verbs/vocabulary.ts";
import { invalid } from "../core/check.ts";
import { jsonObject } from "../core/decode.ts";
import { matchesFilter, type ParsedFilter, parseFilter } from "../core/metadata-filter.ts";
import { findItems } from "../core/metadata-index.ts";
import { normaliseText } from "../core/normalise-text.ts";
import { runInSlices, type TimeSlice } from "../core/time-slice.ts";
import { type MeaningSearch, questionOf, readMeaning } from "../embeddings/query-vector.ts";
import { MEMORY_FIELDS, memoryFieldTerm, memoryText } from "../search/index/memory-item.ts";
import { searchSlice } from "../search/index/slice.ts";
import type { TextIndex } from "../search/index/text-index.ts";
import { type HybridWeights, hybridWeights, rankHybrid } from "../search/ranking/hybrid.ts";
import { matchesText } from "../search/ranking/match-text.ts";
import { checkQueryTerms } from "../search/ranking/query-limits.ts";
import { type IndexQuery, parseQuery, type SearchQuery, toIndexQuery } from "../search/text/query.ts";
import { memoriesCollection } from "../vectors/reserved.ts";
import { countWaiting, findNearest, firstNearest, type NearestMemories } from "./nearest.ts";
import { type FieldClue, type MemoryRanking, type RankedMemory, rankMemories } from "./rank.ts";
import { isExpired, memoryOf } from "./rows.ts";
import { findScope } from "./scopes.ts";

/** A store and the text index of its memories. */
export interface IndexedMemories {
  readonly storage: Storage;
  readonly index: TextIndex;
}

type SearchOptions = ValuesOf<typeof MEMORY_VERBS.search>[1];

/** The share of a score that recency decides, and after how long it is worth half. */
const RECENCY_WEIGHT = 0.15;
const HALF_LIFE_MINUTES = 30 * 24 * 60;
const MINUTE_MS = 60_000;

export interface SearchedMemories extends IndexedMemories {
  /** null: without an embedder. */
  readonly meaning: MeaningSearch | null;
}

export async function searchMemories(
  { storage, index, meaning }: SearchedMemories,
  text: string,
  options: SearchOptions,
): Promise<MemoryHits> {
  const filter = parseFilter(options.filter);
  const { from = 0, to = Number.MAX_SAFE_INTEGER } = options;
  if (from > to) throw invalid("from", "at most to", from);
  const scope = await findScope(storage, options);
  if (scope === null) return memoryHits([], { mode: meaning === null ? "text" : "hybrid", waiting: 0, warning: null });
  const parsed = parseQuery(text, MEMORY_FIELDS);
  const language = await index.readLanguage();
  const query = toIndexQuery(parsed, language);
  checkQueryTerms(query);
  const fields = fieldClues(parsed, options);
  // The embedder may be a server: its answer is not waited for before the index is read.
  const asking =
    meaning === null ? null : readMeaning(storage, meaning, memoriesCollection(scope), questionOf(text, parsed));
  asking?.catch(() => undefined);
  const slice = searchSlice(storage.environment);
  const ranking = await index.read((snapshot) => rankMemories(snapshot, query, { scope, fields, slice }));
  const allowed = filter === null ? null : await findMatching(storage, scope, filter);
  const allows = (item: number) => allowed?.has(item) ?? true;
  const asked = await asking;
  const now = storage.environment.now();
  const search = { scope, options, filter, parsed, query, language, now, slice, refused: new Set<number>() };
  const hits = await findHits(storage, search, {
    ranking,
    found: ranking.found.filter(({ item }) => allows(item)),
    readNearest: async (count) =>
      asked === null || asked.vector === null
        ? null
        : findNearest(asked.passages, {
            vector: asked.vector,
            count,
            allows: (item) => allows(item) && ranking.allows(item),
          }),
  });
  const warning = asked !== null && asked.vector === null ? asked.warning : null;
  const isHybrid = meaning !== null && warning === null;
  return memoryHits(hits, {
    mode: isHybrid ? "hybrid" : "text",
    waiting: meaning === null ? 0 : await countWaiting(storage, scope, meaning.embedder.model),
    warning,
  });
}

interface Candidates {
  readonly ranking: MemoryRanking;
  /** By words. */
  readonly found: readonly RankedMemory[];
  /** null: the search is by words only. */
  readonly readNearest: (count: number) => Promise<NearestMemories | null>;
}

/** Most of the nearest memories are hits. If not, because only rows say when they held and what their texts are, more are ranked. */
async function findHits(
  storage: Storage,
  search: HitSearch,
  { ranking, found, readNearest }: Candidates,
): Promise<readonly MemoryHit[]> {
  const { limit, at = search.now } = search.options;
  for (let wanted = firstNearest(limit); ; wanted *= 4) {
    const nearest = await readNearest(wanted);
    const ranked = joinScores(ranking, found, nearest)
      .map((one) => scoreMemory(one, at))
      .sort(compareScores);
    const { hits, isFull } = await takeHits(storage, ranked, search);
    if (isFull || nearest === null || nearest.isAll) return hits;
  }
}

/** Lists of hits are compared, printed and sent as lists: what is said about them is beside their elements. */
function memoryHits(hits: readonly MemoryHit[], about: Pick<MemoryHits, "mode" | "waiting" | "warning">): MemoryHits {
  const hidden = Object.entries(about).map(([name, value]) => [name, { value, enumerable: false }]);
  return Object.defineProperties([...hits], Object.fromEntries(hidden)) as unknown as MemoryHits;
}

/** Without vectors a memory's score is its text's. */
function joinScores(
  ranking: MemoryRanking,
  found: readonly RankedMemory[],
  nearest: NearestMemories | null,
): readonly MatchedMemory[] {
  if (nearest === null) return found.map(matchByWords);
  const texts = new Map(found.map(({ item, text }) => [item, text]));
  const { scores, floor } = nearest;
  const weights = hybridWeights(texts.size > 0);
  return rankHybrid(texts, scores, { weights, floor }).map(({ key: item, score, text, vector }) => ({
    weights,
    item,
    text,
    vector,
    match: score,
    minutes: ranking.minutesOf(item),
  }));
}

/** Memories that have words of the text, best first, whatever they are about. */
export async function findAlike(
  { storage, index }: IndexedMemories,
  {
    scope,
    text,
    limit,
    now,
  }: { readonly scope: number; readonly text: string; readonly limit: number; readonly now: number },
): Promise<readonly MemoryRow[]> {
  // As terms only: quotation marks and minus signs of a fact are no query language.
  const parsed: SearchQuery = { terms: text.split(/\s+/u), phrases: [], prefixes: [], excluded: [], filters: [] };
  const query = toIndexQuery(parsed, await index.readLanguage());
  const slice = searchSlice(storage.environment);
  const { found } = await index.read((snapshot) => rankMemories(snapshot, query, { scope, fields: [], slice }));
  const ranked = found.map((one) => scoreMemory(matchByWords(one), now)).sort(compareScores);
  const rows: MemoryRow[] = [];
  for await (const { row } of readRows(storage, scope, ranked)) {
    if (isExpired(row, now) || row.superseded_by !== null) continue;
    rows.push(row);
    if (rows.length === limit) break;
  }
  return rows;
}

function fieldClues({ filters }: SearchQuery, { kind, subject }: SearchOptions): readonly FieldClue[] {
  const given = filters.flatMap(({ field, value, isExcluded }) => {
    const known = MEMORY_FIELDS.find((one) => one === field);
    return known === undefined ? [] : [{ term: memoryFieldTerm(known, value), isExcluded }];
  });
  const options = [
    ...(kind === undefined ? [] : [memoryFieldTerm("kind", kind)]),
    ...(subject === undefined ? [] : [memoryFieldTerm("subject", subject)]),
  ];
  return [...given, ...options.map((term) => ({ term, isExcluded: false }))];
}

async function findMatching(storage: Storage, scope: number, filter: ParsedFilter): Promise<ReadonlySet<number>> {
  const items = await findItems(storage, { kind: "memories", scope }, filter, () => readNumbers(storage, scope));
  return new Set(items);
}

const NUMBERS_PAGE = 10_000;

async function readNumbers(storage: Storage, scope: number): Promise<readonly number[]> {
  const numbers: number[] = [];
  for (let after = 0; ; after = numbers.at(-1) ?? 0) {
    const rows = await storage.query("memories.numbers", { scope, after, limit: NUMBERS_PAGE });
    for (const { no } of rows) numbers.push(no);
    if (rows.length < NUMBERS_PAGE) return numbers;
  }
}

interface MatchedMemory extends RankedMemory {
  /** What text and vector say together. */
  readonly match: number;
  /** null: the search was by words only. */
  readonly vector: number | null;
  readonly weights: HybridWeights;
}

function matchByWords(memory: RankedMemory): MatchedMemory {
  return { ...memory, match: memory.text, vector: null, weights: { text: 1, vector: 0 } };
}

interface ScoredMemory extends MatchedMemory {
  readonly score: number;
  readonly recency: number;
}

function scoreMemory(memory: MatchedMemory, at: number): ScoredMemory {
  const age = Math.abs(Math.floor(at / MINUTE_MS) - memory.minutes);
  const recency = 0.5 ** (age / HALF_LIFE_MINUTES);
  return { ...memory, recency, score: memory.match * (1 - RECENCY_WEIGHT + RECENCY_WEIGHT * recency) };
}

/** Of equal scores, the fact that began later, then the one that was saved later. */
function compareScores(a: ScoredMemory, b: ScoredMemory): number {
  return b.score - a.score || b.minutes - a.minutes || b.item - a.item;
}

/** Rows that are read at once: most searches need no second read. */
const ROWS_READ = 24;

async function* readRows(
  storage: Storage,
  scope: number,
  ranked: readonly ScoredMemory[],
): AsyncGenerator<{ readonly row: MemoryRow; readonly scored: ScoredMemory }> {
  for (let first = 0; first < ranked.length; first += ROWS_READ) {
    const part = ranked.slice(first, first + ROWS_READ);
    const rows = await Promise.all(part.map(({ item }) => storage.query("memory.byNumber", { no: item, scope })));
    // A row that is not there was erased since the index was read.
    for (const [i, scored] of part.entries()) for (const row of rows[i] ?? []) yield { row, scored };
  }
}

interface HitSearch {
  readonly scope: number;
  readonly options: SearchOptions;
  readonly filter: ParsedFilter | null;
  readonly parsed: SearchQuery;
  readonly query: IndexQuery;
  readonly language: TextLanguage;
  readonly now: number;
  readonly slice: TimeSlice;
  /** Memories whose rows were read, and are no hits: they are not read again. */
  readonly refused: Set<number>;
}

/** Full: there are as many as the limit and the budget of tokens allow. */
async function takeHits(
  storage: Storage,
  ranked: readonly ScoredMemory[],
  search: HitSearch,
): Promise<{ readonly hits: readonly MemoryHit[]; readonly isFull: boolean }> {
  const { refused } = search;
  const { limit, tokens = Number.POSITIVE_INFINITY } = search.options;
  const hits: MemoryHit[] = [];
  let left = tokens;
  for await (const { row, scored } of readRows(
    storage,
    search.scope,
    ranked.filter(({ item }) => !refused.has(item)),
  )) {
    if (!(await isWanted(row, search))) {
      refused.add(scored.item);
      continue;
    }
    left -= Math.ceil(row.content.byteLength / BYTES_PER_TOKEN);
    if (left < 0) return { hits, isFull: true };
    hits.push({ ...memoryOf(row), score: rounded(scored.score), signals: signalsOf(scored) });
    if (hits.length === limit) return { hits, isFull: true };
  }
  return { hits, isFull: false };
}

const BYTES_PER_TOKEN = 4;

function signalsOf({ text, vector, recency, weights }: ScoredMemory): readonly MemorySignal[] {
  return [
    ...(text === 0 ? [] : [{ name: "text" as const, value: rounded(text), weight: weights.text }]),
    ...(vector === null || vector === 0
      ? []
      : [{ name: "vector" as const, value: rounded(vector), weight: weights.vector }]),
    { name: "recency", value: rounded(recency), weight: RECENCY_WEIGHT },
  ];
}

function rounded(score: number): number {
  return Math.round(score * 1e6) / 1e6;
}

/**
 * The index may be a moment older than the row, whose number another memory may have had then, and shares entries between long names:
 * the row decides.
 */
async function isWanted(row: MemoryRow, search: HitSearch): Promise<boolean> {
  const { options, filter, parsed, query, language, now, slice } = search;
  if (isExpired(row, now) || !isInTime(row, options, now)) return false;
  if (filter !== null && !matchesFilter(filter, jsonObject.read(row.metadata) ?? {})) return false;
  if (options.kind !== undefined && normaliseText(row.kind) !== normaliseText(options.kind)) return false;
  if (options.subject !== undefined && normaliseText(row.subject ?? "") !== normaliseText(options.subject))
    return false;
  if (!parsed.filters.every((one) => hasField(row, one))) return false;
  return runInSlices(matchesText(memoryText(memoryOf(row)), query, language), slice);
}

function isInTime(row: MemoryRow, { at, from, to, superseded }: SearchOptions, now: number): boolean {
  const end = Math.min(row.valid_to ?? Number.POSITIVE_INFINITY, row.superseded_from ?? Number.POSITIVE_INFINITY);
  if (from !== undefined && end <= from) return false;
  if (to !== undefined && row.valid_from >= to) return false;
  if (superseded) return true;
  // A stretch of time selects what held in it.
  if (at === undefined && (from !== undefined || to !== undefined)) return true;
  return end > (at ?? now) && (at === undefined || row.valid_from <= at);
}

function hasField({ kind, subject }: MemoryRow, { field, value, isExcluded }: SearchQuery["filters"][number]): boolean {
  const own = field === "kind" ? kind : (subject ?? "");
  return (normaliseText(own) === normaliseText(value)) !== isExcluded;
}
