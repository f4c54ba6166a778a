// Segments need zstd with a dictionary, an option that older Node versions ignore without a word: frames written by
// newer ones would look damaged to them. So it is tried once before it is relied upon.

import { HoldfastError } from "../../contracts/errors.ts";
import { zlib } from "./compress.ts";

let known: boolean | undefined;

export function needDictionaries(): void {
  known ??= hasDictionaries();
  if (known) return;
  throw new HoldfastError("MissingDependency", `Node ${process.versions.node} has no zstd dictionaries`, {
    details: { needs: "node >=22.19 or >=24.6" },
    hint: "Use Node 22.19 or later, or 24.6 or later, to store and read blobs with growsFrom.",
  });
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
