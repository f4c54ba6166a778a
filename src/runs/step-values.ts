// What steps are given and give, and how errors name them.
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

/** A tool that gives nothing gave null: it has happened, and calling it a failure would invite a second time. */
export function orNull(value: unknown): unknown {
  return value === undefined ? null : value;
}

export function parseStepInput(bytes: Uint8Array): Json {
  return JSON.parse(decodeText(bytes)) as Json;
}
