// Agents: registered identities with metadata and ordered core blocks that are needed on every request.
// Promise: saveBlocks and loadBlocks write and read an agent's whole ordered set atomically; every edit of a block is
// a version that can be read and restored.
import type { Erasure } from "./history.ts";
import type { JsonableObject, JsonObject, Page, PageOptions } from "./json.ts";

export interface Agent {
  readonly id: string;
  readonly name: string;
  readonly agentType: string;
  readonly model: string | null;
  readonly system: string | null;
  readonly toolIds: readonly string[];
  readonly tags: readonly string[];
  readonly metadata: JsonObject;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly version: number;
}

export interface AgentInput<M extends object = JsonObject>
  extends Partial<Pick<Agent, "id" | "name" | "agentType" | "model" | "system" | "toolIds" | "tags">> {
  readonly metadata?: JsonableObject<M>;
}

export interface Block {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  /** The maximum length of the value in characters (code points). */
  readonly limit: number;
  readonly description: string;
  readonly readOnly: boolean;
  /** 1 for a new block; every edit adds 1. */
  readonly version: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface BlockInput extends Partial<Pick<Block, "value" | "limit" | "description" | "readOnly">> {
  /**
   * The id of an existing block, to share or to keep it. Without an id, the agent's block with the same label is kept.
   */
  readonly id?: string;
  readonly label: string;
}

export interface BlockVersion extends Pick<Block, "version" | "value"> {
  readonly block: string;
  readonly edit: "created" | "set" | "append" | "replace" | "rethink" | "restored" | "configured" | "promoted";
  readonly at: number;
}

export interface Agents {
  /** AlreadyExists if the id is taken. */
  create<M extends object = JsonObject>(input?: AgentInput<M>): Promise<Agent>;
  get(id: string): Promise<Agent | null>;
  list(filter?: PageOptions & { readonly tag?: string; readonly agentType?: string }): Promise<Page<Agent>>;
  /** Only the given fields change. */
  update<M extends object = JsonObject>(
    id: string,
    patch: Omit<AgentInput<M>, "id"> & {
      /** Refuse with Conflict when the agent has another version. */
      readonly version?: number;
    },
  ): Promise<Agent>;
  /**
   * Erases the agent's description, and its blocks with all their versions unless another agent shares them, from the
   * files too. Its messages stay in their sessions, and its memories of all namespaces stay unless `memories` is true: the report
   * says how many there are (`kept.memories`). null if there is no such agent, and nothing else was erased.
   */
  delete(
    id: string,
    options?: {
      /** Erases its memories too, also if the agent itself was deleted before, or never registered. */ readonly memories?: boolean;
    },
  ): Promise<Erasure | null>;

  /**
   * Replaces the agent's set of blocks by exactly these, in this order. A block with the same label (or id) is updated
   * in place if it differs.
   */
  saveBlocks(agent: string, blocks: readonly BlockInput[]): Promise<readonly Block[]>;
  loadBlocks(agent: string): Promise<readonly Block[]>;
  getBlock(agent: string, label: string): Promise<Block | null>;
  /** Adds the text at the end of the block; creates the block if the agent has none with this label. */
  appendBlock(
    agent: string,
    label: string,
    text: string,
    options?: {
      /** Refuse with Conflict when the block has another version. */
      readonly version?: number;
    },
  ): Promise<Block>;
  /** Replaces the only occurrence of `find`; Conflict if it does not occur, or occurs more than once. */
  replaceInBlock(
    agent: string,
    label: string,
    find: string,
    put: string,
    options?: {
      /** Refuse with Conflict when the block has another version. */
      readonly version?: number;
    },
  ): Promise<Block>;
  /** Replaces the whole value. */
  rethinkBlock(
    agent: string,
    label: string,
    value: string,
    options?: {
      /** Refuse with Conflict when the block has another version. */
      readonly version?: number;
    },
  ): Promise<Block>;
  /** From now on the other agent reads and edits the same block. */
  shareBlock(agent: string, label: string, withAgent: string): Promise<Block>;
  blockVersions(agent: string, label: string, page?: PageOptions): Promise<Page<BlockVersion>>;
  /** The old value becomes a new version; nothing is lost. */
  restoreBlock(agent: string, label: string, version: number): Promise<Block>;
}
