// The named reads of passages: the parts of messages and memories that have embeddings; see queries.ts. Lists of numbers are JSON.
import type { NoParams, Read } from "./rows.ts";

/** Where the text of a passage is: in a message by its session and seq, or in a memory by its scope and number. */
export interface PassageRow {
  readonly item: number;
  readonly group_no: number;
  readonly number: number;
  readonly part: number;
}

export interface PassageQueries {
  "passages.byItems": Read<{ collection: number; items: string }, PassageRow>;
  /** Passages that have an embedding, after an item, in the order of items. */
  "passages.embedded": Read<{ collection: number; after: number; limit: number }, PassageRow>;
  /** The passages of messages of a session, or of memories of a scope. */
  "passages.known": Read<
    { collection: number; group: number; numbers: string },
    { readonly number: number; readonly part: number }
  >;
  /** The first collection after one with passages that wait for an embedding. */
  "passages.nextPending": Read<{ after: number }, { readonly collection: number }>;
  /** Passages that wait, in the order of items; not those whose next try is later, or that are parked. */
  "passages.pending": Read<
    { collection: number; after: number; now: number; limit: number },
    { readonly item: number }
  >;
  "passages.countPending": Read<{ collection: number }, { readonly n: number }>;
  "passages.items": Read<{ collection: number; after: number; limit: number }, { readonly item: number }>;
  /** How many passages wait, by collection; `model` is that of its embeddings, null: it has none yet. */
  "passages.waiting": Read<NoParams, { readonly name: string; readonly model: string | null; readonly n: number }>;
  /** Up to which event messages are cut into passages, and the number of the newest event. */
  "messages.cut": Read<NoParams, { readonly epoch: number; readonly cut: number; readonly newest: number }>;
  /** Events after one: with gaps between their numbers there are fewer than the numbers say. */
  "events.count": Read<{ after: number; upTo: number }, { readonly n: number }>;
  /** Messages that are not cut into passages yet. */
  "messages.countUncut": Read<NoParams, { readonly n: number }>;
  /** Memories that are not cut into passages yet, in the order of scope and number. */
  "memories.uncut": Read<
    { group: number; after: number; limit: number },
    { readonly group_no: number; readonly item: number }
  >;
  "memories.countUncut": Read<NoParams, { readonly n: number }>;
  "memories.countUncutIn": Read<{ group: number }, { readonly n: number }>;
  "memories.epoch": Read<NoParams, { readonly epoch: number }>;
  /** Pages whose codes an erasure removed, with the change that did. */
  "vectors.emptyPages": Read<
    { collection: number; generation: number; limit: number },
    { readonly first_item: number; readonly change: number }
  >;
  /** The embeddings of a page's items. */
  "vectors.inPage": Read<
    { collection: number; generation: number; first: number; after: number; limit: number },
    { readonly item: number; readonly embedding: Uint8Array }
  >;
  /** Passages of messages or memories that do not exist. */
  "check.strayPassages": Read<
    { collection: number; kind: "messages" | "memories"; limit: number },
    { readonly item: number }
  >;
  /** Passages that wait although they have an embedding, or have none and do not wait. */
  "check.passages": Read<
    { collection: number; generation: number; limit: number },
    { readonly item: number; readonly pending: number | null }
  >;
}
