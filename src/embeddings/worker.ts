// Embeds what waits, as long as the store is open. One process at a time does it, under a lease. A batch that fails is divided until the
// texts that fail are found: they wait for another try, or are parked, and the others go on. Whether a text or the embedder is the cause
// shows a probe: if the embedder cannot embed an ordinary word either, nothing is any text's fault.
import { HoldfastError } from "../contracts/errors.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { type CallLimit, type CheckedEmbedder, embedTexts } from "../core/embed-texts.ts";
import { type EmbeddingFault, faultOf } from "./failures.ts";
import { EmbeddingLease, LEASE_MS } from "./lease.ts";
import { adoptModel, type ModelRecord } from "./model.ts";
import { clearOutage, readOutage, readRetries, recordOutage } from "./outage.ts";
import type { EmbeddingBatch, EmbeddingOutcome, EmbeddingSource, TextItem } from "./source.ts";

/** How often an idle worker looks for what other processes wrote. */
const LOOK_MS = 2000;
/** Writes that follow one another soon are embedded together. */
const GATHER_MS = 50;
const ERROR_MS = 1000;
const PROBE = "ok";
/** So many texts are read at a time at most; the embedder divides them further. */
const MOST_TEXTS = 256;

type EmbedResult = { readonly vectors: readonly Float32Array[] } | { readonly fault: EmbeddingFault };

export class EmbeddingWorker {
  readonly #storage: Storage;
  readonly #embedder: CheckedEmbedder;
  readonly #sources: readonly EmbeddingSource[];
  readonly #lease: EmbeddingLease;
  readonly #limit: CallLimit;
  readonly #closing = new AbortController();
  #awake = new AbortController();
  #isNudged = false;
  #model: ModelRecord | null = null;
  #running: Promise<void> | null = null;
  /** What the last failure is remembered by; null after a success, unknown at first. */
  #hasOutage = true;
  /** As it was when the present batch began. */
  #retries: string | null = null;

  /** One happens when its texts are erased meanwhile. More of them wait: a defect of the store must not become calls without end. */
  #batchesForNothing = 0;

  constructor(
    storage: Storage,
    embedder: CheckedEmbedder,
    timeoutMs: number,
    createSources: (left: () => readonly string[]) => readonly EmbeddingSource[],
  ) {
    this.#storage = storage;
    this.#embedder = embedder;
    this.#sources = createSources(() => this.#model?.left ?? []);
    this.#lease = new EmbeddingLease(storage);
    this.#limit = { timeoutMs, environment: storage.environment };
  }

  start(): void {
    if (!this.#closing.signal.aborted) this.#running ??= this.#run();
  }

  /** Something may wait that did not wait before. */
  nudge(): void {
    this.#isNudged = true;
    this.#awake.abort();
  }

  /** Ends the call of the embedder that is under way. Its texts still wait. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#awake.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { environment } = this.#storage;
    await new Promise<void>((later) => environment.defer(later));
    while (!this.#closing.signal.aborted) {
      let waitMs = LOOK_MS;
      try {
        this.#isNudged = false;
        waitMs = await this.#round();
      } catch (error) {
        if (this.#closing.signal.aborted) break;
        // The store cannot be used at the moment. Nothing is lost: what waits is in the store.
        environment.log("warn", "embeddings.store", { error: codeOf(error) });
        waitMs = ERROR_MS;
      }
      if (waitMs > 0) await this.#wait(waitMs);
    }
    await this.#lease.release().catch(() => {});
  }

  async #wait(ms: number): Promise<void> {
    const { environment } = this.#storage;
    if (!this.#isNudged) {
      this.#awake = new AbortController();
      const signal = AbortSignal.any([this.#awake.signal, this.#closing.signal]);
      await (environment.idle?.(ms, signal) ?? environment.sleep(ms, signal));
    }
    if (this.#isNudged) await environment.sleep(GATHER_MS, this.#closing.signal);
  }

  /** One step of work. Returns how long to wait before the next. */
  async #round(): Promise<number> {
    this.#model = await adoptModel(this.#storage, this.#embedder, false);
    if (this.#model.current !== this.#embedder.id) return this.#rest(LOOK_MS);
    for (const source of this.#sources) {
      const step = await source.next(Math.min(MOST_TEXTS, this.#embedder.maxBatch));
      if (step === "idle") continue;
      const outageMs = await this.#outageMs();
      if (outageMs > 0) return this.#rest(Math.min(outageMs, LOOK_MS));
      const leaseMs = await this.#lease.claim();
      if (leaseMs > 0) return Math.min(leaseMs, LOOK_MS);
      // What waits is read again under the lease, because the owner before may have embedded it.
      const batch = await source.next(Math.min(MOST_TEXTS, this.#embedder.maxBatch));
      if (batch === "idle" || batch === "done") return 0;
      this.#batchesForNothing++;
      await this.#embedBatch(batch);
      return this.#batchesForNothing > 1 ? LOOK_MS : 0;
    }
    return this.#rest(LOOK_MS);
  }

  async #rest(ms: number): Promise<number> {
    await this.#lease.release();
    return ms;
  }

  async #outageMs(): Promise<number> {
    if (!this.#hasOutage) return 0;
    const outage = await readOutage(this.#storage);
    if (outage === null || outage.embedder !== this.#embedder.id) return 0;
    return outage.nextTryAt - this.#storage.environment.now();
  }

  async #embedBatch(batch: EmbeddingBatch): Promise<void> {
    this.#retries = await readRetries(this.#storage);
    const fault = await this.#tryItems(batch, batch.items);
    if (fault === null) return this.#clearOutage();
    // The embedder's own failures are no reason to divide a batch.
    const probe = await this.#embed([PROBE]);
    if ("fault" in probe) return this.#recordOutage(probe.fault);
    await this.#clearOutage();
    // A short outage may have ended before the probe: one text alone has not shown yet that it is the cause.
    const isAlone = batch.items.length === 1 && fault.isRetryable;
    const again = isAlone ? await this.#tryItems(batch, batch.items) : fault;
    if (again !== null) await this.#divide(batch, batch.items, again);
  }

  /** retry() was called since the batch began: what failed in it is tried again at once. */
  async #isRetried(): Promise<boolean> {
    return (await readRetries(this.#storage)) !== this.#retries;
  }

  /** The items failed together with that fault. */
  async #divide(batch: EmbeddingBatch, items: readonly TextItem[], fault: EmbeddingFault): Promise<void> {
    const [first] = items;
    if (first === undefined || this.#closing.signal.aborted) return;
    if (items.length === 1) {
      if (fault.isRetryable && (await this.#isRetried())) return;
      await this.#apply(batch, new Map([[first.item, fault]]));
      return;
    }
    const middle = Math.ceil(items.length / 2);
    for (const half of [items.slice(0, middle), items.slice(middle)]) {
      const halfFault = await this.#tryItems(batch, half);
      if (halfFault !== null) await this.#divide(batch, half, halfFault);
    }
  }

  /** Embeds the items and stores their vectors; null if that succeeded. */
  async #tryItems(batch: EmbeddingBatch, items: readonly TextItem[]): Promise<EmbeddingFault | null> {
    const result = await this.#embed(items.map(({ text }) => text));
    if ("fault" in result) return result.fault;
    const byItem = new Map<number, EmbeddingOutcome>();
    for (const [i, vector] of result.vectors.entries()) {
      const item = items[i]?.item;
      if (item !== undefined) byItem.set(item, vector);
    }
    await this.#apply(batch, byItem);
    return null;
  }

  async #apply(batch: EmbeddingBatch, outcomes: ReadonlyMap<number, EmbeddingOutcome>): Promise<void> {
    if (await batch.apply(outcomes)) this.#batchesForNothing = 0;
  }

  /** Keeps the lease meanwhile. Throws only if the store closes, or if another process has the lease by then. */
  async #embed(texts: readonly string[]): Promise<EmbedResult> {
    const done = new AbortController();
    const lost = new AbortController();
    const beating = this.#beat(done.signal, lost);
    const signal = AbortSignal.any([this.#closing.signal, lost.signal]);
    try {
      return { vectors: await embedTexts(this.#embedder, texts, { kind: "document", signal, limit: this.#limit }) };
    } catch (error) {
      if (signal.aborted) throw error;
      return { fault: faultOf(error) };
    } finally {
      done.abort();
      await beating;
    }
  }

  async #beat(done: AbortSignal, lost: AbortController): Promise<void> {
    const stop = AbortSignal.any([done, this.#closing.signal]);
    for (;;) {
      await this.#storage.environment.sleep(LEASE_MS / 3, stop);
      if (stop.aborted) return;
      const isHeld = await this.#lease.beat().catch(() => true);
      if (isHeld) continue;
      lost.abort(new HoldfastError("LeaseLost", "another process embeds the texts of this store"));
      return;
    }
  }

  async #recordOutage(fault: EmbeddingFault): Promise<void> {
    if (await this.#isRetried()) return;
    this.#hasOutage = true;
    await recordOutage(this.#storage, this.#embedder.id, fault);
  }

  async #clearOutage(): Promise<void> {
    if (this.#hasOutage) await clearOutage(this.#storage);
    this.#hasOutage = false;
  }
}

function codeOf(error: unknown): string {
  return error instanceof HoldfastError ? error.code : String(error);
}
