// Reads bytes from files and standard input, and writes files that appear only when they are complete.
import { randomBytes } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import { access, open, stat } from "node:fs/promises";
import * as path from "node:path";
import type { Blobs } from "../contracts/blobs.ts";
import { HoldfastError } from "../contracts/errors.ts";
import { OpenDirectory } from "../core/open-directory.ts";
import type { Context } from "./command-line.ts";
import { fileFailure } from "./failure.ts";
import type { Io } from "./io.ts";
import { fileModeOf } from "./store.ts";
import { quoted } from "./terminal.ts";

/** "-" is standard input. */
export async function* fileIn(file: string, io: Io): AsyncGenerator<Uint8Array> {
  try {
    const source = file === "-" ? io.stdin : createReadStream(path.resolve(io.cwd, file), { highWaterMark: 1 << 18 });
    for await (const chunk of source) yield typeof chunk === "string" ? Buffer.from(chunk, "utf8") : chunk;
  } catch (error) {
    throw fileFailure(error, file);
  }
}

/** Larger text is stored as a stream of bytes. */
const TEXT_MAX_BYTES = 1 << 20;

/** Returns a string if the media type is text and the bytes are short and UTF-8; otherwise the bytes. */
export async function blobSource(
  file: string,
  mediaType: string | undefined,
  io: Io,
): Promise<Parameters<Blobs["store"]>[0]> {
  const pieces = fileIn(file, io);
  if (!isTextType(mediaType)) return pieces;
  const head: Uint8Array[] = [];
  let size = 0;
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
    head.push(next.value);
    size += next.value.byteLength;
    if (size > TEXT_MAX_BYTES) return concatPieces(head, pieces);
  }
  const bytes = Buffer.concat(head);
  return decodeText(bytes) ?? bytes;
}

async function* concatPieces(head: readonly Uint8Array[], rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* head;
  yield* rest;
}

export function isTextType(mediaType: string | undefined): boolean {
  return mediaType !== undefined && /^(text\/|application\/json\s*($|;))/i.test(mediaType);
}

/** Decodes the bytes and keeps a byte order mark; undefined when they are not UTF-8. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

export interface BytesOut {
  write(piece: Uint8Array): Promise<void>;
  finish(): Promise<void>;
  discard(): Promise<void>;
}

/**
 * Writes a temporary file in the target's directory and renames it at the end, so a damaged blob never replaces a good
 * file. The temporary file has a random name, is new, and is in the directory that was opened at the start; a link at
 * the target's path is replaced and not followed. Only its owner can read the file, unless HOLDFAST_FILE_MODE allows
 * more.
 */
export async function fileOut(file: string, io: Io): Promise<BytesOut> {
  const target = path.resolve(io.cwd, file);
  const mode = fileModeOf(io.env);
  const guarded = async <T>(act: () => Promise<T>): Promise<T> => {
    try {
      return await act();
    } catch (error) {
      throw fileFailure(error, file);
    }
  };
  if (await isDevice(target)) return guarded(() => deviceOut(target));
  const name = path.basename(target);
  const partial = `${name.slice(0, LONGEST_NAME)}.${randomBytes(6).toString("hex")}.partial`;
  const directory = await OpenDirectory.open(path.dirname(target)).catch(async (error: unknown) => {
    throw (await isMissing(path.dirname(target))) ? missingDirectory(error, file) : fileFailure(error, file);
  });
  const handle = await guarded(() => directory.create(partial, mode)).catch(async (error: unknown) => {
    await directory.close();
    throw error;
  });
  return {
    write: (piece) => guarded(() => handle.writeFile(piece)),
    finish: () =>
      guarded(async () => {
        try {
          await handle.close();
          await directory.moveTo(partial, directory, name);
        } catch (error) {
          await directory.remove(partial);
          throw error;
        } finally {
          await directory.close();
        }
      }),
    discard: async () => {
      await handle.close();
      await directory.remove(partial);
      await directory.close();
    },
  };
}

/** A file name may have 255 bytes, a character of it up to three, and the temporary name is longer. */
const LONGEST_NAME = 70;

/** Whether the target is a terminal, a pipe or /dev/null, which a rename must not replace. */
async function isDevice(target: string): Promise<boolean> {
  const found = await stat(target).catch(() => null);
  return found !== null && !found.isFile() && !found.isDirectory();
}

async function deviceOut(target: string): Promise<BytesOut> {
  const handle = await open(target, constants.O_WRONLY);
  return {
    write: (piece) => handle.writeFile(piece),
    finish: () => handle.close(),
    discard: () => handle.close(),
  };
}

/** Whether the path is a regular file; writing to a device or a pipe overwrites nothing. */
export async function isFile(file: string, io: Io): Promise<boolean> {
  return await stat(path.resolve(io.cwd, file)).then(
    (found) => found.isFile(),
    () => false,
  );
}

export const FORCE_OPTION = { type: "flag", summary: "replace a file that exists" } as const;

/**
 * Refuses an --out file that exists, before the command reads anything: the file may be the only copy. --force allows
 * it.
 */
export async function refuseOverwrite({ args, io }: Context): Promise<void> {
  const out = args.text("out");
  if (out === undefined || out === "-" || args.flag("force") || !(await isFile(out, io))) return;
  throw new HoldfastError("AlreadyExists", `the file ${out} exists already`, {
    hint: "choose another name, or replace it with --force",
    details: { kind: "file", id: out },
  });
}

async function isMissing(directory: string): Promise<boolean> {
  return await access(directory).then(
    () => false,
    (error: unknown) => error instanceof Error && "code" in error && error.code === "ENOENT",
  );
}

export function missingDirectory(error: unknown, file: string): HoldfastError {
  const directory = path.dirname(file);
  return new HoldfastError("NotFound", `no directory ${directory}, where ${path.basename(file)} should be written`, {
    hint: `create it first: \`mkdir -p ${quoted(directory)}\``,
    details: { file, directory },
    cause: error,
  });
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".cjs": "text/javascript",
  ".css": "text/css",
  ".csv": "text/csv",
  ".gif": "image/gif",
  ".html": "text/html",
  ".js": "text/javascript",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".json": "application/json",
  ".jsonl": "application/jsonl",
  ".md": "text/markdown",
  ".mjs": "text/javascript",
  ".mp3": "audio/mpeg",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain",
  ".wav": "audio/wav",
  ".webp": "image/webp",
  ".xml": "application/xml",
  ".yaml": "application/yaml",
  ".yml": "application/yaml",
};

/** The media type for the file's extension; undefined if it is unknown. */
export function mediaTypeOf(file: string): string | undefined {
  return MEDIA_TYPES[path.extname(file).toLowerCase()];
}
