// Embeds a collection again for another embedder. A generation is built beside the current one, which answers searches meanwhile; when it
// has all documents, one commit makes it the current one. The old one is removed afterwards, in small commits.
import type { EmbeddedKind } from "../contracts/embeddings.ts";
import type { Write } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { decide } from "../core/decide.ts";
import {
  type CollectionState,
  type Generation,
  generationOf,
  newGeneration,
  putGeneration,
} from "../vectors/collections.ts";
import { encodeEmbedding } from "../vectors/documents.ts";
import { failureWrite, forgetFailuresWrite } from "./failures.ts";
import { changeCommit, readCollectionAt, type SourceContext, usableOutcome } from "./item-table.ts";
import type { EmbeddingOutcome, SourceStep } from "./source.ts";

const COLLECTIONS_AT_ONCE = 100;
const ITEMS_AT_ONCE = 256;
/** Embeddings that one commit removes. */
const REMOVED_AT_ONCE = 500;

/** How far a generation is built: documents up to this item are embedded, or have failed. */
export type BuildProgress = Map<string, number>;

export async function nextRebuildStep(
  context: SourceContext,
  progress: BuildProgress,
  limit: number,
): Promise<SourceStep> {
  for (const model of context.left()) {
    for (let after = 0; ; ) {
      const query = { model, after, limit: COLLECTIONS_AT_ONCE };
      const rows = await context.storage.query("generations.ofModel", query);
      for (const { collection } of rows) {
        const step = await rebuildStep(context, progress, collection, limit);
        if (step !== "idle") return step;
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < COLLECTIONS_AT_ONCE) break;
      after = last.collection;
    }
  }
  return "idle";
}

async function rebuildStep(
  context: SourceContext,
  progress: BuildProgress,
  collection: number,
  limit: number,
): Promise<SourceStep> {
  const { storage, embedder } = context;
  const state = await readCollectionAt(storage, collection);
  if (state === null || state.current === null || !context.items.has(state.name)) return "idle";
  const current = state.current.generation;
  const isCurrentLeft = context.left().includes(state.current.model);
  const generations = await readGenerations(storage, state);
  const building = isCurrentLeft
    ? generations.find((one) => one.generation > current && isOf(one, embedder))
    : undefined;
  const unused = generations.find((one) => one.generation !== current && one !== building);
  if (unused !== undefined) {
    await removeEmbeddings(storage, collection, unused.generation);
    return "done";
  }
  if (!isCurrentLeft) return "idle";
  if (building === undefined) {
    await beginGeneration(context, collection);
    return "done";
  }
  return buildStep(context, progress, { state, building, limit });
}

async function readGenerations(storage: Storage, { no, name }: CollectionState): Promise<readonly Generation[]> {
  const rows = await storage.query("vectors.generations", { collection: no });
  return rows.map((row) => generationOf(name, row));
}

function isOf({ model, dimension }: Generation, { id, dimensions }: SourceContext["embedder"]): boolean {
  return model === id && dimension === dimensions;
}

async function beginGeneration({ storage, embedder, left }: SourceContext, collection: number): Promise<void> {
  await decide<void>(storage, async () => {
    const state = await readCollectionAt(storage, collection);
    if (state === null || state.current === null || !left().includes(state.current.model)) return { answer: undefined };
    const generations = await readGenerations(storage, state);
    const number = 1 + Math.max(...generations.map(({ generation }) => generation));
    const { metric, precision } = state.current;
    const model = { model: embedder.id, dimension: embedder.dimensions, metric, precision };
    const writes = [putGeneration(collection, newGeneration(storage, number, model))];
    return { commit: changeCommit(state, writes), answer: () => undefined };
  });
}

interface Build {
  readonly state: CollectionState;
  readonly building: Generation;
  readonly limit: number;
}

async function buildStep(context: SourceContext, progress: BuildProgress, build: Build): Promise<SourceStep> {
  const { storage, items: source } = context;
  const { state, building, limit } = build;
  const collection = state.no;
  const key = `${collection}/${building.generation}`;
  const after = progress.get(key) ?? 0;
  const page = await storage.query(`${source.table}.items`, { collection, after, limit: ITEMS_AT_ONCE });
  const last = page.at(-1);
  if (last === undefined) {
    progress.delete(key);
    await finishGeneration(context, collection, building.generation, after);
    return "done";
  }
  const items = await unembedded(
    context,
    build,
    page.map(({ item }) => item),
  );
  const texts = (await source.readTexts(state, items.slice(0, limit))).filter(({ text }) => text.trim() !== "");
  if (texts.length > 0) {
    return {
      kind: source.kind,
      scope: collection,
      items: texts,
      apply: (outcomes) => addOutcomes(context, collection, building.generation, outcomes),
    };
  }
  // Items without a text stay without an embedding. They may fill a batch while others of the page have a text.
  progress.set(key, items.length > limit ? (items[limit - 1] ?? last.item) : last.item);
  return "done";
}

/** Those that have neither an embedding in the generation nor a failure. */
async function unembedded(
  { storage, items: source }: SourceContext,
  { state, building }: Build,
  items: readonly number[],
): Promise<readonly number[]> {
  const list = JSON.stringify(items);
  const of = { collection: state.no, generation: building.generation, items: list };
  const embedded = await storage.query("vectors.itemsIn", of);
  const failed = await storage.query("failures.in", { kind: source.kind, scope: state.no, items: list });
  const now = storage.environment.now();
  const failing = failed.filter(({ due_at }) => due_at === null || due_at > now);
  const done = new Set([...embedded, ...failing].map(({ item }) => item));
  return items.filter((item) => !done.has(item));
}

async function addOutcomes(
  context: SourceContext,
  collection: number,
  generation: number,
  outcomes: ReadonlyMap<number, EmbeddingOutcome>,
): Promise<boolean> {
  const { storage, items: source } = context;
  return decide<boolean>(storage, async () => {
    const state = await readCollectionAt(storage, collection);
    if (state === null) return { answer: false };
    const building = (await readGenerations(storage, state)).find((one) => one.generation === generation);
    if (building === undefined) return { answer: false };
    const list = JSON.stringify([...outcomes.keys()]);
    const stored = await storage.query(`${source.table}.byItems`, { collection, items: list });
    const embedded = await storage.query("vectors.itemsIn", { collection, generation, items: list });
    const done = new Set(embedded.map(({ item }) => item));
    const writes: Write[] = [];
    const added: number[] = [];
    for (const { item } of stored) {
      const found = outcomes.get(item);
      if (found === undefined || done.has(item)) continue;
      const outcome = usableOutcome(building, found);
      if (!(outcome instanceof Float32Array)) {
        writes.push(await failureWrite(storage, source.kind, collection, item, outcome));
        continue;
      }
      const embedding = encodeEmbedding(outcome, building.precision, "embedding");
      writes.push({ op: "insert", table: "vectors", row: { collection_no: collection, generation, item, embedding } });
      added.push(item);
    }
    if (writes.length === 0) return { answer: false };
    // The failures were of the embedder before.
    writes.push(forgetFailuresWrite(source.kind, collection, added));
    writes.push(putGeneration(collection, { ...building, vectors: building.vectors + added.length }));
    return { commit: changeCommit(state, writes), answer: () => true };
  });
}

/** Makes the generation the current one, unless there are items that were added after `after`. */
async function finishGeneration(
  { storage, items: source }: SourceContext,
  collection: number,
  generation: number,
  after: number,
): Promise<void> {
  await decide<void>(storage, async () => {
    const state = await readCollectionAt(storage, collection);
    if (state === null) return { answer: undefined };
    const built = (await readGenerations(storage, state)).find((one) => one.generation === generation);
    const newer = await storage.query(`${source.table}.items`, { collection, after, limit: 1 });
    if (built === undefined || newer.length > 0) return { answer: undefined };
    const failed = await readFailedItems(storage, source.kind, collection);
    // What has an embedding in the generation waits for nothing, whatever failed before.
    const writes: Write[] = [
      { op: "run", statement: `${source.table}.needOne`, params: { collection, items: JSON.stringify(failed) } },
      { op: "run", statement: `${source.table}.settle`, params: { collection, generation } },
    ];
    return { commit: changeCommit(state, writes, { ...state, current: built }), answer: () => undefined };
  });
}

/** They have an embedding in the old generation, and wait for one in the new. */
async function readFailedItems(storage: Storage, kind: EmbeddedKind, scope: number): Promise<readonly number[]> {
  const items: number[] = [];
  for (let item = 0; ; ) {
    const rows = await storage.query("failures.list", { kind, scope, item, limit: REMOVED_AT_ONCE });
    const own = rows.filter((row) => row.scope === scope);
    for (const row of own) items.push(row.item);
    const last = own.at(-1);
    if (last === undefined || own.length < REMOVED_AT_ONCE) return items;
    item = last.item;
  }
}

/** Removes some embeddings of a generation that is not the current one, and the generation with the last of them. */
async function removeEmbeddings(storage: Storage, collection: number, generation: number): Promise<void> {
  await decide<void>(storage, async () => {
    const state = await readCollectionAt(storage, collection);
    if (state === null || state.current?.generation === generation) return { answer: undefined };
    const found = (await readGenerations(storage, state)).find((one) => one.generation === generation);
    if (found === undefined) return { answer: undefined };
    const of = { collection, generation };
    const rows = await storage.query("vectors.firstItems", { ...of, limit: REMOVED_AT_ONCE });
    const items = JSON.stringify(rows.map(({ item }) => item));
    const isLast = rows.length < REMOVED_AT_ONCE;
    const writes: Write[] = [
      { op: "run", statement: "vectors.dropGenerationPages", params: of },
      { op: "run", statement: "vectors.remove", params: { ...of, items } },
      isLast
        ? { op: "remove", table: "vector_generations", row: { collection_no: collection, generation } }
        : putGeneration(collection, { ...found, packed: 0, vectors: found.vectors - rows.length }),
    ];
    return { commit: changeCommit(state, writes), answer: () => undefined };
  });
}
