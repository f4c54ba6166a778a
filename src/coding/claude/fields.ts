// A few fields of a JSON line, without parsing the rest: of a transcript's bytes nearly all are what tools printed. Whatever is
// not as plain as agents write it is parsed after all. What stands inside the other fields is passed over and not judged.
import { parseObject } from "../../core/json-line.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
/** What sets brackets apart from braces. */
const ANY = 0x20;

export type Fields = Readonly<Record<string, unknown>>;

/** Texts, true and false that stand under these names; undefined when the line is no object. */
export function fieldsOf(line: Buffer, names: readonly string[]): Fields | undefined {
  return read(line, names) ?? parseLine(line);
}

/** The object on a line; undefined when there is none, and when it has more parts than any agent writes. */
export function parseLine(line: Uint8Array): Fields | undefined {
  if (!line.includes(OPEN)) return undefined;
  const text = Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString("utf8");
  return parseObject(text.startsWith("\uFEFF") ? text.slice(1) : text) ?? undefined;
}

/** null: not as plain as it would have to be. */
function read(line: Buffer, names: readonly string[]): Fields | null {
  const found: Record<string, unknown> = {};
  if (line[0] !== OPEN) return null;
  for (let at = 1; ; ) {
    const name = plainText(line, at);
    if (name === null) return null;
    at += name.length + 2;
    if (line[at] !== COLON) return null;
    at += 1;
    const end = endOfValue(line, at);
    if (end === null) return null;
    if (names.includes(name)) {
      const value = plainValue(line, at, end);
      if (value === undefined) return null;
      found[name] = value;
    }
    if (line[end] === CLOSE) return end === line.length - 1 ? found : null;
    if (line[end] !== COMMA) return null;
    at = end + 1;
  }
}

/** Between quotes, ASCII without escapes: as many bytes as characters. */
function plainText(line: Buffer, from: number): string | null {
  if (line[from] !== QUOTE) return null;
  for (let at = from + 1; at < line.length; at++) {
    const byte = line[at] as number;
    if (byte === QUOTE) return line.toString("latin1", from + 1, at);
    if (byte === BACKSLASH || byte < 0x20 || byte > 0x7e) return null;
  }
  return null;
}

function plainValue(line: Buffer, from: number, end: number): string | boolean | undefined {
  if (line[from] === QUOTE) return plainText(line, from) ?? undefined;
  const word = line.toString("latin1", from, end);
  return word === "true" ? true : word === "false" ? false : undefined;
}

/** Of the value that begins there; null when the line ends before it does. */
function endOfValue(line: Buffer, from: number): number | null {
  let depth = 0;
  for (let at = from; at < line.length; at++) {
    const byte = line[at] as number;
    if (byte === QUOTE) at = endOfText(line, at);
    else if (depth === 0 && (byte === COMMA || byte === CLOSE)) return at;
    else if ((byte | ANY) === OPEN) depth += 1;
    else if ((byte | ANY) === CLOSE) depth -= 1;
  }
  return null;
}

/** The quote that ends it: one behind an even number of backslashes. */
function endOfText(line: Buffer, from: number): number {
  for (let at = line.indexOf(QUOTE, from + 1); at >= 0; at = line.indexOf(QUOTE, at + 1)) {
    let before = at;
    while (line[before - 1] === BACKSLASH) before -= 1;
    if ((at - before) % 2 === 0) return at;
  }
  return line.length;
}
