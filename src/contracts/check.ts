// The checker: do the rows agree with each other, with the log, and with the bytes they name? Promise: it reads
// canonical rows only, in bounded pages beside writers, and reads a second time before it reports, so that a change in
// progress is not an issue.
import type { JsonObject } from "./json.ts";
import type { At } from "./locators.ts";

export type CheckKind =
  // sessions and their heads
  | "current-head-missing"
  | "current-head-foreign"
  | "current-head-aborted"
  | "current-head-wrong"
  | "derived-moved-source"
  | "cache-id-missing"
  | "alias-target-missing"
  | "alias-missing"
  | "head-session-missing"
  | "head-basis-missing"
  | "head-basis-foreign"
  | "head-final-missing"
  | "head-snapshot-missing"
  | "head-chain-wrong"
  | "head-root-wrong"
  | "head-id-wrong"
  // branches and edges
  | "branch-missing"
  | "branch-parent-missing"
  | "branch-cut-beyond"
  | "branch-wrong"
  | "lineage-cycle"
  | "derivation-target-missing"
  | "derivation-source-missing"
  | "derivation-head-missing"
  | "derivation-mismatch"
  | "invocation-caller-missing"
  | "invocation-callee-missing"
  | "invocation-head-missing"
  | "invocation-head-foreign"
  | "invocation-call-missing"
  | "invocation-type-invalid"
  | "invocation-cycle"
  | "attach-source-missing"
  | "attach-source-head-missing"
  | "leaf-call-has-invocation"
  // tombstones of deleted sessions
  | "remains-short"
  | "remains-left"
  // rows
  | "row-session-missing"
  | "turn-missing"
  | "turn-open-twice"
  | "message-missing"
  | "version-wrong"
  | "state-held-twice"
  | "task-board-missing"
  | "run-ended-twice"
  | "row-without-event"
  | "event-without-row"
  | "row-mismatch"
  | "commitment-mismatch"
  // the log
  | "chain-broken"
  | "event-mismatch"
  | "seq-gap"
  | "log-truncated"
  | "log-beyond-end"
  | "message-count-wrong"
  | "state-seq-wrong"
  // blobs
  | "blob-missing"
  | "blob-part-missing"
  | "blob-hash-mismatch"
  | "blob-refs-wrong"
  | "blob-link-missing"
  // columns, and what belongs to no session
  | "column-unreadable"
  | "checksum-wrong"
  | "agent-tags-wrong"
  | "counter-missing"
  | "block-wrong"
  // collections of documents
  | "collection-wrong"
  | "vector-page-wrong"
  | "metadata-index-wrong"
  | "memory-wrong"
  // the text index
  | "text-index-marks-wrong"
  | "text-index-range-wrong"
  | "text-index-stray"
  | "text-index-item-wrong"
  | "text-index-segment-wrong"
  | "text-index-page-wrong"
  | "text-index-text-wrong"
  // the engine
  | "index-damaged"
  | "page-damaged"
  | "schema-damaged";

export interface CheckIssue {
  readonly kind: CheckKind;
  /** Ids of the rows with the issue: of sessions, heads, blobs (refs), or `<session>#<seq>`. */
  readonly rows: readonly string[];
  /** What to do about it. */
  readonly hint: string;
  readonly details: JsonObject;
}

export interface CheckReport {
  readonly kind: "session-db/consistency";
  /** quick: structure. deep: also every blob's hash, every chain, every row against its event, every head derived anew. */
  readonly mode: "quick" | "deep";
  readonly status: "ok" | "issues";
  /** How many rows of each kind were checked. `orphanBlobs` wait for gc; they are no issue. */
  readonly counts: Readonly<Record<string, number>>;
  /** The engine's own check; null if it was not run, as in quick mode and for one session. */
  readonly engine: {
    /** SQLite: PRAGMA integrity_check. PostgreSQL: bt_index_check and verify_heapam of the extension amcheck. */
    readonly check: "integrity_check" | "amcheck";
    /** Why the engine's check, or a part of it, could not be run; null if all of it ran. */
    readonly notRun: string | null;
  } | null;
  readonly issueCount: number;
  /** The first issues, at most LIMITS.checkIssues. */
  readonly issues: readonly CheckIssue[];
}

export interface CheckProgress {
  /**
   * What is being checked: the engine's pages and indexes, a session, rows that belong to no session, or the store's
   * blobs.
   */
  readonly at: "engine" | "sessions" | "blobs" | "rows";
  readonly session?: string;
  readonly counts: Readonly<Record<string, number>>;
  /** Bytes of blobs that were read and hashed. */
  readonly bytes: number;
  /** Milliseconds since the check began. */
  readonly elapsedMs: number;
  readonly issueCount: number;
}

export interface Checking {
  /**
   * Checks whether all rows, logs and blobs of the store agree; see docs/checker.md. NotFound if there is no such
   * session.
   */
  check(options?: {
    /** Default: "deep". */
    readonly mode?: CheckReport["mode"];
    /**
     * Checks only this session: its rows, its log and the blobs that they name. A locator with a head is refused,
     * because the check covers the whole session.
     */
    readonly session?: At;
    /** Called repeatedly while the check runs. */
    readonly onProgress?: (progress: CheckProgress) => void;
  }): Promise<CheckReport>;
}
