// Prints the snippet of a search hit: on one paragraph, wrapped, with the words of the query highlighted.
import type { SearchSnippet } from "../contracts/search.ts";
import { type Style, safeLine, wrap } from "./terminal.ts";

/** Lines of at most `width` columns. Line breaks become spaces, because a snippet is no layout. */
export function snippetLines(
  { text, highlights, isCutBefore, isCutAfter }: SearchSnippet,
  width: number,
  style: Style,
) {
  const pieces: { readonly text: string; readonly isMatch: boolean }[] = [];
  const add = (part: string, isMatch: boolean) => pieces.push({ text: safeLine(part.replace(/\s+/g, " ")), isMatch });
  if (isCutBefore) add("… ", false);
  let at = 0;
  for (const [start, end] of highlights) {
    add(text.slice(at, start), false);
    add(text.slice(start, end), true);
    at = end;
  }
  add(text.slice(at), false);
  if (isCutAfter) add(" …", false);
  const plain = pieces.map((piece) => piece.text).join("");
  const isMatched = pieces.flatMap((piece) => Array.from({ length: piece.text.length }, () => piece.isMatch));
  return paintLines(plain, isMatched, wrap(plain, width), style);
}

/** The wrapped lines leave out spaces of the text, and nothing else. */
function paintLines(plain: string, isMatched: readonly boolean[], lines: readonly string[], style: Style): string[] {
  let at = 0;
  return lines.map((line) => {
    while (plain.charAt(at) === " " && line.charAt(0) !== " ") at += 1;
    const start = at;
    at += line.length;
    let painted = "";
    for (let from = 0; from < line.length; ) {
      const isMatch = isMatched[start + from] === true;
      let to = from + 1;
      while (to < line.length && (isMatched[start + to] === true) === isMatch) to += 1;
      const part = line.slice(from, to);
      painted += isMatch ? style.warn(part) : part;
      from = to;
    }
    return painted;
  });
}
