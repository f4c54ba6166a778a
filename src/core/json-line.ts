// The object on a line of JSON, for untrusted lines. An error of JSON.parse costs microseconds, whatever the line is: a
// few kilobytes of gzip can be millions of lines that are no JSON. Short lines are therefore judged before they are
// parsed.

import { isObject } from "./check.ts";
import { hasAtMostParts, MOST_LINE_PARTS } from "./json-parts.ts";

/** In a line that is longer, an error costs no more than a few nanoseconds a byte. */
const SHORT_CHARS = 512;

/** null when there is none, and when it has more parts than any agent writes. */
export function parseObject(line: string): Readonly<Record<string, unknown>> | null {
  if (line.length <= SHORT_CHARS ? !isJson(line) : !hasAtMostParts(line, MOST_LINE_PARTS)) return null;
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

const SPACE = /[ \t\r\n]*/y;
const PLAIN = String.raw`[^"\\\u0000-\u001f]*`;
/** Short texts only: it goes back character by character where a text does not end. */
const STRING = new RegExp(String.raw`"${PLAIN}(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})${PLAIN})*"`, "y");
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** Whether JSON.parse takes it, without an error where it does not. */
function isJson(text: string): boolean {
  /** Of the objects and arrays that are open, what ends them. */
  const open: string[] = [];
  let at = after(SPACE, text, 0);
  for (;;) {
    // A value begins here.
    const begins = text[at];
    if (begins === "{" || begins === "[") {
      const closing = begins === "{" ? "}" : "]";
      at = after(SPACE, text, at + 1);
      if (text[at] !== closing) {
        open.push(closing);
        if (begins === "{") at = afterName(text, at);
        if (at < 0) return false;
        continue;
      }
      at += 1;
    } else {
      at = after(begins === '"' ? STRING : SCALAR, text, at);
      if (at < 0) return false;
    }
    // A value has ended here, and perhaps what it is in.
    at = after(SPACE, text, at);
    for (; open.length > 0 && text[at] === open.at(-1); at = after(SPACE, text, at + 1)) open.pop();
    if (open.length === 0) return at === text.length;
    if (text[at] !== ",") return false;
    at = after(SPACE, text, at + 1);
    if (open.at(-1) === "}") at = afterName(text, at);
    if (at < 0) return false;
  }
}

/** Where the value of a name begins; -1: no name stands here. */
function afterName(text: string, from: number): number {
  const end = after(STRING, text, from);
  const colon = end < 0 ? -1 : after(SPACE, text, end);
  return colon < 0 || text[colon] !== ":" ? -1 : after(SPACE, text, colon + 1);
}

/** Where the token ends that stands there; -1: none does. */
function after(token: RegExp, text: string, from: number): number {
  token.lastIndex = from;
  return token.test(text) ? token.lastIndex : -1;
}
