// Events that end values of a session's state without giving new ones: a patch that removes keys, and a clear.

import type { JsonObject } from "../contracts/json.ts";
import type { CheckedStateRow } from "../contracts/storage/check-queries.ts";

export function keysOf(data: JsonObject): readonly unknown[] {
  return Array.isArray(data.keys) ? data.keys : [];
}

/** Keys an event takes away; null stands for all. */
export function removedBy(type: string, data: JsonObject): ReadonlySet<unknown> | null {
  return type === "state/patched" ? new Set(Array.isArray(data.removed) ? data.removed : []) : null;
}

/** What ends values without giving new ones. */
export class Endings {
  readonly #all = new Map<number, number[]>();
  readonly #keys = new Map<string, number[]>();

  /** Answers how many rows the event wrote: on a branch that inherits, what is taken away is a row as well. */
  see(
    event: { readonly seq: number; readonly branch: number; readonly type: string },
    data: JsonObject,
    inherits: boolean,
  ) {
    const { seq, branch, type } = event;
    const keys = keysOf(data);
    const removed = removedBy(type, data);
    if (removed === null) push(this.#all, branch, seq);
    else for (const key of removed) push(this.#keys, place(branch, key), seq);
    const given = new Set(keys);
    const hidden = removed === null ? 1 : [...removed].filter((key) => !given.has(key)).length;
    return keys.length + (inherits ? hidden : 0);
  }

  /** The first behind a seq that ends what a key holds there, up to another seq; null when it still holds. */
  after({ branch, key, seq }: CheckedStateRow, next: number | null, end: number): number | null {
    const ends = [this.#all.get(branch), this.#keys.get(place(branch, key))].flatMap((seqs) => later(seqs, seq) ?? []);
    const first = Math.min(...ends, next ?? Number.POSITIVE_INFINITY);
    return first <= end ? first : null;
  }
}

function place(branch: number, key: unknown): string {
  return JSON.stringify([branch, key]);
}

function push<K>(map: Map<K, number[]>, key: K, seq: number): void {
  const seqs = map.get(key);
  if (seqs === undefined) map.set(key, [seq]);
  else seqs.push(seq);
}

/** The first of ascending numbers behind one; found by halving, because a state may have changed a million times. */
function later(seqs: readonly number[] | undefined, seq: number): number | undefined {
  if (seqs === undefined) return undefined;
  let [low, high] = [0, seqs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((seqs[middle] ?? 0) > seq) high = middle;
    else low = middle + 1;
  }
  return seqs[low];
}
