// What is made of whole sessions: an archive, which is one file that is complete alone; and what sessions cost, share and descend from.
// Promise of an import: what was imported is what was exported, on whichever engine: ids, seqs, times, hashes and heads; an import
// happens whole or not at all; what was erased stays erased.
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
  /** The session itself, and those it invoked if `children` was given. */
  readonly sessions: readonly {
    readonly id: string;
    /** imported: it was not here before; there: it was, just as it is in the file. */
    readonly outcome: "imported" | "there";
    readonly seq: number;
    /** Chain hash at seq, hex. */
    readonly chain: string;
  }[];
  /** Sessions of which only what others inherit came along. */
  readonly inherited: readonly string[];
  /** Those of them that are here only so far, until an archive of the whole session is imported. */
  readonly partial: readonly string[];
  readonly rows: number;
  readonly blobs: number;
  /** Names in the file that are taken here, and so were left out. */
  readonly aliasesTaken: readonly string[];
}

/** What calls took and cost, as far as it is known. */
export interface Spending {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  /** Calls that did not say how many tokens they took. */
  readonly unknownTokens: number;
  /** Of the calls whose cost is known. */
  readonly costUsd: number;
  /** Calls whose cost is not known: what the side cost is then at least costUsd. */
  readonly unknownCosts: number;
}

export interface DiffSide extends LogPosition {
  readonly head: Head | null;
  readonly counts: Counts;
  /** Those the other side does not have, oldest first. */
  readonly messages: readonly MessageAt[];
  /** Calls the other side does not have. */
  readonly spent: Spending;
}

export interface Diff {
  readonly a: DiffSide;
  readonly b: DiffSide;
  /** The last point both sides have in their past; null when they have none. */
  readonly ancestor:
    | (LogPosition & {
        /** The newest head of it, when one was published by then. */
        readonly head: string | null;
      })
    | null;
  /** Messages both have. */
  readonly common: number;
  readonly state: {
    /** In b and not in a. */
    readonly added: readonly string[];
    readonly removed: readonly string[];
    readonly changed: readonly string[];
    /** Of each of these keys what it holds on either side; a side that does not have the key has no value. */
    readonly values: Readonly<Record<string, { readonly a?: Json; readonly b?: Json }>>;
  };
}

/** What sessions spent on calls of their own, on all of their branches; what a fork inherits is its source's. */
export interface CostReport {
  readonly total: Spending;
  /** Those with calls, in the order of their ids. */
  readonly sessions: readonly {
    readonly session: string;
    readonly total: Spending;
    readonly models: readonly (Pick<Call, "provider" | "model"> & Spending)[];
  }[];
}

/** A session and its edges. Of others only ids: they are in the list themselves when they are part of it. */
export interface TreeSession
  extends Pick<Session, "id" | "title" | "status" | "kind" | "messages" | "seq" | "head" | "createdAt"> {
  /** The branch it is on. */
  readonly branch: number;
  readonly branches: readonly {
    readonly branch: number;
    /** What it continues; null for the first branch of a session that was not made from another. */
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
  /** There are more than the limit. */
  readonly more: boolean;
}
