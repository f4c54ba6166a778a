// The named reads storage answers, with their parameters and rows. Their texts are in storage/sql/<noun>.ts.

import type { BlobQueries } from "./blob-queries.ts";
import type { CaptureQueries } from "./capture-queries.ts";
import type { CheckQueries } from "./check-queries.ts";
import type { LineageQueries } from "./lineage-queries.ts";
import type { StoredPayload } from "./payloads.ts";
import type { RunQueries } from "./run-queries.ts";
import type { TraceQueries } from "./trace-queries.ts";

export interface Read<P extends readonly unknown[], R> {
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

/** The columns of the message are NULL where the event added none; those of its content also when it was erased. */
export interface PlacedEventRow extends EventRow {
  readonly branch: number;
}

export interface WholeEventRow extends PlacedEventRow {
  /** "": the row names an agent that is not there. */
  readonly agent: string | null;
  readonly role: string | null;
  readonly run: string | null;
  readonly key: string | null;
  readonly sha256: Uint8Array | null;
  readonly salt: Uint8Array | null;
  readonly words: Uint8Array | null;
  /** The blob's number. */
  readonly content: number | null;
  /** null: the row names a blob that is not there. */
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

/** A blob that may be removed with the erased content, once no other row needs it. */
export interface DiscardedRow {
  readonly sha256: Uint8Array;
  readonly store: string;
  readonly key: string | null;
}

/** Messages, and the bytes of short contents in their rows. */
export interface InlineSizeRow {
  readonly n: number;
  readonly bytes: number;
}

/** A blob with the bytes of a short content; kept when something else holds it. */
export interface CopyRow extends DiscardedRow {
  readonly kept: number;
}

/** One blob an erasure has released: the rows of the scope that refer to it, and all that still holds it. */
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

/** A value, or (`given` 0) that there is none from here on: of this key, or of any when the key is "". */
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
  /** 1 when another blob holds it: as its chunk, or because it names it. */
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
/** A session's number, a branch of it, and the last seq that counts. */
type Segment = [session: number, branch: number, upTo: number];

export interface Queries extends BlobQueries, CaptureQueries, LineageQueries, RunQueries, CheckQueries, TraceQueries {
  // sessions: by id or alias; lists are newest first, `before` is the number of the last one seen.
  "session.get": Read<[id: string], SessionRow>;
  "session.byAlias": Read<[name: string], SessionRow>;
  /** "" when the session it names is no longer there. */
  "alias.get": Read<[name: string], { readonly session: string }>;
  "session.aliases": Read<[session: string], { readonly name: string }>;
  "sessions.list": Read<SessionListParams, SessionRow>;
  "sessions.byAgent": Read<[agent: string, ...SessionListParams], SessionRow>;
  "sessions.byTag": Read<[tag: string, ...SessionListParams], SessionRow>;
  "sessions.byRequest": Read<[request: string, ...SessionListParams], SessionRow>;

  // log
  "events.read": Read<[session: string, after: number, limit: number], PlacedEventRow>;
  "events.whole": Read<[session: string, after: number, limit: number], WholeEventRow>;
  "annotation.get": Read<[session: string, seq: number], StoredPayload>;
  "events.at": Read<[session: string, seq: number], PlacedEventRow>;

  // history: live messages only, in seq order
  "history.range": Read<
    [...Segment, agent: string, after: number, since: number, limit: number, offset: number],
    MessageRow
  >;
  "history.rangeRun": Read<
    [...Segment, agent: string, run: string, after: number, since: number, limit: number, offset: number],
    MessageRow
  >;
  "history.last": Read<[...Segment, agent: string, after: number, since: number, limit: number], MessageRow>;
  "history.lastRun": Read<
    [...Segment, agent: string, run: string, after: number, since: number, limit: number],
    MessageRow
  >;
  "history.session": Read<[...Segment, after: number, since: number, limit: number, offset: number], MessageRow>;
  "history.sessionLast": Read<[...Segment, after: number, since: number, limit: number], MessageRow>;
  "history.sessionRun": Read<
    [...Segment, run: string, after: number, since: number, limit: number, offset: number],
    MessageRow
  >;
  "history.sessionRunLast": Read<[...Segment, run: string, after: number, since: number, limit: number], MessageRow>;
  "history.byAgent": Read<[agent: string, since: number, limit: number], MessageRow>;
  "history.count": Read<[...Segment, agent: string], { readonly n: number }>;
  "history.countRun": Read<[...Segment, agent: string, run: string], { readonly n: number }>;
  "history.countUpTo": Read<[seq: number, agent: string, session: string], { readonly n: number }>;
  "history.byKey": Read<[session: string, key: string], MessageRow & { readonly branch: number }>;

  // what an erasure would remove, read before it: rows, blobs and bytes only they refer to, and keys outside the
  // database
  "messages.erasable": Read<[session: number, agent: number, upTo: number], ErasableRow>;
  "run.erasable": Read<[session: number, agent: number, run: string, upTo: number], ErasableRow>;
  "allMessages.erasable": Read<[session: number], ErasableRow>;
  "journal.erasable": Read<[session: number, run: string], ErasableRow>;
  "saved.erasable": Read<[session: number, agent: number], ErasableRow>;
  "allState.erasable": Read<[session: number], ErasableRow>;
  "allAnnotations.erasable": Read<[session: number], ErasableRow>;
  "capture.erasable": Read<[id: string], ErasableRow>;
  "allCaptures.erasable": Read<[session: number], ErasableRow>;
  "messages.named": Read<[session: number, agent: number, upTo: number], DiscardedRow>;
  "run.named": Read<[session: number, agent: number, run: string, upTo: number], DiscardedRow>;
  "allMessages.named": Read<[session: number], DiscardedRow>;
  "journal.named": Read<[session: number, run: string], DiscardedRow>;
  "saved.named": Read<[session: number, agent: number], DiscardedRow>;
  "allState.named": Read<[session: number], DiscardedRow>;
  "allAnnotations.named": Read<[session: number], DiscardedRow>;
  "capture.named": Read<[id: string], DiscardedRow>;
  "allCaptures.named": Read<[session: number], DiscardedRow>;

  "messages.inline": Read<[session: number, agent: number, upTo: number], InlineSizeRow>;
  "run.inline": Read<[session: number, agent: number, run: string, upTo: number], InlineSizeRow>;
  "allMessages.inline": Read<[session: number], InlineSizeRow>;
  "journal.inline": Read<[session: number, run: string], InlineSizeRow>;
  "saved.inline": Read<[session: number, agent: number], InlineSizeRow>;
  "messages.copies": Read<[now: number, session: number, agent: number, upTo: number], CopyRow>;
  "run.copies": Read<[now: number, session: number, agent: number, run: string, upTo: number], CopyRow>;
  "allMessages.copies": Read<[now: number, session: number], CopyRow>;
  "journal.copies": Read<[now: number, session: number, run: string], CopyRow>;
  "saved.copies": Read<[now: number, session: number, agent: number], CopyRow>;

  // inline content by hash: the index covers rows up to a number; a lookup that needs more brings it up to date
  "inline.lag": Read<[], { readonly upto: number; readonly newest: number }>;
  "inline.get": Read<[prefix: Uint8Array, sha256: Uint8Array], InlineContentRow>;
  "inline.scan": Read<[after: number, upTo: number, sha256: Uint8Array], InlineContentRow>;
  "inline.count": Read<[prefix: Uint8Array, upTo: number, sha256: Uint8Array, most: number], { readonly n: number }>;
  "inline.countUnindexed": Read<[after: number, upTo: number, sha256: Uint8Array], { readonly n: number }>;

  // state
  "state.current": Read<[session: number, branch: number], StateRow>;
  "state.key": Read<[session: number, branch: number, key: string], StateRow>;
  "state.at": Read<[...Segment, sameUpTo: number], StateRow>;
  "state.keyAt": Read<[...Segment, sameUpTo: number, key: string], StateRow>;

  // agents and blocks: "agent.get" also finds a deleted one, the others never do; blocks are in the agent's order
  "agent.get": Read<[id: string], AgentRow>;
  // Newest first, or oldest first; `last` is the number of the last one seen.
  "agents.list": Read<AgentListParams, AgentRow>;
  "agents.oldest": Read<AgentListParams, AgentRow>;
  "agents.byTag": Read<[tag: string, ...AgentListParams], AgentRow>;
  "agents.oldestByTag": Read<[tag: string, ...AgentListParams], AgentRow>;
  "blocks.load": Read<[agent: string], BlockRow>;
  "block.get": Read<[id: string], BlockRow>;
  "block.byLabel": Read<[agent: string, label: string], BlockRow>;
  "block.users": Read<[id: string], BlockUserRow>;
  "blocks.users": Read<[agent: string], BlockUserRow>;
  /** Of the agent's blocks, blobs of values that "block.drop" leaves to be taken apart or removed outside the database. */
  "blocks.discarded": Read<[agent: string], DiscardedRow>;
  "block.versions": Read<
    [id: string, before: number, limit: number],
    {
      readonly version: number;
      readonly edit: string;
      readonly at: number;
      readonly sha256: Uint8Array;
      readonly size: number;
      readonly form: number;
      readonly body: Uint8Array | null;
      readonly store: string;
      readonly blob_key: string | null;
    }
  >;

  // tasks: boards in order of creation, tasks in their order
  "board.get": Read<[id: string], BoardRow>;
  "boards.bySession": Read<[session: string], BoardRow>;
  "tasks.byBoard": Read<[board: string], TaskRow>;
  "tasks.bySession": Read<[session: string], TaskRow>;
  "task.get": Read<[board: string, task: string], TaskRow>;

  // stats: chunks are part of the blobs made of them, not blobs of their own; `referenced` counts a blob once per row
  // and `outside` is the part of `stored` that another place than the database keeps
  "stats.tables": Read<
    [],
    { readonly name: string; readonly rows: number; readonly deleted: number | null; readonly partial: number }
  >;
  "stats.blobs": Read<[], Readonly<Record<"form" | "n" | "size" | "stored" | "referenced" | "outside", number>>>;
  "stats.sessions": Read<
    [limit: number],
    {
      readonly id: string;
      readonly events: number;
      readonly messages: number;
      readonly bytes: number;
      readonly shared: number;
    }
  >;
}

type AgentListParams = [last: number, agentType: Filter<string>, agentType2: Filter<string>, limit: number];

type SessionListParams = [
  before: number,
  status: Filter<string>,
  status2: Filter<string>,
  createdAfter: number,
  createdBefore: number,
  limit: number,
];

export type QueryName = keyof Queries;
