// Converts errors of SDKs to ModelError, with the fields that a run's retries read: status, whether to retry, and when.
import type { ModelFailure } from "../contracts/chat.ts";
import { readRetryAfter } from "../core/retry-after.ts";

export class ModelError extends Error implements ModelFailure {
  /** The provider's own code ("rate_limit_error"), or that of the connection ("ECONNRESET"). */
  readonly code: string;
  readonly status?: number;
  readonly retryAfterMs?: number;
  readonly retryable: boolean;

  constructor(code: string, message: string, { retryable = true, ...rest }: ModelFailure & { cause?: unknown } = {}) {
    super(message, rest.cause === undefined ? {} : { cause: rest.cause });
    this.name = "ModelError";
    this.code = code;
    this.retryable = retryable;
    if (rest.status !== undefined) this.status = rest.status;
    if (rest.retryAfterMs !== undefined) this.retryAfterMs = rest.retryAfterMs;
  }
}

/** The stream ended before the reply was complete: the partial reply is discarded. */
export function streamCut(provider: string): ModelError {
  return new ModelError("StreamCut", `${provider}: the reply ended before it was complete`);
}

/** Statuses below 500 that allow a retry. */
const RETRYABLE: ReadonlySet<number> = new Set([408, 409, 425, 429]);

/** Codes that a retry would meet again, with any status or without one (errors in a stream). */
const FINAL: ReadonlySet<string> = new Set([
  "invalid_request_error",
  "authentication_error",
  "permission_error",
  "not_found_error",
  "request_too_large",
  "billing_error",
  "insufficient_quota",
  "invalid_prompt",
  "context_length_exceeded",
  "content_policy_violation",
  "AI_LoadAPIKeyError",
  "AI_InvalidPromptError",
  "AI_InvalidArgumentError",
  "AI_UnsupportedFunctionalityError",
]);

interface SdkError {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly code?: unknown;
  readonly type?: unknown;
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly headers?: unknown;
  readonly responseHeaders?: unknown;
  readonly cause?: unknown;
  readonly data?: unknown;
  readonly error?: unknown;
}

/** Throws errors of `work` as ModelError. If the signal aborted, the error is thrown unchanged. */
export async function withFailures<T>(provider: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof ModelError || signal.aborted) throw thrown;
    throw failureOf(provider, thrown);
  }
}

export function failureOf(provider: string, thrown: unknown): ModelError {
  const error: SdkError = isObject(thrown) ? thrown : { message: String(thrown) };
  const code = codeOf(error);
  // A stream that broke off later has the status of its successful start, which says nothing about the error.
  const status = [error.status, error.statusCode].filter(isNumber).find((one) => one >= 400);
  const headers = headersOf(error.headers ?? error.responseHeaders);
  const retryAfterMs = retryAfterOf(headers);
  const message = `${provider}: ${typeof error.message === "string" ? error.message : code}`;
  const retryable = isRetryable(code, status, headers("x-should-retry"));
  return new ModelError(code, message, {
    retryable,
    cause: thrown,
    ...(status === undefined ? {} : { status }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

function isRetryable(code: string, status: number | undefined, told: string | undefined): boolean {
  if (told === "true" || told === "false") return told === "true";
  if (FINAL.has(code)) return false;
  return status === undefined || status >= 500 || RETRYABLE.has(status);
}

function codeOf(error: SdkError): string {
  const inner = isObject(error.error) ? error.error : isObject(error.data) ? error.data : {};
  const nested = isObject(inner.error) ? inner.error : inner;
  const cause: SdkError = isObject(error.cause) ? error.cause : {};
  const found = [error.code, error.type, nested.code, nested.type, cause.code, error.name].find(
    (one) => typeof one === "string" && one !== "",
  );
  return typeof found === "string" ? found : "ModelError";
}

type Headers = (name: string) => string | undefined;

function headersOf(given: unknown): Headers {
  if (!isObject(given)) return () => undefined;
  const { get } = given;
  if (typeof get === "function") return (name) => textOf(get.call(given, name));
  return (name) => textOf(given[name]);
}

/** The header has milliseconds, seconds or a date. A date is compared with the response's own date, because clocks differ. */
function retryAfterOf(headers: Headers): number | undefined {
  const ms = readRetryAfter(Number.parseFloat(headers("retry-after-ms") ?? ""));
  if (ms !== undefined) return ms;
  const after = headers("retry-after") ?? "";
  if (/^\d+(\.\d+)?$/.test(after)) return readRetryAfter(Number(after) * 1000);
  return readRetryAfter(Date.parse(after) - Date.parse(headers("date") ?? ""));
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
