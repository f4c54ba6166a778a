// The named reads of the checker for rows that belong to no session: blobs and the rows that name them, agents and blocks.
import type { AgentRow, Read } from "./rows.ts";

type Bytes = Uint8Array;

export interface CheckedBlobRow {
  readonly no: number;
  readonly sha256: Bytes;
  readonly media: string;
  readonly utf8: number;
  readonly form: number;
  readonly refs: number;
  readonly pinned: number;
  readonly expires_at: number | null;
  readonly linked: number;
}

export interface CheckedBlockRow {
  readonly id: string;
  readonly label: string;
  readonly char_limit: number;
  readonly description: Bytes;
  readonly read_only: number;
  readonly version: number;
  readonly created_at: number;
  readonly updated_at: number;
  /** The block's versions: the highest number, how many there are, and when the first and the current one were written. */
  readonly newest: number | null;
  readonly versions: number;
  readonly first_at: number | null;
  readonly newest_at: number | null;
}

/** How many blobs "check.refsOf" and "check.referrers" look up at once. */
export const REFS_ASKED = 16;

/** The numbers of REFS_ASKED blobs: `blob_0` and so on; 0 if there are fewer. */
export type AskedBlobs = Readonly<Record<`blob_${number}`, number>>;

/** The keys that order the rows that name blobs. */
export interface ReferenceKeys {
  readonly annotations: { readonly session_no: number; readonly seq: number };
  readonly state: {
    readonly session_no: number;
    readonly branch: number;
    readonly key: string;
    readonly seq: number;
  };
  readonly evals: { readonly session_no: number; readonly first_seq: number; readonly seq: number };
  readonly calls: { readonly session_no: number; readonly first_seq: number; readonly seq: number };
  readonly snapshots: { readonly session_no: number; readonly seq: number };
  readonly heads: { readonly no: number };
  readonly captures: { readonly no: number };
  readonly documents: { readonly collection_no: number; readonly item: number };
}

export type ReferenceTable = keyof ReferenceKeys;

/** The numbers of the blobs that a row names: `blob_0` and so on; null if a column names none. */
export type ReferenceRow<T extends ReferenceTable> = ReferenceKeys[T] &
  Readonly<Record<`blob_${number}`, number | null>>;

type References = {
  readonly [T in ReferenceTable as `check.refs.${T}`]: Read<ReferenceKeys[T] & { limit: number }, ReferenceRow<T>>;
};

export interface StoreCheckQueries extends References {
  /** The number of the last event among the next `limit` events after another. */
  "check.eventsUpTo": Read<{ after: number; limit: number }, { readonly upto: number | null }>;
  /** The blobs that are named by events after a number and up to another. */
  "check.refs.events": Read<{ after: number; upTo: number }, { readonly blob_no: number }>;
  "check.blockRefs": Read<
    { afterBlock: string; afterVersion: number; limit: number },
    {
      readonly block_id: string;
      readonly version: number;
      readonly edit: string;
      readonly at: number;
      /** null: the block is missing. */
      readonly block: string | null;
      readonly value_no: number;
      readonly value: Bytes | null;
    }
  >;
  "check.agents": Read<{ after: number; limit: number }, AgentRow>;
  "check.agentTags": Read<{ agent: number }, { readonly tag: string }>;
  /** Tags whose agent is missing. */
  "check.strayTags": Read<{ limit: number }, { readonly tag: string; readonly agent_no: number }>;
  "check.blocks": Read<{ after: string; limit: number }, CheckedBlockRow>;
  /** Assignments of blocks to agents where the agent or the block is missing. */
  "check.strayBlocks": Read<
    { limit: number },
    { readonly agent: string | null; readonly agent_no: number; readonly block_id: string }
  >;
  /** The reference counts of a few blobs at one moment. */
  "check.refsOf": Read<
    AskedBlobs,
    { readonly no: number; readonly sha256: Bytes; readonly refs: number; readonly n: number }
  >;
  "check.blobs": Read<{ after: number; limit: number }, CheckedBlobRow>;
  /** The blobs that a blob names: attachments of a message. `sha256` is null if such a blob is missing. */
  "check.named": Read<
    { parent: Bytes; afterOrd: number; limit: number },
    { readonly ord: number; readonly sha256: Bytes | null }
  >;
  /** A few rows that refer to each of these blobs, or to a blob that names it: rows of a session, or versions of a block. */
  "check.referrers": Read<
    AskedBlobs,
    { readonly no: number; readonly session: string | null; readonly block: string | null; readonly seq: number }
  >;
  "check.parts": Read<
    { afterParent: number; afterOrd: number; limit: number },
    {
      readonly parent_no: number;
      readonly ord: number;
      readonly child_no: number;
      readonly parent: Bytes | null;
      readonly child: number | null;
    }
  >;
}
