// Decides on the text itself what postings cannot: whether words stand one after the other, and which words of a passage match.
import type { InterruptibleWork } from "../../core/time-slice.ts";
import { readPassages, type TextPassage } from "../index/units.ts";
import type { IndexQuery } from "../text/query.ts";
import type { TextLanguage } from "../text/stem.ts";
import type { Token } from "../text/tokenise.ts";

/** Whether the text has all phrases of a query, and nothing that it excludes. */
export function* matchesText(
  text: string,
  { phrases, excluded }: IndexQuery,
  language: TextLanguage,
): InterruptibleWork<boolean> {
  if (phrases.length === 0 && excluded.phrases.length === 0 && excluded.prefixes.length === 0) return true;
  const missing = new Set(phrases);
  for (const tokens of tokenRuns(text, language)) {
    if (tokens.some(({ term }) => excluded.prefixes.some((prefix) => hasPrefix(term, prefix)))) return false;
    if (excluded.phrases.some((phrase) => hasPhrase(tokens, phrase))) return false;
    for (const phrase of missing) if (hasPhrase(tokens, phrase)) missing.delete(phrase);
    yield;
  }
  return missing.size === 0;
}

/** Whether a term of the text matches a word of a query that ends with an asterisk. */
function hasPrefix(term: string, { prefix, stem }: IndexQuery["prefixes"][number]): boolean {
  return term.startsWith(prefix) || term === stem;
}

/** The tokens of a text in runs in which positions count on. */
function* tokenRuns(text: string, language: TextLanguage): Generator<readonly Token[], void, void> {
  let run: Token[] = [];
  for (const { tokens } of readPassages(text, language)) {
    if (tokens[0]?.position === 0 && run.length > 0) {
      yield run;
      run = [];
    }
    for (const token of tokens) run.push(token);
  }
  yield run;
}

/** Whether the terms stand at consecutive positions. */
function hasPhrase(tokens: readonly Token[], phrase: readonly string[]): boolean {
  const [first] = phrase;
  return tokens.some(({ term }, index) => term === first && isPhraseAt(tokens, index, phrase));
}

function isPhraseAt(tokens: readonly Token[], start: number, phrase: readonly string[]): boolean {
  const from = tokens[start]?.position ?? 0;
  let found = 1;
  for (let index = start + 1; found < phrase.length; index++) {
    const token = tokens[index];
    if (token === undefined || token.position > from + found) return false;
    if (token.position === from + found && token.term === phrase[found]) found += 1;
  }
  return true;
}

/** A token of a passage that the query has, with its term or prefix. */
export interface MatchedToken {
  readonly start: number;
  readonly end: number;
  readonly term: string;
}

/** Whether any word of the query is in the text. */
export function* hasMatch(text: string, query: IndexQuery, language: TextLanguage): InterruptibleWork<boolean> {
  for (const passage of readPassages(text, language)) {
    if (matchedTokens(passage, query).length > 0) return true;
    yield;
  }
  return false;
}

/** In the order of the text. */
export function matchedTokens({ tokens }: TextPassage, query: IndexQuery): readonly MatchedToken[] {
  const terms = new Set([...query.terms, ...query.phrases.flat(), ...query.compounds.flat()]);
  return tokens.flatMap(({ term, start, end }) => {
    if (terms.has(term)) return [{ start, end, term }];
    const prefix = query.prefixes.find((one) => hasPrefix(term, one));
    return prefix === undefined ? [] : [{ start, end, term: prefix.prefix }];
  });
}
