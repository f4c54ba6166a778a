// The reader of EDN text. Errors name line and column; input is bounded before anything is built: length, nesting and
// number of forms, so that no text can exhaust the stack or the memory.
import { LIMITS } from "../contracts/limits.ts";
import { invalid } from "../core/check.ts";
import { parseInstant } from "../core/instant.ts";
import {
  describePosition,
  type Form,
  invalidQuery,
  isExact,
  KEYWORD,
  overLimit,
  type SourcePosition,
  SYMBOL,
  shorten,
} from "./form.ts";
import { CHARACTERS, show, writeEdn } from "./write.ts";

const SPACE = /[ \t\n\r\f\v,]/;
const DELIMITER = /[ \t\n\r\f\v,()[\]{}";]/;
const CLOSERS: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}", "#{": "}" };
const STRING_ESCAPES: Readonly<Record<string, string>> = {
  t: "\t",
  r: "\r",
  n: "\n",
  b: "\b",
  f: "\f",
  '"': '"',
  "\\": "\\",
};
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

interface EdnInput {
  readonly text: string;
  pos: number;
  forms: number;
  /** The line of the last position that was computed: its number, its start and its end. */
  line: number;
  lineStart: number;
  newline: number;
}

/** Reads a text with exactly one form. */
export function readEdn(text: string): Form {
  const [form, more] = readForms(text);
  if (form === undefined) throw invalidQuery(undefined, "the text has no form: it is empty or only comments");
  if (more !== undefined) throw invalidQuery(more.at, `the text must have one form, and ${show(more)} is a second one`);
  return form;
}

/** Reads all forms of a text. */
export function readForms(text: string): readonly Form[] {
  if (typeof text !== "string") throw invalid("an EDN text", "a string", text);
  // UTF-8 takes at least one byte per unit, so a huge text is refused before it is measured.
  const bytes = text.length > LIMITS.queryBytes ? text.length : Buffer.byteLength(text);
  if (bytes > LIMITS.queryBytes) throw overLimit(undefined, "queryBytes", "the text in bytes", bytes);
  const cursor: EdnInput = { text, pos: 0, forms: 0, line: 1, lineStart: 0, newline: nextNewline(text, 0) };
  const lone = text.search(/\p{Surrogate}/u);
  if (lone >= 0) throw invalidQuery(positionAt(cursor, lone), "a lone surrogate is not Unicode");
  const forms: Form[] = [];
  while (skip(cursor, 0)) {
    const closer = text.charAt(cursor.pos);
    if (")]}".includes(closer)) throw invalidQuery(positionAt(cursor, cursor.pos), `"${closer}" closes nothing`);
    forms.push(readForm(cursor, 0));
  }
  return forms;
}

/** Skips whitespace, comments and discarded forms; returns false at the end of the text. */
function skip(cursor: EdnInput, depth: number): boolean {
  const { text } = cursor;
  while (cursor.pos < text.length) {
    const char = text.charAt(cursor.pos);
    if (SPACE.test(char)) cursor.pos++;
    else if (char === ";") {
      const end = text.indexOf("\n", cursor.pos);
      cursor.pos = end < 0 ? text.length : end;
    } else if (text.startsWith("#_", cursor.pos)) {
      const at = positionAt(cursor, cursor.pos);
      cursor.pos += 2;
      readNext(cursor, depth + 1, at, "#_");
    } else return true;
  }
  return false;
}

/** Reads the form after a prefix. A prefix counts as nesting, so that a series of prefixes cannot exhaust the stack. */
function readNext(cursor: EdnInput, depth: number, at: SourcePosition, prefix: string): Form {
  checkDepth(at, depth);
  if (!skip(cursor, depth) || ")]}".includes(cursor.text.charAt(cursor.pos))) {
    throw invalidQuery(at, `${prefix} has no form after it`);
  }
  return readForm(cursor, depth);
}

function readForm(cursor: EdnInput, depth: number): Form {
  const at = positionAt(cursor, cursor.pos);
  if (++cursor.forms > LIMITS.queryForms) throw overLimit(at, "queryForms", "the number of forms", cursor.forms);
  const { text } = cursor;
  const char = text.charAt(cursor.pos);
  if (char === '"') return { kind: "string", value: readString(cursor, at), at };
  if (char === "\\") return { kind: "char", value: readCharacter(cursor, at), at };
  const opener = text.startsWith("#{", cursor.pos) ? "#{" : char;
  const closer = CLOSERS[opener];
  if (closer !== undefined) return readCollection(cursor, opener, closer, depth + 1, at);
  const token = readToken(cursor);
  return token.startsWith("#") ? readTagged(cursor, token, depth, at) : atom(token, at);
}

function readCollection(cursor: EdnInput, opener: string, closer: string, depth: number, at: SourcePosition): Form {
  checkDepth(at, depth);
  cursor.pos += opener.length;
  const items: Form[] = [];
  for (;;) {
    if (!skip(cursor, depth))
      throw invalidQuery(at, `"${opener}" is never closed`, `"${closer}" is missing at the end`);
    const char = cursor.text.charAt(cursor.pos);
    if (char === closer) break;
    if (")]}".includes(char)) {
      const here = positionAt(cursor, cursor.pos);
      throw invalidQuery(
        here,
        `"${char}" does not close the "${opener}" at ${describePosition(at)}`,
        `Close it with "${closer}".`,
      );
    }
    items.push(readForm(cursor, depth));
  }
  cursor.pos++;
  if (opener === "(") return { kind: "list", items, at };
  if (opener === "[") return { kind: "vector", items, at };
  if (opener === "#{") return { kind: "set", items: distinct(items, "set"), at };
  if (items.length % 2 !== 0) throw invalidQuery(at, "a map has a key without a value");
  const keys = distinct(
    items.filter((_, i) => i % 2 === 0),
    "map",
  );
  const values = items.filter((_, i) => i % 2 === 1);
  return { kind: "map", entries: keys.map((key, i) => [key, values[i] ?? { kind: "nil" }] as const), at };
}

function distinct(items: readonly Form[], what: string): readonly Form[] {
  const seen = new Set<string>();
  for (const item of items) {
    const text = writeEdn(item);
    if (seen.has(text)) throw invalidQuery(item.at, `${show(item)} is twice in a ${what}`);
    seen.add(text);
  }
  return items;
}

function readToken(cursor: EdnInput): string {
  const { text, pos } = cursor;
  let end = pos + 1;
  while (end < text.length && !DELIMITER.test(text.charAt(end))) end++;
  cursor.pos = end;
  return text.slice(pos, end);
}

function readTagged(cursor: EdnInput, token: string, depth: number, at: SourcePosition): Form {
  if (token !== "#inst" && token !== "#uuid") {
    throw invalidQuery(at, `the tag ${shorten(token)} is not known`, "Use #inst, #uuid, a set #{…} or #_.");
  }
  const form = readNext(cursor, depth + 1, at, token);
  if (form.kind !== "string") throw invalidQuery(form.at, `${token} takes a string, not ${show(form)}`);
  if (token === "#uuid") {
    if (!UUID.test(form.value)) throw invalidQuery(at, `${show(form)} is not a UUID`);
    return { kind: "uuid", value: form.value.toLowerCase(), at };
  }
  const value = parseInstant(form.value);
  if (value === null) {
    throw invalidQuery(at, `${show(form)} is not a time`, 'write it like #inst "2026-01-31T12:00:00.000Z"');
  }
  return { kind: "inst", value, at };
}

function atom(token: string, at: SourcePosition): Form {
  if (token === "nil") return { kind: "nil", at };
  if (token === "true" || token === "false") return { kind: "boolean", value: token === "true", at };
  if (/^[+-]?[0-9]/.test(token)) return number(token, at);
  if (KEYWORD.test(token)) return { kind: "keyword", name: token, at };
  if (SYMBOL.test(token)) return { kind: "symbol", name: token, at };
  const code = (token.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  const shown = /^[\x21-\x7e]+$/.test(token) ? shorten(token) : `${JSON.stringify(shorten(token))} (U+${code})`;
  throw invalidQuery(
    at,
    `${shown} is no EDN`,
    "names are up to 255 of A-Z a-z 0-9 . * + ! - _ ? $ % & = < > and one /",
  );
}

function number(token: string, at: SourcePosition): Form {
  const isInt = /^[+-]?(?:0|[1-9][0-9]*)$/.test(token);
  const isFloat = /^[+-]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/.test(token);
  if (!isInt && !isFloat) {
    const allowed = "whole numbers and decimals like -1, 2.5 or 1e-3; no ratios, no N or M, no leading zeros";
    throw invalidQuery(at, `${shorten(token)} is not a number`, allowed);
  }
  // Adding 0 turns -0 into 0.
  const value = Number(token) + 0;
  if (!isExact(value)) {
    const limit = Number.MAX_SAFE_INTEGER;
    throw invalidQuery(at, `${shorten(token)} is too large a number`, `numbers are between -${limit} and ${limit}`);
  }
  return { kind: isInt ? "int" : "float", value, at };
}

function readString(cursor: EdnInput, at: SourcePosition): string {
  const { text } = cursor;
  let value = "";
  let from = ++cursor.pos;
  for (;;) {
    const char = text.charAt(cursor.pos);
    if (char === "") throw invalidQuery(at, "a string is never closed", 'a " is missing');
    if (char === '"') break;
    if (char === "\\") {
      value += text.slice(from, cursor.pos) + readEscape(cursor);
      from = cursor.pos;
    } else cursor.pos++;
  }
  value += text.slice(from, cursor.pos++);
  if (!value.isWellFormed()) throw invalidQuery(at, "a string contains a lone surrogate, which is not Unicode");
  return value;
}

function readEscape(cursor: EdnInput): string {
  const { text, pos } = cursor;
  const letter = text.charAt(pos + 1);
  const escaped = STRING_ESCAPES[letter];
  if (escaped !== undefined) {
    cursor.pos += 2;
    return escaped;
  }
  const digits = text.slice(pos + 2, pos + 6);
  if (letter !== "u" || !/^[0-9a-fA-F]{4}$/.test(digits)) {
    const what = `"\\${letter}${letter === "u" ? digits : ""}" is no escape`;
    throw invalidQuery(
      positionAt(cursor, pos),
      what,
      'Escapes are \\t \\r \\n \\b \\f \\\\ \\" and those like \\u0041.',
    );
  }
  cursor.pos += 6;
  return String.fromCharCode(Number.parseInt(digits, 16));
}

/** `\a`, `\newline`, `\u0041`; also `\(` and `\"`, because any character may follow the backslash. */
function readCharacter(cursor: EdnInput, at: SourcePosition): string {
  const { text } = cursor;
  const start = cursor.pos + 1;
  let end = start + String.fromCodePoint(text.codePointAt(start) ?? 0).length;
  if (!DELIMITER.test(text.charAt(start))) while (end < text.length && !DELIMITER.test(text.charAt(end))) end++;
  const name = text.slice(start, end);
  cursor.pos = end;
  const value = /^u[0-9a-fA-F]{4}$/.test(name)
    ? String.fromCharCode(Number.parseInt(name.slice(1), 16))
    : (CHARACTERS[name] ?? name);
  if ([...value].length !== 1 || /^[ \t\n\r\f\v]$/.test(name) || !value.isWellFormed()) {
    throw invalidQuery(
      at,
      `\\${shorten(name)} is no character`,
      "Characters are written like \\a, \\newline, \\space, \\tab or \\u0041.",
    );
  }
  return value;
}

function checkDepth(at: SourcePosition, depth: number): void {
  if (depth > LIMITS.queryDepth) throw overLimit(at, "queryDepth", "the nesting", depth);
}

/** Callers ask for positions in ascending order, so that counting lines stays linear. */
function positionAt(cursor: EdnInput, pos: number): SourcePosition {
  while (cursor.newline < pos) {
    cursor.line++;
    cursor.lineStart = cursor.newline + 1;
    cursor.newline = nextNewline(cursor.text, cursor.lineStart);
  }
  return { line: cursor.line, column: pos - cursor.lineStart + 1 };
}

function nextNewline(text: string, from: number): number {
  const found = text.indexOf("\n", from);
  return found < 0 ? text.length : found;
}
