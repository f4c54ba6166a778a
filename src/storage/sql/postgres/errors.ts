// From PostgreSQL's and the network's errors to typed errors that say what to do.
import { HoldfastError } from "../../../contracts/errors.ts";

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

/** The transaction did not happen and the same plan may well succeed: lost races and deadlocks. */
export function isRace(error: unknown): boolean {
  const code = sqlState(error);
  return code === "40001" || code === "40P01" || code === "23505" || code === "55P03";
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

/** `target` names server and schema, never a password. */
export function postgresError(error: unknown, target: string): unknown {
  if (error instanceof HoldfastError) return error;
  const code = sqlState(error);
  const at = { details: { target, code }, cause: error };
  if (isUnreachable(error)) {
    return new HoldfastError("StoreUnreachable", `cannot reach ${target} (${code})`, {
      ...at,
      retryable: true,
      hint: "Check that the server runs and accepts connections from here, then try again.",
    });
  }
  switch (code) {
    case null:
      return error;
    case "28P01":
    case "28000":
    case "42501":
      return new HoldfastError("PermissionDenied", `${target} refused: ${messageOf(error)}`, {
        ...at,
        hint: "Check user, password and the rights on the schema.",
      });
    case "3D000":
      return new HoldfastError("NotFound", `${target}: ${messageOf(error)}`, {
        ...at,
        hint: "Create the database first, for example with `createdb`; a store makes its own schema in it.",
      });
    case "53100":
      return new HoldfastError("StoreFull", `no space left on ${target}`, { ...at, retryable: true });
    case "40001":
    case "40P01":
    case "55P03":
    case "23505":
      return new HoldfastError("StoreBusy", `others kept changing the same rows of ${target}`, {
        ...at,
        retryable: true,
      });
    case "XX001":
    case "XX002":
      return new HoldfastError("StoreCorrupted", `${target} is damaged: ${messageOf(error)}`, at);
    default:
      return new HoldfastError("Internal", `PostgreSQL refused (${code}): ${messageOf(error)}`, at);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
