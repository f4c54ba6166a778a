// Bytes in from files and standard input, and out to files that appear only when they are complete.
import { createReadStream } from "node:fs";
import { access, type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import * as path from "node:path";
import type { BlobSource } from "../contracts/blobs.ts";
import { HoldfastError } from "../contracts/errors.ts";
import { fileFailure } from "./failure.ts";
import type { Io } from "./io.ts";
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

/** What to store: a string when it is UTF-8 by its media type and in fact, and small enough; else the bytes. */
export async function blobSource(file: string, mediaType: string | undefined, io: Io): Promise<BlobSource> {
  const pieces = fileIn(file, io);
  if (!isTextType(mediaType)) return pieces;
  const head: Uint8Array[] = [];
  let size = 0;
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
    head.push(next.value);
    size += next.value.byteLength;
    if (size > TEXT_MAX_BYTES) return joined(head, pieces);
  }
  const bytes = Buffer.concat(head);
  return decodeText(bytes) ?? bytes;
}

async function* joined(head: readonly Uint8Array[], rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* head;
  yield* rest;
}

export function isTextType(mediaType: string | undefined): boolean {
  return mediaType !== undefined && /^(text\/|application\/json\s*($|;))/i.test(mediaType);
}

/** Exactly these bytes as text, a byte order mark included; undefined when they are not UTF-8. */
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

/** Writes beside the target and renames at the end: a damaged blob never takes the place of a good file. */
export async function fileOut(file: string, io: Io, mode = 0o666): Promise<BytesOut> {
  const target = path.resolve(io.cwd, file);
  const partial = `${target}.${process.pid}.partial`;
  const guarded = async <T>(act: () => Promise<T>): Promise<T> => {
    try {
      return await act();
    } catch (error) {
      throw fileFailure(error, file);
    }
  };
  const handle: FileHandle = await open(partial, "w", mode).catch(async (error: unknown) => {
    throw (await isMissing(path.dirname(target))) ? missingDirectory(error, file) : fileFailure(error, file);
  });
  return {
    write: (piece) => guarded(() => handle.writeFile(piece)),
    finish: () =>
      guarded(async () => {
        await handle.close();
        await rename(partial, target);
      }),
    discard: async () => {
      await handle.close();
      await rm(partial, { force: true });
    },
  };
}

/** Not a device or a pipe, which nobody minds being written to. */
export async function isFile(file: string, io: Io): Promise<boolean> {
  return await stat(path.resolve(io.cwd, file)).then(
    (found) => found.isFile(),
    () => false,
  );
}

async function isMissing(directory: string): Promise<boolean> {
  return await access(directory).then(
    () => false,
    (error: unknown) => error instanceof Error && "code" in error && error.code === "ENOENT",
  );
}

function missingDirectory(error: unknown, file: string): HoldfastError {
  const directory = path.dirname(file);
  return new HoldfastError("NotFound", `no directory ${directory}, where ${path.basename(file)} should be written`, {
    hint: `make it first: \`mkdir -p ${quoted(directory)}\``,
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

/** By the file's ending; undefined when it says nothing. */
export function mediaTypeOf(file: string): string | undefined {
  return MEDIA_TYPES[path.extname(file).toLowerCase()];
}
