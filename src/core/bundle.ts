// A bundle: one capture as one compressed file, for machines that reach no store. A magic, then zstd over the list of files
// and their bytes, one after the other. Whoever made it may be hostile: sizes are checked against what it says before anything
// grows, and every file against its hash.
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gunzip, zstdCompress, zstdDecompress } from "node:zlib";
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import { encodeText } from "./bytes.ts";

const MAGIC = encodeText("hfcap\u0000\u0001\n");
const LENGTH_BYTES = 4;
const LEVEL = { params: { 100: 3 } };

const compress = promisify(zstdCompress);
const ungzip = promisify(gunzip);

/** The list first, then the files as it has them. */
export async function encodeBundle(list: Uint8Array, files: readonly Uint8Array[]): Promise<Uint8Array> {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(list.byteLength);
  return Buffer.concat([MAGIC, await compress(Buffer.concat([length, list, ...files]), LEVEL)]);
}

export function isBundle(bytes: Uint8Array): boolean {
  return Buffer.compare(bytes.subarray(0, MAGIC.length), MAGIC) === 0;
}

export function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/** The list of files as bytes, and what follows it. */
export async function openBundle(bytes: Uint8Array): Promise<{ readonly list: Uint8Array; readonly rest: Uint8Array }> {
  const whole = await unpacked(() => decompress(bytes.subarray(MAGIC.length)));
  const size = whole.byteLength < LENGTH_BYTES ? -1 : whole.readUInt32BE(0);
  if (size < 0 || LENGTH_BYTES + size > whole.byteLength) throw corruptedBundle("its list of files is cut off");
  return { list: whole.subarray(LENGTH_BYTES, LENGTH_BYTES + size), rest: whole.subarray(LENGTH_BYTES + size) };
}

/** One frame and nothing behind it, which would be passed over. */
function decompress(bytes: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, told: unknown) => {
      if (error !== null) return reject(error);
      const { buffer, engine } = told as {
        readonly buffer: Buffer;
        readonly engine: { readonly bytesWritten: number };
      };
      if (engine.bytesWritten === bytes.byteLength) resolve(buffer);
      else reject(new Error("something follows its end"));
    };
    zstdDecompress(bytes, { maxOutputLength: LIMITS.bundleBytes, info: true }, done);
  });
}

/** A single transcript, compressed, as others pass it on. */
export function openGzip(bytes: Uint8Array): Promise<Uint8Array> {
  return unpacked(() => ungzip(bytes, { maxOutputLength: LIMITS.bundleBytes }));
}

async function unpacked(work: () => Promise<Buffer>): Promise<Buffer> {
  try {
    return await work();
  } catch (cause) {
    const isLong = cause instanceof RangeError;
    throw corruptedBundle(isLong ? `it holds more than ${LIMITS.bundleBytes} bytes` : "it does not decompress", cause);
  }
}

/** The files in their order; each has the size and the hash that the list says, and nothing follows the last. */
export function filesOf(
  rest: Uint8Array,
  files: readonly { readonly path: string; readonly size: number; readonly ref: string }[],
): ReadonlyMap<string, Uint8Array> {
  const found = new Map<string, Uint8Array>();
  let at = 0;
  for (const { path, size, ref } of files) {
    if (at + size > rest.byteLength) throw corruptedBundle(`${JSON.stringify(path)} is cut off`);
    const content = rest.subarray(at, at + size);
    if (`sha256:${createHash("sha256").update(content).digest("hex")}` !== ref) {
      throw corruptedBundle(`${JSON.stringify(path)} is not what was captured`);
    }
    found.set(path, content);
    at += size;
  }
  if (at !== rest.byteLength) throw corruptedBundle("something follows its last file");
  return found;
}

export function corruptedBundle(why: string, cause?: unknown): HoldfastError {
  return new HoldfastError("ArchiveCorrupted", `the bundle cannot be used: ${why}`, {
    hint: "Nothing was put back. Make it again with `npx holdfast capture --out`, or copy it again.",
    ...(cause === undefined ? {} : { cause }),
  });
}
