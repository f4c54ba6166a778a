// A failure of the embedder itself: a server that cannot be reached, a wrong key. It is a fact of the store, so that all processes see
// it, and none of them calls a server that is down more often than the others.
import type { EmbedderFailure } from "../contracts/embeddings.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { exponentialBackoff, randomShare } from "../core/backoff.ts";
import { plainObject } from "../core/decode.ts";
import type { EmbeddingFault } from "./failures.ts";
import { readFact, replaceFact } from "./store-facts.ts";

const NAME = "embedding:failure";
const FIRST_MS = 1000;
const MOST_MS = 600_000;

export async function readOutage(storage: Storage): Promise<EmbedderFailure | null> {
  const text = await readFact(storage, NAME);
  return text === null ? null : decodeOutage(text);
}

/** Only the owner of the lease calls it. */
export async function recordOutage(storage: Storage, embedder: string, fault: EmbeddingFault): Promise<void> {
  const text = await readFact(storage, NAME);
  const before = text === null ? null : decodeOutage(text);
  const attempts = (before?.embedder === embedder ? before.attempts : 0) + 1;
  const { environment } = storage;
  const at = environment.now();
  const backoffMs = exponentialBackoff(attempts - 1, FIRST_MS, MOST_MS) * (0.5 + randomShare(environment) / 2);
  const nextTryAt = at + Math.ceil(Math.max(fault.retryAfterMs, backoffMs));
  const outage: EmbedderFailure = { embedder, reason: fault.reason, attempts, at, nextTryAt };
  await replaceFact(storage, NAME, text, JSON.stringify(outage));
  environment.log("warn", "embeddings.failed", { ...outage });
}

export async function clearOutage(storage: Storage): Promise<void> {
  const text = await readFact(storage, NAME);
  if (text !== null) await replaceFact(storage, NAME, text, null);
}

const RETRIES = "embedding:retries";

/** Counts a call of retry(), so that a request that began before it blames nothing when it fails after it. */
export async function countRetry(storage: Storage): Promise<void> {
  const text = await readFact(storage, RETRIES);
  // If another process counts at the same moment, its count serves both.
  await replaceFact(storage, RETRIES, text, String(Number(text ?? 0) + 1));
}

/** Changes with each call of retry(). */
export async function readRetries(storage: Storage): Promise<string | null> {
  return readFact(storage, RETRIES);
}

function decodeOutage(text: string): EmbedderFailure | null {
  const { embedder, reason, attempts, at, nextTryAt } = plainObject.read(JSON.parse(text)) ?? {};
  if (typeof embedder !== "string" || typeof reason !== "string" || typeof attempts !== "number") return null;
  if (typeof at !== "number" || typeof nextTryAt !== "number") return null;
  return { embedder, reason, attempts, at, nextTryAt };
}
