// Which of the ranked hits a search returns: the best by their scores, only so many of one session, and within a budget of tokens.
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

/** The best hits by their scores, at most `limit`, and `perSession` of one session; of equal scores, the one that was added first. */
export class BestHits<T extends { readonly hit: SearchHit }> {
  readonly #limit: number;
  readonly #perSession: number;
  #hits: readonly T[] = [];

  constructor(limit: number, perSession: number) {
    this.#limit = limit;
    this.#perSession = perSession;
  }

  /** Best first. */
  get hits(): readonly T[] {
    return this.#hits;
  }

  /** How many more there may be. */
  get wanted(): number {
    return this.#limit - this.#hits.length;
  }

  /** Only a hit with a higher score takes the place of one of these; below every score while more are wanted. */
  get worstScore(): number {
    return this.wanted > 0 ? Number.NEGATIVE_INFINITY : (this.#hits.at(-1)?.hit.score ?? Number.POSITIVE_INFINITY);
  }

  add(found: readonly T[]): void {
    const quota = new SessionQuota(this.#perSession);
    // What is left out now has as many better ones before it whatever comes later.
    this.#hits = [...this.#hits, ...found]
      .sort((a, b) => b.hit.score - a.hit.score)
      .filter(({ hit }) => quota.take(hit.session))
      .slice(0, this.#limit);
  }
}

/** Counts hits by session; says whether one more is allowed. */
class SessionQuota {
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
