// The named reads of long-term memory; see queries.ts. `now` decides what has expired, been superseded or ended.
import type { Filter, Read } from "./rows.ts";

/** A row of the table `memories`, with the names of its scope. */
export interface MemoryRow {
  readonly no: number;
  readonly id: string;
  readonly scope_no: number;
  readonly namespace: string;
  readonly agent: string;
  readonly digest: Uint8Array;
  readonly subject_key: Uint8Array | null;
  readonly fact_key: Uint8Array | null;
  readonly content: Uint8Array;
  readonly kind: string;
  readonly subject: string | null;
  readonly attribute: string | null;
  readonly value: Uint8Array | null;
  readonly importance: number;
  readonly metadata: Uint8Array | null;
  readonly valid_from: number;
  readonly valid_to: number | null;
  readonly recorded_at: number;
  readonly confirmations: number;
  readonly confirmed_at: number;
  readonly expires_at: number | null;
  readonly superseded_by: string | null;
  readonly superseded_from: number | null;
  readonly version: number;
}

export interface MemoryChangeRow {
  readonly no: number;
  readonly memory_id: string;
  readonly version: number;
  readonly change: string;
  readonly at: number;
  readonly by_id: string | null;
  readonly session: string | null;
  readonly message: string | null;
  readonly run: string | null;
}

export interface PlacementRow {
  readonly no: number;
  readonly id: string;
  readonly content: Uint8Array;
  readonly block: string;
}

/** What an erasure of a scope removes. */
export interface MemoryTotals {
  readonly memories: number;
  readonly changes: number;
  readonly bytes: number;
}

/** `all`: 1 also lists what was superseded or has ended. `last` is the number of the last row of the page before. */
type MemoryListParams = {
  scope: number;
  last: number;
  now: number;
  kind: Filter<string>;
  all: number;
  limit: number;
};
type MemoryChangesParams = { id: string; scope: number; last: number; now: number; limit: number };

export interface MemoryQueries {
  "memory.scope": Read<{ namespace: string; agent: string }, { readonly no: number }>;
  /** An agent's scopes that have memories, in the order of their numbers. */
  "memory.scopesOf": Read<
    { agent: string; after: number; limit: number },
    { readonly no: number; readonly namespace: string }
  >;
  /** How many memories an agent has in all namespaces, expired ones too. */
  "memories.ofAgent": Read<{ agent: string }, { readonly n: number }>;
  /** Expired ones too. */
  "memory.get": Read<{ id: string; scope: number }, MemoryRow>;
  "memory.byNumber": Read<{ no: number; scope: number }, MemoryRow>;
  "memories.list": Read<MemoryListParams, MemoryRow>;
  "memories.list.oldest": Read<MemoryListParams, MemoryRow>;
  "memories.bySubject": Read<MemoryListParams & { subject: Uint8Array }, MemoryRow>;
  "memories.bySubject.oldest": Read<MemoryListParams & { subject: Uint8Array }, MemoryRow>;
  "memories.byFact": Read<MemoryListParams & { fact: Uint8Array }, MemoryRow>;
  "memories.byFact.oldest": Read<MemoryListParams & { fact: Uint8Array }, MemoryRow>;
  /** Memories with this digest, oldest first, expired ones too. */
  "memories.same": Read<{ scope: number; digest: Uint8Array }, MemoryRow>;
  /** Memories with a fact's key that held at a time, and had not expired. */
  "memories.heldAt": Read<{ scope: number; fact: Uint8Array; at: number; now: number; limit: number }, MemoryRow>;
  /** Memories with a fact's key that began to hold after a time, in this order. */
  "memories.heldAfter": Read<{ scope: number; fact: Uint8Array; at: number; now: number; limit: number }, MemoryRow>;
  /** What the guards "memory.same" and "memory.fact" compare. */
  "memory.newestSame": Read<{ digest: Uint8Array; scope: number }, { readonly value: number | null }>;
  "memory.newestOfFact": Read<{ fact: Uint8Array; scope: number }, { readonly value: number | null }>;
  /** The changes of a memory and of all that superseded each other with it. */
  "memory.changes": Read<MemoryChangesParams, MemoryChangeRow>;
  "memory.changes.oldest": Read<MemoryChangesParams, MemoryChangeRow>;
  /** Of memories with these numbers, the last change of each kind that matters for promotion. */
  "memories.promotions": Read<{ scope: number; after: number; upTo: number }, MemoryChangeRow>;
  /** Memories with these numbers, each with every block into which a promotion ever put it. */
  "memories.placements": Read<{ scope: number; after: number; upTo: number }, PlacementRow>;
  /** Memories of other namespaces that a promotion ever put into the block. */
  "memories.inBlock": Read<
    { block: string; namespace: string },
    { readonly no: number; readonly id: string; readonly content: Uint8Array; readonly namespace: string }
  >;
  /** Numbers of a scope's memories in their order. */
  "memories.numbers": Read<{ scope: number; after: number; limit: number }, { readonly no: number }>;
  /** Some memories of a scope, as the text index needs them; `items` is a JSON array of their numbers. */
  "memories.texts": Read<{ scope: number; items: string }, MemoryTextRow>;
  "memories.totals": Read<{ scope: number }, MemoryTotals>;
  "memories.expired": Read<{ now: number; after: number; afterNo: number; limit: number }, MemoryRow>;
  "memory.scopes": Read<{ last: number; now: number; limit: number }, MemoryScopeRow>;
  "memory.scopes.oldest": Read<{ last: number; now: number; limit: number }, MemoryScopeRow>;
  "memory.status": Read<
    { now: number },
    { readonly scopes: number; readonly memories: number; readonly superseded: number; readonly expired: number }
  >;
  /** How many memories say that they come from a session. */
  "memories.ofSession": Read<{ session: string }, { readonly n: number }>;
  // The checker.
  "check.memories": Read<
    { after: number; limit: number },
    Omit<MemoryRow, "namespace" | "agent"> & {
      readonly namespace: string | null;
      readonly agent: string | null;
      /** The highest version among its changes, and how many there are. */
      readonly newest: number | null;
      readonly changes: number;
      /** How many entries of the index of metadata it has. */
      readonly fields: number;
    }
  >;
  "check.memoryChanges": Read<
    { afterMemory: string; afterVersion: number; limit: number },
    Omit<MemoryChangeRow, "no"> & {
      /** null: the memory is missing. */
      readonly memory: string | null;
    }
  >;
  "check.memoryFields": Read<
    { scope: number; item: number },
    { readonly path: Uint8Array; readonly value: Uint8Array }
  >;
  /** Rows of the index of metadata whose memory is missing. */
  "check.strayMemoryFields": Read<{ limit: number }, { readonly scope: number; readonly item: number }>;
}

/** The columns of a memory that are in the text index. */
export interface MemoryTextRow
  extends Pick<MemoryRow, "no" | "content" | "kind" | "subject" | "attribute" | "value" | "valid_from"> {
  readonly scope_no: number;
}

interface MemoryScopeRow {
  readonly no: number;
  readonly namespace: string;
  readonly agent: string;
  readonly memories: number;
  readonly superseded: number;
  readonly expired: number;
}
