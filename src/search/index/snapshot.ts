// Opens the text indexes of a store. What several snapshots share is kept once for each open store.
import type { Payloads } from "../../contracts/storage/payloads.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import type { TextLanguage } from "../text/stem.ts";
import { type ItemReading, StoredItemSource } from "./item-source.ts";
import { MessageSource } from "./message-source.ts";
import type { IndexKind, IndexSnapshot } from "./reader.ts";
import { TextIndex } from "./text-index.ts";

export interface MessageIndexOptions {
  readonly payloads: Pick<Payloads, "read">;
  /** The language of a store without an index; later the store has it. Default: English. */
  readonly language?: TextLanguage;
}

interface ItemIndexOptions extends ItemReading {
  readonly language?: TextLanguage;
}

export type IndexOptions<K extends IndexKind> = K extends "messages" ? MessageIndexOptions : ItemIndexOptions;

const indexes = new WeakMap<Storage, Map<IndexKind, TextIndex>>();

/** The index of a kind. The options of the first call hold for all later ones of this storage. */
export function textIndexOf<K extends IndexKind>(storage: Storage, kind: K, options: IndexOptions<K>): TextIndex {
  const known = indexes.get(storage) ?? new Map<IndexKind, TextIndex>();
  indexes.set(storage, known);
  const found = known.get(kind) ?? createIndex(storage, kind, options);
  known.set(kind, found);
  return found;
}

function createIndex(storage: Storage, kind: IndexKind, options: MessageIndexOptions | ItemIndexOptions): TextIndex {
  const { language = "english" } = options;
  if ("payloads" in options)
    return new TextIndex(storage, new MessageSource({ storage, payloads: options.payloads }), language);
  if (kind === "messages") throw new Error("bug: messages are read with payloads");
  return new TextIndex(storage, new StoredItemSource(storage, kind, options), language);
}

/**
 * The index as it is now: of messages, all live ones of all sessions, whatever branch they are on; what a session shows is decided by
 * the search. Reads of the snapshot throw StaleSnapshot if the index was changed since: see readIndex().
 */
export function openIndexSnapshot<K extends IndexKind>(
  storage: Storage,
  kind: K,
  options: IndexOptions<K>,
): Promise<IndexSnapshot> {
  return textIndexOf(storage, kind, options).open();
}

/** Works on a snapshot, and again on a newer one if the index was changed before all was read. */
export function readIndex<K extends IndexKind, T>(
  storage: Storage,
  kind: K,
  options: IndexOptions<K>,
  work: (snapshot: IndexSnapshot) => Promise<T>,
): Promise<T> {
  return textIndexOf(storage, kind, options).read(work);
}
