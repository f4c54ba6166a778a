// The named reads of the checker; see queries.ts. They return columns as they are stored, each number of a row together
// with the row's name. If the name is null, the row is missing, and the checker reports the damage.
import type { CheckedCaptureRow } from "./capture-queries.ts";
import type { ChecksumQueries } from "./checksum-queries.ts";
import type { NoParams, Read } from "./rows.ts";
import type { StoreCheckQueries } from "./store-check-queries.ts";

type Bytes = Uint8Array;

export interface CheckedSessionRow {
  readonly no: number;
  readonly id: string;
  readonly deleted_at: number | null;
  readonly branch: number;
  readonly seq: number;
  readonly chain: Bytes;
  readonly messages: number;
  readonly state_seq: number;
  readonly status: string;
  readonly tags: Bytes | null;
  readonly kind: string;
  readonly origin: string | null;
  readonly cache_id: string | null;
  readonly agent_no: number | null;
  readonly agent: string | null;
  readonly request: string | null;
  /** 1: the session has a title or metadata. */
  readonly described: number;
  readonly created_at: number;
  readonly updated_at: number;
  readonly version: number;
  readonly head_no: number | null;
  readonly head: string | null;
  readonly head_session: number | null;
  readonly head_status: string | null;
  /** The session of the current head was made from this one. */
  readonly head_derived: number;
}

/** The event with the row's seq, for comparison; NULL: there is no such event. */
export interface WithEvent {
  readonly event_type: string | null;
  readonly event_body: Bytes | null;
  readonly event_branch: number | null;
}

export interface CheckedHeadRow extends WithEvent {
  readonly no: number;
  readonly id: string;
  readonly branch: number;
  readonly seq: number;
  readonly basis_no: number | null;
  readonly basis: string | null;
  readonly basis_session: number | null;
  readonly status: string;
  readonly chain: Bytes;
  readonly root: Bytes;
  readonly final_no: number | null;
  readonly final: Bytes | null;
  readonly salt: Bytes | null;
  readonly final_summary: Bytes | null;
  readonly snapshot_seq: number | null;
  readonly snapshot_there: number;
  readonly turn_seq: number | null;
  readonly turn_there: number;
  readonly fingerprint: string | null;
  readonly cache_id: string | null;
  readonly at: number;
  /** The chain hash of the event before the head's own event. */
  readonly chain_at: Bytes | null;
}

export interface CheckedBranchRow extends WithEvent {
  readonly branch: number;
  readonly seq: number;
  readonly parent_session_no: number;
  readonly parent: string | null;
  readonly parent_deleted: number | null;
  readonly parent_seq: number | null;
  readonly parent_branch: number;
  readonly parent_branch_there: number;
  readonly cut_seq: number;
  readonly at: number;
}

export interface CheckedDerivationRow extends WithEvent {
  readonly seq: number;
  readonly type: string;
  readonly source_session_no: number;
  readonly source: string | null;
  readonly source_deleted: number | null;
  readonly source_head: number | null;
  readonly head: string | null;
  readonly head_session: number | null;
  readonly source_branch: number;
  readonly source_seq: number;
  readonly at: number;
  /** The source of the branch with which the session begins. */
  readonly parent_session_no: number | null;
  readonly parent_branch: number | null;
  readonly cut_seq: number | null;
}

interface Version extends WithEvent {
  readonly first_seq: number;
  readonly seq: number;
  readonly branch: number;
  readonly status: string;
}

interface CheckedTurnRow extends Version {
  readonly agent: string | null;
  readonly run: string | null;
  readonly at: number;
  /** The status of the head whose event ended the turn. */
  readonly head_status: string | null;
}

export interface CheckedClearRow extends WithEvent {
  readonly seq: number;
  readonly branch: number;
  readonly agent: string | null;
  readonly run: string | null;
}

type Payloads<N extends string> = Readonly<Record<`${N}_no`, number | null>> & Readonly<Record<N, Bytes | null>>;

export type CheckedEvalRow = Version &
  Payloads<"code" | "result" | "final" | "error"> & {
    readonly turn_seq: number | null;
    readonly turn_there: number;
    readonly message_seq: number | null;
    readonly message_there: number;
    readonly salts: Bytes | null;
    readonly at: number;
    readonly erased_seq: number | null;
  };

export type CheckedCallRow = Version &
  Payloads<"request" | "response" | "result" | "error"> & {
    readonly turn_seq: number | null;
    readonly turn_there: number;
    readonly type: string;
    readonly model: string | null;
    readonly provider: string | null;
    readonly salts: Bytes | null;
    readonly tokens_in: number | null;
    readonly tokens_out: number | null;
    readonly tokens_cached: number | null;
    readonly cost_usd: number | null;
    readonly created_at: number;
    readonly completed_at: number | null;
    readonly erased_seq: number | null;
  };

interface CheckedSnapshotRow extends WithEvent {
  readonly seq: number;
  readonly branch: number;
  readonly turn_seq: number | null;
  readonly turn_there: number;
  readonly vars_no: number | null;
  readonly vars: Bytes | null;
  readonly salt: Bytes | null;
  readonly at: number;
  readonly erased_seq: number | null;
}

/** A head that an invocation names: its number, its id, and the number of its session. */
type NamedHead<N extends string> = Readonly<Record<`${N}_no` | `${N}_session`, number | null>> &
  Readonly<Record<N, string | null>>;

export type InvocationHead = "caller_before" | "caller_after" | "callee_before" | "callee_after" | "source_head";

export type CheckedInvocationRow = Version &
  NamedHead<InvocationHead> & {
    readonly type: string;
    readonly callee_no: number | null;
    readonly callee: string | null;
    readonly callee_deleted: number | null;
    readonly callee_seq: number | null;
    readonly source_no: number | null;
    readonly source: string | null;
    readonly source_deleted: number | null;
    readonly call_seq: number | null;
    readonly call_type: string | null;
    readonly label: Bytes | null;
    readonly source_snapshot_seq: number | null;
    readonly source_fingerprint: string | null;
    /** The counts of the head that the invocation attached to. */
    readonly source_head_snapshot: number | null;
    readonly source_head_fingerprint: string | null;
    readonly created_at: number;
    readonly completed_at: number | null;
  };

interface CheckedNoteRow extends WithEvent {
  readonly seq: number;
  readonly note_no: number | null;
  readonly note: Bytes | null;
  readonly salt: Bytes | null;
}

export interface CheckedStateRow extends WithEvent {
  readonly branch: number;
  readonly key: string;
  readonly seq: number;
  readonly ord: number;
  readonly until_seq: number | null;
  readonly expires_at: number | null;
  readonly value_no: number | null;
  readonly value: Bytes | null;
  readonly salt: Bytes | null;
}

export interface CheckedEventRow {
  readonly seq: number;
  readonly branch: number;
  readonly type: string;
  readonly at: number;
  readonly body: Bytes;
  /** 1: the event added a message. */
  readonly message: number;
  readonly erased_seq: number | null;
  readonly content_no: number | null;
  readonly content: Bytes | null;
  readonly sha256: Bytes | null;
}

export interface CheckedBoardRow {
  readonly id: string;
  readonly agent: string;
  readonly ord: number;
  readonly parent: string | null;
  readonly max_retries: number;
  readonly created_at: number;
  readonly version: number;
}

export interface CheckedTaskRow {
  readonly board_id: string;
  readonly id: string;
  readonly status: string;
  readonly ord: number;
  readonly retry_count: number;
  readonly version: number;
  readonly created_at: number;
  readonly updated_at: number;
}

export interface CheckedAliasRow {
  readonly name: string;
  readonly created_at: number;
}

/** Tables whose rows belong to a session. */
export type OwnedTable =
  | "events"
  | "branches"
  | "turns"
  | "clears"
  | "evals"
  | "calls"
  | "snapshots"
  | "heads"
  | "invocations"
  | "derivations"
  | "annotations"
  | "state"
  | "boards"
  | "captures"
  | "runs"
  | "signals"
  | "decisions"
  | "checkpoints"
  | "session_tags";

/** A run's row without its number and its heartbeat count: the log contains neither. */
interface CheckedRunRow {
  readonly id: string;
  readonly toolset: Uint8Array;
  readonly limits: Uint8Array;
}

export interface CheckedRunPartRow {
  readonly seq: number;
}

/** The rows of a session's runs. */
export interface RunRows {
  readonly runs: readonly CheckedRunRow[];
  readonly signals: readonly CheckedRunPartRow[];
  readonly decisions: readonly CheckedRunPartRow[];
  readonly checkpoints: readonly CheckedRunPartRow[];
}

type Versions = { session: number; afterFirst: number; afterSeq: number; limit: number };
type BySeq = { session: number; after: number; limit: number };

type Strays = {
  readonly [T in OwnedTable as `check.strays.${T}`]: Read<
    { after: number; limit: number },
    { readonly no: number; readonly there: number | null }
  >;
};

export interface CheckQueries extends Strays, StoreCheckQueries, ChecksumQueries {
  "check.sessions": Read<{ after: number; limit: number }, CheckedSessionRow>;
  "check.session": Read<{ id: string }, CheckedSessionRow>;
  "check.heads": Read<{ session: number; afterSeq: number; afterNo: number; limit: number }, CheckedHeadRow>;
  "check.branches": Read<BySeq, CheckedBranchRow>;
  "check.branch": Read<
    { session: number; branch: number },
    { readonly parent_session_no: number; readonly parent_branch: number }
  >;
  "check.derivations": Read<BySeq, CheckedDerivationRow>;
  "check.turns": Read<Versions, CheckedTurnRow>;
  "check.evals": Read<Versions, CheckedEvalRow>;
  "check.calls": Read<Versions, CheckedCallRow>;
  "check.invocations": Read<Versions, CheckedInvocationRow>;
  "check.clears": Read<BySeq, CheckedClearRow>;
  "check.snapshots": Read<BySeq, CheckedSnapshotRow>;
  "check.annotations": Read<BySeq, CheckedNoteRow>;
  "check.state": Read<
    { session: number; afterBranch: number; afterKey: string; afterSeq: number; limit: number },
    CheckedStateRow
  >;
  "check.runs": Read<{ session: number; after: string; limit: number }, CheckedRunRow>;
  "check.signals": Read<BySeq, CheckedRunPartRow>;
  "check.decisions": Read<BySeq, CheckedRunPartRow>;
  "check.checkpoints": Read<BySeq, CheckedRunPartRow>;
  "check.boards": Read<{ session: number; after: string; limit: number }, CheckedBoardRow>;
  "check.captures": Read<{ session: number; after: string; limit: number }, CheckedCaptureRow>;
  "check.boardTasks": Read<{ session: number; afterBoard: string; afterTask: string; limit: number }, CheckedTaskRow>;
  "check.namesOf": Read<{ session: number; after: string; limit: number }, CheckedAliasRow>;
  "check.tagsOf": Read<{ session: number; after: string; limit: number }, { readonly tag: string }>;
  "check.events": Read<BySeq, CheckedEventRow>;
  /** The newest row of a session after the end of its log. */
  "check.beyond": Read<{ session: number; end: number }, { readonly seq: number | null }>;
  /** Messages with a missing blob, after a seq and up to another. */
  "check.contents": Read<
    { session: number; after: number; upTo: number },
    { readonly seq: number; readonly content_no: number }
  >;
  "check.counters": Read<NoParams, { readonly name: string; readonly n: number }>;
  "check.aliases": Read<
    { after: string; limit: number },
    { readonly name: string; readonly there: number | null; readonly deleted_at: number | null }
  >;
  "check.tasks": Read<
    { afterBoard: string; afterTask: string; limit: number },
    { readonly board_id: string; readonly id: string; readonly there: string | null }
  >;
}
