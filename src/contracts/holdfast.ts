// What open() returns: plain namespaces over one store. The reference goes with the types, for callers whose own lib
// does not know Symbol.asyncDispose.
/// <reference lib="esnext.disposable" preserve="true" />
import type { Agents } from "./agents.ts";
import type { BlobBackend, Blobs } from "./blobs.ts";
import type { Calls } from "./calls.ts";
import type { Captures } from "./captures.ts";
import type { Checking } from "./check.ts";
import type { Environment } from "./environment.ts";
import type { Heads } from "./heads.ts";
import type { History } from "./history.ts";
import type { Invocations, LeafCalls } from "./invocations.ts";
import type { Evals, Snapshots, Turns } from "./lineage.ts";
import type { Log } from "./log.ts";
import type { Querying } from "./query.ts";
import type { Runs } from "./runs.ts";
import type { Sessions } from "./sessions.ts";
import type { State } from "./state.ts";
import type { Tasks } from "./tasks.ts";
import type { Tracing } from "./trace.ts";

export interface OpenOptions {
  /** "full" (default): an acknowledged write survives power loss. "normal": the last ones may not, the store does. */
  readonly durability?: "full" | "normal";
  /** Where blob bytes live; the database when not given. See fileBlobs(). */
  readonly blobs?: BlobBackend;
  /** Time to live of a blob that is not pinned and that no row refers to. Default 7 days; null: for ever. */
  readonly blobTtlMs?: number | null;
  /** Any object that satisfies the contract replaces the built-in one. */
  readonly history?: History;
  readonly state?: State;
  readonly tasks?: Tasks;
  /** false: refuse to create a store that is not there yet, NotFound instead. Default true. */
  readonly create?: boolean;
  /** false: refuse to migrate an older store. Default true. */
  readonly migrate?: boolean;
  /** How long a writer waits for others before StoreBusy; default 30 s. */
  readonly busyMs?: number;
  /** Most connections of a handle to PostgreSQL, one that listens for tails not among them; default 10. */
  readonly poolSize?: number;
  /** Rights of a SQLite file that is made, and of what SQLite keeps beside it: 0o600 (its owner only) by default, 0o660 for a group. */
  readonly fileMode?: number;
  readonly environment?: Environment;
}

export interface StoreInfo {
  readonly url: string;
  readonly engine: "sqlite" | "postgres";
  readonly schemaVersion: number;
  /** Named at creation, the same for the store's whole life. */
  readonly storeId: string;
  readonly createdAt: number;
}

/** The clock by which the store judges what is due: sleeps, pauses, timeouts, deadlines, expiry. */
export interface StoreClock {
  /** Epoch milliseconds. */
  readonly now: number;
  /** server: that of the PostgreSQL server; machine: this machine's. */
  readonly source: "server" | "machine";
  /** How far this machine's own clock is ahead of it; negative when it is behind. 0 when it is the machine's. */
  readonly machineAheadMs: number;
  /** The server's clock was measured to within this. */
  readonly uncertaintyMs: number;
}

export interface Stats {
  /** Of the database, without the blobs that are kept outside of it. */
  readonly bytesOnDisk: number;
  readonly nouns: Readonly<
    Record<
      string,
      {
        /** Without those that were deleted; a call, an eval, a turn or an invocation is one, in however many versions. */
        readonly rows: number;
        /** Of sessions and agents: how many were deleted and left a tombstone. */
        readonly deleted?: number;
        /** Of sessions: how many are here only in part, because they came with a fork, or are only named. Left out when there are none. */
        readonly partial?: number;
      }
    >
  >;
  readonly blobs: {
    readonly count: number;
    /** Bytes as given, once per blob, and once per reference. */
    readonly bytes: number;
    readonly referencedBytes: number;
    /** Bytes as kept, and how many of them outside the database (see fileBlobs()). */
    readonly storedBytes: number;
    readonly outsideBytes: number;
    /** 1 − bytes / referencedBytes, and 1 − storedBytes / bytes; 0 when there is nothing. */
    readonly dedupSavings: number;
    readonly compressionSavings: number;
  };
  /** The largest sessions, largest first. */
  readonly sessions: readonly {
    readonly id: string;
    readonly events: number;
    readonly messages: number;
    /**
     * Bytes as given of all that its own rows refer to, on every branch, each content once: messages, attachments, state in
     * all its versions, calls, evals, steps, checkpoints and captures. What a fork inherits is its source's.
     */
    readonly bytes: number;
    /** How many of them other sessions refer to as well: erasing this session gives back at most the others. */
    readonly sharedBytes: number;
  }[];
}

export interface Holdfast extends Querying, Tracing, Checking {
  readonly info: StoreInfo;
  readonly agents: Agents;
  readonly sessions: Sessions;
  readonly heads: Heads;
  readonly turns: Turns;
  readonly calls: Calls & LeafCalls;
  readonly evals: Evals;
  readonly snapshots: Snapshots;
  readonly invocations: Invocations;
  readonly history: History;
  readonly state: State;
  readonly runs: Runs;
  readonly tasks: Tasks;
  readonly captures: Captures;
  readonly blobs: Blobs;
  readonly log: Log;
  stats(options?: { readonly sessions?: number }): Promise<Stats>;
  /** Which time it is for the store, and how far this machine's clock is from it. */
  clock(): StoreClock;
  /** Waits for what is under way, then closes; safe to call twice. Calls after it are refused with Closed. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
