// The directories below one root, each opened once from the one above it and never through a link. A directory that was opened
// stays the one that is used; when the path to it leads to another one later, that is an error.
import * as path from "node:path";
import { ExchangedDirectory, type FileIdentity, isSameFile, type OpenDirectory } from "../core/open-directory.ts";

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
