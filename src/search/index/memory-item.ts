// From a memory to what is indexed of it. None of it changes while the memory exists.
import type { MemoryTextRow } from "../../contracts/storage/memory-queries.ts";
import { decodeRow, optional, text, utf8, whole } from "../../core/decode.ts";
import { normaliseText } from "../../core/normalise-text.ts";
import { fieldTerm } from "./reader.ts";
import type { IndexItem } from "./units.ts";

/** Fields of memories by which a search selects. */
export const MEMORY_FIELDS = ["kind", "subject"] as const;

export function memoryFieldTerm(field: (typeof MEMORY_FIELDS)[number], value: string): string {
  return fieldTerm(field, normaliseText(value));
}

const COLUMNS = {
  content: utf8,
  kind: text,
  subject: optional(text),
  attribute: optional(text),
  value: optional(utf8),
  valid_from: whole,
};

/** A memory belongs to the group of its scope. */
export function memoryItem(row: MemoryTextRow): IndexItem {
  const memory = decodeRow({ kind: "memory", number: row.no }, row, COLUMNS);
  const { kind, subject } = memory;
  return {
    group: row.scope_no,
    item: row.no,
    at: memory.valid_from,
    flags: 0,
    text: memoryText(memory),
    fields: [memoryFieldTerm("kind", kind), ...(subject === null ? [] : [memoryFieldTerm("subject", subject)])],
  };
}

interface MemoryTexts {
  readonly content: string;
  readonly subject: string | null;
  readonly attribute: string | null;
  readonly value: string | null;
}

/** The content, and what it does not say of subject, attribute and value: "lives in Paris" is about Ada. */
export function memoryText({ content, subject, attribute, value }: MemoryTexts): string {
  const known = normaliseText(content);
  const missing = [subject, attribute, value].filter(
    (part): part is string => part !== null && !known.includes(normaliseText(part)),
  );
  return [content, ...missing].join("\n\n");
}
