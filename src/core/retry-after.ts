// How long a server, or the caller's own code, asks to wait. The number comes from outside: it may be a fraction, infinite or nonsense.

/** A longer wait is not believed. */
const MOST_RETRY_AFTER_MS = 86_400_000;

/** Whole milliseconds, or undefined if the value is no wait. */
export function readRetryAfter(value: unknown): number | undefined {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) return undefined;
  return Math.min(MOST_RETRY_AFTER_MS, Math.ceil(value));
}
