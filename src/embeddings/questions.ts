// Embeds the questions of searches. A person or a model waits for the answer, which words can give too: so a question has little time, and
// is not asked at all right after the embedder has failed.
import type { Environment } from "../contracts/environment.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { type CheckedEmbedder, embedQuestion } from "../core/embed-texts.ts";
import { embeddingReason } from "../core/embedding-reason.ts";
import type { QueryEmbedder } from "../vectors/query-text.ts";
import { readOutage } from "./outage.ts";

/** How long no question is asked after a failure that may have taken all its time, and may pass. */
const QUESTION_PAUSE_MS = 5000;

interface QuestionParts {
  readonly embedder: CheckedEmbedder;
  readonly storage: Storage;
  readonly environment: Environment;
  readonly timeoutMs: number;
  /** Aborts when the store closes. */
  readonly closing: AbortSignal;
}

export class Questions implements QueryEmbedder {
  readonly #parts: QuestionParts;
  #failure: { readonly reason: string; readonly until: number } | null = null;

  constructor(parts: QuestionParts) {
    this.#parts = parts;
  }

  get model(): string {
    return this.#parts.embedder.id;
  }

  async embed(text: string, signal?: AbortSignal): Promise<Float32Array> {
    const { embedder, environment, timeoutMs, closing } = this.#parts;
    await this.#checkPause();
    const ended = signal === undefined ? closing : AbortSignal.any([closing, signal]);
    try {
      const vector = await embedQuestion(embedder, text, ended, { timeoutMs, environment });
      if (vector.some((one) => one !== 0)) return vector;
    } catch (error) {
      if (error instanceof HoldfastError && error.code === "EmbeddingFailed" && error.retryable) {
        const until = environment.monotonic() + QUESTION_PAUSE_MS;
        this.#failure = { reason: embeddingReason(error), until };
      }
      throw error;
    }
    throw failed(this.model, "it returned a vector of zeros for the query, which has no direction", false);
  }

  async knownFailure(): Promise<string | null> {
    const { storage, environment, embedder } = this.#parts;
    if (this.#failure !== null && environment.monotonic() < this.#failure.until) return this.#failure.reason;
    const outage = await readOutage(storage);
    return outage?.embedder === embedder.id ? outage.reason : null;
  }

  /** After embeddings.retry(), the next question is asked. */
  forgetFailure(): void {
    this.#failure = null;
  }

  async #checkPause(): Promise<void> {
    const { storage, environment, embedder } = this.#parts;
    const now = environment.monotonic();
    if (this.#failure !== null && now < this.#failure.until) throw paused(this.model, this.#failure.reason);
    const outage = await readOutage(storage);
    if (outage?.embedder !== embedder.id) return;
    if (Math.abs(storage.environment.now() - outage.at) < QUESTION_PAUSE_MS) throw paused(this.model, outage.reason);
  }
}

function paused(embedder: string, reason: string): HoldfastError {
  return failed(embedder, `${reason}, a moment ago`, true);
}

function failed(embedder: string, problem: string, retryable: boolean): HoldfastError {
  return new HoldfastError("EmbeddingFailed", `embedder ${embedder}: ${problem}`, {
    retryable,
    details: { embedder, problem },
    hint: 'Search again later, or by words: mode "text".',
  });
}
