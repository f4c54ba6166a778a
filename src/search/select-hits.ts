// Which of the ranked hits a search returns: only so many of one session, and within a budget of tokens.
import type { SearchHit } from "../contracts/search.ts";

const BYTES_PER_TOKEN = 4;

/** contracts/search.ts documents the figure. */
function countTokens(hit: SearchHit): number {
  const texts = [hit.passage, ...[...(hit.before ?? []), ...(hit.after ?? [])].map(({ snippet }) => snippet.text)];
  return texts.reduce((sum, text) => sum + Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN), 0);
}

/** A hit that does not fit is left out, and a later one that fits is not. */
export function fitBudget(hits: readonly SearchHit[], tokens: number): readonly SearchHit[] {
  let left = tokens;
  return hits.filter((hit) => {
    const count = countTokens(hit);
    if (count > left) return false;
    left -= count;
    return true;
  });
}

/** Counts hits by session; says whether one more is allowed. */
export class SessionQuota {
  readonly #most: number;
  readonly #counts = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  take(session: string): boolean {
    const count = this.#counts.get(session) ?? 0;
    if (count >= this.#most) return false;
    this.#counts.set(session, count + 1);
    return true;
  }
}
