// A directory that is opened once and then used by its descriptor: names are looked up in this directory, even if its
// path leads elsewhere by then. On Linux the lookup goes through /proc/self/fd/N, as openat does. Node has no such
// calls on other systems. There the path is checked before and after every use, which detects most exchanges but cannot
// rule out a short one in between.
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

/** The mode of directories that only Holdfast reads. */
const DIRECTORY_MODE = 0o700;
/** The prefix of directories that exist only while files are moved. */
export const TEMPORARY_PREFIX = ".holdfast-restore-";
const COPY_BYTES = 1024 * 1024;

/** The directory that a path led to is missing or was replaced. */
export class ExchangedDirectory extends Error {
  override readonly name = "ExchangedDirectory";
}

/** Identifies a file or directory, independent of its name. */
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
  /** The path for messages. On systems without descriptor paths it is also the path that is used. */
  readonly path: string;
  readonly identity: FileIdentity;
  readonly #handle: FileHandle | null;

  private constructor(directory: string, identity: FileIdentity, handle: FileHandle | null) {
    this.path = directory;
    this.identity = identity;
    this.#handle = handle;
  }

  /** Follows links in the path, because the caller chose the path. */
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
      // Without /proc there are no descriptor paths.
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

  /** Opens a directory in this one; a link is refused (ENOTDIR or ELOOP). */
  openChild(name: string): Promise<OpenDirectory> {
    const shown = path.join(this.path, checkName(name));
    return this.use(name, (at) => OpenDirectory.#of(at, shown, this.#handle !== null));
  }

  /** Runs `work` with a path to this name in this directory. `work` must not follow a link. */
  async use<T>(name: string, work: (at: string) => Promise<T>): Promise<T> {
    if (this.#handle !== null) return work(descriptorPath(this.#handle, checkName(name)));
    await this.#requireSame();
    const result = await work(path.join(this.path, checkName(name)));
    await this.#requireSame();
    return result;
  }

  /** A path to the name, for reads only. It works as long as this directory is open. */
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

  /** Creates a file with exactly these permissions. EEXIST if the name is taken, also by a link. */
  async create(name: string, mode: number): Promise<FileHandle> {
    const handle = await this.use(name, (at) => open(at, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
    try {
      // The umask removes permissions. A file system without permissions refuses to change them.
      if (Number((await handle.stat()).mode & 0o777) !== mode) await handle.chmod(mode).catch(ifWithoutModes);
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** The stat of the name, of a link itself; null if nothing has the name. */
  async look(name: string): Promise<BigIntStats | null> {
    return this.use(name, (at) => lstat(at, { bigint: true })).catch(ifAbsent);
  }

  names(): Promise<string[]> {
    return this.use(".", (at) => readdir(at));
  }

  /** Removes the name, of a link only the link. Does nothing if there is no such name. */
  async remove(name: string): Promise<void> {
    await this.use(name, (at) => unlink(at)).catch(ifAbsent);
  }

  async removeChild(name: string): Promise<void> {
    await this.use(name, (at) => rmdir(at));
  }

  /**
   * Replaces what has the name in the target. A link is replaced, never followed. Between file systems the file is
   * copied.
   */
  async moveTo(name: string, target: OpenDirectory, as: string): Promise<void> {
    try {
      await this.use(name, (from) => target.use(as, (to) => rename(from, to)));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
      await this.#copyAndMove(name, target, as);
      await this.remove(name);
    }
  }

  /** Copies into a directory that no other user can write to, and moves the copy from there. */
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

  /** Makes a hard link; EEXIST if the name is taken. */
  async linkTo(name: string, target: OpenDirectory, as: string): Promise<void> {
    await this.use(name, (from) => target.use(as, (to) => link(from, to)));
  }

  /** Copies to a new file with the same mode; EEXIST if the name is taken. A link is refused (ELOOP). */
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

/** The name must be a single name that leads to no other directory. */
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

/** The maximum of open directories: a capture may have thousands, and a process has few descriptors. */
const MOST_OPEN = 64;

export class DirectoryTree {
  readonly root: OpenDirectory;
  readonly #path: string;
  readonly #open = new Map<string, OpenDirectory>();
  readonly #seen = new Map<string, FileIdentity>();

  /** `directory` is the path in which the names of files are given; it may contain links to the root. */
  constructor(root: OpenDirectory, directory: string) {
    this.root = root;
    this.#path = directory;
  }

  /** The parts of a path below the root; null if the path is not below the root. */
  partsOf(file: string): readonly string[] | null {
    const relative = path.relative(this.#path, file);
    const parts = relative.split(path.sep);
    return relative === "" || parts.includes("..") || path.isAbsolute(relative) ? null : parts;
  }

  /**
   * null if there is no such directory. A link, or anything that is not a directory, in the path is ENOTDIR or ELOOP.
   */
  async find(parts: readonly string[]): Promise<OpenDirectory | null> {
    return this.get(parts).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    });
  }

  /** `make` is called for each missing directory, with its parent and the parent's parts. */
  async get(
    parts: readonly string[],
    make: (above: OpenDirectory, name: string, parts: readonly string[]) => Promise<void> = async () => {},
  ): Promise<OpenDirectory> {
    const name = parts.at(-1);
    if (name === undefined) return this.root;
    const key = parts.join("/");
    const known = this.#open.get(key);
    if (known !== undefined) {
      // The directory that was used last is closed last.
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

  /** Throws if a path no longer leads to the directory that was opened under it. */
  async requireSame(): Promise<void> {
    const fresh = new DirectoryTree(this.root, this.#path);
    try {
      for (const [key, identity] of this.#seen) {
        const found = await fresh.get(key.split("/"));
        if (!isSameFile(found.identity, identity))
          throw new ExchangedDirectory(`${found.path} was replaced by another directory`);
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
