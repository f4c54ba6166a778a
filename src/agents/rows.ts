// Converts rows to agents and blocks, and back. The result of a write is made from the written row, so that a later
// read cannot disagree with it.
import type { Agent, Block, BlockVersion } from "../contracts/agents.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Queries } from "../contracts/storage/queries.ts";
import type { AgentRow, BlockRow } from "../contracts/storage/rows.ts";
import type { RowOf } from "../contracts/storage/tables.ts";
import { encodeText } from "../core/bytes.ts";
import { decodeRow, jsonObject, jsonTexts, oneOf, optional, text, utf8, whole, withBlob } from "../core/decode.ts";

const EDITS: readonly BlockVersion["edit"][] = [
  "created",
  "set",
  "append",
  "replace",
  "rethink",
  "restored",
  "configured",
  "promoted",
];

/** An agent's row as the rules write it; its number is the database's. */
export type AgentColumns = Omit<AgentRow, "no">;

/** An agent that was never described. */
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

const AGENT = {
  name: utf8,
  agent_type: text,
  model: optional(text),
  system: optional(utf8),
  tool_ids: optional(jsonTexts),
  tags: optional(jsonTexts),
  metadata: optional(jsonObject),
  created_at: whole,
  updated_at: whole,
  version: whole,
};

export function agentOf(row: AgentColumns): Agent {
  const found = decodeRow({ kind: "agent", agent: row.id }, row, AGENT);
  return {
    id: row.id,
    name: found.name,
    agentType: found.agent_type,
    model: found.model,
    system: found.system,
    toolIds: found.tool_ids ?? [],
    tags: found.tags ?? [],
    metadata: found.metadata ?? {},
    createdAt: found.created_at,
    updatedAt: found.updated_at,
    version: found.version,
  };
}

/** A block, and the blob with its value. */
export interface StoredBlock {
  readonly block: Block;
  readonly sha256: Uint8Array;
}

export const BLOCK_COLUMNS = {
  label: text,
  char_limit: whole,
  description: utf8,
  read_only: whole,
  version: whole,
  created_at: whole,
  updated_at: whole,
};

export async function storedBlock(payloads: Payloads, row: BlockRow): Promise<StoredBlock> {
  const name = { kind: "block", block: row.id };
  const found = decodeRow(name, row, BLOCK_COLUMNS);
  const block = {
    id: row.id,
    label: found.label,
    value: decodeRow(name, { value: await payloads.read(withBlob(name, "value", row)) }, { value: utf8 }).value,
    limit: found.char_limit,
    description: found.description,
    readOnly: found.read_only !== 0,
    version: found.version,
    createdAt: found.created_at,
    updatedAt: found.updated_at,
  };
  return { block, sha256: row.sha256 };
}

export const VERSION_COLUMNS = { version: whole, edit: oneOf(EDITS), at: whole };

/** A version of the block. */
export async function blockVersion(
  payloads: Payloads,
  block: string,
  row: Queries["block.versions"]["row"],
): Promise<BlockVersion> {
  const name = { kind: "block version", block, version: row.version };
  const { version, edit, at } = decodeRow(name, row, VERSION_COLUMNS);
  const { value } = decodeRow(name, { value: await payloads.read(withBlob(name, "value", row)) }, { value: utf8 });
  return { block, version, value, edit, at };
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
