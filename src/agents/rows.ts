// Agents and blocks between their rows and what callers see. What is answered after a write is made from the row that
// was written, so that a later read cannot disagree with it.
import type { Agent, Block, BlockVersion } from "../contracts/agents.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { AgentRow, BlockRow } from "../contracts/queries.ts";
import type { RowOf } from "../contracts/rows.ts";
import { decodeText, encodeText } from "../core/bytes.ts";
import { decodeJson, decodeJsonObject } from "../core/check.ts";

/** An agent's row as the rules write it; its number is the database's. */
export type AgentColumns = Omit<AgentRow, "no">;

/** One that nobody has described yet. */
export function plainAgent(id: string, at: number, version: number): AgentColumns {
  return {
    id,
    name: encodeText(id),
    agent_type: "agent",
    model: null,
    system: null,
    tool_ids: null,
    tags: null,
    metadata: null,
    created_at: at,
    updated_at: at,
    deleted_at: null,
    version,
  };
}

export function agentOf(row: AgentColumns): Agent {
  return {
    id: row.id,
    name: decodeText(row.name),
    agentType: row.agent_type,
    model: row.model,
    system: row.system === null ? null : decodeText(row.system),
    toolIds: textsOf(row.tool_ids),
    tags: textsOf(row.tags),
    metadata: decodeJsonObject(row.metadata),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    version: row.version,
  };
}

function textsOf(bytes: Uint8Array | null): readonly string[] {
  return bytes === null ? [] : (decodeJson(bytes) as readonly string[]);
}

/** A block and the blob its value is kept in. */
export interface HeldBlock {
  readonly block: Block;
  readonly sha256: Uint8Array;
}

export async function heldBlock(payloads: Payloads, row: BlockRow): Promise<HeldBlock> {
  const block = {
    id: row.id,
    label: row.label,
    value: decodeText(await payloads.read(row)),
    limit: row.char_limit,
    description: decodeText(row.description),
    readOnly: row.read_only !== 0,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
  return { block, sha256: row.sha256 };
}

export function blockColumns(block: Block): RowOf<"blocks"> {
  return {
    id: block.id,
    label: block.label,
    char_limit: block.limit,
    description: encodeText(block.description),
    read_only: block.readOnly ? 1 : 0,
    version: block.version,
    created_at: block.createdAt,
    updated_at: block.updatedAt,
  };
}

export function versionColumns(block: Block, value: Uint8Array, edit: BlockVersion["edit"]): RowOf<"block_versions"> {
  return { block_id: block.id, version: block.version, value, edit, at: block.updatedAt };
}
