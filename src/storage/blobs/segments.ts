// The codec for append-only payloads (BL3): 4 MiB segments that depend on nothing outside themselves. The open segment
// is a list of zstd frames, each compressed against the bytes before it, so that an append stores about what it
// appends; sealing repacks the full segment into one frame. Damage reaches no further than its segment.
import { rawFrame, withoutDictionary } from "../../core/zstd-frame.ts";
import { canCompress } from "../../core/zstd-platform.ts";
import { DamagedBytes, inflate, outputChunk, ZSTD_LEVEL, zlib } from "./compress.ts";

export const SEGMENT_BYTES = 4 * 1024 * 1024;

/** An open segment with more frames than this is read slowly; `mergeFrom` says which to re-encode as one. */
export const MAX_FRAMES = 64;

/** A stored frame and how many bytes it decodes to. */
export interface Frame {
  readonly bytes: Uint8Array;
  readonly size: number;
}

/** Compresses `tail`, which follows `prefix`: all bytes of the same segment before it (none: an empty array). */
export function encodeFrame(prefix: Uint8Array, tail: Uint8Array, withDictionary = usesDictionaries()): Uint8Array {
  if (prefix.length + tail.length > SEGMENT_BYTES) {
    throw new RangeError(`a segment holds ${SEGMENT_BYTES} bytes, not ${prefix.length} + ${tail.length}`);
  }
  if (!canCompress(tail.length)) return Buffer.concat([...rawFrame(tail)]);
  const dictionary = withDictionary ? dictionaryFor(prefix, tail.length) : NOTHING;
  const covered = dictionary.length + tail.length;
  const { constants, zstdCompressSync } = zlib();
  return zstdCompressSync(tail, {
    chunkSize: outputChunk(tail.length),
    params: {
      [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL,
      [constants.ZSTD_c_windowLog]: WINDOW_LOG,
      [constants.ZSTD_c_checksumFlag]: 1,
      ...(covered > MIB ? { [constants.ZSTD_c_hashLog]: covered > 2 * MIB ? 19 : 18 } : {}),
    },
    ...(dictionary.length === 0 ? {} : { dictionary }),
  });
}

/** The bytes of an open segment. Damage in one frame spoils those after it, so there is no partial result. */
export function decodeFrames(frames: readonly Frame[], withDictionary = usesDictionaries()): Uint8Array {
  const [only] = frames;
  if (only !== undefined && frames.length === 1) return openSealed(only.bytes, only.size);
  const segment = new Uint8Array(totalSize(frames));
  let length = 0;
  for (const { bytes, size } of frames) {
    // A view, not a copy: with many small frames, copying the growing prefix would cost more than decoding.
    const dictionary = dictionaryFor(segment.subarray(0, length), size);
    const tail = withDictionary
      ? inflate(bytes, size, { windowLogMax: WINDOW_LOG, ...(dictionary.length === 0 ? {} : { dictionary }) })
      : inflateAfter(dictionary, bytes, size);
    segment.set(tail, length);
    length += size;
  }
  return segment;
}

/** The same where the platform has no dictionaries: what the frame refers to is put before it. */
function inflateAfter(dictionary: Uint8Array, bytes: Uint8Array, size: number): Uint8Array {
  if (dictionary.length === 0) return inflate(bytes, size, { windowLogMax: WINDOW_LOG });
  const whole = withoutDictionary(bytes, dictionary, WINDOW_LOG);
  if (whole === null) throw new DamagedBytes("is no zstd frame");
  return inflate(whole, dictionary.length + size, { windowLogMax: WINDOW_LOG }).subarray(dictionary.length);
}

/** Repacks a whole segment into one frame that stands alone. */
export function seal(segment: Uint8Array): Uint8Array {
  return encodeFrame(NOTHING, segment);
}

/** The inverse of `seal`. */
export function openSealed(bytes: Uint8Array, size: number): Uint8Array {
  if (size > SEGMENT_BYTES) throw new DamagedBytes(`a segment declares ${size} bytes, more than it can hold`);
  return inflate(bytes, size, { windowLogMax: WINDOW_LOG });
}

/** Distributes `tailLength` new bytes: first to the open segment, then to new ones. A full segment is sealed. */
export function plan(openLength: number, tailLength: number): { take: number; seals: boolean }[] {
  if (!(openLength >= 0 && openLength < SEGMENT_BYTES)) {
    throw new RangeError(`an open segment has fewer than ${SEGMENT_BYTES} bytes, not ${openLength}`);
  }
  const steps: { take: number; seals: boolean }[] = [];
  let room = SEGMENT_BYTES - openLength;
  for (let left = tailLength; left > 0; room = SEGMENT_BYTES) {
    const take = Math.min(left, room);
    steps.push({ take, seals: take === room });
    left -= take;
  }
  return steps;
}

/**
 * From which frame on an open segment should be re-encoded as one frame, given the sizes of its frames (including the
 * one about to be appended); undefined while there are few enough. At least half of the frames go; larger earlier ones
 * join only when what follows has grown to half their size, so that a byte is re-encoded a logarithmic number of times.
 */
export function mergeFrom(sizes: readonly number[]): number | undefined {
  if (sizes.length <= MAX_FRAMES) return undefined;
  let from = MAX_FRAMES / 2;
  let merged = sum(sizes.slice(from));
  for (let size = sizes[from - 1]; size !== undefined && size <= 2 * merged; size = sizes[from - 1]) {
    merged += size;
    from -= 1;
  }
  return from;
}

/**
 * Applies `mergeFrom`: keep the first `keep` frames and put `frame` in place of the others. Undefined when there is
 * nothing to merge. A caller that holds the decoded segment passes it and saves the decoding.
 */
export function merge(frames: readonly Frame[], segment?: Uint8Array): { keep: number; frame: Frame } | undefined {
  const keep = mergeFrom(frames.map((frame) => frame.size));
  if (keep === undefined) return undefined;
  const bytes = segment ?? decodeFrames(frames);
  const start = sum(frames.slice(0, keep).map((frame) => frame.size));
  const tail = bytes.subarray(start);
  return { keep, frame: { bytes: encodeFrame(bytes.subarray(0, start), tail), size: tail.length } };
}

const MIB = 1024 * 1024;
const NOTHING = new Uint8Array(0);

/**
 * 2^22 is a segment: a repeat from its first byte is still in reach at its last. Long-distance matching is left off: on
 * transcripts that repeat themselves 3 MB apart it saved 0.7 % more and took half as long again.
 *
 * The hash table grows with what has to be found: at level 3 it has 2^17 entries, and zstd silently reads only the last
 * 8 << hashLog bytes of a dictionary (1 MiB), whatever the window.
 */
const WINDOW_LOG = 22;

/** Digesting a dictionary costs about 3 ms per MiB and is done anew for every frame, so a small tail gets a small one. */
const MIN_DICTIONARY_BYTES = 64 * 1024;
const DICTIONARY_PER_TAIL_BYTE = 4;

/**
 * The dictionary of a frame: the end of the prefix. Part of the format: a frame may refer to these bytes and no
 * earlier ones. (A reader that offers the whole prefix as raw content decodes the same bytes, only more slowly.)
 */
function dictionaryFor(prefix: Uint8Array, tailLength: number): Uint8Array {
  const reach = Math.max(MIN_DICTIONARY_BYTES, DICTIONARY_PER_TAIL_BYTE * tailLength);
  const dictionary = prefix.subarray(Math.max(prefix.length - reach, 0));
  // Content that happens to begin like a trained zstd dictionary would be parsed as one and refused.
  const looksTrained = TRAINED_MAGIC.every((byte, index) => dictionary[index] === byte);
  return looksTrained ? dictionary.subarray(1) : dictionary;
}

const TRAINED_MAGIC: readonly number[] = [0x37, 0xa4, 0x30, 0xec];

/** Checked before anything is allocated: the sizes come from rows. */
function totalSize(frames: readonly Frame[]): number {
  if (frames.some(({ size }) => !Number.isSafeInteger(size) || size < 0)) {
    throw new DamagedBytes("a frame declares an impossible size");
  }
  const total = sum(frames.map((frame) => frame.size));
  if (total > SEGMENT_BYTES) throw new DamagedBytes(`the frames declare ${total} bytes, more than a segment can hold`);
  return total;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

let known: boolean | undefined;

/**
 * Workers and older versions of Node take the option for a dictionary and ignore it without a word, so it is tried once before it is
 * relied upon. Without dictionaries frames are longer, and everything is read all the same.
 */
export function usesDictionaries(): boolean {
  known ??= hasDictionaries();
  return known;
}

/** Bytes that repeat their dictionary are one reference to it: without the dictionary, such a frame does not decode. */
export function hasDictionaries(compress = zlib().zstdCompressSync, decompress = zlib().zstdDecompressSync): boolean {
  const dictionary = Buffer.from(Array.from({ length: 256 }, (_, i) => (i * 167 + 13) & 0xff));
  const params = { [zlib().constants.ZSTD_c_checksumFlag]: 1 };
  const frame = compress(dictionary, { dictionary, params });
  try {
    return !decompress(frame).equals(dictionary);
  } catch {
    return true;
  }
}
