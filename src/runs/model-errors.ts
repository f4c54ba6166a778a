// Whether the error of a model call allows another attempt, and when: by its HTTP status, and by the delay that it
// requests.
import type { RunError } from "../contracts/run-record.ts";
import { isFinal, readSafely } from "./errors.ts";

/** The facts that are recorded with a failed attempt. */
export interface Failure {
  /** True if another attempt would fail in the same way. */
  readonly final: boolean;
  /** The next attempt begins no earlier than this after the failure. */
  readonly retryAfterMs: number | null;
}

/** The error of an attempt with an unknown outcome, after which another attempt follows. */
export const LOST: RunError = {
  code: "OutcomeUnknown",
  message: "its outcome was lost: it may have happened, and been paid for",
};
/** Client errors that may pass: timeout, conflict, too early, too many requests. */
const PASSING: ReadonlySet<number> = new Set([408, 409, 425, 429]);
/** A worker does not wait longer than this; a failure that requests a longer delay is final. */
const LONGEST_WAIT_MS = 3_600_000;

/** Fields of errors from the SDKs of providers. */
interface ApiError {
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly isRetryable?: unknown;
  readonly retryAfterMs?: unknown;
  readonly headers?: unknown;
  readonly responseHeaders?: unknown;
}

/**
 * An error without a status (the connection broke, the answer was malformed) can be retried. With a status, 408, 409,
 * 425, 429 and 5xx can be retried. `retryable: false` is always final.
 */
export function modelFailure(thrown: unknown, now: number): Failure {
  return readSafely(() => readFailure(thrown, now), { final: false, retryAfterMs: null });
}

function readFailure(thrown: unknown, now: number): Failure {
  const error = (typeof thrown === "object" && thrown !== null ? thrown : {}) as ApiError;
  const status = error.status ?? error.statusCode;
  const isRefused = typeof status === "number" && status >= 400 && status < 500 && !PASSING.has(status);
  const retryAfterMs = readRetryAfter(error, now);
  const isTooLong = retryAfterMs !== null && retryAfterMs > LONGEST_WAIT_MS;
  return { final: isFinal(thrown) || isRefused || error.isRetryable === false || isTooLong, retryAfterMs };
}

function readRetryAfter(error: ApiError, now: number): number | null {
  const headers = error.headers ?? error.responseHeaders;
  const seconds = readHeader(headers, "retry-after");
  const date = seconds === null || !Number.isNaN(Number(seconds)) ? Number.NaN : Date.parse(seconds) - now;
  const given = [
    error.retryAfterMs,
    readHeader(headers, "retry-after-ms"),
    seconds === null ? null : Number(seconds) * 1000,
    date,
  ];
  const ms = given.map((one) => (one === null || one === undefined ? Number.NaN : Number(one))).find((one) => one >= 0);
  return ms === undefined || !Number.isFinite(ms) ? null : Math.ceil(ms);
}

/** Reads from a Headers object, or from a plain object with lower-case names. */
function readHeader(headers: unknown, name: string): string | null {
  if (typeof headers !== "object" || headers === null) return null;
  const get = (headers as { readonly get?: unknown }).get;
  const value: unknown =
    typeof get === "function" ? get.call(headers, name) : (headers as Readonly<Record<string, unknown>>)[name];
  return typeof value === "string" && value.trim() !== "" ? value.trim() : null;
}
