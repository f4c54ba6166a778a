// Verbs on whole sessions: archives, each one complete file, and the cost, differences and lineage of sessions. Promise
// of an import: the imported session has the ids, seqs, times, hashes and heads of the exported one, on either engine;
// an import happens whole or not at all; erased content stays erased.
import type { Call } from "./calls.ts";
import type { Counts, Head } from "./heads.ts";
import type { Invocation } from "./invocations.ts";
import type { Json } from "./json.ts";
import type { MessageAt } from "./lineage.ts";
import type { LogPosition } from "./locators.ts";
import type { Session } from "./session.ts";

export interface ImportReport {
  /** The session that was exported. */
  readonly session: string;
  /** The session itself, and, with `children`, the sessions that it invoked. */
  readonly sessions: readonly {
    readonly id: string;
    /** imported: this store did not have the session. there: this store had it, exactly as in the file. */
    readonly outcome: "imported" | "there";
    readonly seq: number;
    /** The chain hash at seq, hex. */
    readonly chain: string;
  }[];
  /** Sessions of which the file has only the parts that others inherit. */
  readonly inherited: readonly string[];
  /** Those of them that this store has only in part, until their own archive is imported. */
  readonly partial: readonly string[];
  readonly rows: number;
  readonly blobs: number;
  /** Aliases in the file that were left out because they are taken here. */
  readonly aliasesTaken: readonly string[];
}

/** The tokens and the cost of calls, as far as they are known. */
export interface Spending {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  /** The number of calls whose tokens are unknown. */
  readonly unknownTokens: number;
  /** The sum over the calls whose cost is known. */
  readonly costUsd: number;
  /** The number of calls whose cost is unknown. If there are any, the true cost is at least costUsd. */
  readonly unknownCosts: number;
}

export interface DiffSide extends LogPosition {
  readonly head: Head | null;
  readonly counts: Counts;
  /** The messages that the other side does not have, oldest first. */
  readonly messages: readonly MessageAt[];
  /** The calls that the other side does not have. */
  readonly spent: Spending;
}

export interface Diff {
  readonly a: DiffSide;
  readonly b: DiffSide;
  /** The last position that both sides have in their past; null if there is none. */
  readonly ancestor:
    | (LogPosition & {
        /** The newest head at that position, if one was published by then. */
        readonly head: string | null;
      })
    | null;
  /** The number of messages that both sides have. */
  readonly common: number;
  readonly state: {
    /** Keys of b that a does not have. */
    readonly added: readonly string[];
    readonly removed: readonly string[];
    readonly changed: readonly string[];
    /** For each of these keys its value on both sides; a side without the key has no value. */
    readonly values: Readonly<Record<string, { readonly a?: Json; readonly b?: Json }>>;
  };
}

/** What sessions spent on their own calls, on all branches. Calls that a fork inherits count for its source. */
export interface CostReport {
  readonly total: Spending;
  /** The sessions with calls, in the order of their ids. */
  readonly sessions: readonly {
    readonly session: string;
    readonly total: Spending;
    readonly models: readonly (Pick<Call, "provider" | "model"> & Spending)[];
  }[];
}

/** A session and its edges. An edge has only the id of the other session, which may be in the list too. */
export interface TreeSession
  extends Pick<Session, "id" | "title" | "status" | "kind" | "messages" | "seq" | "head" | "createdAt"> {
  /** The session's current branch. */
  readonly branch: number;
  readonly branches: readonly {
    readonly branch: number;
    /** The position that the branch continues; null for the first branch of a session without a source. */
    readonly from: LogPosition | null;
    /** Oldest first. */
    readonly heads: readonly (Pick<Head, "id" | "seq" | "status" | "at"> & { readonly summary: string | null })[];
  }[];
  readonly from: (LogPosition & { readonly type: "fork" | "attach"; readonly head: string | null }) | null;
  readonly invocations: readonly Pick<Invocation, "id" | "branch" | "seq" | "type" | "status" | "callee" | "label">[];
}

export interface Tree {
  /** Newest first. */
  readonly sessions: readonly TreeSession[];
  /** True if there are more than the limit. */
  readonly more: boolean;
}
