// Whether the error of a model allows another attempt, and when: by its HTTP status, and by the delay it asks for.
import type { RunError } from "../contracts/run-record.ts";
import { isFinal, readSafely } from "./errors.ts";

/** Recorded with the failure of an attempt. */
export interface Failure {
  /** Another attempt would fail the same way. */
  readonly final: boolean;
  /** The next attempt begins no earlier than this after the failure. */
  readonly retryAfterMs: number | null;
}

/** The error of an attempt whose outcome is unknown, and which is followed by another. */
export const LOST: RunError = {
  code: "OutcomeUnknown",
  message: "its outcome was lost: it may have happened, and been paid for",
};
/** Client errors that may pass: timeout, conflict, too early, too many requests. */
const PASSING: ReadonlySet<number> = new Set([408, 409, 425, 429]);
/** A worker does not wait longer than this with a run: then the failure is final. */
const LONGEST_WAIT_MS = 3_600_000;

/** Fields that the SDKs of providers give their errors. */
interface ApiError {
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly isRetryable?: unknown;
  readonly retryAfterMs?: unknown;
  readonly headers?: unknown;
  readonly responseHeaders?: unknown;
}

/**
 * An error without a status (the connection broke, the answer made no sense) may pass; of those with one, 408, 409, 425, 429 and
 * 5xx may. `retryable: false` is final whatever else it says.
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

/** Of a Headers object, or of a plain one with lower-case names. */
function readHeader(headers: unknown, name: string): string | null {
  if (typeof headers !== "object" || headers === null) return null;
  const get = (headers as { readonly get?: unknown }).get;
  const value: unknown =
    typeof get === "function" ? get.call(headers, name) : (headers as Readonly<Record<string, unknown>>)[name];
  return typeof value === "string" && value.trim() !== "" ? value.trim() : null;
}
