// Every kind of issue: whether quick mode looks for it, what it means, and what to do. docs/checker.md prints this table.
import type { CheckKind, CheckReport } from "../contracts/check.ts";

export interface KindOfIssue {
  /** The lightest mode that finds it. */
  readonly mode: CheckReport["mode"];
  readonly meaning: string;
  readonly hint: string;
}

const RESTORE = "Keep a copy of the store as it is and restore these rows from a backup.";
const RESTORE_LOG =
  "Keep a copy of the store as it is; restore the session from a backup, or fork it before the damage.";
const POINT =
  "Publish a head (heads.publish(), `npx holdfast publish SESSION`): the session then has that one as its current head.";
const ERASE_REST = "Restore the session's row from a backup, or delete what was left behind of it.";

export const KINDS: Readonly<Record<CheckKind, KindOfIssue>> = {
  "current-head-missing": { mode: "quick", meaning: "a session's current head does not exist", hint: POINT },
  "current-head-foreign": { mode: "quick", meaning: "a session's current head is another session's", hint: POINT },
  "current-head-aborted": { mode: "quick", meaning: "a session's current head is an aborted one", hint: POINT },
  "current-head-wrong": {
    mode: "deep",
    meaning: "a session's current head is not the one its log published or moved to last",
    hint: POINT,
  },
  "derived-moved-source": {
    mode: "quick",
    meaning: "a session's current head is one of a session that was forked from it or attached to it",
    hint: POINT,
  },
  "cache-id-missing": {
    mode: "quick",
    meaning: "a fork does not say which provider's cache it shares",
    hint: "Correct sessions.cache_id to that of its source, or the source's id if it has none; without it only the warm cache is lost.",
  },
  "alias-target-missing": {
    mode: "quick",
    meaning: "an alias names a session that is not there",
    hint: "Give the name to a session with sessions.setAlias() and move: true, or take it away with sessions.removeAlias().",
  },
  "alias-missing": {
    mode: "deep",
    meaning: "a session has another number of aliases than its row counts: one was lost, or belongs to another session",
    hint: "Its log says which ones it was given (alias/set, alias/removed): set the lost one again, then correct sessions.alias_count.",
  },
  "head-session-missing": { mode: "quick", meaning: "heads of a session that has no row", hint: ERASE_REST },
  "head-basis-missing": { mode: "quick", meaning: "a head was made on a head that does not exist", hint: RESTORE },
  "head-basis-foreign": { mode: "quick", meaning: "a head was made on a head of another session", hint: RESTORE },
  "head-final-missing": {
    mode: "quick",
    meaning: "a head's final value names a blob that is not there",
    hint: RESTORE,
  },
  "head-snapshot-missing": { mode: "quick", meaning: "a head names a snapshot that is not there", hint: RESTORE },
  "head-chain-wrong": {
    mode: "deep",
    meaning: "a head stands on another chain hash than the log has at its seq",
    hint: RESTORE,
  },
  "head-root-wrong": {
    mode: "deep",
    meaning: "a head's root is not the one that its rows give when it is derived anew",
    hint: RESTORE,
  },
  "head-id-wrong": { mode: "deep", meaning: "a head's id is not the hash of what it commits to", hint: RESTORE },
  "branch-missing": { mode: "quick", meaning: "there is no row for a branch that the session has", hint: RESTORE },
  "branch-parent-missing": {
    mode: "quick",
    meaning: "a branch continues a session or a branch that is not there",
    hint: RESTORE,
  },
  "branch-cut-beyond": {
    mode: "quick",
    meaning: "a branch begins behind the end of the log it continues",
    hint: RESTORE,
  },
  "branch-wrong": {
    mode: "deep",
    meaning: "an event, or the session itself, is on another branch than the log says",
    hint: RESTORE,
  },
  "lineage-cycle": {
    mode: "quick",
    meaning: "a branch continues itself by way of others, so that its history has no beginning",
    hint: RESTORE,
  },
  "derivation-target-missing": {
    mode: "quick",
    meaning: "a derivation of a session that has no row",
    hint: ERASE_REST,
  },
  "derivation-source-missing": {
    mode: "quick",
    meaning: "a session was derived from one that has no row, not even a tombstone",
    hint: RESTORE,
  },
  "derivation-head-missing": {
    mode: "quick",
    meaning: "a session was derived from a head that is not there, or not of its source",
    hint: RESTORE,
  },
  "derivation-mismatch": {
    mode: "quick",
    meaning: "a derivation and the branch the session begins with name different places",
    hint: RESTORE,
  },
  "invocation-caller-missing": { mode: "quick", meaning: "invocations of a caller that has no row", hint: ERASE_REST },
  "invocation-callee-missing": {
    mode: "quick",
    meaning: "an invocation's callee has no row, not even a tombstone",
    hint: RESTORE,
  },
  "invocation-head-missing": { mode: "quick", meaning: "an invocation names a head that is not there", hint: RESTORE },
  "invocation-head-foreign": {
    mode: "quick",
    meaning: "an invocation names a head that is not of the caller, the callee or the source it stands for",
    hint: RESTORE,
  },
  "invocation-call-missing": { mode: "quick", meaning: "an invocation names a call that is not there", hint: RESTORE },
  "invocation-type-invalid": {
    mode: "quick",
    meaning: "an invocation is neither a spawn nor an attach",
    hint: RESTORE,
  },
  "invocation-cycle": {
    mode: "quick",
    meaning: "sessions wait for each other in a circle, each in an invocation that is running",
    hint: "None of them can go on: end one of the invocations with invocations.finish().",
  },
  "attach-source-missing": {
    mode: "quick",
    meaning: "what an invocation attached to has no row, not even a tombstone",
    hint: RESTORE,
  },
  "attach-source-head-missing": {
    mode: "quick",
    meaning: "the head an invocation attached to is not there",
    hint: RESTORE,
  },
  "leaf-call-has-invocation": {
    mode: "quick",
    meaning: "a leaf call has an invocation: leaf calls are recorded as calls and start no session",
    hint: "Find the caller that recorded it and let it spawn from a root call.",
  },
  "remains-short": {
    mode: "quick",
    meaning: "of a deleted session less is kept than its forks inherit",
    hint: RESTORE,
  },
  "remains-left": {
    mode: "deep",
    meaning: "rows of a deleted session that no session inherits, or that only a deleted session has",
    hint:
      "If it was never deleted, restore its row from a backup; otherwise `npx holdfast gc` frees what no session inherits; " +
      "delete what the check still names after that.",
  },
  "row-session-missing": { mode: "quick", meaning: "rows of a session that has no row", hint: ERASE_REST },
  "turn-missing": { mode: "quick", meaning: "a row names a turn that is not there", hint: RESTORE },
  "turn-open-twice": { mode: "quick", meaning: "a turn is open a second time, or has no beginning", hint: RESTORE },
  "message-missing": { mode: "quick", meaning: "an eval names a message that is not there", hint: RESTORE },
  "version-wrong": {
    mode: "quick",
    meaning: "a call, an eval or an invocation has no first version, or goes on after it had ended",
    hint: RESTORE,
  },
  "state-held-twice": {
    mode: "quick",
    meaning: "a key of the state has two values at once",
    hint: "Correct state.until_seq of this value: it ended where the next one of its key begins (details.until).",
  },
  "task-board-missing": { mode: "quick", meaning: "a task of a board that is not there", hint: ERASE_REST },
  "run-ended-twice": { mode: "deep", meaning: "a run has more than one terminal event", hint: RESTORE_LOG },
  "row-without-event": { mode: "deep", meaning: "the log has no such event for a row of its seq", hint: RESTORE },
  "event-without-row": { mode: "deep", meaning: "the row that an event wrote is not there", hint: RESTORE },
  "row-mismatch": { mode: "deep", meaning: "a column is not what the row's event says", hint: RESTORE },
  "commitment-mismatch": {
    mode: "deep",
    meaning: "a row names another payload, or has another salt, than its event committed to",
    hint: RESTORE,
  },
  "chain-broken": {
    mode: "deep",
    meaning: "an event's hash does not follow from the one before it",
    hint: RESTORE_LOG,
  },
  "event-mismatch": {
    mode: "deep",
    meaning: "a column of an event, or of the message it added, is not what was hashed",
    hint: RESTORE_LOG,
  },
  "seq-gap": { mode: "deep", meaning: "an event is missing inside the log", hint: RESTORE_LOG },
  "log-truncated": { mode: "deep", meaning: "the log ends before where the session says it does", hint: RESTORE_LOG },
  "log-beyond-end": { mode: "deep", meaning: "there are events behind the end of the log", hint: RESTORE_LOG },
  "message-count-wrong": {
    mode: "deep",
    meaning: "a session's count of messages is not how many there are",
    hint: "Correct sessions.messages; nothing else depends on it.",
  },
  "state-seq-wrong": {
    mode: "deep",
    meaning: "a session's version of the state is not the seq of its last change",
    hint: "Correct sessions.state_seq: compare-and-set goes by it.",
  },
  "blob-missing": {
    mode: "quick",
    meaning: "a row names a blob that is not there, or its bytes are gone from where they are kept",
    hint: "Restore the blob from a backup, or store the same bytes again.",
  },
  "blob-part-missing": {
    mode: "quick",
    meaning: "a blob is made of, or names, a blob that is not there",
    hint: "Restore the blob from a backup, or store the same bytes again.",
  },
  "blob-hash-mismatch": {
    mode: "deep",
    meaning: "a blob's bytes do not have its hash",
    hint: "Restore the blob from a backup; other blobs are not affected.",
  },
  "blob-refs-wrong": {
    mode: "deep",
    meaning: "a blob is referred to by another number of rows than it counts",
    hint: "Correct blobs.refs before the next gc: a count too low lets it go, one too high keeps it.",
  },
  "blob-link-missing": {
    mode: "deep",
    meaning: "nothing keeps a blob that the content of a message or a capture's list of files names",
    hint: "Keep the blob at once with blobs.pin(): without the link it expires and is deleted. Then restore blob_links from a backup.",
  },
  "checksum-wrong": {
    mode: "deep",
    meaning: "a row does not have the checksum of its columns: one of those that nothing else proves was changed",
    hint: RESTORE,
  },
  "column-unreadable": {
    mode: "quick",
    meaning: "a column cannot be decoded, so that reading the row fails",
    hint:
      "Keep a copy of the store; restore the row from a backup, or set the column to NULL where it may be (details.column) " +
      "and write the row again (sessions.update(), agents.update()), which gives it a new checksum.",
  },
  "counter-missing": {
    mode: "quick",
    meaning: "the store has lost a counter: without it, no blob can be stored and none deleted",
    hint:
      "Keep a copy of the store, then make the row again: `INSERT INTO counters (name, n) VALUES ('gc', (SELECT " +
      "coalesce(max(epoch), 1) FROM blobs))`, or `('word_refs', 0)`.",
  },
  "agent-tags-wrong": {
    mode: "quick",
    meaning: "an agent's tags and the rows by which agents are found by tag differ, or these name no agent",
    hint: "Set the agent's tags again with agents.update(): it writes both.",
  },
  "block-wrong": {
    mode: "quick",
    meaning:
      "a block has no row for its version, versions without a block, or an agent names a block that is not there",
    hint: RESTORE,
  },
  "index-damaged": {
    mode: "deep",
    meaning: "an index of the database does not have exactly the rows of its table",
    hint:
      "Rebuild it from its table before the next write, then check again: `sqlite3 FILE 'REINDEX NAME'`, in PostgreSQL " +
      "`REINDEX INDEX NAME`. Until then rows may not be found, or be there twice.",
  },
  "page-damaged": {
    mode: "deep",
    meaning: "the database's own check, or a read, found damaged pages of a table or of the file",
    hint: "Keep a copy of the file with its -wal and -shm, or of the server's data; restore a backup, or salvage with `sqlite3 .recover`.",
  },
  "schema-damaged": {
    mode: "deep",
    meaning: "a table or an index is missing, or is not what the migrations make",
    hint: "Keep a copy of the store and restore a backup; an index that is missing can be made again from docs/format.md.",
  },
};

export function kindsOf(mode: CheckReport["mode"]): ReadonlySet<CheckKind> {
  const all = Object.keys(KINDS) as CheckKind[];
  return new Set(mode === "deep" ? all : all.filter((kind) => KINDS[kind].mode === "quick"));
}
