// A search reads what it found after it found it. If something of that was removed or replaced meanwhile, the search begins again: a
// document that is replaced all the time is in every result.
import { HoldfastError } from "../contracts/errors.ts";

export interface SearchOutcome<Match> {
  readonly matches: readonly Match[];
  /** Something of it was removed while it was searched for. */
  readonly isStale: boolean;
}

/** A busy process may lose ten races in a row with a fast writer. */
const ATTEMPTS = 100;

export async function searchUntilSettled<Match>(
  collection: string,
  searchOnce: () => Promise<SearchOutcome<Match>>,
): Promise<readonly Match[]> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { matches, isStale } = await searchOnce();
    if (!isStale) return matches;
  }
  throw new HoldfastError(
    "Conflict",
    `documents of collection ${collection} were removed or replaced during each of ${ATTEMPTS} tries of a search`,
    { retryable: true, details: { collection }, hint: "Search again when fewer documents are written." },
  );
}
