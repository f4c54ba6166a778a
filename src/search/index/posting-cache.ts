// Postings of a snapshot in memory, those of the terms used last: most words of a query are in other queries too. What a ranking knows of a
// list is kept as long as the list.
import type { PostingList } from "./reader.ts";

/** With what a ranking keeps. */
const BYTES_PER_POSTING = 12;
const BYTES_PER_LIST = 256;
const BYTES_MAX = 32 * 1024 * 1024;

export class PostingCache {
  /** The list used last is the last one. */
  readonly #lists = new Map<string, PostingList>();
  #bytes = 0;

  get(term: string): PostingList | undefined {
    const list = this.#lists.get(term);
    if (list === undefined) return undefined;
    this.#lists.delete(term);
    this.#lists.set(term, list);
    return list;
  }

  add(list: PostingList): void {
    if (this.#lists.has(list.term)) return;
    this.#lists.set(list.term, list);
    this.#bytes += bytesOf(list);
    for (const [oldest, one] of this.#lists) {
      if (this.#bytes <= BYTES_MAX) return;
      this.#lists.delete(oldest);
      this.#bytes -= bytesOf(one);
    }
  }
}

function bytesOf({ count }: PostingList): number {
  return BYTES_PER_LIST + count * BYTES_PER_POSTING;
}
