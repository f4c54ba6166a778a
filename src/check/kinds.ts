// Every kind of issue: whether quick mode looks for it, what it means, and what to do. docs/checker.md prints this
// table.
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
  "Publish a head (heads.publish(), `npx holdfast publish SESSION`): it becomes the session's current head.";
const REBUILD = "Make it again from the documents with vectors.rebuild() (`npx holdfast vectors rebuild COLLECTION`).";
const REINDEX = "Make it again from the stored texts with reindex() (`npx holdfast reindex`).";
const ERASE_REST = "Restore the session's row from a backup, or delete the rows that were left behind.";

export const KINDS: Readonly<Record<CheckKind, KindOfIssue>> = {
  "current-head-missing": { mode: "quick", meaning: "a session's current head does not exist", hint: POINT },
  "current-head-foreign": {
    mode: "quick",
    meaning: "a session's current head belongs to another session",
    hint: POINT,
  },
  "current-head-aborted": { mode: "quick", meaning: "a session's current head is aborted", hint: POINT },
  "current-head-wrong": {
    mode: "deep",
    meaning: "a session's current head is not the head that its log published or moved to last",
    hint: POINT,
  },
  "derived-moved-source": {
    mode: "quick",
    meaning: "a session's current head belongs to a session that was forked from it or attached to it",
    hint: POINT,
  },
  "cache-id-missing": {
    mode: "quick",
    meaning: "a fork does not say which provider's cache it shares",
    hint: "Set sessions.cache_id to the source's cache_id, or to the source's id if it has none; without it only the warm cache is lost.",
  },
  "alias-target-missing": {
    mode: "quick",
    meaning: "an alias names a session that does not exist",
    hint: "Give the alias to a session with sessions.setAlias() and move: true, or remove it with sessions.removeAlias().",
  },
  "alias-missing": {
    mode: "deep",
    meaning:
      "a session's row counts another number of aliases than the session has: an alias was lost, or belongs to another session",
    hint: "The session's log lists its aliases (alias/set, alias/removed): set the lost alias again, then correct sessions.alias_count.",
  },
  "head-session-missing": { mode: "quick", meaning: "heads of a session that has no row", hint: ERASE_REST },
  "head-basis-missing": { mode: "quick", meaning: "a head's basis is a head that does not exist", hint: RESTORE },
  "head-basis-foreign": { mode: "quick", meaning: "a head's basis is a head of another session", hint: RESTORE },
  "head-final-missing": {
    mode: "quick",
    meaning: "a head's final value names a blob that does not exist",
    hint: RESTORE,
  },
  "head-snapshot-missing": { mode: "quick", meaning: "a head names a snapshot that does not exist", hint: RESTORE },
  "head-chain-wrong": {
    mode: "deep",
    meaning: "a head records another chain hash than the log has at its seq",
    hint: RESTORE,
  },
  "head-root-wrong": {
    mode: "deep",
    meaning: "a head's root differs from the root that the checker derives from the rows",
    hint: RESTORE,
  },
  "head-id-wrong": { mode: "deep", meaning: "a head's id is not the hash of what it commits to", hint: RESTORE },
  "branch-missing": { mode: "quick", meaning: "there is no row for a branch that the session has", hint: RESTORE },
  "branch-parent-missing": {
    mode: "quick",
    meaning: "a branch continues a session or a branch that does not exist",
    hint: RESTORE,
  },
  "branch-cut-beyond": {
    mode: "quick",
    meaning: "a branch begins after the end of the log that it continues",
    hint: RESTORE,
  },
  "branch-wrong": {
    mode: "deep",
    meaning: "an event, or the session itself, is on another branch than the log says",
    hint: RESTORE,
  },
  "lineage-cycle": {
    mode: "quick",
    meaning: "a branch continues itself through other branches, so its history has no beginning",
    hint: RESTORE,
  },
  "derivation-target-missing": {
    mode: "quick",
    meaning: "a derivation of a session that has no row",
    hint: ERASE_REST,
  },
  "derivation-source-missing": {
    mode: "quick",
    meaning: "a session was derived from a session that has no row, not even a tombstone",
    hint: RESTORE,
  },
  "derivation-head-missing": {
    mode: "quick",
    meaning: "a session was derived from a head that does not exist or does not belong to its source",
    hint: RESTORE,
  },
  "derivation-mismatch": {
    mode: "quick",
    meaning: "a derivation and the session's first branch name different positions",
    hint: RESTORE,
  },
  "invocation-caller-missing": { mode: "quick", meaning: "invocations of a caller that has no row", hint: ERASE_REST },
  "invocation-callee-missing": {
    mode: "quick",
    meaning: "an invocation's callee has no row, not even a tombstone",
    hint: RESTORE,
  },
  "invocation-head-missing": {
    mode: "quick",
    meaning: "an invocation names a head that does not exist",
    hint: RESTORE,
  },
  "invocation-head-foreign": {
    mode: "quick",
    meaning: "a head that an invocation names does not belong to its caller, its callee or its source",
    hint: RESTORE,
  },
  "invocation-call-missing": {
    mode: "quick",
    meaning: "an invocation names a call that does not exist",
    hint: RESTORE,
  },
  "invocation-type-invalid": {
    mode: "quick",
    meaning: "an invocation is neither a spawn nor an attach",
    hint: RESTORE,
  },
  "invocation-cycle": {
    mode: "quick",
    meaning: "sessions wait for each other in a circle of running invocations",
    hint: "None of these sessions can continue: end one of the invocations with invocations.finish().",
  },
  "attach-source-missing": {
    mode: "quick",
    meaning: "the session that an invocation attached to has no row, not even a tombstone",
    hint: RESTORE,
  },
  "attach-source-head-missing": {
    mode: "quick",
    meaning: "the head that an invocation attached to does not exist",
    hint: RESTORE,
  },
  "leaf-call-has-invocation": {
    mode: "quick",
    meaning: "a leaf call has an invocation: leaf calls are recorded as calls and start no session",
    hint: "Find the caller that recorded it and let it spawn from a root call.",
  },
  "remains-short": {
    mode: "quick",
    meaning: "a deleted session keeps less of its log than its forks inherit",
    hint: RESTORE,
  },
  "remains-left": {
    mode: "deep",
    meaning:
      "rows of a deleted session that no session inherits, or rows of a living session that only a deleted session may have",
    hint:
      "If the session was never deleted, restore its row from a backup; otherwise `npx holdfast gc` frees the rows that no " +
      "session inherits; delete the rows that the check still names after that.",
  },
  "row-session-missing": { mode: "quick", meaning: "rows of a session that has no row", hint: ERASE_REST },
  "turn-missing": { mode: "quick", meaning: "a row names a turn that does not exist", hint: RESTORE },
  "turn-open-twice": { mode: "quick", meaning: "a turn is open a second time, or has no beginning", hint: RESTORE },
  "message-missing": { mode: "quick", meaning: "an eval names a message that does not exist", hint: RESTORE },
  "version-wrong": {
    mode: "quick",
    meaning: "a call, an eval or an invocation has no first version, or has a version after the one that ended it",
    hint: RESTORE,
  },
  "state-held-twice": {
    mode: "quick",
    meaning: "a key of the state has two values at once",
    hint: "Correct state.until_seq of this value: it ended where the next value of its key begins (details.until).",
  },
  "task-board-missing": { mode: "quick", meaning: "a task of a board that does not exist", hint: ERASE_REST },
  "run-ended-twice": { mode: "deep", meaning: "a run has more than one terminal event", hint: RESTORE_LOG },
  "row-without-event": { mode: "deep", meaning: "a row exists whose event is not in the log", hint: RESTORE },
  "event-without-row": { mode: "deep", meaning: "the row that an event wrote does not exist", hint: RESTORE },
  "row-mismatch": { mode: "deep", meaning: "a column differs from the row's event", hint: RESTORE },
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
    meaning: "a column of an event, or of its message, differs from the value that was hashed",
    hint: RESTORE_LOG,
  },
  "seq-gap": { mode: "deep", meaning: "an event is missing inside the log", hint: RESTORE_LOG },
  "log-truncated": {
    mode: "deep",
    meaning: "the log ends before the seq that the session's row records",
    hint: RESTORE_LOG,
  },
  "log-beyond-end": { mode: "deep", meaning: "there are events after the end of the log", hint: RESTORE_LOG },
  "message-count-wrong": {
    mode: "deep",
    meaning: "a session's row counts another number of messages than the session has",
    hint: "Correct sessions.messages; nothing else depends on it.",
  },
  "state-seq-wrong": {
    mode: "deep",
    meaning: "a session's state_seq is not the seq of the last change of its state",
    hint: "Correct sessions.state_seq: compare-and-set compares with it.",
  },
  "blob-missing": {
    mode: "quick",
    meaning: "a row names a blob that does not exist, or the blob's bytes are gone",
    hint: "Restore the blob from a backup, or store the same bytes again.",
  },
  "blob-part-missing": {
    mode: "quick",
    meaning: "a blob is made of, or names, a blob that does not exist",
    hint: "Restore the blob from a backup, or store the same bytes again.",
  },
  "blob-hash-mismatch": {
    mode: "deep",
    meaning: "a blob's bytes do not have its hash",
    hint: "Restore the blob from a backup; other blobs are not affected.",
  },
  "blob-refs-wrong": {
    mode: "deep",
    meaning: "a blob's reference count differs from the number of rows that refer to it",
    hint: "Correct blobs.refs before the next gc: with a count too low gc deletes the blob, with a count too high gc keeps it.",
  },
  "blob-link-missing": {
    mode: "deep",
    meaning: "no link keeps a blob that a message's content or a capture's list of files names",
    hint: "Keep the blob at once with blobs.pin(): without the link it expires and is deleted. Then restore blob_links from a backup.",
  },
  "checksum-wrong": {
    mode: "deep",
    meaning: "a row does not have the checksum of its columns: a column that only the checksum proves was changed",
    hint: RESTORE,
  },
  "column-unreadable": {
    mode: "quick",
    meaning: "a column cannot be decoded, so reading the row fails",
    hint:
      "Keep a copy of the store; restore the row from a backup, or set the column to NULL where the schema allows it (details.column) " +
      "and write the row again with sessions.update() or agents.update(), which gives it a new checksum.",
  },
  "counter-missing": {
    mode: "quick",
    meaning: "the store has lost a counter: without it, no blob can be stored or deleted",
    hint:
      "Keep a copy of the store, then insert the row again: `INSERT INTO counters (name, n) VALUES ('gc', (SELECT " +
      "coalesce(max(epoch), 1) FROM blobs))`, or `('word_refs', 0)`.",
  },
  "agent-tags-wrong": {
    mode: "quick",
    meaning: "an agent's tags differ from its tag rows, or a tag row names no agent",
    hint: "Set the agent's tags again with agents.update(), which writes both.",
  },
  "block-wrong": {
    mode: "quick",
    meaning:
      "a block has no row for its version, a version has no block, or an agent names a block that does not exist",
    hint: RESTORE,
  },
  "collection-wrong": {
    mode: "quick",
    meaning:
      "a collection, its generations, its documents and their embeddings do not agree, or rows have no collection",
    hint: RESTORE,
  },
  "vector-page-wrong": {
    mode: "deep",
    meaning: "a page of codes is not what its embeddings give, so that searches may miss documents",
    hint: REBUILD,
  },
  "metadata-index-wrong": {
    mode: "deep",
    meaning:
      "the index of metadata differs from the metadata of a document, so that filters may find the wrong documents",
    hint: REBUILD,
  },
  "memory-wrong": {
    mode: "quick",
    meaning: "a memory, its scope, its changes and its entries in the index of metadata do not fit together",
    hint: `If only entries of metadata_fields are wrong, save the memory again with its metadata. Otherwise: ${RESTORE}`,
  },
  "text-index-marks-wrong": {
    mode: "quick",
    meaning: "the row of a text index is missing, or its epoch, marks or language do not fit its segments and the log",
    hint: REINDEX,
  },
  "text-index-range-wrong": {
    mode: "quick",
    meaning:
      "the ranges of segments of the text index overlap, leave out events or reach beyond them, or counts contradict each other",
    hint: REINDEX,
  },
  "text-index-stray": {
    mode: "quick",
    meaning: "pages of the text index belong to no segment, so that an erasure would not find the words on them",
    hint: REINDEX,
  },
  "text-index-item-wrong": {
    mode: "quick",
    meaning: "an item of the text index is missing, is of nothing in the store, or names a segment that does not exist",
    hint: REINDEX,
  },
  "text-index-segment-wrong": {
    mode: "deep",
    meaning: "the row of a segment of the text index has other counts than its pages, or no known language",
    hint: REINDEX,
  },
  "text-index-page-wrong": {
    mode: "deep",
    meaning: "a page of the text index is damaged, missing, out of order, or not the one of its row",
    hint: REINDEX,
  },
  "text-index-text-wrong": {
    mode: "deep",
    meaning:
      "a segment of the text index has other words than the texts that it is made of, lacks a text, or has one that does not exist",
    hint: REINDEX,
  },
  "index-damaged": {
    mode: "deep",
    meaning: "an index of the database does not have exactly the rows of its table",
    hint:
      "Rebuild it from its table before the next write, then check again: `sqlite3 FILE 'REINDEX NAME'`, in PostgreSQL " +
      "`REINDEX INDEX NAME`. Until then a query may miss rows or return rows twice.",
  },
  "page-damaged": {
    mode: "deep",
    meaning: "the database's own check, or a read, found damaged pages of a table or of the file",
    hint: "Keep a copy of the file with its -wal and -shm, or of the server's data; restore a backup, or salvage with `sqlite3 .recover`.",
  },
  "schema-damaged": {
    mode: "deep",
    meaning: "a table or an index is missing, or differs from the one that the migrations create",
    hint: "Keep a copy of the store and restore a backup; a missing index can be created again from docs/format.md.",
  },
};

export function kindsOf(mode: CheckReport["mode"]): ReadonlySet<CheckKind> {
  const all = Object.keys(KINDS) as CheckKind[];
  return new Set(mode === "deep" ? all : all.filter((kind) => KINDS[kind].mode === "quick"));
}
