// Reads strings with their escapes, and names in backticks.
import { syntaxError } from "../errors.ts";

const ESCAPES: Readonly<Record<string, string>> = {
  "\\": "\\",
  "'": "'",
  '"': '"',
  "`": "`",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

export function readString(source: string, offset: number): { text: string; end: number } {
  const quote = source[offset];
  const parts: string[] = [];
  let from = offset + 1;
  for (let at = from; at < source.length; at++) {
    const character = source[at];
    if (character === quote) {
      parts.push(source.slice(from, at));
      const text = parts.join("");
      if (text.isWellFormed()) return { text, end: at + 1 };
      throw syntaxError(source, offset, "InvalidUnicodeLiteral", "the string has half of a surrogate pair");
    }
    if (character !== "\\") continue;
    const escaped = readEscape(source, at);
    parts.push(source.slice(from, at), escaped.text);
    from = escaped.end;
    at = escaped.end - 1;
  }
  throw syntaxError(source, offset, "UnexpectedSyntax", "the string has no end");
}

function readEscape(source: string, at: number): { text: string; end: number } {
  const letter = source[at + 1] ?? "";
  const known = ESCAPES[letter];
  if (known !== undefined) return { text: known, end: at + 2 };
  const length = letter === "u" ? 4 : letter === "U" ? 8 : 0;
  if (length === 0) throw syntaxError(source, at, "UnexpectedSyntax", `strings have no escape \\${letter}`);
  const digits = source.slice(at + 2, at + 2 + length);
  const code = /^[0-9a-fA-F]+$/.test(digits) && digits.length === length ? Number.parseInt(digits, 16) : Number.NaN;
  if (!(code <= 0x10ffff)) {
    const message = `\\${letter} needs ${length} hexadecimal digits that name a character`;
    throw syntaxError(source, at, "InvalidUnicodeLiteral", message);
  }
  return { text: length === 4 ? String.fromCharCode(code) : String.fromCodePoint(code), end: at + 2 + length };
}

/** Two backticks stand for one. */
export function readQuotedName(source: string, offset: number): { text: string; end: number } {
  let text = "";
  let from = offset + 1;
  while (from < source.length) {
    const at = source.indexOf("`", from);
    if (at < 0) break;
    text += source.slice(from, at);
    if (source[at + 1] !== "`" || (text === "" && at === from && from === offset + 1)) return { text, end: at + 1 };
    text += "`";
    from = at + 2;
  }
  throw syntaxError(source, offset, "UnexpectedSyntax", "the name in backticks has no end");
}
