// Tries a request until it succeeds or another try makes no sense. Waits double, with a random share, and are at least as long as the
// server asks for. A long wait is the caller's: the queue of embeddings waits without a request open.
import type { EmbedOptions } from "../contracts/embedders.ts";
import { exponentialBackoff, randomShare } from "../core/backoff.ts";
import { failureOf, ModelError } from "../models/failure.ts";
import type { CallSettings } from "./settings.ts";

const FIRST_WAIT_MS = 500;
/** A search waits for its question. */
const QUERY_RETRIES = 1;
const LONGEST_WAIT_MS = 20_000;

/** `request` gets a signal that also aborts when its time is over. */
export async function withRetries<T>(
  settings: CallSettings,
  { kind, signal }: Required<EmbedOptions>,
  request: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { environment } = settings;
  const retries = kind === "query" ? Math.min(QUERY_RETRIES, settings.retries) : settings.retries;
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted();
    try {
      return await withTimeout(settings, signal, request);
    } catch (thrown) {
      signal.throwIfAborted();
      const failure = thrown instanceof ModelError ? thrown : failureOf(settings.provider, thrown);
      const backoffMs = exponentialBackoff(attempt, FIRST_WAIT_MS, LONGEST_WAIT_MS);
      const waitMs = Math.max(failure.retryAfterMs ?? 0, backoffMs * (0.5 + randomShare(environment) / 2));
      if (!failure.retryable || attempt >= retries || waitMs > LONGEST_WAIT_MS) throw failure;
      await environment.sleep(waitMs, signal);
    }
  }
}

async function withTimeout<T>(
  { provider, timeoutMs, environment }: CallSettings,
  signal: AbortSignal,
  request: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const expiry = new AbortController();
  const done = new AbortController();
  const expired = environment.sleep(timeoutMs, AbortSignal.any([signal, done.signal])).then(() => {
    if (signal.aborted || done.signal.aborted) return new Promise<never>(() => {});
    expiry.abort();
    throw new ModelError("Timeout", `${provider}: no answer within ${timeoutMs} ms`);
  });
  try {
    return await Promise.race([request(AbortSignal.any([signal, expiry.signal])), expired]);
  } finally {
    done.abort();
  }
}
