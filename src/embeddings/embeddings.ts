// The noun `embeddings`: how far the background work is, what failed, and trying again.
import type { EmbeddingProgress, EmbeddingStatus, Embeddings, FailedEmbedding } from "../contracts/embeddings.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { FailureRow } from "../contracts/storage/embedding-queries.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { EMBEDDING_VERBS } from "../contracts/verbs/embeddings.ts";
import type { ValuesOf } from "../contracts/verbs/vocabulary.ts";
import type { CheckedEmbedder } from "../core/embed-texts.ts";
import { bindVerbs } from "../core/verbs.ts";
import type { CollectionState } from "../vectors/collections.ts";
import { readCollectionAt } from "./document-texts.ts";
import { documentSource, isEmbeddedBy } from "./documents.ts";
import { adoptModel, type ModelRecord, readModel } from "./model.ts";
import { clearOutage, readOutage } from "./outage.ts";
import { EmbeddingWorker } from "./worker.ts";

export interface EmbeddingsPart {
  readonly embeddings: Embeddings;
  /** Begins the work in the background, if there is an embedder. */
  start(): void;
  nudge(): void;
  close(): Promise<void>;
}

export function createEmbeddings(
  storage: Storage,
  payloads: Payloads,
  embedder: CheckedEmbedder | null,
): EmbeddingsPart {
  const worker =
    embedder === null
      ? null
      : new EmbeddingWorker(storage, embedder, (left) => [documentSource({ storage, payloads, embedder, left })]);
  const closing = new AbortController();
  const status = () => readStatus(storage, embedder);
  const embeddings = bindVerbs<Embeddings, typeof EMBEDDING_VERBS>(EMBEDDING_VERBS, null, {
    status,
    failures: ({ limit }) => listFailures(storage, limit),
    retry: async () => {
      const count = await retryFailures(storage);
      worker?.nudge();
      return count;
    },
    wait: (options) => waitUntilEmbedded(storage, requireEmbedder(embedder, "wait"), closing.signal, options),
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

async function readStatus(storage: Storage, embedder: CheckedEmbedder | null): Promise<EmbeddingStatus> {
  const model = await readModel(storage);
  const documents = await readProgress(storage, model, embedder);
  return {
    embedder:
      embedder === null ? null : { id: embedder.id, dimensions: embedder.dimensions, state: stateOf(model, embedder) },
    model: model?.current ?? null,
    kinds: { documents },
    failure: await readOutage(storage),
  };
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
  for (let after = 0; ; ) {
    const [found] = await storage.query("documents.nextPending", { after });
    if (found === undefined) break;
    after = found.collection;
    const state = await readCollectionAt(storage, after);
    const [count] = await storage.query("documents.countPending", { collection: after });
    const n = count?.n ?? 0;
    if (state !== null && isComputed(state, model, embedder)) pending += n;
    else foreign += n;
  }
  const rebuilt = await countRebuilt(storage, model);
  // Read last: a failure that is counted here still waits, and is not one of a text that was embedded meanwhile.
  const [totals] = await storage.query("failures.totals", { kind: "documents" });
  const parked = totals?.parked ?? 0;
  // A rebuild is not over before its generation is the current one.
  const least = rebuilt === null ? 0 : 1;
  pending = Math.max(least, pending + (rebuilt ?? 0) - parked);
  return { pending, failing: (totals?.failed ?? 0) - parked, parked, foreign };
}

/** Whether the store computes the collection's embeddings, with the present embedder or one that it has left. */
function isComputed(
  { current }: CollectionState,
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
async function countRebuilt(storage: Storage, model: ModelRecord | null): Promise<number | null> {
  let count: number | null = null;
  for (const left of model?.left ?? []) {
    for (let after = 0; ; ) {
      const rows = await storage.query("generations.ofModel", { model: left, after, limit: 100 });
      for (const { collection, generation } of rows) {
        const state = await readCollectionAt(storage, collection);
        if (state?.current?.generation !== generation) continue;
        const generations = await storage.query("vectors.generations", { collection });
        const built = generations.find((one) => one.generation > generation && one.model === model?.current);
        const [pending] = await storage.query("documents.countPending", { collection });
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
  const rows = await storage.query("failures.list", { kind: "documents", scope: 0, item: 0, limit });
  return Promise.all(rows.map((row) => failedEmbedding(storage, row)));
}

async function failedEmbedding(storage: Storage, row: FailureRow): Promise<FailedEmbedding> {
  const { scope: collection, item, reason, attempts, at, due_at } = row;
  const state = await readCollectionAt(storage, collection);
  const [document] = await storage.query("documents.byItems", { collection, items: JSON.stringify([item]) });
  return {
    kind: "documents",
    collection: state?.name ?? "",
    id: document?.id ?? "",
    reason,
    attempts,
    at,
    nextTryAt: due_at,
  };
}

async function retryFailures(storage: Storage): Promise<number> {
  const [totals] = await storage.query("failures.totals", { kind: "documents" });
  await storage.commit({ writes: [{ op: "run", statement: "failures.retry", params: { kind: "documents" } }] });
  await clearOutage(storage);
  return totals?.failed ?? 0;
}

const FIRST_LOOK_MS = 10;
const LAST_LOOK_MS = 500;

async function waitUntilEmbedded(
  storage: Storage,
  embedder: CheckedEmbedder,
  closing: AbortSignal,
  { timeoutMs, signal }: VerbValues<"wait">[0],
): Promise<EmbeddingStatus> {
  const { environment } = storage;
  const ended = signal === undefined ? closing : AbortSignal.any([closing, signal]);
  const end = environment.monotonic() + timeoutMs;
  // The worker may not have begun: a new embedder changes what waits.
  await adoptModel(storage, embedder, false);
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(LAST_LOOK_MS, lookMs * 2)) {
    const status = await readStatus(storage, embedder);
    const restMs = end - environment.monotonic();
    if (status.kinds.documents.pending === 0 || restMs <= 0) return status;
    if (ended.aborted) {
      const code = closing.aborted ? "Closed" : "Aborted";
      throw new HoldfastError(code, `embeddings.wait() ended while ${status.kinds.documents.pending} texts wait`);
    }
    await environment.sleep(Math.min(lookMs, restMs), ended);
  }
}
