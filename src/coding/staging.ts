// Files are put together beside where they go, verified, and moved there when all of them are right: nobody ever sees
// half of one, what was there before stays until then, and when moving fails it is there again.

import { createHash } from "node:crypto";
import { type FileHandle, mkdir, rmdir } from "node:fs/promises";
import * as path from "node:path";
import type { CapturedFile } from "../contracts/captures.ts";
import { HoldfastError, isHoldfastError } from "../contracts/errors.ts";
import {
  DirectoryTree,
  ExchangedDirectory,
  type FileIdentity,
  isSameFile,
  OpenDirectory,
  TEMPORARY_PREFIX,
} from "../core/open-directory.ts";
import { checkPath } from "../core/paths.ts";

export interface StagedFile {
  readonly path: string;
  /** Where it can be read until it is placed, and where it goes. */
  readonly from: string;
  readonly to: string;
  /** Of what was written, which is not what was captured when it was changed on the way. */
  readonly size: number;
  readonly ref: string;
  /** What is there already is kept under this name, in the same directory. */
  keepAs: string | null;
}

interface StagedEntry extends StagedFile {
  /** In the folder of the staging. */
  readonly name: string;
  readonly identity: FileIdentity;
}

/** What was there before is kept under such names while files are moved. */
const BEFORE = "before-";
/** Nobody has added to a folder for so long: whoever made it was killed. */
const LEFT_MS = 3_600_000;

type Undo = () => Promise<unknown>;

/** One at a time for a folder; `close` removes whatever was not moved. */
export class Staging {
  readonly #name: string;
  readonly #folder: OpenDirectory;
  readonly #tree: DirectoryTree;
  readonly #root: string;
  /** The outermost directory that was made for it. */
  readonly #made: string | undefined;
  readonly #staged: StagedEntry[] = [];
  readonly #last: StagedEntry[] = [];
  #count = 0;
  #placed = false;
  /** The only copy of something that was there before. */
  #holds = false;
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

  /** Inside `root`, so that moving is renaming. Nothing is ever written anywhere but below the directory that it is now. */
  static async in(root: string, byDescriptor?: boolean): Promise<Staging> {
    return guarded(root, async () => {
      const made = await mkdir(root, { recursive: true, mode: 0o700 });
      const opened = await OpenDirectory.open(root, byDescriptor);
      try {
        const { name, directory } = await opened.makeTemporary(TEMPORARY_PREFIX);
        // What others left is not worth failing for; the next restore tries again.
        if (made === undefined) await removeLeft(opened, name).catch(() => undefined);
        return new Staging(root, made, new DirectoryTree(opened, root), name, directory);
      } catch (error) {
        await opened.close();
        throw error;
      }
    });
  }

  /** Readable by its owner only, with the time of now. BlobCorrupted when it is not what the capture says. */
  async add(
    file: CapturedFile,
    to: string,
    read: AsyncIterable<Uint8Array>,
    options: StagedOptions = {},
  ): Promise<StagedFile> {
    checkPath(file.path);
    const name = String(this.#count++);
    const written = await guarded(to, async () => {
      const handle = await this.#folder.create(name, 0o600);
      try {
        const filled = await writeContent(handle, file, read, options);
        // Waiting for the disk takes longer than all else. What is lost with the power besides can be put back again.
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

  /** Not to be placed after all. */
  async drop(staged: StagedFile): Promise<void> {
    for (const list of [this.#staged, this.#last]) {
      const found = list.find((one) => one === staged);
      if (found === undefined) continue;
      list.splice(list.indexOf(found), 1);
      await guarded(staged.to, () => this.#folder.remove(found.name));
    }
  }

  /** All of them, in the order in which they came: the last one is what makes the session visible. */
  async place(): Promise<void> {
    const all = [...this.#staged, ...this.#last];
    const taken = new Set<string>();
    const undo: Undo[] = [];
    for (const { to } of all) if (await guarded(to, () => this.#isTaken(to))) taken.add(to);
    try {
      for (const [i, staged] of all.entries()) {
        await guarded(staged.to, () => this.#placeOne(staged, `${BEFORE}${i}`, taken, undo));
      }
      await guarded(this.#root, () => this.#requireThere(all));
    } catch (error) {
      await this.#undo(undo);
      throw error;
    }
    this.#placed = all.length > 0;
  }

  /** No directory on the way may be a link: it would lead out of the root. */
  async #isTaken(to: string): Promise<boolean> {
    const { parts, name } = this.#locate(to);
    const directory = await this.#tree.find(parts);
    const found = await directory?.look(name);
    if (found == null) return false;
    if (!found.isFile() && !found.isSymbolicLink()) throw outside(to, this.#root);
    return true;
  }

  #locate(to: string): { readonly parts: readonly string[]; readonly name: string } {
    const parts = this.#tree.partsOf(to);
    const name = parts?.at(-1);
    if (parts === null || name === undefined) throw outside(to, this.#root);
    return { parts: parts.slice(0, -1), name };
  }

  async #placeOne(
    { name: from, to, keepAs }: StagedEntry,
    before: string,
    taken: ReadonlySet<string>,
    undo: Undo[],
  ): Promise<void> {
    const folder = this.#folder;
    const { parts, name } = this.#locate(to);
    const directory = await this.#tree.get(parts, async (above, made, aboveParts) => {
      await above.makeChild(made);
      undo.push(async () => (await this.#tree.get(aboveParts)).removeChild(made));
    });
    // Asked of the tree again: it may have closed the directory since.
    const again = () => this.#tree.get(parts);
    const wasThere = taken.has(to) && (await keep(directory, name, folder, before));
    // What was there is put back even when it is not known whether the move was done.
    undo.push(async () => (wasThere ? folder.moveTo(before, await again(), name) : (await again()).remove(name)));
    const beside = keepAs === null ? null : path.basename(keepAs);
    if (wasThere && beside !== null && (await keep(directory, name, directory, beside))) {
      undo.push(async () => (await again()).remove(beside));
    }
    await folder.moveTo(from, directory, name);
  }

  /** By a fresh walk from the root: a directory that was exchanged or moved away meanwhile is found. */
  async #requireThere(all: readonly StagedEntry[]): Promise<void> {
    await this.#tree.requireSame();
    for (const { to, identity } of all) {
      const { parts, name } = this.#locate(to);
      const found = await (await this.#tree.find(parts))?.look(name);
      const isPlaced = found?.isFile() && (isSameFile(found, identity) || found.dev !== identity.dev);
      if (!isPlaced) throw new ExchangedDirectory(`${to} is not what was placed there`);
    }
  }

  /** All that can be undone; what could not be put back stays in the folder. */
  async #undo(steps: Undo[]): Promise<void> {
    for (const step of steps.reverse()) {
      await step().catch(() => {
        this.#holds = true;
      });
    }
  }

  async close(): Promise<void> {
    try {
      if (this.#holds) return;
      await removeFolder(this.#tree.root, this.#name, this.#folder);
    } finally {
      await this.#folder.close();
      await this.#tree.close();
      await this.#tree.root.close();
    }
    if (!this.#placed && this.#made !== undefined) await removeEmpty(this.#root, this.#made);
  }
}

/** It holds files only. */
async function removeFolder(root: OpenDirectory, name: string, folder: OpenDirectory): Promise<void> {
  for (const file of await folder.names()) await folder.remove(file);
  await root.removeChild(name).catch((error: NodeJS.ErrnoException) => {
    // Removed by another process, which took it for one that was left.
    if (error.code !== "ENOENT") throw error;
  });
}

/** Folders of those that were killed, but for one that may have the only copy of what was there before. */
async function removeLeft(root: OpenDirectory, own: string): Promise<void> {
  const names = (await root.names()).filter((name) => name.startsWith(TEMPORARY_PREFIX));
  if (names.length < 2) return;
  const now = (await root.look(own))?.mtimeMs ?? 0n;
  // Others come and go, and some belong to other people.
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

/** A second name for what is there, so that it never goes away meanwhile; false when there is nothing. */
async function keep(directory: OpenDirectory, name: string, target: OpenDirectory, as: string): Promise<boolean> {
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

/** From `folder` out to `outermost`, as long as nothing is in them. */
async function removeEmpty(folder: string, outermost: string): Promise<void> {
  for (let at = folder; at.startsWith(outermost); at = path.dirname(at)) {
    const gone = await rmdir(at).then(
      () => true,
      () => false,
    );
    if (!gone) return;
  }
}

/** What the file system refuses while it works on a file becomes an error that says what to do. */
export async function guarded<T>(to: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failed(error, to);
  }
}

/** What the file system refused, in words; anything else as it is. */
function failed(error: unknown, to: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (error instanceof ExchangedDirectory) return exchanged(error, to);
  if (isHoldfastError(error) || syscall === undefined) return error;
  const say = (as: "PermissionDenied" | "StoreFull" | "InvalidArgument", why: string, hint: string) =>
    new HoldfastError(as, `${JSON.stringify(to)} cannot be written: ${why}`, {
      details: { path: to, code },
      hint: `Nothing was put back. ${hint}`,
      cause: error,
    });
  if (code === "EACCES" || code === "EPERM" || code === "EROFS") {
    return say("PermissionDenied", "it is not allowed", "Let the user who runs this write there.");
  }
  if (code === "ENOSPC" || code === "EDQUOT")
    return say("StoreFull", "there is no room", "Free some, and restore again.");
  if (code === "ENOENT" || code === "ESTALE") return exchanged(error, to);
  const obstacle = OBSTACLES[code ?? ""];
  if (obstacle !== undefined) return say("InvalidArgument", obstacle, "Remove it and restore again.");
  if (code === "ENAMETOOLONG") {
    return say("InvalidArgument", "its path is longer than this system allows", "Restore into a shorter path.");
  }
  return error;
}

/** What stands where the file or a directory on its way belongs. */
const OBSTACLES: Readonly<Record<string, string>> = {
  ENOTDIR: "a file is where one of its directories belongs",
  EISDIR: "a directory is where the file belongs",
  ELOOP: "a symbolic link is on its way, and links are not followed",
  EEXIST: "another file is there already",
};

/** Another program works in the same directories, or somebody tries to have files written elsewhere. */
function exchanged(cause: unknown, to: string): HoldfastError {
  return new HoldfastError(
    "Conflict",
    `a directory was exchanged or removed while ${JSON.stringify(to)} was put back`,
    {
      details: { path: to },
      hint: "Nothing was put back, and nothing was written elsewhere. Find out what changes these directories, and restore again.",
      cause,
    },
  );
}

function outside(to: string, root: string): HoldfastError {
  return new HoldfastError("InvalidArgument", `${JSON.stringify(to)} is not a place below ${JSON.stringify(root)}`, {
    details: { path: to, root },
    hint: "Something on the way to it is a link, or no directory. Remove it and restore again.",
  });
}

export interface StagedOptions {
  /** Changes the bytes on their way; they are verified before. */
  readonly change?: ((pieces: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>) | undefined;
  /** Sees what was captured, and what is read back of what was written. */
  readonly seen?: ((piece: Uint8Array) => void) | undefined;
  readonly readBack?: ((piece: Uint8Array) => void) | undefined;
  /** Placed after all others: what makes the session visible. */
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
    // What is read back is compared with the same hash.
    await writeAll(handle, sized(file, read, seen));
    return { size: file.size, ref: file.ref };
  }
  const captured = createHash("sha256");
  async function* checked(): AsyncGenerator<Uint8Array> {
    for await (const piece of sized(file, read, seen)) {
      captured.update(piece);
      yield piece;
    }
    if (`sha256:${captured.digest("hex")}` !== file.ref) throw notAsSaid(file);
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

/** One piece is written while the next is got ready. */
async function writeAll(handle: FileHandle, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  let writing: Promise<void> = Promise.resolve();
  try {
    for await (const piece of pieces) {
      await writing;
      writing = writePiece(handle, piece);
      // Awaited below, whatever happens meanwhile.
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

/** As many bytes as the list says. */
async function* sized(
  file: CapturedFile,
  read: AsyncIterable<Uint8Array>,
  seen: StagedOptions["seen"],
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const piece of read) {
    size += piece.byteLength;
    if (size > file.size) throw notAsSaid(file);
    seen?.(piece);
    yield piece;
  }
  if (size !== file.size) throw notAsSaid(file);
}

/** What the file system has now is read again: a full disk or a bad one is seen before anything is moved. */
async function verifyContent(
  handle: FileHandle,
  file: CapturedFile,
  written: { size: number; ref: string },
  { readBack }: StagedOptions,
): Promise<void> {
  const hash = createHash("sha256");
  // One byte more than there should be, so that there being more is seen.
  const buffer = Buffer.allocUnsafe(Math.min(written.size + 1, PIECE));
  for (let at = 0; ; ) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.byteLength, at);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    readBack?.(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  if (`sha256:${hash.digest("hex")}` !== written.ref) throw notAsSaid(file);
}

function notAsSaid({ path: name, ref }: CapturedFile): HoldfastError {
  return new HoldfastError(
    "BlobCorrupted",
    `the bytes of ${JSON.stringify(name)} have another hash than when they were captured`,
    {
      details: { path: name, ref },
      hint: "Nothing was put back. `npx holdfast check` says what else is damaged.",
    },
  );
}
