// The file format of an archive (docs/format.md): a first line with the format, then frames with a kind, two lengths and zstd data, and at
// the end the SHA-256 of all bytes before. A reader checks every length before it uses it.
import { createHash } from "node:crypto";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { HoldfastError } from "../contracts/errors.ts";
import type { JsonObject } from "../contracts/json.ts";
import { encodeText, isBytes, sameBytes } from "../core/bytes.ts";
import { WINDOW_LOG_MAX } from "../core/unpack.ts";

export const FORMAT = 1;
const MAGIC = "holdfast-archive ";
const HEADER_BYTES = 9;
const DIGEST_BYTES = 32;

/** The largest frame in bytes, compressed and decompressed. */
const MOST_FRAME_BYTES = 64 * 1024 * 1024;
/** The size of the frames that a writer makes, unless a single row is longer. */
export const FRAME_BYTES = 1024 * 1024;
const LONGEST_FIRST_LINE = 64;
/** Limits of the output buffer for decompression: one piece if possible, whatever size the frame claims. */
const SMALLEST_CHUNK = 1024;
const LARGEST_CHUNK = 4 * 1024 * 1024;

export type FrameKind = "manifest" | "rows" | "blob" | "data" | "end";
const LETTERS = { manifest: "M", rows: "R", blob: "B", data: "D", end: "E" } as const;
const KINDS = new Map(Object.entries(LETTERS).map(([kind, letter]) => [letter.charCodeAt(0), kind as FrameKind]));

export function corrupted(
  why: string,
  cause?: unknown,
  details?: JsonObject,
  hint = "Nothing was changed. Export it again, or fetch the file once more.",
): HoldfastError {
  return new HoldfastError("ArchiveCorrupted", `the archive cannot be used: ${why}`, {
    hint,
    ...(details === undefined ? {} : { details }),
    ...(cause === undefined ? {} : { cause }),
  });
}

export function encodeFrame(kind: Exclude<FrameKind, "end">, bytes: Uint8Array): Uint8Array {
  return buildFrame(kind, zstdCompressSync(bytes), bytes.length);
}

function buildFrame(kind: FrameKind, stored: Uint8Array, size: number): Uint8Array {
  const frame = Buffer.alloc(HEADER_BYTES + stored.length);
  frame[0] = LETTERS[kind].charCodeAt(0);
  frame.writeUInt32BE(stored.length, 1);
  frame.writeUInt32BE(size, 5);
  frame.set(stored, HEADER_BYTES);
  return frame;
}

/** Adds the first line before the frames, and the hash of all bytes after them. */
export async function* archiveFile(frames: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  const first = encodeText(`${MAGIC}${FORMAT}\n`);
  hash.update(first);
  yield first;
  for await (const frame of frames) {
    hash.update(frame);
    yield frame;
  }
  yield buildFrame("end", hash.digest(), DIGEST_BYTES);
}

export interface Frame {
  readonly kind: Exclude<FrameKind, "end">;
  readonly bytes: Uint8Array;
}

export interface ReadFrame extends Frame {
  /** Its compressed size in the file. */
  readonly packedBytes: number;
}

/** Reads the frames in order. It ends without an error only if the file is complete. */
export async function* readFrames(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<ReadFrame> {
  const input = new Input(source);
  try {
    yield* framesOf(input);
  } finally {
    await input.close();
  }
}

async function* framesOf(input: Input): AsyncGenerator<ReadFrame> {
  const hash = createHash("sha256");
  hash.update(await firstLine(input));
  for (;;) {
    const head = await input.take(HEADER_BYTES);
    const kind = KINDS.get(head[0] ?? 0);
    const length = Buffer.from(head).readUInt32BE(1);
    const size = Buffer.from(head).readUInt32BE(5);
    if (kind === undefined) throw corrupted("it has a frame of an unknown kind");
    if (length > MOST_FRAME_BYTES || size > MOST_FRAME_BYTES) throw corrupted("a frame claims to be too large");
    const stored = await input.take(length);
    if (kind === "end") {
      if (size !== DIGEST_BYTES) throw corrupted("its last frame is not valid");
      if (!sameBytes(stored, hash.digest())) throw corrupted("its bytes were changed after it was written");
      if (!(await input.isOver())) throw corrupted("there are bytes after its end");
      return;
    }
    hash.update(head);
    hash.update(stored);
    yield { kind, bytes: decompressFrame(stored, size), packedBytes: length };
  }
}

async function firstLine(input: Input): Promise<Uint8Array> {
  const line = await input.line(LONGEST_FIRST_LINE);
  const text = Buffer.from(line).toString("latin1");
  const version = /^holdfast-archive ([1-9][0-9]{0,8})\n$/.exec(text)?.[1];
  if (version === undefined) throw corrupted("it is not an archive of Holdfast");
  if (Number(version) === FORMAT) return line;
  throw new HoldfastError(
    "UnsupportedSchemaVersion",
    `the archive has format ${version}; this version of Holdfast reads format ${FORMAT}`,
    {
      details: { found: Number(version), known: FORMAT },
      hint: "Update holdfast on this machine.",
    },
  );
}

function decompressFrame(stored: Uint8Array, size: number): Uint8Array {
  let bytes: Uint8Array;
  try {
    if (stored.length === 0 || size === 0) throw new Error("it is empty");
    bytes = zstdDecompressSync(stored, {
      chunkSize: Math.min(Math.max(size + 1, SMALLEST_CHUNK), LARGEST_CHUNK),
      maxOutputLength: size,
      params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG_MAX },
    });
  } catch (cause) {
    throw corrupted("a frame cannot be decompressed", cause);
  }
  if (bytes.length !== size) throw corrupted("a frame has another length than it declares");
  return bytes;
}

function piecesOf(source: AsyncIterable<unknown> | Iterable<unknown>): AsyncIterator<unknown> | Iterator<unknown> {
  const { [Symbol.asyncIterator]: async } = source as Partial<AsyncIterable<unknown>>;
  return async === undefined ? (source as Iterable<unknown>)[Symbol.iterator]() : async.call(source);
}

/** Reads a source by number of bytes, whatever pieces it arrives in. */
class Input {
  readonly #source: AsyncIterable<unknown> | Iterable<unknown>;
  #pieces: AsyncIterator<unknown> | Iterator<unknown> | undefined;
  #held: Uint8Array = new Uint8Array(0);
  #ended = false;

  constructor(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) {
    this.#source = source;
  }

  async #more(): Promise<boolean> {
    if (this.#ended) return false;
    this.#pieces ??= piecesOf(this.#source);
    // Not with for await, which would check each piece for being a promise.
    const { done, value } = await this.#pieces.next();
    if (done) {
      this.#ended = true;
      return false;
    }
    if (!isBytes(value)) {
      throw new HoldfastError("InvalidArgument", "every piece of an archive must be a Uint8Array");
    }
    this.#held = this.#held.length === 0 ? value : Buffer.concat([this.#held, value]);
    return true;
  }

  async take(length: number): Promise<Uint8Array> {
    if (this.#held.length < length) await this.#gather(length);
    const taken = this.#held.subarray(0, length);
    this.#held = this.#held.subarray(length);
    return taken;
  }

  /** Joined once at the end: a frame may come in thousands of pieces. */
  async #gather(length: number): Promise<void> {
    const parts = [this.#held];
    let size = this.#held.length;
    while (size < length) {
      this.#held = new Uint8Array(0);
      if (!(await this.#more())) throw corrupted("it ends too early");
      parts.push(this.#held);
      size += this.#held.length;
    }
    this.#held = Buffer.concat(parts, size);
  }

  /** Reads a line with its end; ArchiveCorrupted when there is no line end within `longest` bytes. */
  async line(longest: number): Promise<Uint8Array> {
    for (;;) {
      const end = this.#held.subarray(0, longest).indexOf(0x0a);
      if (end !== -1) return this.take(end + 1);
      if (this.#held.length >= longest || !(await this.#more())) throw corrupted("it is not an archive of Holdfast");
    }
  }

  /** Ends the source, so that a file behind it can be closed. */
  async close(): Promise<void> {
    if (!this.#ended) await this.#pieces?.return?.();
  }

  async isOver(): Promise<boolean> {
    while (this.#held.length === 0) if (!(await this.#more())) return true;
    return false;
  }
}
