// A directory that is opened once and used by what was opened: whatever its path leads to by then, names are looked up in this
// directory. On Linux names go through the descriptor (/proc/self/fd/N), as openat does. Elsewhere Node has no such calls:
// there the path is checked before and after every use, which finds an exchange and cannot rule out one in between.
import { type BigIntStats, constants } from "node:fs";
import {
  type FileHandle,
  link,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  realpath,
  rename,
  rmdir,
  stat,
  unlink,
} from "node:fs/promises";
import * as path from "node:path";

const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL, O_DIRECTORY = 0, O_NOFOLLOW = 0 } = constants;

/** For a directory that we read ourselves. */
const DIRECTORY_MODE = 0o700;
/** Of directories that are there only while files are moved. */
export const TEMPORARY_PREFIX = ".holdfast-restore-";
const COPY_BYTES = 1024 * 1024;

/** What a path led to is not there any more, or is another one. */
export class ExchangedDirectory extends Error {
  override readonly name = "ExchangedDirectory";
}

/** Which file or directory it is, by whatever name. */
export interface FileIdentity {
  readonly dev: bigint;
  readonly ino: bigint;
}

export function isSameFile(one: FileIdentity, other: FileIdentity): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}

/** Whether the descriptors of this process can be used as paths. */
const HAS_DESCRIPTOR_PATHS = process.platform === "linux";

export class OpenDirectory {
  /** For messages; on systems without descriptor paths also what is used. */
  readonly path: string;
  readonly identity: FileIdentity;
  readonly #handle: FileHandle | null;

  private constructor(directory: string, identity: FileIdentity, handle: FileHandle | null) {
    this.path = directory;
    this.identity = identity;
    this.#handle = handle;
  }

  /** Links on the way to it, and itself, are followed: the caller named it. */
  static async open(directory: string, byDescriptor = HAS_DESCRIPTOR_PATHS): Promise<OpenDirectory> {
    const resolved = await realpath(directory);
    return OpenDirectory.#of(resolved, resolved, byDescriptor);
  }

  static async #of(at: string, shown: string, byDescriptor: boolean): Promise<OpenDirectory> {
    if (!byDescriptor)
      return new OpenDirectory(shown, requireDirectory(await lstat(at, { bigint: true }), shown), null);
    const handle = await open(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      const identity = await handle.stat({ bigint: true });
      const found = await stat(descriptorPath(handle, "."), { bigint: true }).catch(() => null);
      // Without /proc there are no such paths.
      if (found === null || !isSameFile(found, identity)) {
        await handle.close();
        return await OpenDirectory.#of(at, shown, false);
      }
      return new OpenDirectory(shown, identity, handle);
    } catch (error) {
      await handle.close().catch(() => {});
      throw error;
    }
  }

  /** A directory in it; a link is refused (ENOTDIR or ELOOP). */
  openChild(name: string): Promise<OpenDirectory> {
    const shown = path.join(this.path, checkName(name));
    return this.use(name, (at) => OpenDirectory.#of(at, shown, this.#handle !== null));
  }

  /** Runs it with a path that leads to this name in this directory; `work` must not follow what it finds there. */
  async use<T>(name: string, work: (at: string) => Promise<T>): Promise<T> {
    if (this.#handle !== null) return work(descriptorPath(this.#handle, checkName(name)));
    await this.#requireSame();
    const result = await work(path.join(this.path, checkName(name)));
    await this.#requireSame();
    return result;
  }

  /** A path to the name that works as long as this directory is open, for reads only. */
  pathOf(name: string): string {
    return this.#handle === null
      ? path.join(this.path, checkName(name))
      : descriptorPath(this.#handle, checkName(name));
  }

  async #requireSame(): Promise<void> {
    const found = await lstat(this.path, { bigint: true }).catch(() => null);
    if (found === null || !isSameFile(found, this.identity)) {
      throw new ExchangedDirectory(`${this.path} is not the directory that was opened`);
    }
  }

  async makeChild(name: string, mode = DIRECTORY_MODE): Promise<void> {
    await this.use(name, (at) => mkdir(at, { mode }));
  }

  /** Creates a directory with a random name. */
  async makeTemporary(prefix: string): Promise<{ readonly name: string; readonly directory: OpenDirectory }> {
    const name = path.basename(await this.use(prefix, (at) => mkdtemp(at)));
    const directory = await this.openChild(name);
    const owner = (await directory.look("."))?.uid;
    const isOwn = process.geteuid === undefined || owner === BigInt(process.geteuid());
    if (isOwn && (await directory.names()).length === 0) return { name, directory };
    await directory.close();
    throw new ExchangedDirectory(`${directory.path} is not the directory that was made`);
  }

  /** A file that was not there before, with exactly these rights; a link of that name is refused (EEXIST). */
  async create(name: string, mode: number): Promise<FileHandle> {
    const handle = await this.use(name, (at) => open(at, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
    try {
      // The umask takes rights away. A file system without rights refuses to change them.
      if (Number((await handle.stat()).mode & 0o777) !== mode) await handle.chmod(mode).catch(ifWithoutModes);
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** What has the name, not what a link leads to; null when nothing has. */
  async look(name: string): Promise<BigIntStats | null> {
    return this.use(name, (at) => lstat(at, { bigint: true })).catch(ifAbsent);
  }

  names(): Promise<string[]> {
    return this.use(".", (at) => readdir(at));
  }

  /** The name goes; what a link leads to stays. Nothing happens when there is none. */
  async remove(name: string): Promise<void> {
    await this.use(name, (at) => unlink(at)).catch(ifAbsent);
  }

  async removeChild(name: string): Promise<void> {
    await this.use(name, (at) => rmdir(at));
  }

  /** Replaces what has the name there; a link is replaced, never followed. Across file systems it is copied. */
  async moveTo(name: string, target: OpenDirectory, as: string): Promise<void> {
    try {
      await this.use(name, (from) => target.use(as, (to) => rename(from, to)));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
      await this.#copyAndMove(name, target, as);
      await this.remove(name);
    }
  }

  /** Through a directory that no other user can write to. */
  async #copyAndMove(name: string, target: OpenDirectory, as: string): Promise<void> {
    const { name: made, directory } = await target.makeTemporary(TEMPORARY_PREFIX);
    try {
      await this.copyTo(name, directory, as);
      await directory.use(as, (from) => target.use(as, (to) => rename(from, to)));
    } finally {
      await directory.remove(as).catch(() => {});
      await directory.close();
      await target.removeChild(made).catch(() => {});
    }
  }

  /** A second name for the same file; EEXIST when it is taken. */
  async linkTo(name: string, target: OpenDirectory, as: string): Promise<void> {
    await this.use(name, (from) => target.use(as, (to) => link(from, to)));
  }

  /** As a new file with the mode of the old one; EEXIST when the name is taken. A link is refused (ELOOP). */
  async copyTo(name: string, target: OpenDirectory, as: string): Promise<void> {
    const from = await this.use(name, (at) => open(at, O_RDONLY | O_NOFOLLOW));
    try {
      const { mode } = await from.stat();
      const to = await target.create(as, mode & 0o777);
      try {
        await copyBytes(from, to);
        await to.sync();
      } finally {
        await to.close();
      }
    } finally {
      await from.close();
    }
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }
}

function descriptorPath(handle: FileHandle, name: string): string {
  if (handle.fd < 0) throw new Error("bug: a directory is used after it was closed");
  return `/proc/self/fd/${handle.fd}/${name}`;
}

/** One name, of this directory: no part of it leads anywhere else. */
function checkName(name: string): string {
  if (name === "" || name === ".." || name.includes("/") || name.includes("\0") || name.includes(path.sep)) {
    throw new Error(`bug: ${JSON.stringify(name)} is not the name of a file`);
  }
  return name;
}

function requireDirectory(found: BigIntStats, shown: string): FileIdentity {
  if (found.isDirectory()) return found;
  throw Object.assign(new Error(`ENOTDIR: not a directory, open '${shown}'`), { code: "ENOTDIR", syscall: "open" });
}

function ifWithoutModes(error: NodeJS.ErrnoException): void {
  if (!["EPERM", "ENOSYS", "ENOTSUP"].includes(error.code ?? "")) throw error;
}

function ifAbsent(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT") return null;
  throw error;
}

async function copyBytes(from: FileHandle, to: FileHandle): Promise<void> {
  const buffer = Buffer.allocUnsafe(COPY_BYTES);
  for (;;) {
    const { bytesRead } = await from.read(buffer, 0, buffer.byteLength, null);
    if (bytesRead === 0) return;
    for (let at = 0; at < bytesRead; ) at += (await to.write(buffer, at, bytesRead - at)).bytesWritten;
  }
}

/** Open at a time: a capture may have thousands, and a process has few descriptors. */
const MOST_OPEN = 64;

export class DirectoryTree {
  readonly root: OpenDirectory;
  readonly #path: string;
  readonly #open = new Map<string, OpenDirectory>();
  readonly #seen = new Map<string, FileIdentity>();

  /** `directory` is the path by which files below it are named: links may lead to the root. */
  constructor(root: OpenDirectory, directory: string) {
    this.root = root;
    this.#path = directory;
  }

  /** The parts of a path below the root; null when it is not below it. */
  partsOf(file: string): readonly string[] | null {
    const relative = path.relative(this.#path, file);
    const parts = relative.split(path.sep);
    return relative === "" || parts.includes("..") || path.isAbsolute(relative) ? null : parts;
  }

  /** null when it is not there. A link, or anything but a directory, on the way is ENOTDIR or ELOOP. */
  async find(parts: readonly string[]): Promise<OpenDirectory | null> {
    return this.get(parts).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    });
  }

  /** `make` is called for each that is not there, with the one above it and the parts of that. */
  async get(
    parts: readonly string[],
    make: (above: OpenDirectory, name: string, parts: readonly string[]) => Promise<void> = async () => {},
  ): Promise<OpenDirectory> {
    const name = parts.at(-1);
    if (name === undefined) return this.root;
    const key = parts.join("/");
    const known = this.#open.get(key);
    if (known !== undefined) {
      // The one that was used last is closed last.
      this.#open.delete(key);
      this.#open.set(key, known);
      return known;
    }
    const aboveParts = parts.slice(0, -1);
    const above = await this.get(aboveParts, make);
    const found = await openOrMake(above, name, () => make(above, name, aboveParts));
    const before = this.#seen.get(key);
    if (before !== undefined && !isSameFile(before, found.identity)) {
      await found.close();
      throw new ExchangedDirectory(`${found.path} is not the directory that was used before`);
    }
    this.#seen.set(key, found.identity);
    this.#open.set(key, found);
    await this.#closeOldest();
    return found;
  }

  async #closeOldest(): Promise<void> {
    if (this.#open.size <= MOST_OPEN) return;
    for (const [key, directory] of this.#open) {
      this.#open.delete(key);
      await directory.close();
      return;
    }
  }

  /** Whether the paths that were used still lead to the directories that were used. */
  async requireSame(): Promise<void> {
    const fresh = new DirectoryTree(this.root, this.#path);
    try {
      for (const [key, identity] of this.#seen) {
        const found = await fresh.get(key.split("/"));
        if (!isSameFile(found.identity, identity)) throw new ExchangedDirectory(`${found.path} was exchanged`);
      }
    } finally {
      await fresh.close();
    }
  }

  /** The root stays open. */
  async close(): Promise<void> {
    for (const directory of this.#open.values()) await directory.close();
    this.#open.clear();
  }
}

async function openOrMake(above: OpenDirectory, name: string, make: () => Promise<void>): Promise<OpenDirectory> {
  try {
    return await above.openChild(name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  await make();
  return above.openChild(name);
}
