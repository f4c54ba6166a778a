// The one error class of the product. Expected outcomes are values; operating failures and caller mistakes are a
// HoldfastError whose code is mapped exhaustively to exit codes (and, at the server, to HTTP statuses).

export type ErrorCode =
  // The caller's mistakes: nothing was written.
  | "InvalidArgument"
  | "InvalidId"
  | "InvalidText"
  | "InvalidJson"
  | "InvalidQuery"
  | "LimitExceeded"
  | "BadUrl"
  // The requested thing does not exist, or exists already.
  | "NotFound"
  | "AlreadyExists"
  | "SessionDeleted"
  | "BlobNotFound"
  | "BlobExpired"
  | "CaptureExpired"
  // Rules that refused the change.
  | "Conflict"
  | "InvalidTransition"
  | "ReadOnly"
  // An embedding of another model or dimension than its collection has.
  | "EmbeddingMismatch"
  // Captures: another process works on the request; a session that must be restored could not be.
  | "RequestBusy"
  | "NotResumed"
  // Runs.
  | "SessionBusy"
  | "LeaseLost"
  | "NonDeterminism"
  | "AgentMismatch"
  | "ContentErased"
  // Damage: something stored is not what was written.
  | "BlobCorrupted"
  | "ExecutionCorrupted"
  | "UnsupportedSchemaVersion"
  | "StoreCorrupted"
  | "ArchiveCorrupted"
  // The store cannot be used, or not now.
  | "SchemaTooNew"
  | "NotAStore"
  | "MissingDirectory"
  | "PermissionDenied"
  | "StoreBusy"
  | "StoreUnreachable"
  | "StoreFull"
  | "QueryTimeout"
  | "MissingDependency"
  // A coding agent's own program failed, or did not answer in time.
  | "AgentFailed"
  // An embedder failed, or returned vectors that cannot be used.
  | "EmbeddingFailed"
  | "Closed"
  | "Aborted"
  | "Internal";

export interface ErrorOptions {
  /** Machine-readable facts about what failed. Never secrets, never payloads. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** True if the same call may succeed later without any change by the caller. */
  readonly retryable?: boolean;
  /** What the caller can do about it, one sentence. */
  readonly hint?: string;
  readonly cause?: unknown;
}

export class HoldfastError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly hint: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "HoldfastError";
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.hint = options.hint;
    this.details = options.details ?? {};
  }

  /** The form that `--json` and the server print: no stack, no cause. */
  toJSON(): Pick<HoldfastError, "code" | "message" | "retryable" | "details"> & { hint?: string } {
    return {
      code: this.code,
      message: this.message,
      retryable: this.retryable,
      ...(this.hint === undefined ? {} : { hint: this.hint }),
      details: { ...this.details },
    };
  }
}

// holdfast/edge is a separate bundle with its own copy of this class. `instanceof` must accept its errors for this
// class too, and the other way round.
const BRAND = Symbol.for("holdfast.error");
Object.defineProperty(HoldfastError.prototype, BRAND, { value: true });
Object.defineProperty(HoldfastError, Symbol.hasInstance, {
  value(this: unknown, value: unknown): boolean {
    // A subclass inherits this method, but must accept only its own instances.
    if (this !== HoldfastError) return Function.prototype[Symbol.hasInstance].call(this, value);
    return typeof value === "object" && value !== null && BRAND in value;
  },
});

export function isHoldfastError(value: unknown): value is HoldfastError {
  return value instanceof HoldfastError;
}
