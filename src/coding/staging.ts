// Files are put together beside where they go, verified, and moved there when all of them are right: nobody ever sees
// half of one, what was there before stays until then, and when moving fails it is there again.
import { createHash } from "node:crypto";
import {
  copyFile,
  type FileHandle,
  link,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  rename,
  rm,
  rmdir,
  stat,
} from "node:fs/promises";
import * as path from "node:path";
import type { CapturedFile } from "../contracts/captures.ts";
import { HoldfastError, isHoldfastError } from "../contracts/errors.ts";
import { checkPath } from "./paths.ts";

export interface Staged {
  readonly path: string;
  /** Where it is until it is placed, and where it goes. */
  readonly from: string;
  readonly to: string;
  /** Of what was written, which is not what was captured when it was changed on the way. */
  readonly size: number;
  readonly ref: string;
  /** What is there already is kept under this name. */
  keepAs: string | null;
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

const PREFIX = ".holdfast-restore-";
/** What was there before is kept under such names while files are moved. */
const BEFORE = "before-";
/** Nobody has added to a folder for so long: whoever made it was killed. */
const LEFT_MS = 3_600_000;

type Undo = () => Promise<unknown>;

/** One at a time for a folder; `close` removes whatever was not moved. */
export class Staging {
  readonly #folder: string;
  readonly #root: string;
  /** The outermost directory that was made for it. */
  readonly #made: string | undefined;
  readonly #staged: Staged[] = [];
  readonly #last: Staged[] = [];
  #count = 0;
  #placed = false;
  /** The only copy of something that was there before. */
  #holds = false;
  bytes = 0;

  private constructor(folder: string, root: string, made: string | undefined) {
    this.#folder = folder;
    this.#root = root;
    this.#made = made;
  }

  /** Inside `root`, so that moving is renaming. */
  static async in(root: string): Promise<Staging> {
    try {
      const made = await mkdir(root, { recursive: true, mode: 0o700 });
      const folder = await mkdtemp(path.join(root, PREFIX));
      if (made === undefined) await removeLeft(root, folder);
      return new Staging(folder, root, made);
    } catch (error) {
      throw failed(error, root);
    }
  }

  /** Readable by its owner only, with the time of now. BlobCorrupted when it is not what the capture says. */
  async add(
    file: CapturedFile,
    to: string,
    read: AsyncIterable<Uint8Array>,
    options: StagedOptions = {},
  ): Promise<Staged> {
    checkPath(file.path);
    const from = path.join(this.#folder, String(this.#count++));
    const written = await guarded(to, async () => {
      const handle = await open(from, "wx+", 0o600);
      try {
        const filled = await fill(handle, file, read, options);
        // Waiting for the disk takes longer than all else. What is lost with the power besides can be put back again.
        const onDisk = options.last ? handle.sync() : Promise.resolve();
        await Promise.all([onDisk, verify(handle, file, filled, options)]);
        return filled;
      } finally {
        await handle.close();
      }
    });
    const staged: Staged = { path: file.path, from, to, ...written, keepAs: null };
    (options.last ? this.#last : this.#staged).push(staged);
    this.bytes += file.size;
    return staged;
  }

  /** Not to be placed after all. */
  async drop(staged: Staged): Promise<void> {
    for (const list of [this.#staged, this.#last]) {
      const at = list.indexOf(staged);
      if (at >= 0) list.splice(at, 1);
    }
    await rm(staged.from, { force: true });
  }

  /** All of them, in the order in which they came: the last one is what makes the session visible. */
  async place(root: string): Promise<void> {
    const all = [...this.#staged, ...this.#last];
    const way: Way = { directories: new Set([root]), taken: new Set() };
    const undo: Undo[] = [];
    for (const { to } of all) await guarded(to, () => clearWay(root, to, way));
    for (const [i, staged] of all.entries()) {
      try {
        await this.#placeOne(staged, path.join(this.#folder, `${BEFORE}${i}`), way, undo);
      } catch (error) {
        await this.#undo(undo);
        throw failed(error, staged.to);
      }
    }
    this.#placed = all.length > 0;
  }

  async #placeOne({ from, to, keepAs }: Staged, before: string, way: Way, undo: Undo[]): Promise<void> {
    const folder = path.dirname(to);
    if (!way.directories.has(folder)) {
      const made = await mkdir(folder, { recursive: true, mode: 0o700 });
      if (made !== undefined) undo.push(() => removeEmpty(folder, made));
      way.directories.add(folder);
    }
    const wasThere = way.taken.has(to) && (await keep(to, before));
    // What was there is put back even when it is not known whether the move was done.
    undo.push(() => (wasThere ? move(before, to) : rm(to, { force: true })));
    if (wasThere && keepAs !== null && (await keep(to, keepAs))) undo.push(() => rm(keepAs, { force: true }));
    await move(from, to);
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
    if (this.#holds) return;
    await rm(this.#folder, { recursive: true, force: true });
    if (!this.#placed && this.#made !== undefined) await removeEmpty(this.#root, this.#made);
  }
}

/** Folders of those that were killed, but for one that may have the only copy of what was there before. */
async function removeLeft(root: string, own: string): Promise<void> {
  const names = (await readdir(root)).filter((name) => name.startsWith(PREFIX));
  if (names.length < 2) return;
  const { mtimeMs: now } = await stat(own);
  for (const folder of names.map((name) => path.join(root, name))) {
    // Others come and go, and some belong to other people.
    await removeOld(folder, now - LEFT_MS).catch(() => undefined);
  }
}

async function removeOld(folder: string, before: number): Promise<void> {
  const { mtimeMs } = await stat(folder);
  if (mtimeMs > before || (await readdir(folder)).some((name) => name.startsWith(BEFORE))) return;
  await rm(folder, { recursive: true, force: true });
}

async function fill(
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
async function verify(
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

/** A second name for what is there, so that it never goes away meanwhile; false when there is nothing. */
async function keep(file: string, as: string): Promise<boolean> {
  const found = await lstat(file).catch(ifAbsent(null));
  if (found === null) return false;
  try {
    if (found.isFile()) await link(file, as);
    else await rename(file, as);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return false;
    if (!found.isFile()) throw error;
    // Not every file system has links.
    await copyFile(file, as);
  }
  return true;
}

/** At once, also where a part of the root is another file system. */
async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    const beside = `${to}.holdfast-000000000000`;
    try {
      await copyFile(from, beside);
      await rename(beside, to);
    } finally {
      await rm(beside, { force: true });
    }
    await rm(from, { force: true });
  }
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

/** What is known of the places that files go to. */
interface Way {
  readonly directories: Set<string>;
  /** Something is there already. */
  readonly taken: Set<string>;
}

/** No directory on the way below `root` may be a link: it would lead out of it. */
async function clearWay(root: string, to: string, { directories, taken }: Way): Promise<void> {
  const parts = path.relative(root, to).split(path.sep);
  if (parts.includes("..") || path.isAbsolute(path.relative(root, to))) throw outside(to, root);
  let at = root;
  for (const [i, part] of parts.entries()) {
    at = path.join(at, part);
    if (directories.has(at)) continue;
    const found = await lstat(at).catch(ifAbsent(null));
    if (found === null) return;
    const isLast = i === parts.length - 1;
    if (isLast ? !found.isFile() && !found.isSymbolicLink() : !found.isDirectory()) throw outside(to, root);
    (isLast ? taken : directories).add(at);
  }
}

function ifAbsent<T>(otherwise: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === "ENOENT") return otherwise;
    throw error;
  };
}

async function guarded<T>(to: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failed(error, to);
  }
}

/** What the file system refused, in words; anything else as it is. */
function failed(error: unknown, to: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
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
  if (code === "ENOTDIR" || code === "EISDIR" || code === "ELOOP" || code === "EEXIST" || code === "ENAMETOOLONG") {
    return say("InvalidArgument", `something is in its way (${code})`, "Remove it and restore again.");
  }
  return error;
}

function outside(to: string, root: string): HoldfastError {
  return new HoldfastError("InvalidArgument", `${JSON.stringify(to)} is not a place below ${JSON.stringify(root)}`, {
    details: { path: to, root },
    hint: "Something on the way to it is a link, or no directory. Remove it and restore again.",
  });
}

function notAsSaid({ path: name, ref }: CapturedFile): HoldfastError {
  return new HoldfastError("BlobCorrupted", `${JSON.stringify(name)} is not what was captured`, {
    details: { path: name, ref },
    hint: "Nothing was put back. `npx holdfast check` says what else is damaged.",
  });
}
