// What a result shows of a text: the part of its best passage that has most of the query, and where the words are in it.
import type { SearchSnippet } from "../../contracts/search.ts";
import type { InterruptibleWork } from "../../core/time-slice.ts";
import { readPassages, type TextPassage } from "../index/units.ts";
import type { IndexQuery } from "../text/query.ts";
import type { TextLanguage } from "../text/stem.ts";
import { type MatchedToken, matchedTokens } from "./match-text.ts";

/** Code units of a snippet, about; a word that is cut makes it shorter. */
const LENGTH = 240;
/** Shown before the first match, if the text before it is longer. */
const LEAD = 40;

/** A passage of a text that was found. */
export interface FoundPassage {
  readonly text: string;
  readonly snippet: SearchSnippet;
}

/** If the text has no such passage, the first one is shown: it has changed since it was indexed. */
export function* readPassage(
  text: string,
  part: number,
  query: IndexQuery,
  language: TextLanguage,
): InterruptibleWork<FoundPassage> {
  let found: TextPassage | undefined;
  for (const passage of readPassages(text, language)) {
    if (passage.part === part) {
      found = passage;
      break;
    }
    found ??= passage;
    yield;
  }
  if (found === undefined) throw new Error("bug: a text has no passage");
  return { text: text.slice(found.start, found.end).trim(), snippet: createSnippet(text, found, query) };
}

function createSnippet(text: string, passage: TextPassage, query: IndexQuery): SearchSnippet {
  const { start, end } = trim(text, passage.start, passage.end);
  const matches = matchedTokens(passage, query);
  const from = cutStart(text, start, end, bestStart(matches, start, end));
  const to = cutEnd(text, from, end);
  const whole = trim(text, 0, text.length);
  return {
    text: text.slice(from, to),
    highlights: mergeHighlights(matches, from, to),
    isCutBefore: from > whole.start,
    isCutAfter: to < whole.end,
  };
}

function trim(text: string, start: number, end: number): { readonly start: number; readonly end: number } {
  let from = start;
  let to = end;
  while (from < to && isSpace(text, from)) from += 1;
  while (to > from && isSpace(text, to - 1)) to -= 1;
  return { start: from, end: to };
}

function isSpace(text: string, index: number): boolean {
  return /\s/.test(text.charAt(index));
}

/** Where to begin so that most different terms are shown; of equal ones the first. */
function bestStart(matches: readonly MatchedToken[], start: number, end: number): number {
  if (end - start <= LENGTH) return start;
  let best = start;
  let most = 0;
  for (const [index, { start: from }] of matches.entries()) {
    const shown = new Set<string>();
    for (const match of matches.slice(index)) {
      if (match.end > from - LEAD + LENGTH) break;
      shown.add(match.term);
    }
    if (shown.size <= most) continue;
    most = shown.size;
    best = Math.max(start, from - LEAD);
  }
  return best;
}

/** At the beginning of a word, if one begins soon. */
function cutStart(text: string, start: number, end: number, from: number): number {
  // What is left may be short; then more of what stands before it is shown.
  const first = Math.max(start, Math.min(from, end - LENGTH));
  if (first === start) return start;
  for (let at = first; at < first + LEAD; at++) if (isSpace(text, at - 1) && !isSpace(text, at)) return at;
  return isInsidePair(text, first) ? first + 1 : first;
}

function cutEnd(text: string, from: number, end: number): number {
  if (end - from <= LENGTH) return end;
  const last = from + LENGTH;
  for (let at = last; at > last - LEAD; at--) if (isSpace(text, at) && !isSpace(text, at - 1)) return at;
  return isInsidePair(text, last) ? last - 1 : last;
}

function isInsidePair(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xdc00 && code <= 0xdfff;
}

/** Parts of a word in camel case overlap with the word, and pairs of letters with each other. */
function mergeHighlights(
  matches: readonly MatchedToken[],
  from: number,
  to: number,
): readonly (readonly [start: number, end: number])[] {
  const merged: [number, number][] = [];
  for (const { start, end } of matches.toSorted((a, b) => a.start - b.start)) {
    if (start < from || end > to) continue;
    const last = merged.at(-1);
    if (last !== undefined && start - from <= last[1]) last[1] = Math.max(last[1], end - from);
    else merged.push([start - from, end - from]);
  }
  return merged;
}
