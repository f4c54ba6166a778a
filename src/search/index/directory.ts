// The pages of a segment's terms, as a search looks them up: each by its first term. The segment's row has a sum over all of them, so
// that a page that is missing, or whose first term was changed, is noticed before a search believes that a term is on no page.
import { crc32 } from "node:zlib";
import { encodeText } from "../../core/bytes.ts";

export interface TermPageName {
  readonly page: number;
  /** The bytes of its first term. */
  readonly first: Uint8Array;
}

/** The sums of single pages are added, so that a page can be replaced without reading the others. */
export function directorySum(pages: Iterable<TermPageName>): number {
  let sum = 0;
  for (const { page, first } of pages) sum = (sum + pageSum(page, first)) % SUMS;
  return sum;
}

const SUMS = 2 ** 32;

/** Never 0: a page without a first term counts too. */
function pageSum(page: number, first: Uint8Array): number {
  return crc32(first, crc32(encodeText(`${page}:`))) || 1;
}
