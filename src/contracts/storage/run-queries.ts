// The named reads of runs; see queries.ts.
import type { CheckedRunPartRow } from "./check-queries.ts";
import type { Filter, PlacedEventRow, Read, StoredPayload } from "./rows.ts";

export interface RunRow {
  readonly no: number;
  readonly id: string;
  readonly session: string;
  readonly session_no: number;
  readonly first_seq: number;
  readonly seq: number;
  readonly branch: number;
  readonly parent: string | null;
  /** 1: the run works in its parent's session. 2: its messages are also cleared when it ends. */
  readonly nested: number;
  readonly agent: string;
  readonly agent_version: string;
  readonly toolset: Uint8Array;
  readonly status: string;
  readonly version: number;
  readonly epoch: number;
  readonly beat: number;
  readonly owner: string | null;
  readonly iteration: number;
  readonly checkpoint_seq: number | null;
  /** When a worker may continue the run: 0 at once; null only after a signal or an answer. */
  readonly wake_at: number | null;
  readonly waits: string | null;
  readonly cancel: number;
  /** A caller asked for a pause until this time; it begins when the iteration ends. */
  readonly pause_at: number | null;
  readonly stop: string | null;
  readonly limits: Uint8Array;
  readonly priority: number;
  readonly lease_ms: number;
  readonly tokens: number;
  readonly cost_usd: number | null;
  readonly created_at: number;
  readonly updated_at: number;
  readonly ended_at: number | null;
}

/** An event of a run with its payload; `sha256` is null if the event has none. */
export interface JournalRow extends Omit<StoredPayload, "sha256" | "size"> {
  readonly seq: number;
  readonly branch: number;
  readonly type: string;
  readonly at: number;
  readonly envelope: Uint8Array;
  readonly sha256: Uint8Array | null;
  readonly size: number | null;
}

/** `ending`: the envelope of the event that ended a run which failed or was cancelled. */
export interface ListedRunRow extends RunRow {
  readonly ending: Uint8Array | null;
}

export interface DecisionRow {
  readonly session_no: number;
  readonly session: string;
  readonly seq: number;
  readonly run: string;
  readonly step_seq: number;
  readonly answered_seq: number | null;
}

export interface CheckpointRow extends JournalRow {
  readonly session: string;
  readonly agent: string;
  /** "" if the question belongs to no run. */
  readonly run: string;
  readonly iteration: number;
}

export type RunListParams = {
  /** The number of the last run of the page before. */
  last: number;
  session: Filter<string>;
  agent: Filter<string>;
  status: Filter<string>;
  after: number;
  until: number;
  limit: number;
};

/** Events of a run page by page, in the order of their seqs. */
type JournalPageParams = { session: number; run: string; after: number; upTo: number; limit: number };
type RunPageParams = { session: number; run: string; after: number; limit: number };

/** `session` and `seq` of the last row of the page before. */
type AfterSeqParams = { session: number; seq: number; limit: number };

export interface RunQueries {
  "run.get": Read<{ id: string }, RunRow>;
  /** The session of the run with this id; 0 if a run had this id and was deleted. */
  "run.taken": Read<{ id: string }, { readonly session_no: number }>;
  "runs.beginning": Read<{ from: string; to: string; limit: number }, RunRow>;
  "run.active": Read<{ session: string }, RunRow>;
  "runs.list": Read<RunListParams, ListedRunRow>;
  "runs.list.oldest": Read<RunListParams, ListedRunRow>;
  "runs.bySession": Read<RunListParams & { session: string }, ListedRunRow>;
  "runs.bySession.oldest": Read<RunListParams & { session: string }, ListedRunRow>;
  "runs.byAgent": Read<RunListParams & { agent: string }, ListedRunRow>;
  "runs.byAgent.oldest": Read<RunListParams & { agent: string }, ListedRunRow>;
  "runs.byStatus": Read<RunListParams & { status: string }, ListedRunRow>;
  "runs.byStatus.oldest": Read<RunListParams & { status: string }, ListedRunRow>;
  "runs.children": Read<{ parent: string }, RunRow>;
  "runs.newest": Read<{ session: string }, { readonly value: number | null }>;
  /** The first events of a session's runs, also of deleted runs. */
  "runs.createdAfter": Read<{ session: number; after: number; limit: number }, JournalRow & { readonly run: string }>;
  /** Runs that have an owner. */
  "runs.owned": Read<{ after: number; limit: number }, RunRow>;
  "runs.due": Read<{ now: number; limit: number }, RunRow>;
  "run.journal": Read<JournalPageParams, JournalRow>;
  "run.events": Read<JournalPageParams, PlacedEventRow>;
  "run.event": Read<{ session: string; seq: number }, JournalRow>;
  /** The signals, decisions and checkpoints of one run, in the form in which the checker reads those of a session. */
  "run.signals": Read<RunPageParams, CheckedRunPartRow>;
  "run.decisions": Read<RunPageParams, CheckedRunPartRow>;
  "run.checkpoints": Read<RunPageParams, CheckedRunPartRow>;
  "signal.next": Read<{ run: string; name: string }, JournalRow>;
  /**
   * Questions that wait for an answer. This and the next reads list the newest first, and reads whose names end in
   * "oldest" list the oldest first.
   */
  "decisions.open": Read<AfterSeqParams, DecisionRow>;
  "decisions.open.oldest": Read<AfterSeqParams, DecisionRow>;
  "decisions.answered": Read<AfterSeqParams, DecisionRow>;
  "decisions.answered.oldest": Read<AfterSeqParams, DecisionRow>;
  "decisions.list": Read<AfterSeqParams, DecisionRow>;
  "decisions.list.oldest": Read<AfterSeqParams, DecisionRow>;
  "decisions.openByRun": Read<AfterSeqParams & { run: string }, DecisionRow>;
  "decisions.openByRun.oldest": Read<AfterSeqParams & { run: string }, DecisionRow>;
  "decisions.answeredByRun": Read<AfterSeqParams & { run: string }, DecisionRow>;
  "decisions.answeredByRun.oldest": Read<AfterSeqParams & { run: string }, DecisionRow>;
  "decisions.byRun": Read<AfterSeqParams & { run: string }, DecisionRow>;
  "decisions.byRun.oldest": Read<AfterSeqParams & { run: string }, DecisionRow>;
  /** The last question about a step. */
  "decision.get": Read<{ session: string; step: number }, DecisionRow>;
  "checkpoint.last": Read<{ session: string; agent: string; run: string }, CheckpointRow>;
  "checkpoint.at": Read<{ session: string; agent: string; run: string; iteration: number }, CheckpointRow>;
}
