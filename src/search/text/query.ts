// The query language of the text search: words, "phrases", prefix*, -excluded and field:value. Whatever is none of these is text
// to search for, so that no input is an error. The result is plain data; callers bind it, and never put it into SQL.
import { kindAt, SEPARATOR, UNSPACED, widthAt } from "./characters.ts";
import type { TextLanguage } from "./stem.ts";
import { isStopWord } from "./stop-words.ts";
import { type Token, tokenise } from "./tokenise.ts";

/** As it was written. */
export interface SearchQuery {
  readonly terms: readonly string[];
  readonly phrases: readonly string[];
  /** Without the asterisk. */
  readonly prefixes: readonly string[];
  readonly excluded: readonly ExcludedText[];
  readonly filters: readonly FieldFilter[];
}

interface ExcludedText {
  readonly kind: "word" | "phrase" | "prefix";
  readonly text: string;
}

interface FieldFilter {
  /** One of the names that the caller allowed. */
  readonly field: string;
  readonly value: string;
  readonly isExcluded: boolean;
}

const SPACE = /\s+/y;
/** Phones write typographic quotation marks. */
const QUOTE = /["“”„«»]/g;
const WORD_TEXT = /[^\s"“”„«»]+/y;
const FIELD = /([A-Za-z][\w-]*):/y;
const QUOTED_VALUE = /"([^"]*)"(?=\s|$)/y;
const VALUE = /[^\s"]\S*/y;

interface QueryParts {
  readonly terms: string[];
  readonly phrases: string[];
  readonly prefixes: string[];
  readonly excluded: ExcludedText[];
  readonly filters: FieldFilter[];
}

/** Never throws. `fields` are the names that may stand before a colon; other words with a colon are text. */
export function parseQuery(text: string, fields: readonly string[]): SearchQuery {
  const parts: QueryParts = { terms: [], phrases: [], prefixes: [], excluded: [], filters: [] };
  let index = 0;
  while (index < text.length) {
    const space = matchAt(SPACE, text, index);
    if (space !== undefined) {
      index += space[0].length;
      continue;
    }
    const isExcluded = text.charAt(index) === "-" && canExclude(text, index + 1);
    if (isExcluded) index += 1;
    index = readFilter(parts, text, index, isExcluded, fields) ?? readText(parts, text, index, isExcluded);
  }
  return parts;
}

function matchAt(pattern: RegExp, text: string, index: number): RegExpExecArray | undefined {
  pattern.lastIndex = index;
  return pattern.exec(text) ?? undefined;
}

/** A minus excludes what begins like a word or a phrase. In "a - b" and "--force" it is a sign like others. */
function canExclude(text: string, index: number): boolean {
  return index < text.length && (isQuote(text, index) || kindAt(text, index) !== SEPARATOR);
}

function isQuote(text: string, index: number): boolean {
  return text.charAt(index).search(QUOTE) === 0;
}

/** Where the text goes on; undefined: this is no filter. */
function readFilter(
  parts: QueryParts,
  text: string,
  start: number,
  isExcluded: boolean,
  fields: readonly string[],
): number | undefined {
  const name = matchAt(FIELD, text, start);
  const field = fields.find((one) => one === name?.[1]);
  if (name === undefined || field === undefined) return undefined;
  const valueStart = start + name[0].length;
  const quoted = matchAt(QUOTED_VALUE, text, valueStart);
  const value = quoted ?? matchAt(VALUE, text, valueStart);
  const content = quoted?.[1] ?? value?.[0] ?? "";
  if (value === undefined || content === "") return undefined;
  parts.filters.push({ field, value: content, isExcluded });
  return valueStart + value[0].length;
}

function readText(parts: QueryParts, text: string, start: number, isExcluded: boolean): number {
  if (isQuote(text, start)) {
    const end = matchAt(QUOTE, text, start + 1)?.index;
    // The last mark of an odd number of them: what follows it is text.
    if (end === undefined) return start + 1;
    const phrase = text.slice(start + 1, end);
    if (phrase.trim() !== "") addText(parts, "phrase", phrase, isExcluded);
    return end + 1;
  }
  const word = matchAt(WORD_TEXT, text, start)?.[0] ?? text.charAt(start);
  const prefix = word.slice(0, -1);
  const isPrefix = word.endsWith("*") && !prefix.includes("*") && endsLikeWord(prefix);
  addText(parts, isPrefix ? "prefix" : "word", isPrefix ? prefix : word, isExcluded);
  return start + word.length;
}

function endsLikeWord(text: string): boolean {
  const last = text.length - 1;
  if (last < 0) return false;
  const code = text.charCodeAt(last);
  const isSecondHalf = last > 0 && code >= 0xdc00 && code <= 0xdfff;
  return kindAt(text, isSecondHalf ? last - 1 : last) !== SEPARATOR;
}

function addText(parts: QueryParts, kind: ExcludedText["kind"], text: string, isExcluded: boolean): void {
  if (isExcluded) parts.excluded.push({ kind, text });
  else if (kind === "word") parts.terms.push(text);
  else if (kind === "phrase") parts.phrases.push(text);
  else parts.prefixes.push(text);
}

/** Terms that stand one after the other. */
type TermSequence = readonly string[];

interface TermPrefix {
  /** Terms that begin with this match. */
  readonly prefix: string;
  /** So does this one: the index has stems, and "organization" is there as "organ". */
  readonly stem: string;
}

/** A query in the terms of the index. Lists name each thing once. */
export interface IndexQuery {
  /** Any of these; the more, the better. Without stop words, unless the query has no other word. */
  readonly terms: readonly string[];
  /** Words such as src/open.ts, of which the index has the parts, which are in `terms` too: better if they stand together. */
  readonly compounds: readonly TermSequence[];
  /** Each must be there. */
  readonly phrases: readonly TermSequence[];
  readonly prefixes: readonly TermPrefix[];
  /** None of these may be there. */
  readonly excluded: { readonly phrases: readonly TermSequence[]; readonly prefixes: readonly TermPrefix[] };
}

/** Filters are no terms: they stay in the SearchQuery. */
export function toIndexQuery(query: SearchQuery, language: TextLanguage): IndexQuery {
  const words = query.terms.map((text) => ({ text, tokens: tokenise(text, language) }));
  const lone = words.filter(({ tokens }) => isLoneLetter(tokens)).map(({ text }) => text);
  const prefixes = [...query.prefixes, ...lone].map((text) => splitPrefix(text, language));
  const tokens = words
    .filter((word) => !isLoneLetter(word.tokens))
    .flatMap((word) => word.tokens.map(({ term, start, end }) => ({ term, word: word.text.slice(start, end) })));
  const important = tokens.filter(({ word }) => !isStopWord(normalise(word), language));
  const hasOther = important.length > 0 || query.phrases.length > 0 || prefixes.length > 0;
  const excluded = query.excluded.map(({ kind, text }) => ({ kind, text, split: splitPrefix(text, language) }));
  // No list of terms says "foo, and then what begins with ba": of -foo_ba* only foo_ba itself is excluded.
  const isTermPrefix = (one: (typeof excluded)[number]) => one.kind === "prefix" && one.split.before.length === 0;
  return {
    terms: distinct([
      ...(hasOther ? important : tokens).map(({ term }) => term),
      ...prefixes.flatMap(({ before }) => before),
    ]),
    compounds: sequences(words.map((word) => word.tokens)).filter(({ length }) => length > 1),
    phrases: sequences(query.phrases.map((text) => tokenise(text, language))),
    prefixes: distinctPrefixes(prefixes),
    excluded: {
      phrases: sequences(excluded.filter((one) => !isTermPrefix(one)).map(({ text }) => tokenise(text, language))),
      prefixes: distinctPrefixes(excluded.filter(isTermPrefix).map(({ split }) => split)),
    },
  };
}

/** As the lists of stop words are written. */
function normalise(word: string): string {
  // No stop word is so long, and to normalise a word of very many marks takes very long.
  if (word.length > 32) return word;
  return word
    .replace(/[\u2019\u02bc\uff07]/g, "'")
    .normalize("NFC")
    .toLowerCase();
}

/** One letter of a script without spaces: the index has it as the first of pairs. */
function isLoneLetter(tokens: readonly Token[]): boolean {
  const term = tokens.length === 1 ? (tokens[0]?.term ?? "") : "";
  return term !== "" && kindAt(term, 0) === UNSPACED && widthAt(term, 0) === term.length;
}

interface SplitPrefix {
  /** Whole words: foo of `foo_ba*`. */
  readonly before: readonly string[];
  /** undefined: the text has no word. */
  readonly prefix: TermPrefix | undefined;
}

function splitPrefix(text: string, language: TextLanguage): SplitPrefix {
  const plain = wholeWords(tokenise(text, "none"));
  const tokens = tokenise(text, language);
  const stems = wholeWords(tokens);
  const stem = stems.at(-1);
  // Only "none" splits don't: what begins with its last part would be nearly everything.
  const prefix = plain.length === stems.length ? plain.at(-1) : stem;
  if (prefix === undefined || stem === undefined) return { before: [], prefix: undefined };
  return { before: stems.slice(0, -1), prefix: { prefix, stem } };
}

/** The words without the parts of camel case, which have the position of their word. */
function wholeWords(tokens: readonly Token[]): readonly string[] {
  return tokens.filter((token, index) => token.position !== tokens[index - 1]?.position).map(({ term }) => term);
}

function sequences(texts: readonly (readonly Token[])[]): readonly TermSequence[] {
  const found = new Map(texts.map(wholeWords).map((terms) => [terms.join(" "), terms]));
  found.delete("");
  return [...found.values()];
}

function distinct(terms: readonly string[]): readonly string[] {
  return [...new Set(terms)];
}

function distinctPrefixes(splits: readonly SplitPrefix[]): readonly TermPrefix[] {
  return [
    ...new Map(
      splits.flatMap(({ prefix }) => (prefix === undefined ? [] : [[prefix.prefix, prefix] as const])),
    ).values(),
  ];
}
