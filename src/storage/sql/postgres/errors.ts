// Converts errors of PostgreSQL and of the network to typed errors that say what to do.
import { HoldfastError } from "../../../contracts/errors.ts";
import { LostRace } from "../driver.ts";

export function sqlState(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}

/** Division by zero: an error a pipelined statement can raise by itself; our fences do, and nothing else here. */
export function isStale(error: unknown): boolean {
  return sqlState(error) === "22012";
}

/** Limits of the server (class 54), its memory, and the length of a value, which has no code of its own. */
export function isTooMuch(error: unknown): boolean {
  const code = sqlState(error);
  return code?.startsWith("54") || code === "53200" || (code === "XX000" && /memory alloc/.test(messageOf(error)));
}

/** A lock was not free within lock_timeout. */
export function isLocked(error: unknown): boolean {
  return sqlState(error) === "55P03";
}

/** The server has no room for another connection. */
export function isTooManyClients(error: unknown): boolean {
  return sqlState(error) === "53300";
}

/** The transaction did not happen and the same plan may well succeed: lost races, deadlocks, and a client that was idle. */
export function isRace(error: unknown): boolean {
  const code = sqlState(error);
  return error instanceof LostRace || isLocked(error) || ["40001", "40P01", "23505", "25P03"].includes(code ?? "");
}

const UNREACHABLE = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "EPIPE",
  "ENOENT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "CONNECT_TIMEOUT",
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  "57P01",
  "57P02",
  "57P03",
  "53300",
]);

export function isUnreachable(error: unknown): boolean {
  const code = sqlState(error);
  if (code === null) return false;
  // What the server says has a severity. The rest comes from the network or from TLS, in more ways than can be listed, and
  // leaves open whether a commit happened.
  const fromSystem = !("severity" in (error as object)) && /^(E[A-Z0-9]+|ERR_\w+)$/.test(code);
  return fromSystem || UNREACHABLE.has(code) || code.startsWith("08");
}

const LOST = new Set(["CONNECTION_CLOSED", "ECONNRESET", "EPIPE", "57P01", "57P02", "57P05"]);

/** The connection broke, or the server ended it; another one may well serve. */
export function isConnectionLost(error: unknown): boolean {
  return !(error instanceof HoldfastError) && LOST.has(sqlState(error) ?? "");
}

/** Errors after which the connection cannot be used. */
export function isFatal(error: unknown): boolean {
  const severity = error instanceof Error && "severity" in error ? error.severity : null;
  return isUnreachable(error) || severity === "FATAL" || severity === "PANIC";
}

const REPEAT =
  "Read it back before you repeat it. To repeat is safe where the call names an id or a key: a message with a key is added once, and " +
  "what is created under an id is there once.";

/** The connection broke after the commit was sent: it is unknown whether it happened. */
export function lostError(target: string, cause: unknown): HoldfastError {
  const code = sqlState(cause);
  const message = `the connection to ${target} was lost (${code}) after the commit was sent; it may have happened`;
  return new HoldfastError("StoreUnreachable", message, {
    details: { target, code, commit: "unknown" },
    retryable: true,
    cause,
    hint: `Check the server and the network. ${REPEAT}`,
  });
}

/** The server did not answer in time. `isOpen`: the commit had been sent, so it is unknown whether it happened. */
export function silentError(target: string, isOpen: boolean, cause: unknown): HoldfastError {
  const what = isOpen ? "whether the commit happened is unknown" : "nothing was written";
  return new HoldfastError("StoreUnreachable", `${target} gave no answer in time; ${what}`, {
    details: { target, code: "NO_ANSWER", ...(isOpen ? { commit: "unknown" } : {}) },
    retryable: true,
    hint: `Check the server and the network${isOpen ? `. ${REPEAT}` : ", then try again."}`,
    cause,
  });
}

/** `target` names server and schema, never a password. */
export function postgresError(error: unknown, target: string): unknown {
  if (error instanceof HoldfastError) return error;
  if (error instanceof LostRace) return busyError(target, error);
  const code = sqlState(error);
  const at = { details: { target, code }, cause: error };
  if (isTooManyClients(error)) {
    return new HoldfastError("StoreUnreachable", `${target} has no room for another connection (${code})`, {
      ...at,
      retryable: true,
      hint: "Try again, lower poolSize of the handles, raise max_connections of the server, or put a pooler before it.",
    });
  }
  if (isUnreachable(error)) {
    return new HoldfastError("StoreUnreachable", `cannot reach ${target} (${code})`, {
      ...at,
      retryable: true,
      hint: "Check that the server runs and accepts connections from here, then try again.",
    });
  }
  if (code === null) return error;
  if (code === "25006") return readOnlyError(error, target);
  return refusedError(error, code, target);
}

function readOnlyError(error: unknown, target: string): HoldfastError {
  return new HoldfastError("ReadOnly", `${target} is read-only: ${messageOf(error)}`, {
    details: { target, code: sqlState(error) },
    hint: "Connect to the primary (?target_session_attrs=read-write chooses it), or unset default_transaction_read_only.",
    cause: error,
  });
}

function busyError(target: string, error: unknown): HoldfastError {
  const why = error instanceof LostRace ? error.message : "other writers kept changing the same rows";
  return new HoldfastError("StoreBusy", `a commit to ${target} was given up and nothing was written: ${why}`, {
    details: { target, code: sqlState(error) },
    retryable: true,
    hint: "Try again; open the store with a longer busyMs if others rightly take that long.",
    cause: error,
  });
}

function refusedError(error: unknown, code: string, target: string): HoldfastError {
  const at = { details: { target, code }, cause: error };
  const said = messageOf(error);
  switch (code) {
    case "28P01":
    case "28000":
      return new HoldfastError("PermissionDenied", `${target} refused: ${said}`, {
        ...at,
        hint: "Check user and password; a password in the URL must be percent-encoded.",
      });
    case "42501":
      return new HoldfastError("PermissionDenied", `${target} refused: ${said}`, { ...at, hint: grantHint(said) });
    case "3F000":
      return new HoldfastError("PermissionDenied", `${target}: the schema is not there for this role (${said})`, {
        ...at,
        hint: "Let its owner run: GRANT USAGE, CREATE ON SCHEMA <schema> TO <role>.",
      });
    case "3D000":
      return new HoldfastError("NotFound", `${target}: ${said}`, {
        ...at,
        hint: "Create the database first, for example with `createdb`; a store makes its own schema in it.",
      });
    case "53100":
      return new HoldfastError("StoreFull", `no space left on ${target}`, { ...at, retryable: true });
    case "57014":
      return new HoldfastError("QueryTimeout", `${target} ended a statement before it was done: ${said}`, {
        ...at,
        retryable: true,
        hint: "Raise statement_timeout (?statement_timeout=… in the URL, in milliseconds), or ask for less at once.",
      });
    case "40001":
    case "40P01":
    case "55P03":
    case "23505":
    case "25P03":
      return busyError(target, error);
    case "XX001":
    case "XX002":
      return new HoldfastError("StoreCorrupted", `${target} is damaged: ${said}`, at);
    default:
      return new HoldfastError("Internal", `PostgreSQL refused (${code}): ${said}`, at);
  }
}

function grantHint(said: string): string {
  return /database/.test(said)
    ? "Let an administrator run: CREATE SCHEMA <schema> AUTHORIZATION <role>; then open the store again."
    : "Let the schema's owner run: GRANT USAGE, CREATE ON SCHEMA <schema> TO <role>; the role must own the store's tables.";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
