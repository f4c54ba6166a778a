// Events that end values of a session's state without setting new ones: a patch that removes keys, and a clear.
import type { JsonObject } from "../contracts/json.ts";
import type { CheckedStateRow } from "../contracts/storage/check-queries.ts";

export function keysOf(data: JsonObject): readonly unknown[] {
  return Array.isArray(data.keys) ? data.keys : [];
}

/** The keys that an event removes; null means all. */
export function removedBy(type: string, data: JsonObject): ReadonlySet<unknown> | null {
  return type === "state/patched" ? new Set(Array.isArray(data.removed) ? data.removed : []) : null;
}

/** The seqs at which keys, or all keys of a branch, were removed. */
export class StateEndings {
  readonly #all = new Map<number, number[]>();
  readonly #keys = new Map<string, number[]>();

  /** Returns how many rows the event wrote: on a branch that inherits, a removed key is a row as well. */
  apply(
    event: { readonly seq: number; readonly branch: number; readonly type: string },
    data: JsonObject,
    inherits: boolean,
  ) {
    const { seq, branch, type } = event;
    const keys = keysOf(data);
    const removed = removedBy(type, data);
    if (removed === null) push(this.#all, branch, seq);
    else for (const key of removed) push(this.#keys, keyOnBranch(branch, key), seq);
    const given = new Set(keys);
    const hidden = removed === null ? 1 : [...removed].filter((key) => !given.has(key)).length;
    return keys.length + (inherits ? hidden : 0);
  }

  /** The first seq after the row's, up to `end`, that ends its value; null if the value still holds. */
  after({ branch, key, seq }: CheckedStateRow, next: number | null, end: number): number | null {
    const ends = [this.#all.get(branch), this.#keys.get(keyOnBranch(branch, key))].flatMap(
      (seqs) => later(seqs, seq) ?? [],
    );
    const first = Math.min(...ends, next ?? Number.POSITIVE_INFINITY);
    return first <= end ? first : null;
  }
}

function keyOnBranch(branch: number, key: unknown): string {
  return JSON.stringify([branch, key]);
}

function push<K>(map: Map<K, number[]>, key: K, seq: number): void {
  const seqs = map.get(key);
  if (seqs === undefined) map.set(key, [seq]);
  else seqs.push(seq);
}

/** The first of ascending seqs after `seq`, by binary search, because a state may have changed a million times. */
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
