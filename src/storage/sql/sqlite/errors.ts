// Converts SQLite's result codes to typed errors that say what to do.
import { HoldfastError } from "../../../contracts/errors.ts";

const BUSY = 5;
const LOCKED = 6;

/** The primary result code, or null when it is not SQLite's error. */
function resultCode(error: unknown): number | null {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return null;
  return error.errcode & 0xff;
}

export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === BUSY || code === LOCKED;
}

/** SQLite has limits of its own, and no code that distinguishes them from mistakes in a statement. */
export function isTooMuch(error: unknown): boolean {
  const code = resultCode(error);
  const isLimit = /too many|too large|too big|at most \d+|overflow/.test(messageOf(error));
  return code === 18 || code === 7 || (code === 1 && isLimit);
}

/** The file or its header is damaged. */
export function isDamage(error: unknown): boolean {
  const code = resultCode(error);
  return code === 11 || code === 26;
}

/** A stored number is larger than any we write. */
export function isOutOfRange(error: unknown): boolean {
  return error instanceof RangeError && "code" in error && error.code === "ERR_OUT_OF_RANGE";
}

export function sqliteError(error: unknown, path: string): unknown {
  if (error instanceof HoldfastError) return error;
  const at = { details: { path }, cause: error };
  if (isOutOfRange(error)) return corrupted(path, error);
  if (error instanceof Error && "code" in error && error.code === "ERR_ACCESS_DENIED") return deniedByNode(error, path);
  switch (resultCode(error)) {
    case null:
      return error;
    case BUSY:
    case LOCKED:
      return busyError(path, error);
    case 8: // READONLY
    case 3: // PERM
    case 23: // AUTH
      return new HoldfastError("PermissionDenied", `cannot write to ${path}`, {
        ...at,
        hint: "Check the permissions of the file and of its directory: SQLite also writes beside the file.",
      });
    case 13: // FULL
      return new HoldfastError("StoreFull", `no space left for ${path}; nothing of this change was written`, {
        ...at,
        retryable: true,
        hint: "Free some space, or run `npx holdfast gc`, then try again.",
      });
    case 11: // CORRUPT
      return corrupted(path, error);
    case 26: // NOTADB
      return new HoldfastError("NotAStore", `${path} is not a SQLite database`, {
        ...at,
        hint: "Give the path of a Holdfast store, or a new path to create one.",
      });
    case 14: // CANTOPEN
      return new HoldfastError("PermissionDenied", `cannot open ${path}: ${messageOf(error)}`, {
        ...at,
        hint: "Check that the directory exists and that this user may read and write in it.",
      });
    case 10: // IOERR
      return new HoldfastError("StoreUnreachable", `the disk refused ${path}: ${messageOf(error)}`, {
        ...at,
        retryable: true,
        hint: "Check the disk and the file system; nothing of this change was acknowledged.",
      });
    default:
      return new HoldfastError("Internal", `SQLite refused: ${messageOf(error)}`, at);
  }
}

/** Operations that node --permission may refuse, by Node's name, and the options that allow them. */
const NODE_PERMISSIONS: Readonly<Record<string, readonly [string, string]>> = {
  WorkerThreads: ["to start a thread", "--allow-worker"],
  ChildProcess: ["to start a process", "--allow-child-process"],
  FileSystemRead: ["to read the file", "--allow-fs-read"],
  FileSystemWrite: ["to write the file", "--allow-fs-write"],
};

function deniedByNode(error: Error, path: string): HoldfastError {
  const permission = "permission" in error ? String(error.permission) : "";
  const [what, option] = NODE_PERMISSIONS[permission] ?? [`what it needs: ${messageOf(error)}`, "that permission"];
  return new HoldfastError("PermissionDenied", `node --permission does not allow this call on ${path} ${what}`, {
    details: { path, permission },
    hint: `Start Node with ${option} as well.`,
    cause: error,
  });
}

function corrupted(path: string, cause: unknown): HoldfastError {
  return new HoldfastError("StoreCorrupted", `${path} is damaged: ${messageOf(cause)}`, {
    details: { path },
    hint: "Keep a copy of the file, its -wal and -shm; restore a backup, or salvage with `sqlite3 .recover`.",
    cause,
  });
}

export function busyError(path: string, cause: unknown): HoldfastError {
  return new HoldfastError("StoreBusy", `another process holds ${path} locked`, {
    retryable: true,
    details: { path },
    hint: "Wait for it, or give open() a longer busyMs.",
    cause,
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
