// The named reads by which the checker compares the checksums of rows (core/checksum.ts).
import type { NoParams, Read } from "./rows.ts";

/** Tables whose rows belong to a session. */
export type OwnedChecksumTable = "sessions" | "boards" | "tasks" | "invocations" | "captures";

/** The columns in whose order the rows of a table are read. */
export interface StoreKeys {
  readonly agents: { readonly no: number };
  readonly agent_blocks: { readonly agent_no: number; readonly ord: number };
  readonly blocks: { readonly id: string };
  readonly block_versions: { readonly block_id: string; readonly version: number };
  readonly memory_scopes: { readonly no: number };
  readonly memories: { readonly no: number };
  readonly memory_changes: { readonly memory_id: string; readonly version: number };
  readonly segments: { readonly id: string };
  readonly segment_frames: { readonly segment_id: string; readonly start: number };
  readonly blobs: { readonly no: number };
  readonly vector_collections: { readonly no: number };
  readonly vector_generations: { readonly collection_no: number; readonly generation: number };
  readonly documents: { readonly collection_no: number; readonly item: number };
  readonly vectors: { readonly collection_no: number; readonly generation: number; readonly item: number };
}

/** The columns that name a row in reports, if its key does not. */
interface StoreNames {
  readonly agents: { readonly id: string };
  readonly agent_blocks: { readonly block_id: string };
  readonly memory_scopes: { readonly namespace: string };
  readonly memories: { readonly id: string };
  readonly blobs: { readonly sha256: Uint8Array };
  readonly vector_collections: { readonly name: string };
  readonly documents: { readonly id: string };
}

export type StoreChecksumTable = keyof StoreKeys;

/** Rows of a session with a wrong checksum, by name or by the seq of their event. */
type OwnedChecksumQueries = {
  readonly [T in OwnedChecksumTable as `checksums.${T}`]: Read<
    { session: number; limit: number },
    { readonly name?: string; readonly seq?: number }
  >;
};

/** `proven` is 1 if the checksum matches the row. */
export type StoreChecksumRow<T extends StoreChecksumTable> = StoreKeys[T] &
  (T extends keyof StoreNames ? StoreNames[T] : unknown) & { readonly proven: number };

type StoreChecksumQueries = {
  readonly [T in StoreChecksumTable as `checksums.${T}`]: Read<StoreKeys[T] & { limit: number }, StoreChecksumRow<T>>;
};

export interface ChecksumQueries extends OwnedChecksumQueries, StoreChecksumQueries {
  /** Counters with a wrong checksum. */
  "checksums.counters": Read<NoParams, { readonly name: string }>;
  /** One row if the checksum of the store's id and time of creation is right, otherwise none. */
  "checksums.meta": Read<NoParams, { readonly name: string }>;
  /** `proven` is 1 if collections can have given the blob its epochs. */
  "check.epochs": Read<
    { after: number; limit: number },
    { readonly no: number; readonly sha256: Uint8Array; readonly proven: number }
  >;
  /** Runs whose column `held` contradicts their heartbeat count. */
  "check.held": Read<{ session: number; limit: number }, { readonly id: string }>;
  /** The number of aliases that the session's row states, and the number that there are. */
  "check.aliasCount": Read<{ session: number }, { readonly stored: number; readonly counted: number }>;
}
