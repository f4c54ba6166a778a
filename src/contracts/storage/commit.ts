// The data of the one write verb: what a commit uses, relies on and writes, and its outcome.
import type { Context } from "../context.ts";
import type { Counts, Head } from "../heads.ts";
import type { JsonObject } from "../json.ts";
import type { HeadRow } from "./lineage-queries.ts";
import type { RestoredRow } from "./portable-rows.ts";
import type { Queries, QueryName } from "./queries.ts";
import type { StatementName } from "./statement-names.ts";
import type { RowOf, Slot, TableName } from "./tables.ts";

/** A session that a commit uses: it changes the session's log or rows, or relies on them. */
export interface SessionUse {
  readonly id: string;
  /**
   * create: the commit is refused when the session exists. ensure: it creates a missing session. existing: it is
   * refused when the session is missing. restore: it is refused when the session exists, and the session's row is among
   * those that it restores. A deleted session is always refused. lock: the commit writes nothing to the session, and no
   * other commit does meanwhile; guards state what the commit relies on.
   */
  readonly mode: "create" | "ensure" | "existing" | "restore" | "lock";
  /** The session's agent, if this commit creates the session. */
  readonly agent?: string;
  readonly at: number;
}

/** A value that a decision relied on. The commit evaluates the named check again, which must still return this value. */
export interface Guard {
  readonly check: GuardName;
  readonly key: readonly (string | number | Uint8Array)[];
  readonly expect: number | string | null;
}

export type GuardName =
  /** The id of a session. Expected to be null: no session has this id, and none gets it while the commit happens. */
  | "session.id"
  | "session.version"
  /** The version of a session that was deleted, or that was imported in part. */
  | "session.tombstone"
  /** The invocations that name the session. */
  | "session.named"
  /** The length of the session's log: if several commits rely on it, one of them succeeds. */
  | "session.seq"
  | "session.branch"
  | "session.head"
  | "turn.version"
  | "call.version"
  | "eval.version"
  | "invocation.version"
  /** The invocations that wait for a session. Evaluated after the guard "store.lock". */
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
  /** Locks the row of a scope, which never changes: other guards say what a commit relies on. */
  | "memory.scope"
  | "memory.version"
  /** The newest memory with a digest, or with a fact's key. Evaluated after the guard "memory.scope". */
  | "memory.same"
  | "memory.fact"
  | "capture.seq"
  /** The newest capture. Evaluated after the guard "store.lock", like "invocation.waits". */
  | "capture.newest"
  /** The text of a claim. Evaluated after the guard "store.lock". */
  | "claim.value"
  | "remains.upto"
  | "collection.change"
  /** The number of a collection by its name. Evaluated after the guard "store.lock". */
  | "collection.no"
  | "collection.generation"
  /** What of a generation is in pages, and how many of the other embeddings were removed. */
  | "generation.tail"
  | "page.change"
  /** Counts the changes of the text index, and the erasures of what it has. */
  | "index.epoch"
  // These are read in the order of their names, so that the row of a blob or segment is locked before its users are read.
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
  /** Writes nothing. The rows that the query finds at this point are in the outcome. Only in a commit that is `solo`. */
  | {
      [N in QueryName]: { readonly op: "read"; readonly query: N; readonly params: Queries[N]["params"] };
    }[QueryName];

/** The rows that the reads inside a commit have found. */
export type FoundRows = { readonly [N in QueryName]?: readonly Queries[N]["row"][] };

export interface BlobWrite {
  readonly sha256: Uint8Array;
  readonly size: number;
  readonly media: string;
  readonly utf8: boolean;
  /**
   * 0 uncompressed, 1 zstd, 2 chunks (blob_links), 3 segments (blob_segments). 4 is no blob: under a random sha256 it keeps the parts of a
   * blob that is being assembled or removed.
   */
  readonly form: 0 | 1 | 2 | 3 | 4;
  readonly body: Uint8Array | null;
  readonly stored: number;
  /** The name of the backend with the bytes; "" is the database itself. */
  readonly store: string;
  readonly key: string | null;
  /** How many rows of this commit refer to the blob. */
  readonly refs: number;
  readonly expiresAt: number | null;
  readonly at: number;
}

export interface MessageDraft {
  readonly role: string;
  readonly key?: string;
  readonly sha256: Uint8Array;
  readonly salt: Uint8Array;
  /** The content if it is short; null: the content is the blob with this sha256. */
  readonly inline: Uint8Array | null;
  readonly chars: number;
}

export interface CarriedPayload {
  readonly sha256: Uint8Array;
  readonly salt: Uint8Array;
  /** The bytes if they are few; null: the bytes are the blob with this sha256. */
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
  /** The message that this event adds, in the event's own row. The event names the message's agent and commits to its content. */
  readonly message?: MessageDraft;
  /**
   * The payload in the row of this event of a run; `payloads` commits to it. null: the event has no payload, and its row still names the
   * run.
   */
  readonly rowPayload?: CarriedPayload | null;
  /** Rows that are written with the event. The columns session_no, branch and seq are filled in from the event. */
  readonly writes?: readonly Write[];
  /** How many messages this event adds to the session's count, or (negative) subtracts. */
  readonly messages?: number;
  /** This event changes the session's state. */
  readonly state?: boolean;
  /** This event begins a branch. Its seq is the branch's number, and the session is on the branch from here on. */
  readonly branches?: boolean;
  /**
   * The head that this event publishes; a commit publishes at most one in a session. The commit writes the head's row,
   * puts its id into `data` under "head", and makes a complete head the session's current head.
   */
  readonly head?: HeadDraft;
  /** The commit puts the id of the head that an earlier event of it has published into `data` under "head". */
  readonly namesHead?: boolean;
}

/**
 * The part of a head that is known when it is decided. Its position, its counts and therefore its id are fixed by the
 * commit, so that writers that only add to the log do not make the decision stale.
 */
export interface HeadDraft {
  readonly status: Head["status"];
  /** What the head continues if its branch has no earlier head; null if the branch has one. */
  readonly inherits: {
    /** The newest head before the branch, if it belongs to the same session. */
    readonly basis: { readonly id: string } | null;
    readonly source: { readonly session: string; readonly branch: number; readonly seq: number } | null;
    /** The counts of the lineage before the branch. */
    readonly counts: Counts;
    readonly compaction: NonNullable<Context["compaction"]> | null;
  } | null;
  /** What earlier events of this commit add to the head's counts. */
  readonly adds: Partial<Counts>;
  /** Commitments. The variables are those of the snapshot that the event before the head's event adds. */
  readonly commits: { readonly final: string | null; readonly vars: string | null; readonly summary: string | null };
  readonly columns: Pick<HeadRow, "final" | "salt" | "final_summary" | "fingerprint" | "turn_seq" | "cache_id">;
  /** What is covered by the summary message that the event before the head's event adds. */
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
  /** Agents whose number a slot needs. The commit registers an unknown agent. */
  readonly agents?: readonly { readonly id: string; readonly at: number }[];
  readonly guards?: readonly Guard[];
  /** The values of this commit's guards after it, if it changes them: the next commit need not read them. */
  readonly holds?: readonly Guard[];
  readonly blobs?: readonly BlobWrite[];
  readonly events?: readonly EventDraft[];
  /** Writes of rows that belong to no event. They happen after the writes of blobs and before those of events. */
  readonly writes?: readonly Write[];
  /**
   * Rows of sessions of another store, with the same seqs and hashes; the caller has verified them. They are written
   * before `writes`, which may name them. Only together with `solo`. The agents that they name are in `agents`, the
   * blobs in `uses`.
   */
  readonly restores?: readonly RestoredRow[];
  /** Writes that happen before `restores` and make room for the restored rows. */
  readonly replaces?: readonly Write[];
  /**
   * While this commit runs, no other commit adds events, and it sees all events that were added before: only under this
   * lock are row numbers in order. Only together with `solo`. On PostgreSQL other writers of events wait behind it, so
   * it waits only for a moment and then fails with StoreBusy: for work that can be done later.
   */
  readonly settled?: boolean;
  /**
   * Blobs that must be live already, because rows of this commit refer to them: [sha256, references added]. "parts":
   * the entry keeps the parts of a blob that arrived before this commit, and the commit takes them over.
   */
  readonly uses?: readonly (readonly [sha256: Uint8Array, references: number, holds?: "parts"])[];
}

export interface WrittenEvent {
  readonly session: string;
  readonly seq: number;
  readonly hash: Uint8Array;
  /** The head that the event published. */
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
        // The session does not exist and must not be created: its name reads like a locator.
        | "session-reserved";
      readonly session: string;
    }
  | { readonly reason: "blob-missing" | "blob-expired" | "parts-missing"; readonly sha256: Uint8Array }
  | { readonly reason: "guard"; readonly guard: Guard; readonly actual: number | string | null };
