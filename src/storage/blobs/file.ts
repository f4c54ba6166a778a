// Blob bytes as files, `<directory>/ab/cd/<key>`. A file is written in `tmp`, synced, and renamed into place, and its
// directory is synced: it exists whole or not at all, also after power loss. Files that a crash leaves in `tmp` are
// listed like other keys that no row names, so that collection removes them.
import { constants } from "node:fs";
import { chmod, type FileHandle, mkdir, open, opendir, rename, rm, stat } from "node:fs/promises";
import * as path from "node:path";
import type { BlobBackend } from "../../contracts/blobs.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { checkRecord, invalid } from "../../core/check.ts";
import { checkFileMode, directoryModeOf, FILE_MODE } from "../../core/file-mode.ts";

const TEMPORARY = "tmp";

export interface FileBlobsOptions {
  /**
   * Permissions of the files: 0o600 (only their owner) by default, 0o660 for a group. Users who may read a directory
   * may also enter it.
   */
  readonly fileMode?: number;
}

interface Root {
  readonly path: string;
  readonly fileMode: number;
}

export function fileBlobs(directory: string, options: FileBlobsOptions = {}): BlobBackend {
  if (typeof directory !== "string" || directory === "" || directory.includes("\0")) {
    throw invalid("directory", "the path of a directory", directory);
  }
  const { fileMode } = checkRecord(options, "options", ["fileMode"]);
  const root = path.resolve(directory);
  const made: Root = {
    path: root,
    fileMode: fileMode === undefined ? FILE_MODE : checkFileMode(fileMode, "fileMode"),
  };
  return {
    name: "file",
    put: guarded(root, (key, bytes: Uint8Array) => put(made, key, bytes)),
    get: guarded(root, (key) => get(root, key)),
    delete: guarded(root, (key) => rm(path.join(root, key), { force: true })),
    list: () => list(made),
  };
}

function guarded<A extends readonly unknown[], T>(
  root: string,
  run: (key: string, ...rest: A) => Promise<T>,
): (key: string, ...rest: A) => Promise<T> {
  return async (key, ...rest) => {
    checkKey(key);
    try {
      return await run(key, ...rest);
    } catch (error) {
      throw fileError(error, root);
    }
  };
}

/**
 * Holdfast makes the keys, but a damaged or hostile row may contain any text: a key must not lead out of the directory.
 */
function checkKey(key: unknown): asserts key is string {
  const parts = typeof key === "string" ? key.split("/") : [];
  const fine = parts.length > 0 && parts.every((part) => /^[0-9A-Za-z_-][0-9A-Za-z._-]{0,199}$/.test(part));
  if (!fine) throw invalid("key", "made of letters, digits, - and _, in parts divided by /", key);
}

async function put(root: Root, key: string, bytes: Uint8Array): Promise<void> {
  const target = path.join(root.path, key);
  const temporary = path.join(root.path, TEMPORARY, key.replaceAll("/", "_"));
  await makeDirectory(root, path.dirname(temporary));
  await makeDirectory(root, path.dirname(target));
  try {
    const file = await open(temporary, replaceFlags(), root.fileMode);
    try {
      await setMode(file, root.fileMode);
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  await syncDirectory(path.dirname(target));
}

/** A link of that name is refused. */
const replaceFlags = () => constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | (constants.O_NOFOLLOW ?? 0);

/** The umask removes permissions, and the file may belong to another process of the group. */
async function setMode(file: FileHandle, mode: number): Promise<void> {
  if (((await file.stat()).mode & mode) !== mode) await file.chmod(mode);
}

/** Directories that this process has synced: the process that made them may have crashed before it synced them. */
const durable = new Set<string>();

async function makeDirectory(root: Root, directory: string): Promise<void> {
  if (durable.has(directory) && (await isThere(directory))) return;
  const parent = path.dirname(directory);
  let made = true;
  try {
    await mkdir(directory, { mode: 0o700 });
    const mode = directoryModeOf(root.fileMode);
    if (mode !== 0o700) await chmod(directory, mode);
  } catch (error) {
    if (codeOf(error) === "ENOENT" && parent !== directory) {
      await makeDirectory(root, parent);
      return makeDirectory(root, directory);
    }
    if (codeOf(error) !== "EEXIST") throw error;
    made = false;
  }
  // An existing root belongs to the caller, and this process may not be allowed to open the directories above it.
  if (made || isBelow(root.path, directory)) await syncDirectory(parent);
  durable.add(directory);
}

function isBelow(root: string, directory: string): boolean {
  return directory.startsWith(root.endsWith(path.sep) ? root : root + path.sep);
}

async function isThere(directory: string): Promise<boolean> {
  return stat(directory).then(
    () => true,
    () => false,
  );
}

async function syncDirectory(directory: string): Promise<void> {
  // Windows cannot sync a directory, and need not: its journal orders the rename.
  if (process.platform === "win32") return;
  const handle = await open(directory, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function get(root: string, key: string): Promise<Uint8Array | null> {
  let handle: FileHandle;
  try {
    handle = await open(path.join(root, key), constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    if (codeOf(error) !== "ENOENT" && codeOf(error) !== "ENOTDIR") throw error;
    // Without the directory the state of the blob is unknown: its name may be wrong, or a disk may not be mounted.
    const above = await stat(root).catch(() => null);
    if (above?.isDirectory()) return null;
    throw new HoldfastError("MissingDirectory", `there is no directory ${root}, where blobs are kept`, {
      details: { directory: root },
      hint: "Name the directory that the store was written with, or mount it.",
    });
  }
  try {
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

async function* list(root: Root): AsyncGenerator<{ key: string; bytes: number; ageMs: number }> {
  try {
    if (!(await isThere(root.path))) return;
    const now = await fileSystemTime(root);
    for await (const file of filesBelow(root.path, "")) {
      const found = await stat(path.join(root.path, file)).catch(() => null);
      if (found !== null) yield { key: file, bytes: found.size, ageMs: Math.max(0, now - found.mtimeMs) };
    }
  } catch (error) {
    throw fileError(error, root.path);
  }
}

const CLOCK = "clock";

/** The clock of the file times: on a network file system it is another machine's. */
async function fileSystemTime(root: Root): Promise<number> {
  const file = path.join(root.path, TEMPORARY, CLOCK);
  await makeDirectory(root, path.dirname(file));
  const handle = await open(file, replaceFlags(), root.fileMode);
  try {
    await setMode(handle, root.fileMode);
    await handle.writeFile("\n");
    return (await handle.stat()).mtimeMs;
  } finally {
    await handle.close();
  }
}

async function* filesBelow(root: string, below: string): AsyncGenerator<string> {
  for await (const entry of await opendir(path.join(root, below))) {
    const name = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) yield* filesBelow(root, name);
    else if (entry.isFile() && name !== `${TEMPORARY}/${CLOCK}`) yield name;
  }
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}

function fileError(error: unknown, root: string): unknown {
  const code = codeOf(error);
  if (error instanceof HoldfastError || code === null) return error;
  const at = { details: { directory: root, code }, cause: error };
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return new HoldfastError("StoreFull", `no space left for blobs in ${root}; nothing was committed`, {
        ...at,
        retryable: true,
        hint: "Free some space, or run `npx holdfast gc`, then try again.",
      });
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return new HoldfastError("PermissionDenied", `cannot use ${root} for blobs (${code})`, {
        ...at,
        hint: "Check that this user may read and write in the directory.",
      });
    default:
      return new HoldfastError("StoreUnreachable", `the disk refused a blob in ${root} (${code})`, {
        ...at,
        retryable: true,
        hint: "Check the disk and the file system; nothing was committed.",
      });
  }
}
