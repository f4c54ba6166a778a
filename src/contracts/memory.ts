// Long-term memory: facts that outlive their sessions, each in one scope. adapters/long-term-memory.ts offers them under the names
// of the storage contracts (LongTermMemory). Promise: a call reads and changes the memories of its scope and no others; a fact
// replaces another one only for a reason that its history names, and that can be undone; a search never counts as use.
import type { Erasure } from "./history.ts";
import type { JsonableObject, JsonObject, Page, PageOptions } from "./json.ts";
import type { MetadataFilter } from "./metadata-filter.ts";
import type { Promotions } from "./promotion.ts";

/** Whose memories a call is about. Without an agent, it is about the memories that belong to no agent, and no others. */
export interface MemoryScope {
  /** Default: "default". */
  readonly namespace?: string;
  /** The agent need not be registered. */
  readonly agent?: string;
}

/** Where a fact comes from. The store does not look these ids up: they may outlive what they name. */
export interface MemorySource {
  readonly session?: string;
  /** The id of a message. */
  readonly message?: string;
  readonly run?: string;
}

export interface Memory {
  readonly id: string;
  readonly namespace: string;
  /** null: the memory belongs to no agent. */
  readonly agent: string | null;
  readonly content: string;
  /** Any word; the usual ones are fact, preference, goal, event and procedure. */
  readonly kind: string;
  /** What the fact is about, which property of it, and the property's value. null: not known. */
  readonly subject: string | null;
  readonly attribute: string | null;
  readonly value: string | null;
  /** From 0 to 1, in thousandths. */
  readonly importance: number;
  readonly metadata: JsonObject;
  /** When the fact began to hold, or the event happened, and when it ended; null: it has not ended. */
  readonly validFrom: number;
  readonly validTo: number | null;
  /** When it was first saved. */
  readonly recordedAt: number;
  /** How often it was saved again or touched, and when it last was; searches do not count. */
  readonly confirmations: number;
  readonly confirmedAt: number;
  /** From then on, no read finds it. */
  readonly expiresAt: number | null;
  /** The memory that took its place, and from when on (in the sense of validFrom). */
  readonly supersededBy: string | null;
  readonly supersededFrom: number | null;
  /** 1 for a new memory; every change adds 1. */
  readonly version: number;
}

export interface MemoryInput<M extends object = JsonObject> extends MemoryScope {
  /** Default: "fact". */
  readonly kind?: string;
  /** Letter case and white space do not distinguish subjects, attributes or values. */
  readonly subject?: string;
  /** Needs a subject. */
  readonly attribute?: string;
  /** Default: the content is the value. */
  readonly value?: string;
  /** From 0 to 1; default 0.5. */
  readonly importance?: number;
  readonly metadata?: JsonableObject<M>;
  /** How long the memory lives; for ever by default. When it is over, no read finds it, and deleteExpired() erases it. */
  readonly ttlMs?: number;
  /** Default: now. */
  readonly validFrom?: number;
  readonly validTo?: number;
  readonly source?: MemorySource;
  /** The memory whose place it takes. null: it takes no place, also if it is another value of the same attribute. */
  readonly supersedes?: string | null;
  /** Decides about facts that look alike. Without it, looking alike means nothing. */
  readonly judge?: MemoryJudge;
}

/** Judges a new fact beside the memories that its text or its subject finds. It may be called again if one of them has changed. */
export type MemoryJudge = (
  fact: JudgedFact,
  candidates: readonly Memory[],
) => MemoryVerdict | null | Promise<MemoryVerdict | null>;

export interface JudgedFact {
  readonly content: string;
  readonly kind: string;
  readonly subject: string | null;
  readonly attribute: string | null;
  readonly value: string | null;
  readonly validFrom: number;
}

/** Names candidates by their ids. */
export interface MemoryVerdict {
  /** The fact is this memory in other words: the memory is confirmed, and nothing new is saved. */
  readonly sameAs?: string;
  /** The fact takes the place of these. */
  readonly supersedes?: readonly string[];
}

export interface SavedMemory extends Memory {
  /** False: the same fact was there already, and was confirmed. */
  readonly isNew: boolean;
  /** Ids of the memories whose place it took. */
  readonly superseded: readonly string[];
}

/** One change of a memory. It repeats no content. */
export interface MemoryChange {
  readonly memory: string;
  /** The memory's version after it. */
  readonly version: number;
  /**
   * created, saved again, touched, superseded by another memory, restored by undo(). promoted into a block, demoted out of it,
   * withdrawn from it by hand or by undoPromotion(), pinned and unpinned there.
   */
  readonly change:
    | ("created" | "saved" | "touched" | "superseded" | "restored")
    | ("promoted" | "demoted" | "withdrawn" | "pinned" | "unpinned");
  readonly at: number;
  /** superseded, restored: the other memory. promoted, demoted, withdrawn: the block. */
  readonly by: string | null;
  readonly source: MemorySource;
}

export interface MemorySearchOptions extends MemoryScope {
  readonly kind?: string;
  readonly subject?: string;
  /** Conditions on the metadata. */
  readonly filter?: MetadataFilter;
  /** The time that recency counts from; default now. If it is given, only what held at this time is found. */
  readonly at?: number;
  /** Only what held at some time from `from` on, and before `to`. */
  readonly from?: number;
  readonly to?: number;
  /** true: also memories that were superseded, or have ended. */
  readonly superseded?: boolean;
  /** At most so many memories; default 10. */
  readonly limit?: number;
  /** At most so many tokens of content, estimated at 4 bytes each: a memory that does not fit is left out, and with it all after it. */
  readonly tokens?: number;
}

/** A part of a score. */
export interface MemorySignal {
  /** text: the words of the query. vector: its meaning. recency: 1 at validFrom = `at`, half of it after each 30 days. */
  readonly name: "text" | "vector" | "recency";
  /** From 0 to 1. A signal of value 0 is left out. */
  readonly value: number;
  readonly weight: number;
}

export interface MemoryHit extends Memory {
  /**
   * From 0 to 1: what text and vector say, weighted, of which recency decides a share, its weight. A memory that neither finds is
   * not among the hits, however recent. With vectors, the best text and the best vector of a search are 1.
   */
  readonly score: number;
  readonly signals: readonly MemorySignal[];
}

/** The hits, best first, and how they were found. */
export interface MemoryHits extends ReadonlyArray<MemoryHit> {
  /** text: by words only. hybrid: by words and by vectors; then the nearest memories are hits also if they have none of the words. */
  readonly mode: "text" | "hybrid";
  /** How many memories of the scope have no vector of the embedder yet, and are found by words only; 0 without an embedder. */
  readonly waiting: number;
  /** Why there is no hybrid search although the store has an embedder; null: nothing is wrong. */
  readonly warning: string | null;
}

export interface MemoryScopeStatus {
  readonly namespace: string;
  readonly agent: string | null;
  /** Without expired ones. */
  readonly memories: number;
  /** Of them. */
  readonly superseded: number;
  /** Expired, and not erased yet. */
  readonly expired: number;
}

export interface MemoryStatus {
  /** Scopes with memories. */
  readonly scopes: number;
  /** Of all scopes; see MemoryScopeStatus. */
  readonly memories: number;
  readonly superseded: number;
  readonly expired: number;
  /** Passages of memories that wait for their vectors, and those that failed for good; 0 in a store without an embedder. */
  readonly embedding: { readonly pending: number; readonly parked: number };
}

export interface Memories extends Promotions {
  /**
   * Saves a fact. The same fact (text, subject, attribute and value; of an event also validFrom, if given) that still holds in the
   * scope is not saved twice: it is confirmed, and importance, metadata, validTo and source are those given last; it lives as long
   * as the longer time to live says. A fact with another value of the same attribute of a subject takes the place of those that
   * held at its validFrom.
   */
  save<M extends object = JsonObject>(content: string, options?: MemoryInput<M>): Promise<SavedMemory>;
  /**
   * The memories of the scope that match best, best first. The query may have "phrases", prefix*, -words, kind:word and
   * subject:"a name". With an embedder the search is hybrid: it also finds the memories that are nearest in meaning, at most 200, or
   * four times the limit. Empty if no word of the query is in a memory, and no memory that the options allow has a vector: no score
   * is too low.
   */
  search(query: string, options?: MemorySearchOptions): Promise<MemoryHits>;
  /** Also a memory that was superseded. null if the scope has no such memory, or it has expired. */
  get(id: string, scope?: MemoryScope): Promise<Memory | null>;
  /** Memories that have not ended, also those that begin later, in the order in which they were saved. */
  list(
    filter?: PageOptions &
      MemoryScope & {
        readonly kind?: string;
        readonly subject?: string;
        /** Needs a subject. */
        readonly attribute?: string;
        /** true: also memories that were superseded, or have ended. */
        readonly superseded?: boolean;
      },
  ): Promise<Page<Memory>>;
  /** Every change of the fact: of the memory, of what it superseded, and of what superseded it. NotFound if there is no such memory. */
  history(id: string, options?: PageOptions & MemoryScope): Promise<Page<MemoryChange>>;
  /** Confirms that the memory holds or was of use, as saving it again would. NotFound if there is no such memory. */
  touch(id: string, options?: MemoryScope & { readonly source?: MemorySource }): Promise<Memory>;
  /**
   * The memory holds again, beside the one that superseded it. Conflict if it is not superseded, or the same fact was saved again
   * since.
   */
  undo(id: string, scope?: MemoryScope): Promise<Memory>;
  /**
   * Erases the memory, its changes and its index entries for good. What it superseded stays superseded: undo() brings it back. The
   * report counts 0 memories if there is none.
   */
  delete(id: string, scope?: MemoryScope): Promise<Erasure>;
  /** Erases all memories of the scope in the same way, in one commit. */
  clear(scope?: MemoryScope): Promise<Erasure>;
  /** Erases memories of all scopes whose time to live is over. A dry run only counts them. */
  deleteExpired(options?: { readonly dryRun?: boolean }): Promise<Erasure>;
  /** The scopes of the store that have memories, for its operator, in the order in which they were first used. */
  scopes(options?: PageOptions): Promise<Page<MemoryScopeStatus>>;
  /** Of the whole store, for its operator. */
  status(): Promise<MemoryStatus>;
}
