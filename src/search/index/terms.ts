// The order of terms: that of their UTF-8 bytes, as the pages of the index have them. JavaScript orders texts by UTF-16 code units,
// which is the same order but for characters beyond U+D7FF.

const BEYOND = /[\ud800-\uffff]/;

export function compareTerms(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  if (at === length) return a.length - b.length;
  return orderOf(a.charCodeAt(at)) - orderOf(b.charCodeAt(at));
}

/** Surrogates stand for characters beyond U+FFFF, and come after all others. */
function orderOf(code: number): number {
  if (code < 0xd800) return code;
  return code >= 0xe000 ? code - 0x800 : code + 0x2000;
}

/** Sorts in place. The engine's own order is several times as fast, and right for nearly all texts. */
export function sortTerms(terms: string[]): string[] {
  return terms.some((term) => BEYOND.test(term)) ? terms.sort(compareTerms) : terms.sort();
}
