// A bundle: one capture as one compressed file, for machines that cannot reach a store. It is a magic number, then zstd
// over the list of files and the bytes of each file. A bundle is untrusted: the reader checks sizes against the header
// before it allocates memory, and every file against its hash.
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { zstdCompress } from "node:zlib";
import { HoldfastError, isHoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import { encodeText } from "./bytes.ts";
import { limitExceeded } from "./check.ts";
import { PieceReader, tooMuchUnpacked, unpackedAllowance, unpackPieces } from "./unpack.ts";
import { rawFrame } from "./zstd-frame.ts";
import { canCompress } from "./zstd-platform.ts";

const MAGIC = encodeText("hfcap\u0000\u0001\n");
const LENGTH_BYTES = 4;
const LEVEL = { params: { 100: 3 } };

const compress = promisify(zstdCompress);

/** Writes the list, then the files in the order of the list. */
export async function encodeBundle(list: Uint8Array, files: readonly Uint8Array[]): Promise<Uint8Array> {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(list.byteLength);
  const whole = Buffer.concat([length, list, ...files]);
  const packed = canCompress(whole.byteLength) ? await compress(whole, LEVEL) : null;
  // A reader refuses a file that decompresses to too many times its size, so such content is stored uncompressed.
  const isWithin = packed !== null && whole.byteLength <= unpackedAllowance(packed.byteLength);
  return Buffer.concat([MAGIC, ...(isWithin ? [packed] : rawFrame(whole))]);
}

export function isBundle(bytes: Uint8Array): boolean {
  return Buffer.compare(bytes.subarray(0, MAGIC.length), MAGIC) === 0;
}

export function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

export interface BundledFile {
  readonly path: string;
  readonly size: number;
  readonly ref: string;
}

export interface BundleContent<T> {
  readonly list: T;
  readonly contents: ReadonlyMap<string, Uint8Array>;
}

/**
 * Returns the list as `decode` reads it, and the files in its order. Each file must have the size and the hash that the
 * list states, and no bytes may follow the last file. The bundle is decompressed piece by piece, so that memory never
 * holds more than a bundle of this size may contain.
 */
export async function readBundle<T extends { readonly files: readonly BundledFile[] }>(
  bytes: Uint8Array,
  decode: (list: Uint8Array) => T,
): Promise<BundleContent<T>> {
  const packed = bytes.subarray(MAGIC.length);
  const reader = new PieceReader(unpackPieces(packed, "zstd", "the bundle"));
  try {
    const length = (await reader.take(LENGTH_BYTES))?.readUInt32BE(0) ?? 0;
    if (length > LIMITS.bundleListBytes) throw limitExceeded("bundleListBytes", "the bundle's list in bytes", length);
    const text = await reader.take(length);
    if (text === null || length === 0) throw corruptedBundle("its list of files is cut off");
    const list = decode(text);
    const size = list.files.reduce((sum, file) => sum + file.size, LENGTH_BYTES + length);
    if (size > LIMITS.bundleBytes) throw limitExceeded("bundleBytes", "the bundle's files in bytes", size);
    if (size > unpackedAllowance(packed.byteLength)) throw tooMuchUnpacked("the bundle", packed.byteLength);
    return { list, contents: await readFiles(reader, list.files) };
  } catch (error) {
    throw isHoldfastError(error) ? error : corruptedBundle("it does not decompress", error);
  } finally {
    await reader.close();
  }
}

async function readFiles(reader: PieceReader, files: readonly BundledFile[]): Promise<ReadonlyMap<string, Uint8Array>> {
  const contents = new Map<string, Uint8Array>();
  for (const { path, size, ref } of files) {
    const content = await reader.take(size);
    if (content === null) throw corruptedBundle(`${JSON.stringify(path)} is cut off`);
    if (`sha256:${createHash("sha256").update(content).digest("hex")}` !== ref) {
      throw corruptedBundle(`the bytes of ${JSON.stringify(path)} do not have the hash that they were captured with`);
    }
    contents.set(path, content);
  }
  if (!(await reader.isOver())) throw corruptedBundle("there are bytes after its last file");
  return contents;
}

/** Decompresses a single transcript in gzip form. */
export async function openGzip(bytes: Uint8Array): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of unpackPieces(bytes, "gzip", "the transcript")) pieces.push(piece);
  } catch (error) {
    throw isHoldfastError(error) ? error : corruptedBundle("it does not decompress", error);
  }
  return Buffer.concat(pieces);
}

export function corruptedBundle(why: string, cause?: unknown): HoldfastError {
  return new HoldfastError("ArchiveCorrupted", `the bundle cannot be used: ${why}`, {
    hint: "Nothing was restored. Make it again with `npx holdfast capture --out`, or copy it again.",
    ...(cause === undefined ? {} : { cause }),
  });
}
