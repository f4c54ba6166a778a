// The bytes of one staged file: what a capture says they are, as they are written and as they are read back.
import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import type { CapturedFile } from "../contracts/captures.ts";
import { HoldfastError } from "../contracts/errors.ts";

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

export async function writeContent(
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
export async function verifyContent(
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
