// Bytes in from files and standard input, and out to files that appear only when they are complete.
import { createReadStream } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import * as path from "node:path";
import { fileFailure } from "./failure.ts";
import type { Io } from "./io.ts";

/** "-" is standard input. */
export async function* fileIn(file: string, io: Io): AsyncGenerator<Uint8Array> {
  try {
    const source = file === "-" ? io.stdin : createReadStream(path.resolve(io.cwd, file), { highWaterMark: 1 << 18 });
    for await (const chunk of source) yield typeof chunk === "string" ? Buffer.from(chunk, "utf8") : chunk;
  } catch (error) {
    throw fileFailure(error, file);
  }
}

export interface BytesOut {
  write(piece: Uint8Array): Promise<void>;
  finish(): Promise<void>;
  discard(): Promise<void>;
}

/** Writes beside the target and renames at the end: a damaged blob never takes the place of a good file. */
export async function fileOut(file: string, io: Io): Promise<BytesOut> {
  const target = path.resolve(io.cwd, file);
  const partial = `${target}.${process.pid}.partial`;
  const guarded = async <T>(act: () => Promise<T>): Promise<T> => {
    try {
      return await act();
    } catch (error) {
      throw fileFailure(error, file);
    }
  };
  const handle: FileHandle = await guarded(() => open(partial, "w"));
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

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".csv": "text/csv",
  ".gif": "image/gif",
  ".html": "text/html",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".json": "application/json",
  ".jsonl": "application/jsonl",
  ".md": "text/markdown",
  ".mp3": "audio/mpeg",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain",
  ".wav": "audio/wav",
  ".webp": "image/webp",
  ".xml": "application/xml",
};

/** By the file's ending; undefined when it says nothing. */
export function mediaTypeOf(file: string): string | undefined {
  return MEDIA_TYPES[path.extname(file).toLowerCase()];
}
