// The one write verb's data: what a commit touches, relies on and writes, and its outcome.
import type { Context } from "../context.ts";
import type { Counts, Head } from "../heads.ts";
import type { JsonObject } from "../json.ts";
import type { HeadRow } from "./lineage-queries.ts";
import type { RestoredRow } from "./portable-rows.ts";
import type { Queries, QueryName } from "./queries.ts";
import type { StatementName } from "./statement-names.ts";
import type { RowOf, Slot, TableName } from "./tables.ts";

/** A session whose log or rows a commit touches. */
export interface SessionUse {
  readonly id: string;
  /**
   * create: the commit is refused when the session exists. ensure: it creates a missing session. existing: it is refused when the session is
   * missing. restore: it is refused when the session exists, and the session's row is among those that it restores. A deleted session is
   * always refused. lock: the commit writes nothing to the session, and no other commit does meanwhile; guards state what the commit relies
   * on.
   */
  readonly mode: "create" | "ensure" | "existing" | "restore" | "lock";
  /** Recorded when this commit creates it. */
  readonly agent?: string;
  readonly at: number;
}

/** A value that a decision relied on: the named check, evaluated again inside the commit, must still return it. */
export interface Guard {
  readonly check: GuardName;
  readonly key: readonly (string | number | Uint8Array)[];
  readonly expect: number | string | null;
}

export type GuardName =
  /** Expected to be null: no session has this id, nor gets it while the commit happens. */
  | "session.id"
  | "session.version"
  /** Of one that is not here as a whole: it was deleted here, or came in part. */
  | "session.tombstone"
  /** Which invocations name it. */
  | "session.named"
  /** The length of the session's log: of several commits that rely on it, one succeeds. */
  | "session.seq"
  | "session.branch"
  | "session.head"
  | "turn.version"
  | "call.version"
  | "eval.version"
  | "invocation.version"
  /** Evaluated after the guard "store.lock". */
  | "invocation.waits"
  | "run.version"
  | "run.epoch"
  | "run.beat"
  | "run.active"
  | "runs.newest"
  | "checkpoint.last"
  | "decision.answered"
  | "signal.taken"
  /** Locks a row that always exists: commits with this guard run one after another in a store. */
  | "store.lock"
  | "state.version"
  | "alias.session"
  | "message.key"
  | "messages.live"
  | "inline.there"
  | "agent.version"
  | "block.version"
  | "board.version"
  | "board.id"
  | "boards.last"
  | "task.version"
  | "capture.seq"
  /** As "invocation.waits", of a moment after "store.lock". */
  | "capture.newest"
  /** As "capture.newest". */
  | "claim.value"
  | "remains.upto"
  // Read in the order of their names: the row of a blob or segment is locked before its users are read.
  | "blob.claims"
  | "blob.parents"
  | "segment.size"
  | "segment.used"
  | "gc.epoch";

export type Cell = null | number | string | Uint8Array | Slot;

/** Values by the names of a text's parameters. */
export type NamedCells = Readonly<Record<string, Cell>>;

export type Write =
  | { [T in TableName]: { readonly op: "insert" | "put"; readonly table: T; readonly row: RowOf<T> } }[TableName]
  | { [T in TableName]: { readonly op: "remove"; readonly table: T; readonly row: RowOf<T> } }[TableName]
  | { readonly op: "run"; readonly statement: StatementName; readonly params: readonly Cell[] | NamedCells }
  /** Writes nothing: what is there at this point comes with the outcome. In a commit that is `solo`. */
  | {
      [N in QueryName]: { readonly op: "read"; readonly query: N; readonly params: Queries[N]["params"] };
    }[QueryName];

/** Rows of the reads inside a commit. */
export type FoundRows = { readonly [N in QueryName]?: readonly Queries[N]["row"][] };

export interface BlobWrite {
  readonly sha256: Uint8Array;
  readonly size: number;
  readonly media: string;
  readonly utf8: boolean;
  /**
   * 0 as given, 1 zstd, 2 chunks (blob_links), 3 segments (blob_segments); 4 is no blob: it holds the parts of one that
   * is being put together or taken apart, under a random sha256.
   */
  readonly form: 0 | 1 | 2 | 3 | 4;
  readonly body: Uint8Array | null;
  readonly stored: number;
  /** "" is the database itself. */
  readonly store: string;
  readonly key: string | null;
  /** Rows of this commit that refer to it. */
  readonly refs: number;
  readonly expiresAt: number | null;
  readonly at: number;
}

export interface MessageDraft {
  readonly role: string;
  readonly key?: string;
  readonly sha256: Uint8Array;
  readonly salt: Uint8Array;
  /** The content itself when it is short; otherwise it is the blob of this sha256. */
  readonly inline: Uint8Array | null;
  readonly chars: number;
}

export interface CarriedPayload {
  readonly sha256: Uint8Array;
  readonly salt: Uint8Array;
  /** The bytes themselves when they are few; otherwise they are the blob of this sha256. */
  readonly inline: Uint8Array | null;
}

export interface EventDraft {
  readonly session: string;
  readonly type: string;
  readonly at: number;
  readonly agent?: string;
  readonly run?: string;
  readonly data?: JsonObject;
  readonly payloads?: Readonly<Record<string, { readonly sha256: Uint8Array; readonly salt: Uint8Array }>>;
  /** The message this event adds, in the event's own row; the event names its agent and commits to its content. */
  readonly message?: MessageDraft;
  /**
   * The payload that this event of a run carries in its own row; `payloads` commits to it. null: it carries none, and is
   * found by its run all the same.
   */
  readonly rowPayload?: CarriedPayload | null;
  /** Written with the event; session_no, branch and seq are filled in from it where the table has them. */
  readonly writes?: readonly Write[];
  /** Messages this event adds to, or (negative) takes from, the session's count. */
  readonly messages?: number;
  /** This event changes the session's state. */
  readonly state?: boolean;
  /** This event begins a branch, whose number is its seq; the session is on it from here on. */
  readonly branches?: boolean;
  /**
   * The head this event publishes, one for a session and commit. Its row is written, the session points to it when it is
   * complete, and its id is put into `data` under "head".
   */
  readonly head?: HeadDraft;
  /** `data` names the head that this commit has published before, under "head". */
  readonly namesHead?: boolean;
}

/**
 * The part of a head that is known when it is decided. Its position, its counts and therefore its id are fixed by the
 * commit, so that writers that only add to the log do not make the decision stale.
 */
export interface HeadDraft {
  readonly status: Head["status"];
  /** What it continues when its branch has no head of its own; null when it has one. */
  readonly inherits: {
    /** The newest head before the branch, when it is of the same session. */
    readonly basis: { readonly id: string } | null;
    readonly source: { readonly session: string; readonly branch: number; readonly seq: number } | null;
    /** Of the lineage before the branch. */
    readonly counts: Counts;
    readonly compaction: NonNullable<Context["compaction"]> | null;
  } | null;
  /** What the events before it in this commit add to its counts. */
  readonly adds: Partial<Counts>;
  /** Commitments. The variables are those of the snapshot that the event before it adds. */
  readonly commits: { readonly final: string | null; readonly vars: string | null; readonly summary: string | null };
  readonly columns: Pick<HeadRow, "final" | "salt" | "final_summary" | "fingerprint" | "turn_seq" | "cache_id">;
  /** What is covered by the message that the event before it adds. */
  readonly compacts: Omit<NonNullable<Context["compaction"]>, "summary"> | null;
}

/** A head as a commit has published it. */
export type PublishedHead = Omit<HeadRow, "no">;

export interface Commit {
  /** A run may be due: workers are notified. */
  readonly wakes?: boolean;
  /** Runs in its own transaction, because it removes rows that others may be about to use. */
  readonly solo?: boolean;
  readonly sessions?: readonly SessionUse[];
  /** Agents whose number a slot needs; registered when unknown. */
  readonly agents?: readonly { readonly id: string; readonly at: number }[];
  readonly guards?: readonly Guard[];
  /** What its guards will hold after the commit, where the commit changes that: the next commit need not read them. */
  readonly holds?: readonly Guard[];
  readonly blobs?: readonly BlobWrite[];
  readonly events?: readonly EventDraft[];
  /** Rows that belong to no event. Written after blobs and before events. */
  readonly writes?: readonly Write[];
  /**
   * Rows of sessions of another store as they were there, seqs and hashes included; the caller has verified them.
   * Written before `writes`, which may name them. Together with `solo`; agents they name are among `agents`, blobs
   * among `uses`.
   */
  readonly restores?: readonly RestoredRow[];
  /** Written before `restores`, which take the place of what goes. */
  readonly replaces?: readonly Write[];
  /**
   * No other commit adds events while this one runs, and it sees all events added before: row numbers are in order only
   * under this lock. Together with `solo`. On PostgreSQL other writers of events wait behind it, so it waits only for a
   * moment and then fails with StoreBusy: for work that can be done later.
   */
  readonly settled?: boolean;
  /**
   * Blobs that must be live already because rows of this commit refer to them: [sha256, references added]. "parts": it
   * holds the parts of a blob that arrived before this commit, which takes them over.
   */
  readonly uses?: readonly (readonly [sha256: Uint8Array, references: number, holds?: "parts"])[];
}

export interface WrittenEvent {
  readonly session: string;
  readonly seq: number;
  readonly hash: Uint8Array;
  /** The head it published. */
  readonly head?: PublishedHead;
}

export type Outcome =
  | {
      readonly ok: true;
      readonly events: readonly WrittenEvent[];
      readonly found?: FoundRows;
    }
  | { readonly ok: false; readonly refused: Refusal };

export type Refusal =
  | {
      readonly reason:
        | ("session-exists" | "session-missing" | "session-deleted" | "session-partial" | "session-alias")
        // Not there, and not to be made: its name reads like a locator.
        | "session-reserved";
      readonly session: string;
    }
  | { readonly reason: "blob-missing" | "blob-expired" | "parts-missing"; readonly sha256: Uint8Array }
  | { readonly reason: "guard"; readonly guard: Guard; readonly actual: number | string | null };
