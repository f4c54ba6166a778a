// A text as the words of the index. Stored postings hold what this gives, so any change of what it gives for any text needs a new
// TOKENISER_VERSION, with which the index is built anew.
//
// A word is a run of letters and digits. All else separates: foo_bar, src/open.ts, v1.2.3, an e-mail address and a URL become
// their parts, at consecutive positions, and are found as a whole by a phrase. A word in camel case is followed by its parts, all
// at its position. Scripts that write no spaces become overlapping pairs of letters. A number ends where another kind of digits
// begins: 10² is 10 and 2, and not 102.
import { camelCaseParts } from "./camel-case.ts";
import {
  type CharacterKind,
  DIGIT,
  isApostrophe,
  kindAt,
  MARK,
  OTHER_NUMBER,
  UNSPACED,
  WORD,
  widthAt,
} from "./characters.ts";
import { asciiTerm, foldLetter, TERM_LENGTH_MAX, unicodeTerms } from "./index-terms.ts";
import type { TextLanguage } from "./stem.ts";

export const TOKENISER_VERSION = 3;

export interface Token {
  /** At most TERM_LENGTH_MAX code units. */
  readonly term: string;
  /** Where the word is in the text, in UTF-16 code units. */
  readonly start: number;
  readonly end: number;
  /** Counts the words of the text from 0. Parts of a word in camel case have the position of their word. */
  readonly position: number;
}

interface Scan {
  readonly text: string;
  readonly language: TextLanguage;
  readonly tokens: Token[];
  position: number;
}

const LOWER = 1;
const UPPER = 2;
const ASCII_DIGIT = 4;

/** Of each ASCII character; 0: it separates words. */
const asciiKinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[a-z]/.test(character)) return LOWER;
  if (/[A-Z]/.test(character)) return UPPER;
  return /[0-9]/.test(character) ? ASCII_DIGIT : 0;
});

/** What may stand after an apostrophe for English to be one word: john's, don't, we'll. Else 'a'b' and b'bytes' are two. */
const CONTRACTION = /(?:s|t|d|m|ll|re|ve)(?!(?:\u00ad|\u200c|\u200d|\u2060|\ufeff)*[\p{L}\p{N}\p{M}])/iuy;

/** Any text at all, in time that grows with its length only. "none" leaves words unstemmed, and apostrophes separate them. */
export function tokenise(text: string, language: TextLanguage): Token[] {
  const scan: Scan = { text, language, tokens: [], position: 0 };
  let index = 0;
  while (index < text.length) {
    const code = text.charCodeAt(index);
    if (code < 128) {
      index = asciiKinds[code] === 0 ? index + 1 : readAsciiWord(scan, index);
      continue;
    }
    const kind = kindAt(text, index);
    if (kind === UNSPACED) index = readUnspaced(scan, index);
    else if (kind !== MARK && isWordKind(kind)) index = readUnicodeWord(scan, index);
    else index += 1;
  }
  return scan.tokens;
}

/** The fast path. Returns where the text goes on. */
function readAsciiWord(scan: Scan, start: number): number {
  const { text, language, tokens } = scan;
  let kinds = asciiKinds[text.charCodeAt(start)] ?? 0;
  let inner = 0;
  let end = start + 1;
  let code = 0;
  for (; end < text.length; end++) {
    code = text.charCodeAt(end);
    const kind = code < 128 ? (asciiKinds[code] ?? 0) : 0;
    if (kind === 0) break;
    inner |= kind;
  }
  kinds |= inner;
  if (end < text.length && code >= 128 && isWordKind(kindAt(text, end))) return readUnicodeWord(scan, start);
  const wordEnd = contractionEnd(scan, end);
  const raw =
    wordEnd === end ? text.slice(start, Math.min(end, start + TERM_LENGTH_MAX)) : contraction(scan, start, end);
  const term = asciiTerm(raw, language, (kinds & ASCII_DIGIT) !== 0);
  tokens.push({ term, start, end: wordEnd, position: scan.position });
  if ((inner & UPPER) !== 0 && (kinds & LOWER) !== 0) pushParts(scan, start, end);
  scan.position += 1;
  return wordEnd;
}

function isWordKind(kind: CharacterKind): boolean {
  return kind === WORD || kind === MARK || kind === DIGIT || kind === OTHER_NUMBER;
}

function unicodeWordEnd(text: string, start: number): number {
  let end = start;
  let previous: CharacterKind = MARK;
  while (end < text.length) {
    const kind = kindAt(text, end);
    if (!isWordKind(kind) || isOtherDigits(previous, kind)) break;
    if (kind !== MARK) previous = kind;
    end += widthAt(text, end);
  }
  return end;
}

/** Digits and exponents stand side by side, and would be one number if NFKC joined them. */
function isOtherDigits(previous: CharacterKind, next: CharacterKind): boolean {
  return (previous === DIGIT && next === OTHER_NUMBER) || (previous === OTHER_NUMBER && next === DIGIT);
}

function readUnicodeWord(scan: Scan, start: number): number {
  const { text, language, tokens } = scan;
  const end = unicodeWordEnd(text, start);
  const wordEnd = contractionEnd(scan, end);
  const raw = wordEnd === end ? text.slice(start, end) : contraction(scan, start, end);
  const terms = unicodeTerms(raw, language);
  for (const [offset, term] of terms.entries()) {
    tokens.push({ term, start, end: wordEnd, position: scan.position + offset });
  }
  if (terms.length === 1) pushParts(scan, start, end);
  scan.position += terms.length;
  return wordEnd;
}

/** The parts of a word in camel case, at the position of the word. Those of its first TERM_LENGTH_MAX code units are enough. */
function pushParts(scan: Scan, start: number, end: number): void {
  const word = scan.text.slice(start, Math.min(end, start + TERM_LENGTH_MAX));
  for (const part of camelCaseParts(word)) {
    const partStart = start + part.start;
    const partEnd = partStart + part.text.length;
    for (const term of unicodeTerms(part.text, scan.language)) {
      scan.tokens.push({ term, start: partStart, end: partEnd, position: scan.position });
    }
  }
}

/** Where an English word ends whose letters end at the index. */
function contractionEnd({ text, language }: Scan, end: number): number {
  if (language !== "english" || !isApostrophe(text, end)) return end;
  return isContraction(text, end + 1) ? CONTRACTION.lastIndex : end;
}

/** Whether what stands behind an apostrophe makes one word of it with the word before, in English. */
export function isContraction(text: string, start: number): boolean {
  CONTRACTION.lastIndex = start;
  return CONTRACTION.test(text);
}

/** As the stemmer expects it: with the one apostrophe that ASCII has. A word that is too long goes without its tail. */
function contraction(scan: Scan, start: number, end: number): string {
  const word = scan.text.slice(start, end);
  return word.length < TERM_LENGTH_MAX ? `${word}'${scan.text.slice(end + 1, contractionEnd(scan, end))}` : word;
}

/** Overlapping pairs of letters. A letter that stands alone is a word. */
function readUnspaced(scan: Scan, start: number): number {
  const { text, tokens } = scan;
  let previous: { readonly letter: string; readonly start: number; readonly end: number } | undefined;
  let index = start;
  let isAlone = true;
  while (index < text.length && kindAt(text, index) === UNSPACED) {
    const end = letterEnd(text, index);
    const letter = { letter: foldLetter(text.slice(index, end)), start: index, end };
    if (previous !== undefined) {
      isAlone = false;
      const term = previous.letter + letter.letter;
      tokens.push({ term, start: previous.start, end, position: scan.position });
      scan.position += 1;
    }
    previous = letter;
    index = end;
  }
  if (isAlone && previous !== undefined) {
    tokens.push({ term: previous.letter, start: previous.start, end: previous.end, position: scan.position });
    scan.position += 1;
  }
  return index;
}

/** A letter goes on with its marks; a Hangul syllable that is written in parts, with its vowel and its last consonant. */
function letterEnd(text: string, start: number): number {
  let end = start + widthAt(text, start);
  while (end < text.length && (isSyllablePart(text.charCodeAt(end)) || kindAt(text, end) === MARK)) {
    end += widthAt(text, end);
  }
  return end;
}

/** Vowels and last consonants of Hangul, and the sound marks of halfwidth katakana. */
function isSyllablePart(code: number): boolean {
  return (code >= 0x1160 && code <= 0x11ff) || code === 0xff9e || code === 0xff9f;
}
