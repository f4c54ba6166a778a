// Receives an archive: reads the manifest, stores blobs as they arrive, and collects the rows in memory.
import { LIMITS } from "../contracts/limits.ts";
import type { ArrivingBlob, BlobStaging } from "../contracts/storage/payloads.ts";
import type { RestoredRow } from "../contracts/storage/portable-rows.ts";
import { decodeText, fromHex, toHex } from "../core/bytes.ts";
import { checkId, limitExceeded } from "../core/check.ts";
import { hasAtMostParts } from "../core/json-parts.ts";
import type { TimeSlice } from "../core/time-slice.ts";
import { tooMuchUnpacked, unpackedAllowance } from "../core/unpack.ts";
import { corrupted, type Frame, type ReadFrame } from "./frames.ts";
import { decodeLine } from "./lines.ts";
import type { BlobHeader, Manifest } from "./manifest.ts";

/** The most parts of a manifest or of a blob's description. */
const MOST_PARTS = 10 * LIMITS.archiveSessions;

function parse(bytes: Uint8Array, what: string): Readonly<Record<string, unknown>> {
  try {
    const text = decodeText(bytes);
    const value: unknown = hasAtMostParts(text, MOST_PARTS) ? JSON.parse(text) : null;
    if (typeof value === "object" && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch (cause) {
    throw corrupted(`${what} is not JSON`, cause);
  }
  throw corrupted(`${what} is not an object`);
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

export function readManifest({ value, done }: IteratorResult<Frame>): Manifest {
  if (done === true || value.kind !== "manifest") throw corrupted("it does not begin with a manifest");
  const { session, sessions, blobs, rows } = parse(value.bytes, "its manifest");
  if (!Array.isArray(sessions) || !isCount(blobs) || !isCount(rows)) throw corrupted("its manifest is incomplete");
  if (sessions.length > LIMITS.archiveSessions) {
    throw limitExceeded("archiveSessions", "the archive in sessions", sessions.length);
  }
  const declared = sessions.map((one: unknown) => {
    const { id, seq, chain, whole } = (one ?? {}) as Readonly<Record<string, unknown>>;
    const isSound = isCount(seq) && typeof chain === "string" && typeof whole === "boolean";
    if (!isSound || fromHex(chain)?.length !== 32) throw corrupted("its manifest does not describe its sessions");
    return { id: idOf(id), seq, chain, whole };
  });
  const first = declared.find(({ id, whole }) => id === session && whole);
  if (first === undefined || new Set(declared.map(({ id }) => id)).size !== declared.length) {
    throw corrupted("its manifest does not list the exported session, or lists a session twice");
  }
  return { format: 1, session: first.id, sessions: declared, blobs, rows };
}

function idOf(value: unknown): string {
  try {
    return checkId(value, "id");
  } catch (cause) {
    throw corrupted("it has an invalid id", cause);
  }
}

export interface ReceivedArchive {
  readonly rows: readonly RestoredRow[];
  readonly blobs: ReadonlySet<string>;
  readonly names: ReadonlyMap<Uint8Array, readonly Uint8Array[]>;
}

export async function receiveArchive(
  frames: AsyncGenerator<ReadFrame>,
  staging: Pick<BlobStaging, "put">,
  manifest: Manifest,
  slice: TimeSlice,
): Promise<ReceivedArchive> {
  const rows: RestoredRow[] = [];
  const blobs = new Set<string>();
  const names = new Map<Uint8Array, readonly Uint8Array[]>();
  const kept = new KeptBytes();
  let bytes = 0;
  for (let next = await frames.next(); !next.done; next = await frames.next()) {
    const { kind, bytes: given } = next.value;
    kept.add(next.value);
    if (kind === "rows") {
      bytes += given.length;
      if (bytes > LIMITS.archiveRowBytes) throw limitExceeded("archiveRowBytes", "the archive's rows in bytes", bytes);
      for (const line of linesOf(given)) {
        if (slice.isSpent) await slice.pause();
        if (rows.length === manifest.rows) throw corrupted("it has another number of rows than its manifest");
        rows.push(decodeLine(line));
      }
    } else if (kind === "blob" && rows.length === 0) {
      const head = readBlobHeader(given);
      if (blobs.has(head.hex)) throw corrupted("it has the same blob twice");
      const kept = await staging.put(head, dataOf(frames, head.size));
      if (!kept) throw corrupted("the bytes of a blob do not have its hash");
      blobs.add(head.hex);
      if (head.names.length > 0) names.set(head.sha256, head.names);
    } else throw corrupted("its frames are out of order");
  }
  if (blobs.size !== manifest.blobs) throw corrupted("it has another number of blobs than its manifest");
  for (const name of [...names.values()].flat()) {
    if (!blobs.has(toHex(name))) throw corrupted("a message, or a list of files, names a blob that is not in it");
  }
  return { rows, blobs, names };
}

/**
 * Rows and descriptions of blobs stay in memory until the end, so their size is limited in proportion to their compressed size.
 */
class KeptBytes {
  #packed = 0;
  #unpacked = 0;

  add({ packedBytes, bytes }: ReadFrame): void {
    this.#packed += packedBytes;
    this.#unpacked += bytes.length;
    if (this.#unpacked > unpackedAllowance(this.#packed))
      throw tooMuchUnpacked("what the archive describes", this.#packed);
  }
}

/** A generator, because bytes that compress well may have very many lines. */
function* linesOf(bytes: Uint8Array): Generator<string> {
  let text: string;
  try {
    text = decodeText(bytes);
  } catch (cause) {
    throw corrupted("its rows are not text", cause);
  }
  if (!text.endsWith("\n")) throw corrupted("a row is cut off");
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf("\n", from);
    yield text.slice(from, end);
    from = end + 1;
  }
}

interface AnnouncedBlob extends ArrivingBlob {
  readonly hex: string;
  readonly size: number;
  readonly names: readonly Uint8Array[];
}

function readBlobHeader(bytes: Uint8Array): AnnouncedBlob {
  const {
    sha256,
    size,
    media,
    utf8,
    at,
    names = [],
  } = parse(bytes, "the description of a blob") as Partial<BlobHeader>;
  const digest = typeof sha256 === "string" ? fromHex(sha256) : null;
  const isSound = isCount(size) && typeof utf8 === "boolean" && Number.isSafeInteger(at) && Array.isArray(names);
  if (digest?.length !== 32 || !isSound) throw corrupted("the description of a blob is incomplete");
  if (size > LIMITS.blobBytes) throw limitExceeded("blobBytes", "the blob in bytes", size);
  const named = names.map((name: unknown) => (typeof name === "string" ? fromHex(name) : null));
  if (named.some((name) => name?.length !== 32)) throw corrupted("a blob names an invalid blob");
  if (new Set(names).size !== names.length) throw corrupted("a blob names another one twice");
  return {
    hex: toHex(digest),
    sha256: digest,
    size,
    media: idOf(media),
    utf8,
    at: Number(at),
    names: named.filter((name) => name !== null),
  };
}

/** The bytes of one blob, from as many frames as its size needs. */
async function* dataOf(frames: AsyncGenerator<ReadFrame>, size: number): AsyncGenerator<Uint8Array> {
  for (let left = size; left > 0; ) {
    const { value, done } = await frames.next();
    if (done === true || value.kind !== "data" || value.bytes.length > left) {
      throw corrupted("a blob has another length than its description");
    }
    left -= value.bytes.length;
    yield value.bytes;
  }
}
