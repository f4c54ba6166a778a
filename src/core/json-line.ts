// Parses the object on an untrusted line of JSON. An error of JSON.parse costs microseconds for any line, and a few
// kilobytes of gzip can be millions of lines that are no JSON. Short lines are therefore checked before they are
// parsed.
import { isObject } from "./check.ts";
import { hasAtMostParts, MOST_LINE_PARTS } from "./json-parts.ts";

/** In a longer line, an error costs no more than a few nanoseconds per byte. */
const SHORT_CHARS = 512;

/** null if the line has no object, or one with more parts than any agent writes. */
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
/** For short texts only: it backtracks character by character where a text does not end. */
const STRING = new RegExp(String.raw`"${PLAIN}(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})${PLAIN})*"`, "y");
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** Whether JSON.parse accepts the text, without throwing. */
function isJson(text: string): boolean {
  /** The closing brackets of the open objects and arrays. */
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
    // A value ends here, and perhaps the object or array that contains it.
    at = after(SPACE, text, at);
    for (; open.length > 0 && text[at] === open.at(-1); at = after(SPACE, text, at + 1)) open.pop();
    if (open.length === 0) return at === text.length;
    if (text[at] !== ",") return false;
    at = after(SPACE, text, at + 1);
    if (open.at(-1) === "}") at = afterName(text, at);
    if (at < 0) return false;
  }
}

/** Where the value after a name begins; -1 if there is no name. */
function afterName(text: string, from: number): number {
  const end = after(STRING, text, from);
  const colon = end < 0 ? -1 : after(SPACE, text, end);
  return colon < 0 || text[colon] !== ":" ? -1 : after(SPACE, text, colon + 1);
}

/** Where the token at this place ends; -1 if there is no token. */
function after(token: RegExp, text: string, from: number): number {
  token.lastIndex = from;
  return token.test(text) ? token.lastIndex : -1;
}
