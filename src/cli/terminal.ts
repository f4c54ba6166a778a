// Text on a terminal: what the store holds was written by models and tools, so control characters and escape sequences
// are shown, never sent; text is measured in columns, not in UTF-16 units; and colours are named by meaning.
import { styleText } from "node:util";
import { quoteArgument } from "../core/shell.ts";
import type { Io, OutStream } from "./io.ts";

/** ZWNJ and ZWJ only shape words and emoji. */
const HARMLESS_FORMATS = ["\u200c", "\u200d"];
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Escapes text of several lines: line breaks and tabs stay. */
export function safeText(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(UNSAFE, (c) => (c === "\n" || c === "\t" ? c : escapeCharacter(c)));
}

/** Escapes one line: line breaks and tabs are escaped too. */
export function safeLine(text: string): string {
  return text.replace(UNSAFE, escapeCharacter);
}

/**
 * JSON without characters that control a terminal, are invisible or reverse text, such as C1 controls and DEL, which
 * JSON.stringify does not escape. A program that parses it gets the same value.
 */
export function safeJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent) ?? "null";
  // JSON.stringify has escaped line breaks and tabs in texts; the remaining ones belong to the indent.
  return text.replace(UNSAFE, (c) => (c === "\n" || HARMLESS_FORMATS.includes(c) ? c : escapeUnits(c)));
}

function escapeUnits(character: string): string {
  return Array.from({ length: character.length }, (_, i) => {
    return `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`;
  }).join("");
}

/** A template tag, as in safe`erased session ${id}`: it escapes the values and keeps the template's text. */
export function safe(words: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return words.map((word, i) => word + (i < values.length ? safeLine(String(values[i])) : "")).join("");
}

/** Quotes an argument for a shell command that users can copy. */
export function quoted(argument: string): string {
  return quoteArgument(argument);
}

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escapeCharacter(character: string): string {
  if (HARMLESS_FORMATS.includes(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  return SHORT[character] ?? (code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`);
}

const PRINTABLE_ASCII = /^[ -~]*$/;

let segmenter: Intl.Segmenter | undefined;

/**
 * Yields characters as people see them. The segmenter is created on demand, because creating it takes longer than most
 * commands.
 */
function* graphemes(text: string): Iterable<string> {
  if (PRINTABLE_ASCII.test(text)) {
    yield* text;
    return;
  }
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  for (const { segment } of segmenter.segment(text)) yield segment;
}

/** How many columns the text takes; it must be escaped already. */
export function displayWidth(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length;
  let width = 0;
  for (const segment of graphemes(text)) width += segmentWidth(segment);
  return width;
}

const WIDE_RANGES: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0xa4cf],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f300, 0x1faff],
  [0x20000, 0x3fffd],
];

function segmentWidth(segment: string): number {
  const code = segment.codePointAt(0) ?? 0;
  if (code < 127) return segment.includes("\ufe0f") ? 2 : 1;
  if (/^[\p{Mn}\p{Me}\p{Cf}]+$/u.test(segment)) return 0;
  const wide = WIDE_RANGES.some(([from, to]) => code >= from && code <= to);
  return wide || segment.includes("\ufe0f") || /\p{Emoji_Presentation}/u.test(segment) ? 2 : 1;
}

/** Cuts the text to `width` columns, with "…" at the end if it was cut. */
export function truncate(text: string, width: number): string {
  if (width === Number.POSITIVE_INFINITY || displayWidth(text) <= width) return text;
  if (width < 1) return "";
  const kept: string[] = [];
  let used = 0;
  for (const segment of graphemes(text)) {
    const next = used + segmentWidth(segment);
    if (next > width - 1) break;
    kept.push(segment);
    used = next;
  }
  return `${kept.join("")}…`;
}

/** Breaks the text into lines of at most `width` columns, between words if possible. */
export function wrap(text: string, width: number): string[] {
  const lines = text.split("\n");
  if (width === Number.POSITIVE_INFINITY) return lines;
  return lines.flatMap((line) => wrapLine(line.replaceAll("\t", "    "), Math.max(width, 1), breakWord));
}

function wrapLine(line: string, width: number, pieces: (word: string, width: number) => readonly string[]): string[] {
  if (displayWidth(line) <= width) return [line];
  const lines: string[] = [];
  let current = "";
  for (const piece of line.split(/(?<= )/).flatMap((word) => pieces(word, width))) {
    if (current !== "" && displayWidth(current + piece.trimEnd()) > width) {
      lines.push(current.trimEnd());
      current = "";
    }
    current += piece;
  }
  return [...lines, current.trimEnd()];
}

/** Breaks one line only at spaces: words stay whole, so that users can copy them. */
export function wrapWords(text: string, width: number): string[] {
  return wrapLine(text, Math.max(width, 1), (word) => [word]);
}

/** JSON on one line; if it is longer than `width`, with spaces at which it may be broken. */
export function jsonLine(value: unknown, width: number): string {
  const text = safeJson(value);
  // Line breaks inside texts are escaped, so every line break here belongs to the indent.
  return text.length <= width ? text : safeJson(value, 1).replace(/\n */g, " ");
}

/** Matches a command in backticks, whose quoted arguments may also contain backticks. */
const COMMAND = /`((?:\\.|'[^']*'|[^`'\\])*)`/gs;
/** A noncharacter code point, which no text contains. */
const GLUE = "\ufdd0";

/** Like wrap, but text in backticks stays whole: users cannot copy a command that is split over two lines. */
export function wrapWhole(text: string, width: number): string[] {
  const glued = text.replace(COMMAND, (command) => command.replaceAll(" ", GLUE));
  return wrap(glued, width).map((line) => line.replaceAll(GLUE, " "));
}

/** Matches a ref, which stays whole: if the terminal itself wraps it, users can still copy it in one piece. */
const REF = /(sha256:[0-9a-f]{64} *)/;

function breakWord(word: string, width: number): string[] {
  if (displayWidth(word.trimEnd()) <= width || word.includes(GLUE)) return [word];
  return word
    .split(REF)
    .filter((part) => part !== "")
    .flatMap((part) => (REF.test(part) ? [part] : breakAnywhere(part, width)));
}

/** Breaks a word, after a slash if there is one, because people read a path part by part. */
function breakAnywhere(word: string, width: number): string[] {
  const pieces: string[] = [];
  let current = "";
  let used = 0;
  for (const segment of graphemes(word)) {
    const columns = segmentWidth(segment);
    if (used + columns > width) {
      const end = current.lastIndexOf("/") + 1 || current.length;
      pieces.push(current.slice(0, end));
      current = current.slice(end);
      used = displayWidth(current);
    }
    current += segment;
    used += columns;
  }
  return [...pieces, current];
}

export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

export function padStart(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - displayWidth(text))) + text;
}

/** Plain when the stream is no terminal, NO_COLOR is set or the terminal is dumb. */
export interface Style {
  heading(text: string): string;
  strong(text: string): string;
  faint(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  warn(text: string): string;
  name(text: string): string;
}

type Format = Parameters<typeof styleText>[0];

export function styleFor(stream: OutStream, env: Io["env"]): Style {
  const coloured = stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
  // By default styleText would check process.stdout, but the output may be another stream.
  const as = (format: Format) => (text: string) =>
    coloured && text !== "" ? styleText(format, text, { validateStream: false }) : text;
  return {
    heading: as("bold"),
    strong: as("bold"),
    faint: as("dim"),
    good: as("green"),
    bad: as("red"),
    warn: as("yellow"),
    name: as("cyan"),
  };
}
