// Segments are written with zstd dictionaries where the platform has them. Workers and older versions of Node take the option and
// ignore it without a word, so it is tried once before it is relied upon. Without it frames are longer, and everything is read all
// the same.
import { zlib } from "./compress.ts";

let known: boolean | undefined;

export function usesDictionaries(): boolean {
  known ??= hasDictionaries();
  return known;
}

/** Bytes that repeat their dictionary are one reference to it: without it, such a frame decodes to nothing. */
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
