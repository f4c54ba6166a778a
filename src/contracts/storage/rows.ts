// The rows that the named reads return, the same on both engines; queries.ts says which read returns which rows.

/** The columns of a row's blob, which a read joins to the row. */
export interface StoredPayload {
  readonly sha256: Uint8Array;
  readonly size: number;
  /** null: the blob that the row names is missing. */
  readonly form: number | null;
  readonly body: Uint8Array | null;
  readonly store: string;
  readonly blob_key: string | null;
}

/** A read that takes no parameters. */
export type NoParams = Readonly<Record<string, never>>;

export interface Read<P extends object, R> {
  readonly params: P;
  readonly row: R;
}

export interface SessionRow {
  readonly no: number;
  readonly id: string;
  readonly agent: string | null;
  readonly title: Uint8Array | null;
  readonly status: string;
  readonly tags: Uint8Array | null;
  readonly metadata: Uint8Array | null;
  readonly request: string | null;
  readonly created_at: number;
  readonly updated_at: number;
  readonly deleted_at: number | null;
  readonly version: number;
  readonly branch: number;
  readonly seq: number;
  readonly chain: Uint8Array;
  readonly messages: number;
  readonly state_seq: number;
  readonly kind: string;
  readonly origin: string | null;
  readonly cache_id: string | null;
  readonly head: string | null;
}

export interface EventRow {
  readonly seq: number;
  readonly type: string;
  readonly at: number;
  readonly body: Uint8Array;
  readonly hash: Uint8Array;
}

/** The columns of the message are NULL if the event added none. The columns of its content are also NULL if it was erased. */
export interface PlacedEventRow extends EventRow {
  readonly branch: number;
}

export interface WholeEventRow extends PlacedEventRow {
  /** "": the agent that the row names is missing. */
  readonly agent: string | null;
  readonly role: string | null;
  readonly run: string | null;
  readonly key: string | null;
  readonly sha256: Uint8Array | null;
  readonly salt: Uint8Array | null;
  readonly words: Uint8Array | null;
  /** The blob's number. */
  readonly content: number | null;
  /** null: the blob that the row names is missing. */
  readonly content_sha256: Uint8Array | null;
  readonly chars: number | null;
  readonly erased_seq: number | null;
}

export interface MessageRow extends StoredPayload {
  readonly session: string;
  readonly agent: string;
  readonly seq: number;
  readonly role: string;
  readonly run: string | null;
  readonly key: string | null;
  readonly at: number;
}

/** Where a message is: in which session's log, and on which branch of it. */
export interface MessagePositionRow {
  readonly session: string;
  readonly session_no: number;
  readonly branch: number;
  readonly seq: number;
  readonly agent: string;
  readonly run: string | null;
}

/** A blob that may be removed with the erased content, once no other row needs it. */
export interface DiscardedRow {
  readonly sha256: Uint8Array;
  readonly store: string;
  readonly key: string | null;
}

/** How many messages there are, and how many bytes of inline content they have. */
export interface InlineSizeRow {
  readonly n: number;
  readonly bytes: number;
}

/** A blob with the same bytes as an inline content. An erasure keeps it if other rows refer to it. */
export interface CopyRow extends DiscardedRow {
  readonly kept: number;
}

/** A blob that an erasure has released: how many rows of the scope refer to it, and how many other rows and blobs still do. */
export interface ErasableRow extends DiscardedRow {
  readonly rows: number;
  readonly refs: number;
  readonly size: number;
  readonly form: number;
  readonly stored: number;
  readonly pinned: number;
  readonly linked: number;
  readonly expires_at: number | null;
}

/** Inline content, and the event in whose row it is. */
export interface InlineContentRow {
  readonly no: number;
  readonly session: string;
  readonly sha256: Uint8Array;
  readonly body: Uint8Array;
  readonly size: number;
  readonly created_at: number;
}

export interface AgentRow {
  readonly no: number;
  readonly id: string;
  readonly name: Uint8Array;
  readonly agent_type: string;
  readonly model: string | null;
  readonly system: Uint8Array | null;
  readonly tool_ids: Uint8Array | null;
  readonly tags: Uint8Array | null;
  readonly metadata: Uint8Array | null;
  readonly created_at: number;
  readonly updated_at: number;
  readonly deleted_at: number | null;
  readonly version: number;
}

export interface BlockRow extends StoredPayload {
  readonly id: string;
  readonly ord: number;
  readonly label: string;
  readonly char_limit: number;
  readonly description: Uint8Array;
  readonly read_only: number;
  readonly version: number;
  readonly created_at: number;
  readonly updated_at: number;
}

/** An agent that has the block, with the agent's version. */
export interface BlockUserRow {
  readonly block: string;
  readonly agent: string;
  readonly version: number;
}

/** A value of the state; `given` 0: from here on the key has no value, or no key has one if the key is "". */
export interface StateRow extends StoredPayload {
  readonly key: string;
  readonly seq: number;
  readonly given: number;
  readonly expires_at: number | null;
}

export interface BoardRow {
  readonly id: string;
  readonly session: string;
  readonly agent: string;
  readonly ord: number;
  readonly label: Uint8Array;
  readonly parent: string | null;
  readonly max_retries: number;
  readonly created_at: number;
  readonly version: number;
}

export interface TaskRow {
  readonly board_id: string;
  readonly id: string;
  readonly title: Uint8Array;
  readonly status: string;
  readonly ord: number;
  readonly retry_count: number;
  readonly note: Uint8Array;
  readonly version: number;
  readonly created_at: number;
  readonly updated_at: number;
}

/** A blob without its bytes. */
export interface BlobRow {
  readonly no: number;
  readonly sha256: Uint8Array;
  readonly size: number;
  readonly media: string;
  readonly utf8: number;
  readonly form: number;
  readonly stored: number;
  readonly store: string;
  readonly key: string | null;
  readonly refs: number;
  readonly pinned: number;
  readonly expires_at: number | null;
  readonly epoch: number;
  readonly condemned: number | null;
  readonly created_at: number;
  /** 1 if another blob has this one as a chunk, or names it. */
  readonly linked: number;
}

export interface ChunkRow {
  readonly ord: number;
  readonly sha256: Uint8Array;
  readonly size: number;
  readonly form: number;
  readonly store: string;
  readonly key: string | null;
  readonly body: Uint8Array | null;
}

export interface FrameRow {
  readonly start: number;
  readonly size: number;
  readonly stored: number;
  readonly store: string;
  readonly key: string | null;
  readonly body: Uint8Array | null;
}

/** A segment as one blob uses it: its first `length` bytes. */
export interface SegmentRow {
  readonly id: string;
  readonly ord: number;
  readonly length: number;
  readonly size: number;
  readonly sealed: number;
  readonly sha256: Uint8Array | null;
}

export type Filter<T> = T | null;
