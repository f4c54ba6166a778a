// The tables as stored, in terms that both engines share; docs/format.md says what each column means. A statement is
// generated from these lists once, so that its text is constant; a test compares them with what the migrations created.

import { BLOB_TABLES } from "./blob-rows.ts";
import { RUN_TABLES } from "./run-rows.ts";

/**
 * serial: integer key given by the database, in order of insertion; never leaves it.
 * blobref: written as a sha256, kept as the integer key of the blob.
 */
export type ColumnType = "serial" | "int" | "real" | "text" | "bytes" | "blobref";

export interface TableShape {
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** What a put replaces and a remove names; none: rows are neither replaced nor removed one by one. */
  readonly key: readonly string[];
  /** Columns that only the row's own checksum proves: see core/checksum.ts. */
  readonly checksum?: readonly string[];
}

export const TABLES = {
  agents: {
    columns: {
      no: "serial",
      id: "text",
      name: "bytes",
      agent_type: "text",
      model: "text",
      system: "bytes",
      tool_ids: "bytes",
      tags: "bytes",
      metadata: "bytes",
      created_at: "int",
      updated_at: "int",
      deleted_at: "int",
      version: "int",
      checksum: "text",
    },
    key: ["id"],
    checksum: [
      "id",
      "name",
      "agent_type",
      "model",
      "system",
      "tool_ids",
      "tags",
      "metadata",
      "created_at",
      "updated_at",
      "deleted_at",
      "version",
    ],
  },
  agent_tags: { columns: { tag: "text", agent_no: "int" }, key: ["tag", "agent_no"] },
  blocks: {
    columns: {
      id: "text",
      label: "text",
      char_limit: "int",
      description: "bytes",
      read_only: "int",
      version: "int",
      created_at: "int",
      updated_at: "int",
      checksum: "text",
    },
    key: ["id"],
    checksum: ["id", "label", "char_limit", "description", "read_only", "version", "created_at", "updated_at"],
  },
  block_versions: {
    columns: { block_id: "text", version: "int", value: "blobref", edit: "text", at: "int", checksum: "text" },
    key: ["block_id", "version"],
    checksum: ["block_id", "version", "value", "edit", "at"],
  },
  agent_blocks: {
    columns: { agent_no: "int", ord: "int", block_id: "text", checksum: "text" },
    key: ["agent_no", "ord"],
    checksum: ["agent_no", "ord", "block_id"],
  },
  sessions: {
    columns: {
      no: "serial",
      id: "text",
      agent_no: "int",
      title: "bytes",
      status: "text",
      tags: "bytes",
      metadata: "bytes",
      request: "text",
      created_at: "int",
      updated_at: "int",
      deleted_at: "int",
      version: "int",
      branch: "int",
      seq: "int",
      chain: "bytes",
      messages: "int",
      state_seq: "int",
      kind: "text",
      origin: "text",
      cache_id: "text",
      head_no: "int",
      alias_count: "int",
      checksum: "text",
    },
    key: ["id"],
    checksum: ["id", "title", "status", "metadata", "created_at", "deleted_at", "version"],
  },
  branches: {
    columns: {
      session_no: "int",
      branch: "int",
      seq: "int",
      parent_session_no: "int",
      parent_branch: "int",
      cut_seq: "int",
      at: "int",
    },
    key: ["session_no", "branch"],
  },
  turns: {
    columns: {
      session_no: "int",
      first_seq: "int",
      seq: "int",
      branch: "int",
      status: "text",
      agent_no: "int",
      run: "text",
      at: "int",
    },
    key: ["session_no", "first_seq", "seq"],
  },
  clears: {
    columns: { session_no: "int", seq: "int", branch: "int", agent_no: "int", run: "text" },
    key: ["session_no", "seq"],
  },
  remains: { columns: { session_no: "int", branch: "int", upto: "int" }, key: ["session_no", "branch"] },
  evals: {
    columns: {
      session_no: "int",
      first_seq: "int",
      seq: "int",
      branch: "int",
      turn_seq: "int",
      message_seq: "int",
      status: "text",
      code: "blobref",
      result: "blobref",
      final: "blobref",
      error: "blobref",
      salts: "bytes",
      at: "int",
      erased_seq: "int",
    },
    key: ["session_no", "first_seq", "seq"],
  },
  calls: {
    columns: {
      session_no: "int",
      first_seq: "int",
      seq: "int",
      branch: "int",
      turn_seq: "int",
      type: "text",
      status: "text",
      model: "text",
      provider: "text",
      request: "blobref",
      response: "blobref",
      result: "blobref",
      error: "blobref",
      salts: "bytes",
      tokens_in: "int",
      tokens_out: "int",
      tokens_cached: "int",
      cost_usd: "real",
      created_at: "int",
      completed_at: "int",
      erased_seq: "int",
    },
    key: ["session_no", "first_seq", "seq"],
  },
  snapshots: {
    columns: {
      session_no: "int",
      seq: "int",
      branch: "int",
      turn_seq: "int",
      vars: "blobref",
      salt: "bytes",
      at: "int",
      erased_seq: "int",
    },
    key: ["session_no", "seq"],
  },
  heads: {
    columns: {
      no: "serial",
      id: "text",
      session_no: "int",
      branch: "int",
      seq: "int",
      basis_no: "int",
      status: "text",
      chain: "bytes",
      root: "bytes",
      final: "blobref",
      salt: "bytes",
      final_summary: "bytes",
      snapshot_seq: "int",
      fingerprint: "text",
      turn_seq: "int",
      cache_id: "text",
      at: "int",
    },
    key: ["id"],
  },
  invocations: {
    columns: {
      session_no: "int",
      first_seq: "int",
      seq: "int",
      branch: "int",
      type: "text",
      status: "text",
      callee_session_no: "int",
      caller_head_before: "int",
      caller_head_after: "int",
      callee_head_before: "int",
      callee_head_after: "int",
      call_seq: "int",
      label: "bytes",
      source_session_no: "int",
      source_head: "int",
      source_snapshot_seq: "int",
      source_fingerprint: "text",
      created_at: "int",
      completed_at: "int",
      checksum: "text",
    },
    key: ["session_no", "first_seq", "seq"],
    checksum: ["first_seq", "seq", "label"],
  },
  derivations: {
    columns: {
      session_no: "int",
      seq: "int",
      type: "text",
      source_session_no: "int",
      source_head: "int",
      source_branch: "int",
      source_seq: "int",
      at: "int",
    },
    key: ["session_no", "seq"],
  },
  ...RUN_TABLES,
  ...BLOB_TABLES,
  session_tags: { columns: { tag: "text", session_no: "int" }, key: ["tag", "session_no"] },
  aliases: { columns: { name: "text", session_no: "int", created_at: "int" }, key: ["name"] },
  events: {
    columns: {
      no: "serial",
      session_no: "int",
      seq: "int",
      branch: "int",
      type: "text",
      at: "int",
      body: "bytes",
      hash: "bytes",
      agent_no: "int",
      role: "text",
      run: "text",
      key: "text",
      sha256: "bytes",
      words: "bytes",
      content: "blobref",
      salt: "bytes",
      chars: "int",
      erased_seq: "int",
    },
    // Never replaced, and removed only with their session.
    key: [],
  },
  word_refs: { columns: { prefix: "bytes", event_no: "int" }, key: ["prefix", "event_no"] },
  annotations: {
    columns: { session_no: "int", seq: "int", payload: "blobref", salt: "bytes" },
    key: ["session_no", "seq"],
  },
  state: {
    columns: {
      session_no: "int",
      branch: "int",
      key: "text",
      seq: "int",
      ord: "int",
      until_seq: "int",
      value: "blobref",
      salt: "bytes",
      expires_at: "int",
    },
    key: ["session_no", "branch", "key", "seq"],
  },
  boards: {
    columns: {
      id: "text",
      session_no: "int",
      agent: "text",
      ord: "int",
      label: "bytes",
      parent: "text",
      max_retries: "int",
      created_at: "int",
      version: "int",
      checksum: "text",
    },
    key: ["id"],
    checksum: ["id", "label"],
  },
  tasks: {
    columns: {
      board_id: "text",
      id: "text",
      title: "bytes",
      status: "text",
      ord: "int",
      retry_count: "int",
      note: "bytes",
      version: "int",
      created_at: "int",
      updated_at: "int",
      checksum: "text",
    },
    key: ["board_id", "id"],
    checksum: ["board_id", "id", "title", "note"],
  },
  captures: {
    columns: {
      no: "serial",
      id: "text",
      session_no: "int",
      seq: "int",
      request: "text",
      agent: "text",
      agent_session: "text",
      generation: "int",
      diverged: "int",
      cwd: "bytes",
      config_dir: "bytes",
      project_key: "bytes",
      agent_version: "bytes",
      manifest: "blobref",
      salt: "bytes",
      files: "int",
      size: "int",
      stored: "int",
      created_at: "int",
      saved_at: "int",
      expires_at: "int",
      checksum: "text",
    },
    key: ["id"],
    checksum: ["id", "cwd", "config_dir", "project_key", "agent_version"],
  },
} as const satisfies Readonly<Record<string, TableShape>>;

export type Tables = typeof TABLES;
export type TableName = keyof Tables;

interface ColumnValues {
  serial: number;
  int: number | null;
  real: number | null;
  text: string | null;
  bytes: Uint8Array | null;
  blobref: Uint8Array | null;
}

/** One row of a table as it is written; a column left out is NULL (or filled in by the commit, see storage.ts). */
export type RowOf<T extends TableName> = {
  readonly [C in keyof Tables[T]["columns"]]?: Tables[T]["columns"][C] extends ColumnType
    ? ColumnValues[Tables[T]["columns"][C]] | (Tables[T]["columns"][C] extends "int" ? Slot : never)
    : never;
};

/** Stands for a number that only the commit knows: of an agent or of a session the commit uses by their ids, or of the event's own. */
export type Slot =
  | { readonly agent: string }
  | { readonly session: string }
  | { readonly slot: "session" | "branch" | "seq" };
