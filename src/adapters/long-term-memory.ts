// holdfast/long-term-memory: the memories of a store as the LongTermMemory of the storage contracts, which has other names. Every call
// is one call of hf.memory, with its guarantees.
import type { Holdfast } from "../contracts/holdfast.ts";
import type { JsonableObject, JsonObject } from "../contracts/json.ts";
import type { Memory } from "../contracts/memory.ts";
import { checkFields } from "../core/check.ts";

export interface ScoredMemory {
  readonly content: string;
  /** How well it matches the query, from 0 to 1. A memory that get() returns has 1. */
  readonly score: number;
  readonly id: string;
  readonly metadata: JsonObject;
}

/** Each verb does what the verb of hf.memory with its name does. */
export interface LongTermMemory {
  /** The id of the memory; of the one that says the same, if there is one. */
  save<M extends object = JsonObject>(
    agentId: string,
    content: string,
    options?: {
      readonly namespace?: string;
      readonly metadata?: JsonableObject<M> | null;
      readonly ttlSeconds?: number | null;
    },
  ): Promise<string>;
  search(
    agentId: string,
    query: string,
    options?: { readonly namespace?: string; readonly limit?: number },
  ): Promise<readonly ScoredMemory[]>;
  get(agentId: string, memoryId: string, options?: { readonly namespace?: string }): Promise<ScoredMemory | null>;
  /** Whether there was such a memory. */
  delete(agentId: string, memoryId: string, options?: { readonly namespace?: string }): Promise<boolean>;
  clear(agentId: string, options?: { readonly namespace?: string }): Promise<void>;
}

export function longTermMemory({ memory }: Pick<Holdfast, "memory">): LongTermMemory {
  return {
    save: async (agent, content, { metadata, ttlSeconds, ...options } = {}) => {
      const saved = await memory.save(content, {
        ...scopeOf(agent, options),
        ...(metadata === undefined || metadata === null ? {} : { metadata: metadata as JsonObject }),
        ...(ttlSeconds === undefined || ttlSeconds === null ? {} : { ttlMs: Math.round(ttlSeconds * 1000) }),
      });
      return saved.id;
    },
    search: async (agent, query, { limit, ...options } = {}) => {
      const found = await memory.search(query, {
        ...scopeOf(agent, options),
        ...(limit === undefined ? {} : { limit }),
      });
      return found.map((hit) => scoredMemory(hit, hit.score));
    },
    get: async (agent, id, options = {}) => {
      const found = await memory.get(id, scopeOf(agent, options));
      return found === null ? null : scoredMemory(found, 1);
    },
    delete: async (agent, id, options = {}) =>
      (await memory.delete(id, scopeOf(agent, options))).removed.memories === 1,
    clear: async (agent, options = {}) => {
      await memory.clear(scopeOf(agent, options));
    },
  };
}

/** Refuses any other option: callers may pass on what a model wrote, and an agent there would be another scope. */
function scopeOf(agent: string, options: { readonly namespace?: string }): { agent: string; namespace?: string } {
  checkFields(options, "options", ["namespace"]);
  const { namespace } = options;
  return namespace === undefined ? { agent } : { agent, namespace };
}

function scoredMemory({ content, id, metadata }: Memory, score: number): ScoredMemory {
  return { content, score, id, metadata };
}
