// A search: bring the codes in memory to the collection's present change, scan them, score the candidates by their stored embeddings, and
// read the documents of the best. Items never change, so that the result is that of one moment if none of its items was removed
// meanwhile; otherwise the search begins again.
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { DocumentMatch } from "../contracts/vectors.ts";
import type { ParsedFilter } from "../core/metadata-filter.ts";
import { findItems } from "../core/metadata-index.ts";
import type { CodesCache } from "./codes-cache.ts";
import type { CollectionCodes, ScanResult } from "./collection-codes.ts";
import { type CollectionState, DOCUMENTS, readCollection, requireSameModel } from "./collections.ts";
import { readDocument } from "./documents.ts";
import { scoreOf } from "./embedding.ts";
import { CandidateScorer, type ExactScore } from "./kernel/rescore.ts";
import { RowBitmap } from "./kernel/row-bitmap.ts";
import { checkVector } from "./kernel/vector.ts";
import { isPackable, type Packer } from "./pack.ts";
import { type SearchOutcome, searchUntilSettled } from "./settled-search.ts";

export interface VectorQuery {
  readonly vector: Float32Array;
  readonly model: string | undefined;
  readonly collection: string;
  readonly limit: number;
  readonly filter: ParsedFilter | null;
}

/** Candidates of a scan for each document that is wanted, and at least: see kernel/code.ts for how many are needed. */
const CANDIDATES = 20;
const CANDIDATES_MIN = 400;

/** Candidates that are scored at a time, for each document that is wanted, and at least: a server's answer takes longer than more rows. */
const BATCH = 3;
const BATCH_MIN = { sqlite: 32, postgres: 128 } as const;

export interface SearchContext {
  readonly storage: Storage;
  readonly payloads: Payloads;
  readonly cache: CodesCache;
  readonly packer: Packer;
}

export async function searchDocuments(context: SearchContext, query: VectorQuery): Promise<readonly DocumentMatch[]> {
  return searchUntilSettled(query.collection, () => searchOnce(context, query));
}

const NOTHING: SearchOutcome<DocumentMatch> = { matches: [], isStale: false };

async function searchOnce(context: SearchContext, query: VectorQuery): Promise<SearchOutcome<DocumentMatch>> {
  const { storage, payloads } = context;
  const state = await readCollection(storage, query.collection);
  if (state === null || state.current === null) return NOTHING;
  const nearest = await findNearest(context, state, query, (codes) => readFilter(storage, state, codes, query.filter));
  const items = nearest.best.map(({ row }) => row);
  const rows = await storage.query("documents.byItems", { collection: state.no, items: JSON.stringify(items) });
  const byItem = new Map(rows.map((row) => [row.item, row]));
  const matches: DocumentMatch[] = [];
  for (const { row: item, score } of nearest.best) {
    const row = byItem.get(item);
    if (row === undefined) continue;
    const { id, content, metadata } = await readDocument(payloads, state.name, row);
    matches.push({ id, content, score: scoreOf(state.current.metric, score), similarity: score, metadata });
  }
  return { matches, isStale: nearest.isStale || matches.length < nearest.best.length };
}

/** The nearest of the items that the filter allows; null: it allows all. */
export async function findNearest(
  { storage, cache, packer }: SearchContext,
  state: CollectionState,
  query: Pick<VectorQuery, "vector" | "model" | "limit">,
  readAllowed: (codes: CollectionCodes) => Promise<RowBitmap | null | "nothing">,
): Promise<NearestItems> {
  const { current } = state;
  if (current === null) return { best: [], isStale: false };
  const { vector, model, limit } = query;
  requireSameModel(state.name, current, { model, dimension: vector.length }, "query");
  checkVector(vector, current.dimension, current.metric, "query");
  // A process that added them may have ended before it packed them.
  if (isPackable(state)) packer.schedule(state.name);
  const codes = await cache.refreshed(state, current);
  const { version } = codes;
  const filter = await readAllowed(codes);
  if (filter === "nothing") return { best: [], isStale: codes.version !== version };
  const count = Math.max(CANDIDATES_MIN, CANDIDATES * limit);
  const scanned = await codes.scan(storage, vector, { count, limit, filter });
  if (codes.version !== version) return { best: [], isStale: true };
  return scoreExactly(storage, state, query, scanned);
}

async function readFilter(
  storage: Storage,
  { no }: CollectionState,
  codes: CollectionCodes,
  filter: ParsedFilter | null,
): Promise<RowBitmap | null | "nothing"> {
  if (filter === null) return null;
  return bitmapOf(await findItems(storage, { kind: DOCUMENTS, scope: no }, filter, async () => codes.items()));
}

/** Of sorted items. */
export function bitmapOf(items: readonly number[]): RowBitmap | "nothing" {
  const [first, last] = [items[0], items.at(-1)];
  if (first === undefined || last === undefined) return "nothing";
  const bitmap = new RowBitmap(first, last);
  for (const item of items) bitmap.add(item);
  return bitmap;
}

export interface NearestItems {
  /** Best first. */
  readonly best: readonly ExactScore[];
  readonly isStale: boolean;
}

async function scoreExactly(
  storage: Storage,
  { no: collection, current }: CollectionState,
  { vector, limit }: Pick<VectorQuery, "vector" | "limit">,
  { candidates, exact }: ScanResult,
): Promise<NearestItems> {
  if (current === null) return { best: [], isStale: false };
  const { generation, metric, precision } = current;
  const batch = Math.max(BATCH_MIN[storage.engine], BATCH * limit);
  const scorer = new CandidateScorer(vector, candidates, { metric, precision, count: limit, batch });
  let isStale = false;
  for (let items = scorer.nextRows(); items.length > 0; items = scorer.nextRows()) {
    const rows = await storage.query("vectors.byItems", { collection, generation, items: JSON.stringify(items) });
    for (const { item, embedding } of rows) scorer.score(item, embedding);
    isStale ||= rows.length < items.length;
  }
  const best = [...scorer.result(), ...exact].sort((a, b) => b.score - a.score || a.row - b.row);
  return { best: best.slice(0, limit), isStale };
}

/** The exact scores of those items that have an embedding. */
export async function scoreItems(
  storage: Storage,
  { no: collection, current }: CollectionState,
  vector: Float32Array,
  items: readonly number[],
): Promise<readonly ExactScore[]> {
  if (current === null || items.length === 0) return [];
  const { generation, metric, precision } = current;
  const count = items.length;
  const scorer = new CandidateScorer(vector, [], { metric, precision, count, batch: count });
  const rows = await storage.query("vectors.byItems", { collection, generation, items: JSON.stringify(items) });
  for (const { item, embedding } of rows) scorer.score(item, embedding);
  return scorer.result();
}
