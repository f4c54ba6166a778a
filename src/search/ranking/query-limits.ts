// What a query may ask for: each word, prefix and exclusion is work for the index or for every text that is read.
import { LIMITS, type LimitName } from "../../contracts/limits.ts";
import { limitExceeded } from "../../core/check.ts";
import type { IndexQuery } from "../text/query.ts";

/** Refuses a query that would keep the event loop busy for long. */
export function checkQueryTerms({ terms, phrases, prefixes, excluded }: IndexQuery): void {
  const exclusions = excluded.phrases.length + excluded.prefixes.length;
  refuseAbove("searchTerms", "the number of words of the search", new Set([...terms, ...phrases.flat()]).size);
  refuseAbove("searchPrefixes", "the number of words with an asterisk", prefixes.length);
  refuseAbove("searchExclusions", "the number of excluded words", exclusions);
}

function refuseAbove(limit: LimitName, what: string, count: number): void {
  if (count > LIMITS[limit]) throw limitExceeded(limit, what, count);
}
