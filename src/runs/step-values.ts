// What steps are given and give, and how errors name them.
import { HoldfastError } from "../contracts/errors.ts";
import type { Json } from "../contracts/json.ts";
import { decodeText } from "../core/bytes.ts";
import type { Record } from "./journal.ts";

/** Nothing is known of it, or it failed in a run which this one takes up: what was permitted there was permitted there. */
export function isNewStep(record: Record | undefined): boolean {
  return record === undefined || (record.status === "failed" && record.isPast === true);
}

/** "tool pay"; where there is one of a kind, it has no name of its own. */
export function stepWords(kind: string, name: string): string {
  return kind === name ? kind : `${kind} ${name}`;
}

/** A return that was forgotten would be taken for an answer. */
export function requireValue(name: string, value: unknown): unknown {
  if (value !== undefined) return value;
  throw new HoldfastError("InvalidJson", `${name} gave undefined: return null where there is nothing to give`);
}

export function parseStepInput(bytes: Uint8Array): Json {
  return JSON.parse(decodeText(bytes)) as Json;
}
