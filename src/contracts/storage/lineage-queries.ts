// The named reads of branches, heads and the rows of a session's work; see queries.ts.
import type { Counts } from "../heads.ts";
import type { ArchivedTable, LoggedTable, PortableRow } from "./portable-rows.ts";
import type { MessageRow, NoParams, Read } from "./rows.ts";

/** A stretch of a session's log: on one branch, up to and including a seq. */
export interface LineageStretchRow {
  /** null: the session's row is missing. */
  readonly session: string | null;
  readonly session_no: number;
  readonly branch: number;
  readonly upto: number;
  /** How many clears in the stretch hide messages that its branch inherited from other sessions. */
  readonly clears: number;
}

type Position = { session: number; branch: number; upTo: number };

export type StatedRow = Pick<LineageStretchRow, "session_no" | "branch" | "upto">;

interface LineMessagesRow {
  readonly n: number;
  readonly clears: number;
}

interface ClearRow {
  readonly seq: number;
  readonly agent: string;
  readonly run: string | null;
}

/** A message as of a head. It may have been erased since; then its content is NULL. */
export interface MessageAtRow extends Omit<MessageRow, "sha256" | "size"> {
  readonly sha256: Uint8Array | null;
  readonly size: number | null;
  readonly erased_seq: number | null;
}

interface CountedMessagesRow {
  readonly agent: string;
  readonly run: string | null;
  readonly n: number;
}

export interface HeadRow {
  readonly no: number;
  readonly id: string;
  readonly session: string;
  readonly session_no: number;
  readonly branch: number;
  readonly seq: number;
  readonly basis: string | null;
  readonly status: string;
  readonly chain: Uint8Array;
  readonly root: Uint8Array;
  readonly final: Uint8Array | null;
  readonly salt: Uint8Array | null;
  readonly final_summary: Uint8Array | null;
  readonly snapshot_seq: number | null;
  readonly fingerprint: string | null;
  readonly turn_seq: number | null;
  readonly cache_id: string | null;
  readonly at: number;
}

export interface BranchPositionRow extends Counts {
  readonly head_id: string | null;
  readonly head_root: Uint8Array | null;
}

export interface TurnRow {
  readonly session: string;
  readonly first_seq: number;
  readonly seq: number;
  readonly branch: number;
  readonly status: string;
  readonly agent: string | null;
  readonly run: string | null;
  readonly at: number;
}

export interface EvalRow {
  readonly session: string;
  readonly first_seq: number;
  readonly seq: number;
  readonly branch: number;
  readonly turn_seq: number | null;
  readonly message_seq: number | null;
  readonly status: string;
  readonly code: Uint8Array | null;
  readonly result: Uint8Array | null;
  readonly final: Uint8Array | null;
  readonly error: Uint8Array | null;
  readonly salts: Uint8Array | null;
  readonly at: number;
  readonly erased_seq: number | null;
}

export interface CallRow {
  readonly session: string;
  readonly first_seq: number;
  readonly seq: number;
  readonly branch: number;
  readonly turn_seq: number | null;
  readonly type: string;
  readonly status: string;
  readonly model: string | null;
  readonly provider: string | null;
  readonly request: Uint8Array | null;
  readonly response: Uint8Array | null;
  readonly result: Uint8Array | null;
  readonly error: Uint8Array | null;
  readonly salts: Uint8Array | null;
  readonly tokens_in: number | null;
  readonly tokens_out: number | null;
  readonly tokens_cached: number | null;
  readonly cost_usd: number | null;
  readonly created_at: number;
  readonly completed_at: number | null;
  readonly erased_seq: number | null;
}

export interface SnapshotRow {
  readonly session: string;
  readonly seq: number;
  readonly branch: number;
  readonly turn_seq: number | null;
  readonly vars: Uint8Array | null;
  readonly salt: Uint8Array | null;
  readonly at: number;
  readonly erased_seq: number | null;
}

export interface InvocationRow {
  readonly session: string;
  readonly first_seq: number;
  readonly seq: number;
  readonly branch: number;
  readonly type: string;
  readonly status: string;
  readonly callee: string | null;
  readonly caller_before: string | null;
  readonly caller_after: string | null;
  readonly callee_before: string | null;
  readonly callee_after: string | null;
  readonly call_seq: number | null;
  readonly label: Uint8Array | null;
  readonly source: string | null;
  readonly source_head: string | null;
  readonly source_snapshot_seq: number | null;
  readonly source_fingerprint: string | null;
  readonly created_at: number;
  readonly completed_at: number | null;
  /** The numbers of the rows that are named above, for the next version. */
  readonly callee_session_no: number | null;
  readonly caller_head_before: number | null;
  readonly callee_head_before: number | null;
  readonly source_session_no: number | null;
  readonly source_head_no: number | null;
}

export interface SpendingRow {
  readonly session: string;
  readonly provider: string | null;
  readonly model: string | null;
  readonly calls: number;
  readonly tokens_in: number;
  readonly tokens_out: number;
  readonly tokens_cached: number;
  readonly unknown_tokens: number;
  readonly cost_usd: number;
  readonly unknown_costs: number;
}

/** A session's events on a branch, after a seq and up to another. */
export type StretchParams = { session: number; branch: number; after: number; upTo: number };

/** A session's rows in their portable form, found by the session's number. */
type ArchiveQueries = {
  readonly [T in LoggedTable as `archive.${T}`]: Read<{ session: number; after: number; upTo: number }, PortableRow>;
} & { readonly [T in Exclude<ArchivedTable, LoggedTable> as `archive.${T}`]: Read<{ session: number }, PortableRow> };

/** A version of an invocation, its event, and the event that began the invocation. */
interface NamingRow {
  readonly session: string;
  readonly seq: number;
  readonly first_seq: number;
  readonly body: Uint8Array;
  readonly first: Uint8Array;
}

export interface LineageQueries extends ArchiveQueries {
  /** Sessions of this store that inherit from one, directly or through sessions that are not in this store. */
  "session.heirs": Read<{ session: number; limit: number }, { readonly id: string }>;
  /** Live sessions that inherit from one, directly or through others, also of a live one; the oldest first. */
  "lineage.heirs": Read<{ session: number; limit: number }, { readonly id: string }>;
  /** Invocations that name a session as callee or source, with their events. */
  "invocations.naming": Read<{ session: string }, NamingRow>;
  /** A value that changes whenever an invocation that names the session is added. */
  "invocations.marked": Read<{ session: string }, { readonly value: string }>;
  /** Sessions that are linked with one: its sources, its forks, its callees and its callers. */
  "session.linked": Read<{ session: number }, { readonly id: string }>;
  /** Heads with ids in a range, in the order of their ids. */
  "heads.between": Read<{ from: string; to: string; limit: number }, HeadRow>;
  "heads.beginning": Read<{ session: number; from: string; to: string; limit: number }, { readonly id: string }>;
  /** The spending of calls by session, provider and model, by the newest version of each call; of one session or (null) of all. */
  "calls.spending": Read<{ session: string | null }, SpendingRow>;
  /** The blobs that a payload names, in the payload's order. */
  "blob.names": Read<{ sha256: Uint8Array }, { readonly sha256: Uint8Array }>;
  /** Stretches of a lineage from the newest to the oldest, down to a depth; the first is at depth 0. */
  "lineage.current": Read<{ session: string; deepest: number }, LineageStretchRow>;
  "lineage.at": Read<Position & { deepest: number }, LineageStretchRow>;
  /** The newest head of the lineage, of any of its sessions. */
  "lineage.newestHead": Read<Position, HeadRow>;
  /** How many rows of each kind begin after that head. */
  "lineage.countsSince": Read<Position, Counts>;
  /** Stretches with values of the state, newest first. "lineage.statedKey": the newest stretch with a value of the key. */
  "lineage.stated": Read<{ session: string }, StatedRow>;
  "lineage.statedAt": Read<Position, StatedRow>;
  "lineage.statedKey": Read<{ session: string; key: string }, StatedRow>;
  /** The number of live messages of a session and of what it inherits, including messages that its clears hide. */
  "lineage.messages": Read<{ session: string }, LineMessagesRow>;
  "lineage.agentMessages": Read<{ session: string; agent: string }, LineMessagesRow>;
  "lineage.runMessages": Read<{ session: string; agent: string; run: string }, LineMessagesRow>;
  "lineage.clears": Read<{ session: number; branch: number; upTo: number }, ClearRow>;
  "messages.at": Read<StretchParams & { erasedAfter: number; limit: number }, MessageAtRow>;
  "messages.lastAt": Read<StretchParams & { erasedAfter: number; limit: number }, MessageAtRow>;
  /** How many messages were not erased by a seq: by agent, with run null. "messages.countRuns": by agent and run. */
  "messages.count": Read<StretchParams & { erasedAfter: number }, CountedMessagesRow>;
  "messages.countRuns": Read<StretchParams & { erasedAfter: number }, CountedMessagesRow>;
  /** The seq of the last erasure of a message of the stretch; null: no message was erased. */
  "messages.erasedUpTo": Read<StretchParams, { readonly value: number | null }>;
  /** How many rows of each kind begin in the stretch. */
  "lineage.counts": Read<StretchParams, Counts>;
  /** The position of the session's branch: its newest head, and how many rows begin after it. */
  "branch.position": Read<{ session: string }, BranchPositionRow>;
  // What an erasure keeps for live forks: the stretches that they inherit, and the rows and blobs of these.
  "branches.needed": Read<{ session: number }, { readonly branch: number; readonly upto: number }>;
  "remains.list": Read<
    NoParams,
    { readonly session: string; readonly session_no: number; readonly branch: number; readonly upto: number }
  >;
  "session.namers": Read<{ session: number; limit: number }, { readonly id: string }>;
  "session.names": Read<{ session: number }, { readonly no: number; readonly id: string }>;
  "remains.messages": Read<{ session: number }, { readonly n: number }>;
  /** The number of a session's events that are stored, and how many of them other sessions inherit. */
  "remains.events": Read<{ session: number }, { readonly n: number; readonly kept: number }>;
  "head.get": Read<{ id: string }, HeadRow>;
  "head.current": Read<{ session: string }, HeadRow>;
  /**
   * The newest head at or before a seq, including an aborted one: a session continues an aborted head only if the caller names its id.
   */
  "head.before": Read<{ session: number; branch: number; upTo: number }, HeadRow>;
  /** A session's heads, newest first. */
  "heads.list": Read<{ session: string; before: number; limit: number }, HeadRow>;
  "heads.oldest": Read<{ session: string; after: number; limit: number }, HeadRow>;
  "heads.at": Read<StretchParams, HeadRow>;
  "turns.at": Read<StretchParams & { upTo: number }, TurnRow>;
  "turn.get": Read<{ session: string; first: number }, TurnRow>;
  "evals.at": Read<StretchParams & { upTo: number }, EvalRow>;
  "eval.get": Read<{ session: string; first: number }, EvalRow>;
  "calls.at": Read<StretchParams & { upTo: number }, CallRow>;
  "call.get": Read<{ session: string; first: number }, CallRow>;
  "snapshots.at": Read<StretchParams, SnapshotRow>;
  "snapshot.get": Read<{ session: string; seq: number }, SnapshotRow>;
  "invocations.at": Read<StretchParams & { upTo: number }, InvocationRow>;
  "invocation.get": Read<{ session: string; first: number }, InvocationRow>;
  /** The session itself, and the sessions that wait for it by running invocations, directly or through others. */
  "invocations.waiting": Read<{ session: string }, { readonly id: string }>;
}
