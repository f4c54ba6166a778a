// Converts rows to memories and back. The result of a write is made from the written row, so that a later read cannot disagree with it.
import type { Memory, MemoryChange, MemorySource } from "../contracts/memory.ts";
import type { Guard, Write } from "../contracts/storage/commit.ts";
import type { MemoryChangeRow, MemoryRow } from "../contracts/storage/memory-queries.ts";
import type { RowOf } from "../contracts/storage/tables.ts";
import { decodeRow, jsonObject, oneOf, optional, text, utf8, whole } from "../core/decode.ts";

/** A memory's row as the rules write it; its number is the database's. */
export type MemoryColumns = Omit<MemoryRow, "no">;

export const IMPORTANCE_UNITS = 1000;

const MEMORY = {
  namespace: text,
  agent: text,
  content: utf8,
  kind: text,
  subject: optional(text),
  attribute: optional(text),
  value: optional(utf8),
  importance: whole,
  metadata: optional(jsonObject),
  valid_from: whole,
  valid_to: optional(whole),
  recorded_at: whole,
  confirmations: whole,
  confirmed_at: whole,
  expires_at: optional(whole),
  superseded_by: optional(text),
  superseded_from: optional(whole),
  version: whole,
};

export function memoryOf(row: MemoryColumns): Memory {
  const found = decodeRow({ kind: "memory", memory: row.id }, row, MEMORY);
  return {
    id: row.id,
    namespace: found.namespace,
    agent: agentOf(found.agent),
    content: found.content,
    kind: found.kind,
    subject: found.subject,
    attribute: found.attribute,
    value: found.value,
    importance: found.importance / IMPORTANCE_UNITS,
    metadata: found.metadata ?? {},
    validFrom: found.valid_from,
    validTo: found.valid_to,
    recordedAt: found.recorded_at,
    confirmations: found.confirmations,
    confirmedAt: found.confirmed_at,
    expiresAt: found.expires_at,
    supersededBy: found.superseded_by,
    supersededFrom: found.superseded_from,
    version: found.version,
  };
}

/** The scope of memories that belong to no agent has the agent "". */
export function agentOf(agent: string): string | null {
  return agent === "" ? null : agent;
}

function columnsOf({ namespace: _, agent: __, ...columns }: MemoryColumns): RowOf<"memories"> {
  return columns;
}

export function insertMemory(row: MemoryColumns): Write {
  return { op: "insert", table: "memories", row: columnsOf(row) };
}

export function putMemory(row: MemoryColumns): Write {
  return { op: "put", table: "memories", row: columnsOf(row) };
}

/** Drops the number, which no write names. */
export function writable({ no: _, ...columns }: MemoryRow): MemoryColumns {
  return columns;
}

export interface ChangeDraft {
  readonly change: MemoryChange["change"];
  readonly at: number;
  readonly by?: string | null;
  readonly source?: MemorySource | undefined;
}

/** The change that led to this version of the memory. */
export function insertChange(
  { id, version }: Pick<MemoryColumns, "id" | "version">,
  { change, at, by = null, source = {} }: ChangeDraft,
): Write {
  const { session = null, message = null, run = null } = source;
  return {
    op: "insert",
    table: "memory_changes",
    row: { memory_id: id, version, change, at, by_id: by, session, message, run },
  };
}

const CHANGES: readonly MemoryChange["change"][] = [
  "created",
  "saved",
  "touched",
  "superseded",
  "restored",
  "promoted",
  "demoted",
  "withdrawn",
  "pinned",
  "unpinned",
];

export const CHANGE_COLUMNS = {
  version: whole,
  change: oneOf(CHANGES),
  at: whole,
  by_id: optional(text),
  session: optional(text),
  message: optional(text),
  run: optional(text),
};

export function changeOf(row: MemoryChangeRow): MemoryChange {
  const name = { kind: "change of a memory", memory: row.memory_id, version: row.version };
  const { version, change, at, by_id: by, session, message, run } = decodeRow(name, row, CHANGE_COLUMNS);
  const source = {
    ...(session === null ? {} : { session }),
    ...(message === null ? {} : { message }),
    ...(run === null ? {} : { run }),
  };
  return { memory: row.memory_id, version, change, at, by, source };
}

export function versionGuard({ id, version }: Pick<MemoryRow, "id" | "version">): Guard {
  return { check: "memory.version", key: [id], expect: version };
}

export function isExpired({ expires_at }: Pick<MemoryRow, "expires_at">, now: number): boolean {
  return expires_at !== null && expires_at <= now;
}

/** Whether the fact was not superseded, also not from a later time on, and has not ended. */
export function isOpen({ superseded_by, valid_to }: MemoryRow, now: number): boolean {
  return superseded_by === null && (valid_to === null || valid_to > now);
}
