// Files are put together beside where they go, verified, and moved there when all of them are right: nobody ever sees
// half of one, and what was there before stays until then.
import { createHash } from "node:crypto";
import { type FileHandle, lstat, mkdir, mkdtemp, open, rename, rm } from "node:fs/promises";
import * as path from "node:path";
import type { CapturedFile } from "../contracts/captures.ts";
import { HoldfastError } from "../contracts/errors.ts";
import { checkPath } from "./paths.ts";

interface Staged {
  readonly from: string;
  readonly to: string;
}

/** One at a time for a folder; `close` removes whatever was not moved. */
export class Staging {
  readonly #folder: string;
  readonly #staged: Staged[] = [];
  bytes = 0;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Inside `root`, so that moving is renaming. */
  static async in(root: string): Promise<Staging> {
    await mkdir(root, { recursive: true, mode: 0o700 });
    return new Staging(await mkdtemp(path.join(root, ".holdfast-restore-")));
  }

  /** Readable by its owner only, with the time of now. BlobCorrupted when it is not what the capture says. */
  async add(file: CapturedFile, to: string, read: AsyncIterable<Uint8Array>): Promise<void> {
    checkPath(file.path);
    const from = path.join(this.#folder, String(this.#staged.length));
    const handle = await open(from, "wx", 0o600);
    try {
      await fill(handle, file, read);
    } finally {
      await handle.close();
    }
    this.#staged.push({ from, to });
    this.bytes += file.size;
  }

  /** All of them, in the order in which they came: the last one is what makes the session visible. */
  async place(root: string): Promise<void> {
    for (const { to } of this.#staged) await clearWay(root, to);
    for (const { from, to } of this.#staged) {
      await mkdir(path.dirname(to), { recursive: true, mode: 0o700 });
      await rename(from, to);
    }
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function fill(handle: FileHandle, file: CapturedFile, read: AsyncIterable<Uint8Array>): Promise<void> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const piece of read) {
    size += piece.byteLength;
    if (size > file.size) throw notAsSaid(file);
    hash.update(piece);
    await handle.writeFile(piece);
  }
  if (size !== file.size || `sha256:${hash.digest("hex")}` !== file.ref) throw notAsSaid(file);
  await handle.sync();
}

/** No directory on the way below `root` may be a link: it would lead out of it. */
async function clearWay(root: string, to: string): Promise<void> {
  const parts = path.relative(root, to).split(path.sep);
  if (parts.includes("..") || path.isAbsolute(path.relative(root, to))) throw outside(to, root);
  let at = root;
  for (const [i, part] of parts.entries()) {
    at = path.join(at, part);
    const found = await lstat(at).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    });
    if (found === null) return;
    const isLast = i === parts.length - 1;
    if (isLast ? !found.isFile() && !found.isSymbolicLink() : !found.isDirectory()) throw outside(to, root);
  }
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
    hint: "Nothing was put back. `holdfast check --deep` says what else is damaged.",
  });
}
