// The noun `embeddings`: how far the background work is, what failed, and trying again.
import type {
  EmbeddedKind,
  EmbeddingProgress,
  EmbeddingStatus,
  Embeddings,
  EmbeddingWait,
  FailedEmbedding,
} from "../contracts/embeddings.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { FailureRow } from "../contracts/storage/embedding-queries.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { EMBEDDING_VERBS } from "../contracts/verbs/embeddings.ts";
import type { ValuesOf } from "../contracts/verbs/vocabulary.ts";
import type { CheckedEmbedder } from "../core/embed-texts.ts";
import { rowId } from "../core/row-id.ts";
import { bindVerbs } from "../core/verbs.ts";
import { passageKindOf } from "../vectors/reserved.ts";
import { documentSource } from "./documents.ts";
import { readCollectionAt } from "./item-table.ts";
import { adoptModel, type ModelRecord, readModel } from "./model.ts";
import { clearOutage, countRetry, readOutage } from "./outage.ts";
import { memorySource, messageSource } from "./passages.ts";
import { type EmbeddedGeneration, isEmbeddedBy } from "./pending.ts";
import type { EmbeddingSettings } from "./settings.ts";
import type { EmbeddingSource } from "./source.ts";
import { EmbeddingWorker } from "./worker.ts";

export interface EmbeddingsPart {
  readonly embeddings: Embeddings;
  /** Begins the work in the background, if there is an embedder. */
  start(): void;
  nudge(): void;
  close(): Promise<void>;
}

/** Those that a search can do without come last. */
const KINDS: readonly EmbeddedKind[] = ["documents", "memories", "messages"];

export interface EmbeddingWork {
  readonly storage: Storage;
  readonly payloads: Payloads;
  readonly embedder: CheckedEmbedder | null;
  readonly settings: EmbeddingSettings;
  /** What searches know of a failure is forgotten. */
  onRetry(): void;
}

export function createEmbeddings(work: EmbeddingWork): EmbeddingsPart {
  const { storage, embedder, settings } = work;
  const worker =
    embedder === null
      ? null
      : new EmbeddingWorker(storage, embedder, settings.timeoutMs, (left) => createSources(work, embedder, left));
  const closing = new AbortController();
  const status = () => readStatus(storage, embedder, settings);
  const embeddings = bindVerbs<Embeddings, typeof EMBEDDING_VERBS>(EMBEDDING_VERBS, null, {
    status,
    failures: ({ limit }) => listFailures(storage, limit),
    retry: async ({ parked }) => {
      const count = await retryFailures(storage, parked);
      work.onRetry();
      worker?.nudge();
      return count;
    },
    wait: (options) => waitUntilEmbedded(storage, requireEmbedder(embedder, "wait"), status, closing.signal, options),
    adopt: async () => {
      await adoptModel(storage, requireEmbedder(embedder, "adopt"), true);
      worker?.nudge();
      return status();
    },
  });
  return {
    embeddings,
    start: () => worker?.start(),
    nudge: () => worker?.nudge(),
    close: async () => {
      closing.abort();
      await worker?.close();
    },
  };
}

function requireEmbedder(embedder: CheckedEmbedder | null, verb: string): CheckedEmbedder {
  if (embedder !== null) return embedder;
  throw new HoldfastError(
    "MissingDependency",
    `embeddings.${verb}() needs an embedder, and this store was opened without one`,
    {
      hint: "Open the store with one: open(url, { embedder }).",
    },
  );
}

function createSources(
  { storage, payloads, settings }: EmbeddingWork,
  embedder: CheckedEmbedder,
  left: () => readonly string[],
): readonly EmbeddingSource[] {
  const of = { embedder, left };
  return [
    ...(settings.documents ? [documentSource({ storage, payloads }, of)] : []),
    ...(settings.memories ? [memorySource(storage, settings.language, of)] : []),
    ...(settings.messages ? [messageSource(storage, payloads, settings.language, of)] : []),
  ];
}

async function readStatus(
  storage: Storage,
  embedder: CheckedEmbedder | null,
  settings: EmbeddingSettings,
): Promise<EmbeddingStatus> {
  const model = modelOnceAdopted(await readModel(storage), embedder);
  const documents = await readProgress(storage, model, embedder);
  // Without an embedder, what those of other handles embed.
  const hasMemories = embedder === null ? model !== null : settings.memories;
  const [cutting] = await storage.query("messages.cut", {});
  const hasMessages = embedder === null ? (cutting?.cut ?? 0) > 0 : settings.messages;
  const memories = hasMemories ? await readPassageProgress(storage, model, "memories") : NOTHING_WAITS;
  const messages = hasMessages ? await readPassageProgress(storage, model, "messages") : NOTHING_WAITS;
  return {
    embedder:
      embedder === null ? null : { id: embedder.id, dimensions: embedder.dimensions, state: stateOf(model, embedder) },
    model: model?.current ?? null,
    kinds: { documents, memories, messages },
    failure: await readOutage(storage),
  };
}

/** The worker adopts an embedder that the store never had. What that changes counts as soon as the store is open. */
function modelOnceAdopted(model: ModelRecord | null, embedder: CheckedEmbedder | null): ModelRecord | null {
  if (model === null || embedder === null) return model;
  const { current, left } = model;
  return current === embedder.id || left.includes(embedder.id)
    ? model
    : { current: embedder.id, left: [...left, current] };
}

function stateOf(model: ModelRecord | null, { id }: CheckedEmbedder): "current" | "left" {
  return model?.left.includes(id) === true ? "left" : "current";
}

async function readProgress(
  storage: Storage,
  model: ModelRecord | null,
  embedder: CheckedEmbedder | null,
): Promise<EmbeddingProgress> {
  let [pending, foreign] = [0, 0];
  for (const { model: name, dimension, vectors, n } of await storage.query("documents.waiting", {})) {
    const current =
      name === null || dimension === null || vectors === null ? null : { model: name, dimension, vectors };
    if (isComputed(current, model, embedder)) pending += n;
    else foreign += n;
  }
  const rebuilt = await countRebuilt(storage, model, "documents");
  return progressOf(storage, "documents", pending, rebuilt, foreign);
}

/** Failures are read last: one that is counted here still waits, and is not one of a text that was embedded meanwhile. */
async function progressOf(
  storage: Storage,
  kind: EmbeddedKind,
  waiting: number,
  rebuilt: number | null,
  foreign: number,
): Promise<EmbeddingProgress> {
  const [totals] = await storage.query("failures.totals", { kind });
  const parked = totals?.parked ?? 0;
  // A rebuild is not over before its generation is the current one.
  const least = rebuilt === null ? 0 : 1;
  const pending = Math.max(least, waiting + (rebuilt ?? 0) - parked);
  return { pending, failing: (totals?.failed ?? 0) - parked, parked, foreign };
}

const NOTHING_WAITS: EmbeddingProgress = { pending: 0, failing: 0, parked: 0, foreign: 0 };

async function readPassageProgress(
  storage: Storage,
  model: ModelRecord | null,
  kind: "memories" | "messages",
): Promise<EmbeddingProgress> {
  const [uncut] = await storage.query(`${kind}.countUncut`, {});
  let waiting = uncut?.n ?? 0;
  for (const { name, n } of await storage.query("passages.waiting", {})) if (passageKindOf(name) === kind) waiting += n;
  return progressOf(storage, kind, waiting, await countRebuilt(storage, model, kind), 0);
}

/** Whether the store computes the collection's embeddings, with the present embedder or one that it has left. */
function isComputed(
  current: EmbeddedGeneration | null,
  model: ModelRecord | null,
  embedder: CheckedEmbedder | null,
): boolean {
  if (current === null || current.model === model?.current) return true;
  return (embedder !== null && isEmbeddedBy({ current }, embedder)) || model?.left.includes(current.model) === true;
}

/**
 * Documents that are to be embedded again, because their collection's embeddings are of an embedder that the store has left; null: there is
 * no such collection.
 */
async function countRebuilt(storage: Storage, model: ModelRecord | null, kind: EmbeddedKind): Promise<number | null> {
  let count: number | null = null;
  for (const left of model?.left ?? []) {
    for (let after = 0; ; ) {
      const rows = await storage.query("generations.ofModel", { model: left, after, limit: 100 });
      for (const { collection, generation } of rows) {
        const state = await readCollectionAt(storage, collection);
        if (state?.current?.generation !== generation || (passageKindOf(state.name) ?? "documents") !== kind) continue;
        const generations = await storage.query("vectors.generations", { collection });
        const built = generations.find((one) => one.generation > generation && one.model === model?.current);
        const table = kind === "documents" ? "documents" : "passages";
        const [pending] = await storage.query(`${table}.countPending`, { collection });
        // Those that wait are counted already.
        count = (count ?? 0) + Math.max(0, state.documents - (built?.vectors ?? 0) - (pending?.n ?? 0));
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < 100) break;
      after = last.collection;
    }
  }
  return count;
}

type VerbValues<V extends keyof typeof EMBEDDING_VERBS> = ValuesOf<(typeof EMBEDDING_VERBS)[V]>;

async function listFailures(storage: Storage, limit: number): Promise<readonly FailedEmbedding[]> {
  const found: FailedEmbedding[] = [];
  for (const kind of KINDS) {
    const rows = await storage.query("failures.list", { kind, scope: 0, item: 0, limit: limit - found.length });
    for (const row of rows) found.push(await failedEmbedding(storage, kind, row));
    if (found.length === limit) break;
  }
  return found;
}

async function failedEmbedding(storage: Storage, kind: EmbeddedKind, row: FailureRow): Promise<FailedEmbedding> {
  const { scope, item, reason, attempts, at, due_at } = row;
  const name = kind === "documents" ? ((await readCollectionAt(storage, scope))?.name ?? "") : "";
  const id = await idOf(storage, kind, scope, item);
  return { kind, collection: name, id, reason, attempts, at, nextTryAt: due_at };
}

/** "": it has gone meanwhile. */
async function idOf(storage: Storage, kind: EmbeddedKind, collection: number, item: number): Promise<string> {
  const items = JSON.stringify([item]);
  if (kind === "documents") return (await storage.query("documents.byItems", { collection, items }))[0]?.id ?? "";
  const [passage] = await storage.query("passages.byItems", { collection, items });
  if (passage === undefined) return "";
  const { group_no, number } = passage;
  if (kind === "memories") {
    return (await storage.query("memory.byNumber", { no: number, scope: group_no }))[0]?.id ?? "";
  }
  const [message] = await storage.query("history.messages", { messages: JSON.stringify([[group_no, number]]) });
  return message === undefined ? "" : rowId(message.session, number);
}

async function retryFailures(storage: Storage, withParked: boolean): Promise<number> {
  let count = 0;
  for (const kind of KINDS) {
    const [totals] = await storage.query("failures.totals", { kind });
    count += (totals?.failed ?? 0) - (withParked ? 0 : (totals?.parked ?? 0));
  }
  // First: what a request under way fails with from now on is tried again too.
  await countRetry(storage);
  const statement = withParked ? "failures.retry" : "failures.retryDue";
  const retry = (kind: EmbeddedKind) => ({ op: "run", statement, params: { kind } }) as const;
  await storage.commit({ writes: KINDS.map(retry) });
  await clearOutage(storage);
  return count;
}

const FIRST_LOOK_MS = 10;
const LAST_LOOK_MS = 500;

async function waitUntilEmbedded(
  storage: Storage,
  embedder: CheckedEmbedder,
  readStatus: () => Promise<EmbeddingStatus>,
  closing: AbortSignal,
  { timeoutMs, signal }: VerbValues<"wait">[0],
): Promise<EmbeddingWait> {
  const { environment } = storage;
  const ended = signal === undefined ? closing : AbortSignal.any([closing, signal]);
  const end = environment.monotonic() + timeoutMs;
  // The worker may not have begun: a new embedder changes what waits.
  await adoptModel(storage, embedder, false);
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(LAST_LOOK_MS, lookMs * 2)) {
    const status = await readStatus();
    const waiting = KINDS.reduce((sum, kind) => sum + status.kinds[kind].pending, 0);
    const restMs = end - environment.monotonic();
    if (waiting === 0 || restMs <= 0) return { ...status, timedOut: waiting > 0 };
    if (ended.aborted) {
      const code = closing.aborted ? "Closed" : "Aborted";
      throw new HoldfastError(code, `embeddings.wait() ended while ${waiting} texts wait`);
    }
    await environment.sleep(Math.min(lookMs, restMs), ended);
  }
}
