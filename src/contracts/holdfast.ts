// What open() returns: plain namespaces over one store. The reference is part of the published types, for callers whose
// own lib lacks Symbol.asyncDispose.
/// <reference lib="esnext.disposable" preserve="true" />
import type { Agents } from "./agents.ts";
import type { BlobBackend, Blobs } from "./blobs.ts";
import type { Calls } from "./calls.ts";
import type { Captures } from "./captures.ts";
import type { Checking } from "./check.ts";
import type { Embedder } from "./embedders.ts";
import type { EmbeddingStatus, Embeddings } from "./embeddings.ts";
import type { Environment } from "./environment.ts";
import type { Heads } from "./heads.ts";
import type { History } from "./history.ts";
import type { Invocations, LeafCalls } from "./invocations.ts";
import type { Evals, Snapshots, Turns } from "./lineage.ts";
import type { Log } from "./log.ts";
import type { Memories } from "./memory.ts";
import type { Querying } from "./query.ts";
import type { Runs } from "./runs.ts";
import type { Searching } from "./search.ts";
import type { Sessions } from "./sessions.ts";
import type { State } from "./state.ts";
import type { Tasks } from "./tasks.ts";
import type { Reindexing, SearchSettings, TextIndexStats } from "./text-index.ts";
import type { Tracing } from "./trace.ts";
import type { Vectors } from "./vectors.ts";

export interface OpenOptions {
  /**
   * "full" (default): an acknowledged write survives power loss. "normal": power loss may undo the last writes, but
   * does not damage the store.
   */
  readonly durability?: "full" | "normal";
  /** Where the bytes of blobs are stored; by default in the database. See fileBlobs(). */
  readonly blobs?: BlobBackend;
  /** Time to live of a blob that is not pinned and that no row refers to. Default 7 days; null: it never expires. */
  readonly blobTtlMs?: number | null;
  /** Any object that satisfies the contract replaces the built-in one. */
  readonly history?: History;
  readonly state?: State;
  readonly tasks?: Tasks;
  /** false: NotFound if there is no store yet, instead of creating one. Default true. */
  readonly create?: boolean;
  /** false: refuse to migrate an older store. Default true. */
  readonly migrate?: boolean;
  /** How long a writer waits for other writers before StoreBusy; default 30 s. */
  readonly busyMs?: number;
  /**
   * The maximum number of PostgreSQL connections of a handle, without the one that listens for notifications; default
   * 10.
   */
  readonly poolSize?: number;
  /**
   * Permissions of a new SQLite file and of the files that SQLite makes beside it: 0o600 (its owner only) by default,
   * 0o660 for a group.
   */
  readonly fileMode?: number;
  /**
   * Embeds what is stored without an embedding, in the background, and the texts of searches. With an embedder of another id, everything
   * is embedded again; the old embeddings answer meanwhile. See holdfast/embedders.
   */
  readonly embedder?: Embedder;
  /**
   * What an embedder embeds: by default documents, memories and all messages. Each text is embedded once, which costs what the
   * embedder costs. false: texts of that kind are searched by words only. A call of the embedder that takes longer than `timeoutMs`, by
   * default 2 minutes, is aborted and has failed: texts wait for another try. The text of a search has `queryTimeoutMs`, by default 3
   * seconds: then, and for some seconds after such a failure, searches answer by words.
   */
  readonly embeddings?: {
    readonly documents?: boolean;
    readonly memories?: boolean;
    readonly messages?: boolean;
    readonly timeoutMs?: number;
    readonly queryTimeoutMs?: number;
  };
  /**
   * The text index. It is written in the background after many messages; appends write nothing for it. false: this
   * handle writes no index, and cannot search. Erasures reach an index that other handles write in any case.
   */
  readonly search?: false | SearchSettings;
  readonly environment?: Environment;
}

export interface StoreInfo {
  readonly url: string;
  readonly engine: "sqlite" | "postgres";
  readonly schemaVersion: number;
  /** Made when the store is created; it never changes. */
  readonly storeId: string;
  readonly createdAt: number;
}

/** The clock that decides what is due: sleeps, pauses, timeouts, deadlines, expiry. */
export interface StoreClock {
  /** Epoch milliseconds. */
  readonly now: number;
  /** server: the clock of the PostgreSQL server. machine: this machine's clock. */
  readonly source: "server" | "machine";
  /**
   * How far this machine's clock is ahead of the store's clock; negative if it is behind. 0 if the source is the
   * machine.
   */
  readonly machineAheadMs: number;
  /** The precision of the measurement of the server's clock. */
  readonly uncertaintyMs: number;
}

export interface Stats {
  /** Bytes of the database, without the blobs outside of it. */
  readonly bytesOnDisk: number;
  readonly nouns: Readonly<
    Record<
      string,
      {
        /**
         * How many rows exist, without deleted ones. A call, eval, turn or invocation counts once, however many
         * versions it has.
         */
        readonly rows: number;
        /** How many sessions and agents were deleted and left a tombstone. */
        readonly deleted?: number;
        /**
         * How many sessions are in this store only in part, because they were imported with a fork or are only named.
         * Left out if there are none.
         */
        readonly partial?: number;
      }
    >
  >;
  readonly blobs: {
    readonly count: number;
    /** Uncompressed bytes, counted once per blob, and once per reference. */
    readonly bytes: number;
    readonly referencedBytes: number;
    /** Stored bytes, and how many of them are outside the database (see fileBlobs()). */
    readonly storedBytes: number;
    readonly outsideBytes: number;
    /** 1 − bytes / referencedBytes, and 1 − storedBytes / bytes; 0 if there are no blobs. */
    readonly dedupSavings: number;
    readonly compressionSavings: number;
  };
  /** The index of the messages' texts. */
  readonly textIndex: TextIndexStats;
  /** What waits for its embedding, what failed, and the model. */
  readonly embeddings: EmbeddingStatus;
  /** The largest sessions, largest first. */
  readonly sessions: readonly {
    readonly id: string;
    readonly events: number;
    readonly messages: number;
    /**
     * Uncompressed bytes of everything that the session's own rows refer to, on every branch, each content once:
     * messages, attachments, all versions of state, calls, evals, steps, checkpoints and captures. Content that a fork
     * inherits counts for its source.
     */
    readonly bytes: number;
    /** How many of these bytes other sessions refer to as well. Erasing this session frees at most the rest. */
    readonly sharedBytes: number;
  }[];
}

export interface Holdfast extends Querying, Searching, Tracing, Checking, Reindexing {
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
  readonly memory: Memories;
  readonly captures: Captures;
  readonly blobs: Blobs;
  readonly log: Log;
  readonly vectors: Vectors;
  readonly embeddings: Embeddings;
  stats(options?: { readonly sessions?: number }): Promise<Stats>;
  /** The time of the store's clock, and how far this machine's clock differs. */
  clock(): StoreClock;
  /**
   * Waits for calls under way, then closes the store. It may be called twice. Later calls of other verbs are refused
   * with Closed.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
