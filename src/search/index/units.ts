// From an item to its units: its text is cut into passages, and each passage has its terms with their impacts. Indexing, erasing and
// snippets all cut a text here, so that they agree on what is where.
import { impactOf } from "../ranking/impact.ts";
import { cutPassages } from "../text/passages.ts";
import type { TextLanguage } from "../text/stem.ts";
import { type Token, tokenise } from "../text/tokenise.ts";

/** What is indexed: a message, a memory, a document. */
export interface IndexItem {
  readonly group: number;
  readonly item: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly flags: number;
  readonly text: string;
  /** The item's own language; without one, its words are stemmed in that of the index. */
  readonly language?: TextLanguage;
  /** Terms that all of its units have (`fieldTerm`). */
  readonly fields: readonly string[];
}

export interface TextPassage {
  readonly part: number;
  /** UTF-16 offsets into the text. */
  readonly start: number;
  readonly end: number;
  readonly words: number;
  /** With offsets into the text. Positions count within a stretch of CHUNK_LENGTH, so that a phrase is found inside a passage. */
  readonly tokens: readonly Token[];
}

/** A long text is tokenised in stretches of so many code units, so that the event loop can run between them. */
const CHUNK_LENGTH = 16_384;
/** Code units of a text that are indexed. */
const TEXT_LENGTH_MAX = 8_388_608;

/** The passages of any text, at least one. */
export function* readPassages(text: string, language: TextLanguage): Generator<TextPassage, void, void> {
  let part = 0;
  let start = 0;
  do {
    const end = chunkEnd(text, start);
    const chunk = start === 0 && end === text.length ? text : text.slice(start, end);
    const tokens = tokenise(chunk, language);
    let from = 0;
    for (const passage of cutPassages(chunk, tokens)) {
      const first = from;
      while (from < tokens.length && (tokens[from]?.position ?? 0) < passage.to) from += 1;
      yield {
        part,
        start: start + passage.start,
        end: start + passage.end,
        words: passage.to - passage.from,
        tokens: tokens.slice(first, from).map((token) => shiftToken(token, start)),
      };
      part += 1;
    }
    start = end;
  } while (start < Math.min(text.length, TEXT_LENGTH_MAX));
}

function shiftToken(token: Token, by: number): Token {
  return by === 0 ? token : { ...token, start: token.start + by, end: token.end + by };
}

/** Where a stretch ends: at a space, if one is in its second half. */
function chunkEnd(text: string, start: number): number {
  const most = start + CHUNK_LENGTH;
  if (most >= text.length) return text.length;
  for (let index = most; index > start + CHUNK_LENGTH / 2; index--) {
    const code = text.charCodeAt(index - 1);
    if (code === 32 || code === 10) return index;
  }
  const isInsidePair = text.charCodeAt(most) >= 0xdc00 && text.charCodeAt(most) <= 0xdfff;
  return isInsidePair ? most - 1 : most;
}

export interface IndexUnit {
  readonly part: number;
  readonly words: number;
  /** Impacts by term, fields included. */
  readonly terms: ReadonlyMap<string, number>;
}

/** A passage counts at most so many words, also where cutting found no end. */
const WORDS_MAX = 0xff_ff;

/** The units of an item, in the order of its passages. `language` is that of the index. */
export function* readUnits(item: IndexItem, language: TextLanguage): Generator<IndexUnit, void, void> {
  for (const { part, words, tokens } of readPassages(item.text, item.language ?? language)) {
    const counts = new Map<string, number>();
    for (const { term } of tokens) counts.set(term, (counts.get(term) ?? 0) + 1);
    for (const [term, count] of counts) counts.set(term, impactOf(count, words));
    for (const field of item.fields) counts.set(field, 1);
    yield { part, words: Math.min(words, WORDS_MAX), terms: counts };
  }
}
