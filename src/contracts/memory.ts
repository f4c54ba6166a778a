// LongTermMemory of the storage contracts: facts that outlive sessions, scoped by (namespace, agent). No backend of this
// package implements it yet; any object that satisfies it can be handed to open(). (ShortTermMemory is State.)
import type { JsonableObject, JsonObject } from "./json.ts";

export interface MemoryScope {
  readonly agent: string;
  /** "default" when not given: leaving it out narrows, never widens. */
  readonly namespace?: string;
}

export interface Memory {
  readonly id: string;
  readonly content: string;
  /** 0..1, relevance to the query. */
  readonly score: number;
  readonly metadata: JsonObject;
}

export interface LongTermMemory {
  save<M extends object = JsonObject>(
    scope: MemoryScope,
    content: string,
    options?: { readonly metadata?: JsonableObject<M>; readonly ttlSeconds?: number },
  ): Promise<string>;
  search(scope: MemoryScope, query: string, options?: { readonly limit?: number }): Promise<readonly Memory[]>;
  get(scope: MemoryScope, memoryId: string): Promise<Memory | null>;
  delete(scope: MemoryScope, memoryId: string): Promise<boolean>;
  clear(scope: MemoryScope): Promise<void>;
}
