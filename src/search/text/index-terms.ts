// From a word as it is written to the term that the index has for it: NFKC, lower case, stem, no accents. The stemmers know the
// accents of their languages, so those go last. English knows none: there they go first, so that "résumé" is found by "resume".
import { stem, TEXT_LANGUAGES, type TextLanguage } from "./stem.ts";

/** Code units of a term. A longer word is cut, in texts and in queries alike. */
export const TERM_LENGTH_MAX = 64;

/** Marks of one letter that are read. Texts with hundreds exist to overload what normalises them. */
const MARKS_MAX = 4;
const EXCESS_MARKS = new RegExp(`(\\p{M}{${MARKS_MAX}})\\p{M}+`, "gu");
/** Code units of a long word that are read at all. */
const READ_MAX = 1024;

/**
 * Accents, and the vowel signs of Arabic and Hebrew, which most writers leave out. Marks of other scripts, such as Hindi vowels,
 * and the sound marks of Japanese kana make another letter: they stay.
 */
const REMOVED_MARKS =
  /(?=\p{M})[\p{sc=Zinh}\p{sc=Arab}\p{sc=Cyrl}\p{sc=Grek}\p{sc=Hebr}\p{sc=Latn}\p{sc=Syrc}](?<![\u3099\u309a])/gu;
/** Most letters of Chinese, Japanese and Korean: nothing of them changes. */
const PLAIN_LETTER = /[\u3041-\u3096\u30a1-\u30fe\u4e00-\u9fff\uac00-\ud7a3]/;
const INVISIBLE = /\u00ad|\u200c|\u200d|\u2060|\ufeff/g;
/** NFKC makes several words of a few characters: "½" becomes 1 and 2. */
const NOT_IN_WORDS = /[^\p{L}\p{N}\p{M}']+/u;

/** Entries of a generation. A text has few thousand different words; ids and numbers do not come here. */
const MEMO_MAX = 8192;

/** What was computed lately: when the young generation is full it becomes the old one, and the old one is dropped. */
class TermMemo<V> {
  #young = new Map<string, V>();
  #old = new Map<string, V>();

  get(raw: string): V | undefined {
    const value = this.#young.get(raw);
    if (value !== undefined) return value;
    const old = this.#old.get(raw);
    if (old !== undefined) this.set(raw, old);
    return old;
  }

  set(raw: string, value: V): void {
    if (this.#young.size >= MEMO_MAX) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(raw, value);
  }
}

interface LanguageMemo {
  readonly ascii: TermMemo<string>;
  readonly unicode: TermMemo<readonly string[]>;
}

const memos = Object.fromEntries(
  TEXT_LANGUAGES.map((language) => [language, { ascii: new TermMemo(), unicode: new TermMemo() }]),
) as Readonly<Record<TextLanguage, LanguageMemo>>;

/** The term of a word of ASCII letters, digits and apostrophes. A word with a digit is an id or a number: it has no stem. */
export function asciiTerm(raw: string, language: TextLanguage, hasDigit: boolean): string {
  const word = raw.length > TERM_LENGTH_MAX ? raw.slice(0, TERM_LENGTH_MAX) : raw;
  if (hasDigit || language === "none") return word.toLowerCase();
  const memo = memos[language].ascii;
  const known = memo.get(word);
  if (known !== undefined) return known;
  const key = copyString(word);
  const term = stem(key.toLowerCase(), language);
  memo.set(key, term);
  return term;
}

/** The terms of any other word: nearly always one. */
export function unicodeTerms(raw: string, language: TextLanguage): readonly string[] {
  const word = raw.length > TERM_LENGTH_MAX ? shortenWord(raw) : raw;
  const memo = memos[language].unicode;
  const known = memo.get(word);
  if (known !== undefined) return known;
  const key = copyString(word);
  const plain = key.replace(INVISIBLE, "").normalize("NFKC").toLowerCase().normalize("NFC");
  const terms = plain
    .split(NOT_IN_WORDS)
    .map((part) => clip(stemWord(clip(part), language)))
    .filter((term) => term !== "");
  memo.set(key, terms);
  return terms;
}

function stemWord(word: string, language: TextLanguage): string {
  if (/\p{N}/u.test(word)) return removeMarks(word);
  return language === "english" ? stem(removeMarks(word), language) : removeMarks(stem(word, language));
}

/** One letter of a script that writes no spaces, with its marks. */
export function foldLetter(raw: string): string {
  if (raw.length === 1 && PLAIN_LETTER.test(raw)) return raw;
  const letter = shortenWord(raw).replace(INVISIBLE, "").normalize("NFKC").toLowerCase();
  return clip(removeMarks(letter));
}

function removeMarks(word: string): string {
  return word.normalize("NFKD").replace(REMOVED_MARKS, "").normalize("NFC");
}

/** So that what is normalised is short: the time of that grows with the square of how many marks a letter has. */
function shortenWord(raw: string): string {
  return cutAt(cutAt(raw, READ_MAX).replace(EXCESS_MARKS, "$1"), 2 * TERM_LENGTH_MAX);
}

function clip(word: string): string {
  return cutAt(word, TERM_LENGTH_MAX);
}

/** Never between the two halves of a character. */
function cutAt(word: string, length: number): string {
  if (word.length <= length) return word;
  const last = word.charCodeAt(length - 1);
  return word.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

/** A part of a text keeps the whole text in memory as long as it lives. What the memo keeps must not. */
function copyString(part: string): string {
  return ` ${part}`.slice(1);
}
