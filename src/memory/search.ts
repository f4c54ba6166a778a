// Finds memories by a query: the text index ranks them, recency decides between those that say about as much, and their rows say
// whether they hold, match the filter, and have the query's phrases.
import type { MemoryHit, MemorySignal } from "../contracts/memory.ts";
import type { MemoryRow } from "../contracts/storage/memory-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { TextLanguage } from "../contracts/text-index.ts";
import type { MEMORY_VERBS } from "../contracts/verbs/memory.ts";
import type { ValuesOf } from "../contracts/verbs/vocabulary.ts";
import { jsonObject } from "../core/decode.ts";
import { matchesFilter, type ParsedFilter, parseFilter } from "../core/metadata-filter.ts";
import { findItems } from "../core/metadata-index.ts";
import { normaliseText } from "../core/normalise-text.ts";
import { MEMORY_FIELDS, memoryFieldTerm, memoryText } from "../search/index/memory-item.ts";
import type { TextIndex } from "../search/index/text-index.ts";
import { checkQueryTerms } from "../search/ranking/query-limits.ts";
import { type IndexQuery, parseQuery, type SearchQuery, toIndexQuery } from "../search/text/query.ts";
import { tokenise } from "../search/text/tokenise.ts";
import { type FieldClue, type RankedMemory, rankMemories } from "./rank.ts";
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

export async function searchMemories(
  { storage, index }: IndexedMemories,
  text: string,
  options: SearchOptions,
): Promise<readonly MemoryHit[]> {
  const filter = parseFilter(options.filter);
  const scope = await findScope(storage, options);
  if (scope === null) return [];
  const parsed = parseQuery(text, MEMORY_FIELDS);
  const language = await index.readLanguage();
  const query = toIndexQuery(parsed, language);
  checkQueryTerms(query);
  const fields = fieldClues(parsed, options);
  const found = await index.read((snapshot) => rankMemories(snapshot, query, { scope, fields }));
  const allowed = filter === null ? null : await findMatching(storage, scope, filter);
  const at = options.at ?? storage.environment.now();
  const ranked = found
    .filter(({ item }) => allowed?.has(item) ?? true)
    .map((one) => scoreMemory(one, at))
    .sort(compareScores);
  return takeHits(storage, ranked, { scope, options, filter, query, language, now: storage.environment.now() });
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
  const found = await index.read((snapshot) => rankMemories(snapshot, query, { scope, fields: [] }));
  const ranked = found.map((one) => scoreMemory(one, now)).sort(compareScores);
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

interface ScoredMemory extends RankedMemory {
  readonly score: number;
  readonly recency: number;
}

function scoreMemory(memory: RankedMemory, at: number): ScoredMemory {
  const age = Math.abs(Math.floor(at / MINUTE_MS) - memory.minutes);
  const recency = 0.5 ** (age / HALF_LIFE_MINUTES);
  return { ...memory, recency, score: memory.text * (1 - RECENCY_WEIGHT + RECENCY_WEIGHT * recency) };
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
  readonly query: IndexQuery;
  readonly language: TextLanguage;
  readonly now: number;
}

async function takeHits(
  storage: Storage,
  ranked: readonly ScoredMemory[],
  search: HitSearch,
): Promise<readonly MemoryHit[]> {
  const { limit, tokens = Number.POSITIVE_INFINITY } = search.options;
  const hits: MemoryHit[] = [];
  let left = tokens;
  for await (const { row, scored } of readRows(storage, search.scope, ranked)) {
    if (!isWanted(row, search)) continue;
    left -= Math.ceil(row.content.byteLength / BYTES_PER_TOKEN);
    if (left < 0) break;
    hits.push({ ...memoryOf(row), score: rounded(scored.score), signals: signalsOf(scored) });
    if (hits.length === limit) break;
  }
  return hits;
}

const BYTES_PER_TOKEN = 4;

function signalsOf({ text, recency }: ScoredMemory): readonly MemorySignal[] {
  return [
    { name: "text", score: rounded(text), weight: 1 },
    { name: "recency", score: rounded(recency), weight: RECENCY_WEIGHT },
  ];
}

function rounded(score: number): number {
  return Math.round(score * 1e6) / 1e6;
}

/** The index may be a moment older than the row, and shares entries between long names: the row decides. */
function isWanted(row: MemoryRow, { options, filter, query, language, now }: HitSearch): boolean {
  if (isExpired(row, now) || !isInTime(row, options, now)) return false;
  if (filter !== null && !matchesFilter(filter, jsonObject.read(row.metadata) ?? {})) return false;
  if (options.kind !== undefined && normaliseText(row.kind) !== normaliseText(options.kind)) return false;
  if (options.subject !== undefined && normaliseText(row.subject ?? "") !== normaliseText(options.subject))
    return false;
  return hasPhrases(row, query, language);
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

function hasPhrases(row: MemoryRow, query: IndexQuery, language: TextLanguage): boolean {
  const excluded = query.excluded.phrases.filter(({ length }) => length > 1);
  if (query.phrases.length === 0 && excluded.length === 0) return true;
  const positions = new Map<number, Set<string>>();
  for (const { term, position } of tokenise(memoryText(memoryOf(row)), language)) {
    positions.set(position, (positions.get(position) ?? new Set()).add(term));
  }
  const has = (phrase: readonly string[]) =>
    [...positions.keys()].some((start) => phrase.every((term, i) => positions.get(start + i)?.has(term) ?? false));
  return query.phrases.every(has) && !excluded.some(has);
}
