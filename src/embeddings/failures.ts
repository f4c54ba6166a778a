// Texts that could not be embedded although others could. Their rows have numbers and a reason without any text, neither of the item nor
// of the server's message, which often repeats the item: so an erasure leaves nothing behind.
import type { EmbeddedKind } from "../contracts/embeddings.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Write } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { exponentialBackoff, randomShare } from "../core/backoff.ts";
import { embeddingReason } from "../core/embedding-reason.ts";
import { readRetryAfter } from "../core/retry-after.ts";

const FIRST_MS = 30_000;
const MOST_MS = 3_600_000;
/** A text that failed so often is parked. */
const MOST_ATTEMPTS = 8;

export interface EmbeddingFault {
  /** Such as "HTTP 400 context_length_exceeded". */
  readonly reason: string;
  readonly isRetryable: boolean;
  /** Whole milliseconds, at most MOST_MS. */
  readonly retryAfterMs: number;
}

/** What is kept of an error. */
export function faultOf(error: unknown): EmbeddingFault {
  if (!(error instanceof HoldfastError)) return { reason: "Error", isRetryable: true, retryAfterMs: 0 };
  const { retryAfterMs } = error.details;
  return {
    reason: embeddingReason(error),
    isRetryable: error.retryable,
    retryAfterMs: Math.min(MOST_MS, readRetryAfter(retryAfterMs) ?? 0),
  };
}

/** Records one more failure of an item. */
export async function failureWrite(
  storage: Storage,
  kind: EmbeddedKind,
  scope: number,
  item: number,
  { reason, isRetryable, retryAfterMs }: EmbeddingFault,
): Promise<Write> {
  const { environment } = storage;
  const [before] = await storage.query("failures.in", { kind, scope, items: JSON.stringify([item]) });
  const attempts = (before?.attempts ?? 0) + 1;
  const at = environment.now();
  const isParked = !isRetryable || attempts >= MOST_ATTEMPTS;
  const due_at = isParked ? null : at + Math.max(retryAfterMs, backoffMs(storage, attempts - 1));
  return { op: "put", table: "embedding_failures", row: { kind, scope, item, attempts, due_at, reason, at } };
}

function backoffMs({ environment }: Storage, attempt: number): number {
  return Math.ceil(exponentialBackoff(attempt, FIRST_MS, MOST_MS) * (0.5 + randomShare(environment) / 2));
}

export function forgetFailuresWrite(kind: EmbeddedKind, scope: number, items: readonly number[]): Write {
  return { op: "run", statement: "failures.forget", params: { kind, scope, items: JSON.stringify(items) } };
}
