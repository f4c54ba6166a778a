// The named reads of storage, with their parameters and rows. Their texts are in storage/sql/<noun>.ts.
import type { BlobQueries } from "./blob-queries.ts";
import type { CaptureQueries } from "./capture-queries.ts";
import type { CheckQueries } from "./check-queries.ts";
import type { EmbeddingQueries } from "./embedding-queries.ts";
import type { IndexQueries } from "./index-queries.ts";
import type { LineageQueries } from "./lineage-queries.ts";
import type { MemoryQueries } from "./memory-queries.ts";
import type { PassageQueries } from "./passage-queries.ts";
import type {
  AgentRow,
  BlockRow,
  BlockUserRow,
  BoardRow,
  CopyRow,
  DiscardedRow,
  ErasableRow,
  Filter,
  InlineContentRow,
  InlineSizeRow,
  MessagePositionRow,
  MessageRow,
  NoParams,
  PlacedEventRow,
  Read,
  SessionRow,
  StateRow,
  StoredPayload,
  TaskRow,
  WholeEventRow,
} from "./rows.ts";
import type { RunQueries } from "./run-queries.ts";
import type { ErasedScope, EventScope, ScopeParams } from "./statement-names.ts";
import type { TraceQueries } from "./trace-queries.ts";
import type { VectorQueries } from "./vector-queries.ts";

/** A stretch of a session's log: the session's number, a branch, and the last seq. */
type LogStretch = { session: number; branch: number; upTo: number };

/** What an erasure would remove: rows, blobs and bytes that only they refer to, and keys outside the database. */
type ErasureQueries = {
  readonly [S in ErasedScope as `${S}.erasable`]: Read<ScopeParams[S], ErasableRow>;
} & { readonly [S in ErasedScope as `${S}.named`]: Read<ScopeParams[S], DiscardedRow> } & {
  readonly [S in EventScope as `${S}.inline`]: Read<ScopeParams[S], InlineSizeRow>;
} & { readonly [S in EventScope as `${S}.copies`]: Read<ScopeParams[S] & { now: number }, CopyRow> };

export interface Queries
  extends ErasureQueries,
    BlobQueries,
    CaptureQueries,
    IndexQueries,
    LineageQueries,
    RunQueries,
    CheckQueries,
    TraceQueries,
    MemoryQueries,
    EmbeddingQueries,
    PassageQueries,
    VectorQueries {
  // Sessions by id or alias. Lists are newest first; `before` is the number of the last session of the page before.
  "session.get": Read<{ id: string }, SessionRow>;
  /** `numbers` is a JSON array. */
  "sessions.byNumbers": Read<{ numbers: string }, SessionRow>;
  "session.byAlias": Read<{ name: string }, SessionRow>;
  /** The session of an alias; "" if the session was deleted. */
  "alias.get": Read<{ name: string }, { readonly session: string }>;
  "session.aliases": Read<{ session: string }, { readonly name: string }>;
  "sessions.list": Read<SessionListParams, SessionRow>;
  "sessions.list.oldest": Read<SessionListParams, SessionRow>;
  "sessions.byAgent": Read<SessionListParams & { agent: string }, SessionRow>;
  "sessions.byAgent.oldest": Read<SessionListParams & { agent: string }, SessionRow>;
  "sessions.byTag": Read<SessionListParams & { tag: string }, SessionRow>;
  "sessions.byTag.oldest": Read<SessionListParams & { tag: string }, SessionRow>;
  "sessions.byRequest": Read<SessionListParams & { request: string }, SessionRow>;
  "sessions.byRequest.oldest": Read<SessionListParams & { request: string }, SessionRow>;

  // log
  "events.read": Read<{ session: string; after: number; limit: number }, PlacedEventRow>;
  "events.whole": Read<{ session: string; after: number; limit: number }, WholeEventRow>;
  "annotation.get": Read<{ session: string; seq: number }, StoredPayload>;
  "events.at": Read<{ session: string; seq: number }, PlacedEventRow>;

  // History: live messages only, in the order of their seqs.
  "history.range": Read<
    LogStretch & { agent: string; after: number; since: number; limit: number; offset: number },
    MessageRow
  >;
  "history.rangeRun": Read<
    LogStretch & { agent: string; run: string; after: number; since: number; limit: number; offset: number },
    MessageRow
  >;
  "history.last": Read<LogStretch & { agent: string; after: number; since: number; limit: number }, MessageRow>;
  "history.lastRun": Read<
    LogStretch & { agent: string; run: string; after: number; since: number; limit: number },
    MessageRow
  >;
  "history.session": Read<LogStretch & { after: number; since: number; limit: number; offset: number }, MessageRow>;
  "history.sessionLast": Read<LogStretch & { after: number; since: number; limit: number }, MessageRow>;
  "history.sessionRun": Read<
    LogStretch & { run: string; after: number; since: number; limit: number; offset: number },
    MessageRow
  >;
  "history.sessionRunLast": Read<LogStretch & { run: string; after: number; since: number; limit: number }, MessageRow>;
  "history.byAgent": Read<{ agent: string; since: number; until: number; limit: number }, MessageRow>;
  "history.count": Read<LogStretch & { agent: string }, { readonly n: number }>;
  "history.countRun": Read<LogStretch & { agent: string; run: string }, { readonly n: number }>;
  "history.countUpTo": Read<{ seq: number; agent: string; session: string }, { readonly n: number }>;
  /** Live messages, on whatever branch they are. `messages` is a JSON array of pairs: the number of the session, and a seq. */
  "history.messages": Read<{ messages: string }, MessageRow & { readonly session_no: number; readonly branch: number }>;
  /** Where the same messages are, without their content. */
  "history.positions": Read<{ messages: string }, MessagePositionRow>;
  "history.byKey": Read<{ session: string; key: string }, MessageRow & { readonly branch: number }>;

  // Inline content by hash. The index covers rows up to a number; a lookup that needs more rows extends it.
  "inline.lag": Read<NoParams, { readonly upto: number; readonly newest: number }>;
  "inline.get": Read<{ prefix: Uint8Array; sha256: Uint8Array }, InlineContentRow>;
  "inline.scan": Read<{ after: number; upTo: number; sha256: Uint8Array }, InlineContentRow>;
  "inline.count": Read<{ prefix: Uint8Array; upTo: number; sha256: Uint8Array; most: number }, { readonly n: number }>;
  "inline.countUnindexed": Read<{ after: number; upTo: number; sha256: Uint8Array }, { readonly n: number }>;

  // state
  "state.current": Read<{ session: number; branch: number }, StateRow>;
  "state.key": Read<{ session: number; branch: number; key: string }, StateRow>;
  "state.at": Read<LogStretch & { upTo: number }, StateRow>;
  "state.keyAt": Read<LogStretch & { upTo: number; key: string }, StateRow>;

  // Agents and blocks. "agent.get" also finds a deleted agent, the other reads do not. Blocks are in the agent's order.
  "agent.get": Read<{ id: string }, AgentRow>;
  // Agents, newest first or oldest first; `last` is the number of the last agent of the page before.
  "agents.list": Read<AgentListParams, AgentRow>;
  "agents.oldest": Read<AgentListParams, AgentRow>;
  "agents.byTag": Read<AgentListParams & { tag: string }, AgentRow>;
  "agents.oldestByTag": Read<AgentListParams & { tag: string }, AgentRow>;
  "blocks.load": Read<{ agent: string }, BlockRow>;
  "block.get": Read<{ id: string }, BlockRow>;
  "block.byLabel": Read<{ agent: string; label: string }, BlockRow>;
  "block.users": Read<{ id: string }, BlockUserRow>;
  "blocks.users": Read<{ agent: string }, BlockUserRow>;
  /** Blobs with values of the agent's blocks that "block.drop" does not remove: they have parts, or are outside the database. */
  "blocks.discarded": Read<{ agent: string }, DiscardedRow>;
  "block.versions": Read<{ id: string; last: number; limit: number }, BlockVersionRow>;
  "block.versions.oldest": Read<{ id: string; last: number; limit: number }, BlockVersionRow>;

  // Boards in the order of their creation, tasks in the order of their board.
  "board.get": Read<{ id: string }, BoardRow>;
  "boards.bySession": Read<{ session: string }, BoardRow>;
  "tasks.byBoard": Read<{ board: string }, TaskRow>;
  "tasks.bySession": Read<{ session: string }, TaskRow>;
  "task.get": Read<{ board: string; task: string }, TaskRow>;

  // Statistics: a chunk counts as part of its blob, not as a blob. `referenced` counts a blob once for each row that refers to it;
  // `outside` is the part of `stored` that is outside the database.
  "stats.tables": Read<
    NoParams,
    { readonly name: string; readonly rows: number; readonly deleted: number | null; readonly partial: number }
  >;
  "stats.blobs": Read<NoParams, Readonly<Record<"form" | "n" | "size" | "stored" | "referenced" | "outside", number>>>;
  "stats.sessions": Read<
    { limit: number },
    {
      readonly id: string;
      readonly events: number;
      readonly messages: number;
      readonly bytes: number;
      readonly shared: number;
    }
  >;
}

interface BlockVersionRow {
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

type AgentListParams = { last: number; agentType: Filter<string>; limit: number };

export type SessionListParams = {
  /** The number of the last row of the page before. */
  last: number;
  status: Filter<string>;
  createdAfter: number;
  createdBefore: number;
  limit: number;
};

export type QueryName = keyof Queries;
