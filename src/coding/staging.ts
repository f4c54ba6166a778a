// Writes files into a temporary folder near their target, verifies them, and moves them when all are valid. No process ever sees half of
// a file, existing files stay until then, and they are restored if a move fails.
import { createHash } from "node:crypto";
import { type FileHandle, mkdir, rmdir } from "node:fs/promises";
import * as path from "node:path";
import type { CapturedFile } from "../contracts/captures.ts";
import { HoldfastError, isHoldfastError } from "../contracts/errors.ts";
import { checkPath } from "../core/agent-sessions.ts";
import {
  DirectoryTree,
  ExchangedDirectory,
  type FileIdentity,
  isSameFile,
  OpenDirectory,
  TEMPORARY_PREFIX,
} from "../core/open-directory.ts";

export interface StagedFile {
  readonly path: string;
  /** Where the file can be read until it is placed, and its target. */
  readonly from: string;
  readonly to: string;
  /** Of the written bytes, which differ from the captured ones if paths were rewritten. */
  readonly size: number;
  readonly ref: string;
  /** A file that is at the target already is kept under this name, in the same directory. */
  keepAs: string | null;
}

interface StagedEntry extends StagedFile {
  /** Its name in the temporary folder. */
  readonly name: string;
  readonly identity: FileIdentity;
}

/** Files that were at a target before are kept under such names while files are moved. */
const BEFORE = "before-";
/** A temporary folder that did not change for so long belongs to a process that was killed. */
const LEFT_MS = 3_600_000;

type Undo = () => Promise<unknown>;

/** `close` removes all files that were not moved. */
export class Staging {
  readonly #name: string;
  readonly #folder: OpenDirectory;
  readonly #tree: DirectoryTree;
  readonly #root: string;
  /** The outermost directory that this staging created. */
  readonly #made: string | undefined;
  readonly #staged: StagedEntry[] = [];
  readonly #last: StagedEntry[] = [];
  #count = 0;
  #placed = false;
  /** The folder has the only copy of a file that was at a target before. */
  #hasOnlyCopy = false;
  bytes = 0;

  private constructor(
    root: string,
    made: string | undefined,
    tree: DirectoryTree,
    name: string,
    folder: OpenDirectory,
  ) {
    this.#root = root;
    this.#made = made;
    this.#tree = tree;
    this.#name = name;
    this.#folder = folder;
  }

  /** The folder is inside `root`, so that a move is a rename. Nothing is written outside of the directory that `root` is now. */
  static async createIn(root: string, byDescriptor?: boolean): Promise<Staging> {
    return describingFailures(root, async () => {
      const made = await mkdir(root, { recursive: true, mode: 0o700 });
      const opened = await OpenDirectory.open(root, byDescriptor);
      try {
        const { name, directory } = await opened.makeTemporary(TEMPORARY_PREFIX);
        // Removing old folders may fail; the next restore tries again.
        if (made === undefined) await removeAbandoned(opened, name).catch(() => undefined);
        return new Staging(root, made, new DirectoryTree(opened, root), name, directory);
      } catch (error) {
        await opened.close();
        throw error;
      }
    });
  }

  /** Only its owner can read the file, and its time is now. BlobCorrupted when the bytes are not those that the capture names. */
  async add(
    file: CapturedFile,
    to: string,
    read: AsyncIterable<Uint8Array>,
    options: StagedOptions = {},
  ): Promise<StagedFile> {
    checkPath(file.path);
    const name = String(this.#count++);
    const written = await describingFailures(to, async () => {
      const handle = await this.#folder.create(name, 0o600);
      try {
        const filled = await writeContent(handle, file, read, options);
        // Waiting for the disk takes longer than all else. If power is lost, the other files can be restored again.
        const onDisk = options.last ? handle.sync() : Promise.resolve();
        await Promise.all([onDisk, verifyContent(handle, file, filled, options)]);
        const { dev, ino } = await handle.stat({ bigint: true });
        return { ...filled, identity: { dev, ino } };
      } finally {
        await handle.close();
      }
    });
    const from = this.#folder.pathOf(name);
    const staged: StagedEntry = { path: file.path, name, from, to, ...written, keepAs: null };
    (options.last ? this.#last : this.#staged).push(staged);
    this.bytes += file.size;
    return staged;
  }

  /** Removes a file that is not to be placed. */
  async drop(staged: StagedFile): Promise<void> {
    for (const list of [this.#staged, this.#last]) {
      const found = list.find((one) => one === staged);
      if (found === undefined) continue;
      list.splice(list.indexOf(found), 1);
      await describingFailures(staged.to, () => this.#folder.remove(found.name));
    }
  }

  /** Moves all files in the order in which they were added. The last one makes the session visible. */
  async place(): Promise<void> {
    const all = [...this.#staged, ...this.#last];
    const occupied = new Set<string>();
    const undo: Undo[] = [];
    for (const { to } of all) if (await describingFailures(to, () => this.#isTaken(to))) occupied.add(to);
    try {
      for (const [i, staged] of all.entries()) {
        await describingFailures(staged.to, () => this.#placeOne(staged, `${BEFORE}${i}`, occupied, undo));
      }
      await describingFailures(this.#root, () => this.#requireThere(all));
    } catch (error) {
      await this.#undo(undo);
      throw error;
    }
    this.#placed = all.length > 0;
  }

  /** No directory of the path may be a link, because it could lead out of the root. */
  async #isTaken(to: string): Promise<boolean> {
    const { parts, name } = this.#locate(to);
    const directory = await this.#tree.find(parts);
    const found = await directory?.look(name);
    if (found == null) return false;
    if (!found.isFile() && !found.isSymbolicLink()) throw outsideRoot(to, this.#root);
    return true;
  }

  #locate(to: string): { readonly parts: readonly string[]; readonly name: string } {
    const parts = this.#tree.partsOf(to);
    const name = parts?.at(-1);
    if (parts === null || name === undefined) throw outsideRoot(to, this.#root);
    return { parts: parts.slice(0, -1), name };
  }

  async #placeOne(
    { name: from, to, keepAs }: StagedEntry,
    before: string,
    occupied: ReadonlySet<string>,
    undo: Undo[],
  ): Promise<void> {
    const folder = this.#folder;
    const { parts, name } = this.#locate(to);
    const directory = await this.#tree.get(parts, async (above, made, aboveParts) => {
      await above.makeChild(made);
      undo.push(async () => (await this.#tree.get(aboveParts)).removeChild(made));
    });
    // The tree may have closed the directory since.
    const again = () => this.#tree.get(parts);
    const wasThere = occupied.has(to) && (await keepCopy(directory, name, folder, before));
    // The earlier file is put back even if it is unknown whether the move was done.
    undo.push(async () => (wasThere ? folder.moveTo(before, await again(), name) : (await again()).remove(name)));
    const keptName = keepAs === null ? null : path.basename(keepAs);
    if (wasThere && keptName !== null && (await keepCopy(directory, name, directory, keptName))) {
      undo.push(async () => (await again()).remove(keptName));
    }
    await folder.moveTo(from, directory, name);
  }

  /** Walks from the root again, so that a directory that was exchanged or moved meanwhile is found. */
  async #requireThere(all: readonly StagedEntry[]): Promise<void> {
    await this.#tree.requireSame();
    for (const { to, identity } of all) {
      const { parts, name } = this.#locate(to);
      const found = await (await this.#tree.find(parts))?.look(name);
      const isPlaced = found?.isFile() && (isSameFile(found, identity) || found.dev !== identity.dev);
      if (!isPlaced) throw new ExchangedDirectory(`${to} is not the file that was placed`);
    }
  }

  /** Undoes all that can be undone. A file that cannot be put back stays in the temporary folder. */
  async #undo(steps: Undo[]): Promise<void> {
    for (const step of steps.reverse()) {
      await step().catch(() => {
        this.#hasOnlyCopy = true;
      });
    }
  }

  async close(): Promise<void> {
    try {
      if (this.#hasOnlyCopy) return;
      await removeFolder(this.#tree.root, this.#name, this.#folder);
    } finally {
      await this.#folder.close();
      await this.#tree.close();
      await this.#tree.root.close();
    }
    if (!this.#placed && this.#made !== undefined) await removeEmpty(this.#root, this.#made);
  }
}

/** The folder has only files. */
async function removeFolder(root: OpenDirectory, name: string, folder: OpenDirectory): Promise<void> {
  for (const file of await folder.names()) await folder.remove(file);
  await root.removeChild(name).catch((error: NodeJS.ErrnoException) => {
    // Another process removed it as an abandoned folder.
    if (error.code !== "ENOENT") throw error;
  });
}

/** Removes the folders of killed processes, except one that may have the only copy of an earlier file. */
async function removeAbandoned(root: OpenDirectory, own: string): Promise<void> {
  const names = (await root.names()).filter((name) => name.startsWith(TEMPORARY_PREFIX));
  if (names.length < 2) return;
  const now = (await root.look(own))?.mtimeMs ?? 0n;
  // A folder may disappear meanwhile, or belong to another user.
  for (const name of names) await removeOld(root, name, now - BigInt(LEFT_MS)).catch(() => undefined);
}

async function removeOld(root: OpenDirectory, name: string, before: bigint): Promise<void> {
  const folder = await root.openChild(name);
  try {
    const { mtimeMs = before } = (await folder.look(".")) ?? {};
    if (mtimeMs >= before || (await folder.names()).some((file) => file.startsWith(BEFORE))) return;
    await removeFolder(root, name, folder);
  } finally {
    await folder.close();
  }
}

/** Gives the file a second name, so that it exists all the time; false when there is no file. */
async function keepCopy(directory: OpenDirectory, name: string, target: OpenDirectory, as: string): Promise<boolean> {
  const found = await directory.look(name);
  if (found === null) return false;
  try {
    if (found.isFile()) await directory.linkTo(name, target, as);
    else await directory.moveTo(name, target, as);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return false;
    if (!found.isFile()) throw error;
    // Not every file system has links.
    await directory.copyTo(name, target, as);
  }
  return true;
}

/** Removes empty directories from `folder` up to `outermost`. */
async function removeEmpty(folder: string, outermost: string): Promise<void> {
  for (let at = folder; at.startsWith(outermost); at = path.dirname(at)) {
    const gone = await rmdir(at).then(
      () => true,
      () => false,
    );
    if (!gone) return;
  }
}

/** Turns an error of the file system into one that says what to do. */
export async function describingFailures<T>(to: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw describeFailure(error, to);
  }
}

/** Describes an error of the file system; any other error stays as it is. */
function describeFailure(error: unknown, to: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (error instanceof ExchangedDirectory) return directoryChanged(error, to);
  if (isHoldfastError(error) || syscall === undefined) return error;
  const writeError = (as: "PermissionDenied" | "StoreFull" | "InvalidArgument", why: string, hint: string) =>
    new HoldfastError(as, `${JSON.stringify(to)} cannot be written: ${why}`, {
      details: { path: to, code },
      hint: `Nothing was restored. ${hint}`,
      cause: error,
    });
  if (code === "EACCES" || code === "EPERM" || code === "EROFS") {
    return writeError("PermissionDenied", "permission denied", "Give the current user permission to write there.");
  }
  if (code === "ENOSPC" || code === "EDQUOT")
    return writeError("StoreFull", "the disk is full", "Free some space, and restore again.");
  if (code === "ENOENT" || code === "ESTALE") return directoryChanged(error, to);
  const obstacle = OBSTACLES[code ?? ""];
  if (obstacle !== undefined) return writeError("InvalidArgument", obstacle, "Remove it and restore again.");
  if (code === "ENAMETOOLONG") {
    return writeError("InvalidArgument", "its path is longer than this system allows", "Restore into a shorter path.");
  }
  return error;
}

/** What is at the path of the file or of one of its directories. */
const OBSTACLES: Readonly<Record<string, string>> = {
  ENOTDIR: "a file is where one of its directories belongs",
  EISDIR: "a directory is where the file belongs",
  ELOOP: "its path has a symbolic link, and links are not followed",
  EEXIST: "another file exists at that path",
};

/** Another program changes the same directories, perhaps to have files written elsewhere. */
function directoryChanged(cause: unknown, to: string): HoldfastError {
  return new HoldfastError("Conflict", `a directory was replaced or removed while ${JSON.stringify(to)} was restored`, {
    details: { path: to },
    hint: "Nothing was restored, and nothing was written elsewhere. Find out which program changes these directories, and restore again.",
    cause,
  });
}

function outsideRoot(to: string, root: string): HoldfastError {
  return new HoldfastError("InvalidArgument", `${JSON.stringify(to)} is not below ${JSON.stringify(root)}`, {
    details: { path: to, root },
    hint: "A directory of the path is a link, or not a directory. Remove it and restore again.",
  });
}

export interface StagedOptions {
  /** Changes the bytes before they are written. The captured bytes are verified first. */
  readonly change?: ((pieces: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>) | undefined;
  /** Gets the captured bytes, and the bytes that are read back after writing. */
  readonly seen?: ((piece: Uint8Array) => void) | undefined;
  readonly readBack?: ((piece: Uint8Array) => void) | undefined;
  /** The file is placed after all others, because it makes the session visible. */
  readonly last?: boolean;
}

const PIECE = 1024 * 1024;

async function writeContent(
  handle: FileHandle,
  file: CapturedFile,
  read: AsyncIterable<Uint8Array>,
  { change, seen }: StagedOptions,
): Promise<{ size: number; ref: string }> {
  if (change === undefined) {
    // The bytes that are read back are compared with the same hash.
    await writeAll(handle, checkSize(file, read, seen));
    return { size: file.size, ref: file.ref };
  }
  const captured = createHash("sha256");
  async function* checked(): AsyncGenerator<Uint8Array> {
    for await (const piece of checkSize(file, read, seen)) {
      captured.update(piece);
      yield piece;
    }
    if (`sha256:${captured.digest("hex")}` !== file.ref) throw hashMismatch(file);
  }
  const written = createHash("sha256");
  let size = 0;
  async function* changed(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      size += piece.byteLength;
      written.update(piece);
      yield piece;
    }
  }
  await writeAll(handle, changed(change(checked())));
  return { size, ref: `sha256:${written.digest("hex")}` };
}

/** Writes one piece while the next is prepared. */
async function writeAll(handle: FileHandle, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  let writing: Promise<void> = Promise.resolve();
  try {
    for await (const piece of pieces) {
      await writing;
      writing = writePiece(handle, piece);
      // It is awaited below, also after an error.
      writing.catch(() => {});
    }
  } finally {
    await writing;
  }
}

async function writePiece(handle: FileHandle, piece: Uint8Array): Promise<void> {
  for (let at = 0; at < piece.byteLength; ) {
    const { bytesWritten } = await handle.write(piece, at, piece.byteLength - at);
    at += bytesWritten;
  }
}

/** Checks that there are as many bytes as the list of files says. */
async function* checkSize(
  file: CapturedFile,
  read: AsyncIterable<Uint8Array>,
  seen: StagedOptions["seen"],
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of read) {
    size += piece.byteLength;
    if (size > file.size) throw hashMismatch(file);
    seen?.(piece);
    yield piece;
  }
  if (size !== file.size) throw hashMismatch(file);
}

/** Reads the written file again, so that a full or broken disk is found before anything is moved. */
async function verifyContent(
  handle: FileHandle,
  file: CapturedFile,
  written: { size: number; ref: string },
  { readBack }: StagedOptions,
): Promise<void> {
  const hash = createHash("sha256");
  // Tries to read one byte more than expected, so that a longer file is found.
  const buffer = Buffer.allocUnsafe(Math.min(written.size + 1, PIECE));
  for (let at = 0; ; ) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.byteLength, at);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    readBack?.(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  if (`sha256:${hash.digest("hex")}` !== written.ref) throw hashMismatch(file);
}

function hashMismatch({ path: name, ref }: CapturedFile): HoldfastError {
  return new HoldfastError(
    "BlobCorrupted",
    `the bytes of ${JSON.stringify(name)} have another hash than when they were captured`,
    {
      details: { path: name, ref },
      hint: "Nothing was restored. `npx holdfast check` reports what else is damaged.",
    },
  );
}
