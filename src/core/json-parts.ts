// How many parts JSON has, counted without parsing it: a text of a few megabytes can be a million objects once it is parsed.

/** Shorter texts are parsed without counting. */
const UNSEEN_CHARS = 65_536;
const [QUOTE, BACKSLASH] = ['"', "\\"].map((char) => char.charCodeAt(0));
const BEGINS_PART = new Set([..."[{,"].map((char) => char.charCodeAt(0)));

/**
 * The parts that one line of a transcript may have: far more than agents write, and a few tens of megabytes once
 * parsed.
 */
export const MOST_LINE_PARTS = 1_000_000;

/** Whether JSON has at most this many values, keys and levels. The text may also be its UTF-8 bytes read as Latin-1. */
export function hasAtMostParts(json: string, most: number): boolean {
  if (json.length < UNSEEN_CHARS) return true;
  let parts = 0;
  let isText = false;
  for (let i = 0; i < json.length; i++) {
    const char = json.charCodeAt(i);
    if (char === QUOTE) isText = !isText;
    else if (isText && char === BACKSLASH) i++;
    else if (!isText && BEGINS_PART.has(char) && ++parts > most) return false;
  }
  return true;
}
