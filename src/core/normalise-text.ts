// Texts that people would call the same: for names that are compared, not for search.

/** More marks on one letter than any writing has: to normalise them takes time that grows with their square. */
const EXCESS_MARKS = /\p{M}{32}/u;

/** Letter case, white space, and forms of the same character do not count, nor what ends a sentence. */
export function normaliseText(text: string): string {
  const plain = EXCESS_MARKS.test(text) ? text : text.normalize("NFKC");
  const spaced = plain.toLowerCase().replace(/\s+/gu, " ").trim();
  let end = spaced.length;
  while (end > 0 && ".!\u3002\uff01".includes(spaced.charAt(end - 1))) end -= 1;
  return spaced.slice(0, end).trimEnd();
}
