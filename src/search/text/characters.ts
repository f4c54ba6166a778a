// What a character is to the tokeniser. Unicode's properties say it; the answers are kept in a table, because a lookup is a
// hundred times as fast as a property in a regular expression. A newer Unicode only adds characters.

export const SEPARATOR = 1;
/** A letter of a script that writes spaces between words. */
export const WORD = 2;
/** A combining mark, or a character without a width such as the soft hyphen: part of the word before it, and no word alone. */
export const MARK = 3;
/** A letter of a script that writes no spaces between words. */
export const UNSPACED = 4;
/** A digit of a number that is written in digits. */
export const DIGIT = 5;
/** Any other number, such as ² or ①. NFKC makes digits of it. */
export const OTHER_NUMBER = 6;

export type CharacterKind =
  | typeof SEPARATOR
  | typeof WORD
  | typeof MARK
  | typeof UNSPACED
  | typeof DIGIT
  | typeof OTHER_NUMBER;

const LETTER = /[\p{L}\p{Nl}]/u;
const MARK_OR_INVISIBLE = /\p{M}|\u00ad|\u200c|\u200d|\u2060|\ufeff/u;
/** The ideographic zero is a number and not a letter. Digits of these scripts are words like other numbers. */
const UNSPACED_LETTER = new RegExp(
  `(?=\\p{L}|\u3007)[${"Han Hira Kana Hang Thai Laoo Khmr Mymr"
    .split(" ")
    .map((script) => `\\p{scx=${script}}`)
    .join("")}]`,
  "u",
);
/** Unicode calls U+02BC a letter; in texts it is an apostrophe. */
const APOSTROPHES = "'\u2019\u02bc\uff07";

/** Kinds of the characters up to U+FFFF that were met; 0: not met yet. */
const kinds = new Uint8Array(0x10000);

/** The kind of the code point at the index. A lone surrogate is a separator. */
export function kindAt(text: string, index: number): CharacterKind {
  const code = text.codePointAt(index) ?? 0;
  if (code > 0xffff) return classify(String.fromCodePoint(code));
  const known = kinds[code];
  if (known !== undefined && known !== 0) return known as CharacterKind;
  const kind = classify(String.fromCharCode(code));
  kinds[code] = kind;
  return kind;
}

/** How many code units the code point at the index has. */
export function widthAt(text: string, index: number): 1 | 2 {
  return (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1;
}

export function isApostrophe(text: string, index: number): boolean {
  const character = text.charAt(index);
  return character !== "" && APOSTROPHES.includes(character);
}

function classify(character: string): CharacterKind {
  if (APOSTROPHES.includes(character)) return SEPARATOR;
  if (UNSPACED_LETTER.test(character)) return UNSPACED;
  if (LETTER.test(character)) return WORD;
  if (/\p{Nd}/u.test(character)) return DIGIT;
  if (/\p{No}/u.test(character)) return OTHER_NUMBER;
  return MARK_OR_INVISIBLE.test(character) ? MARK : SEPARATOR;
}
