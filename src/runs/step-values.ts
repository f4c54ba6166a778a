// What steps are given and give, and how errors name them.
import type { Json } from "../contracts/json.ts";
import { decodeText } from "../core/bytes.ts";
import { copyJson, encodeCopy } from "../core/check.ts";
import { allowDirectReads } from "../core/direct-reads.ts";
import { looked } from "./errors.ts";
import type { StepRecord } from "./journal.ts";
import { isInvalidOutput } from "./validation.ts";

/** `hasReturned`: its effect happened, and only what it gave is no good. */
type EffectResult =
  | { readonly value: Json; readonly bytes: Uint8Array }
  | { readonly thrown: unknown; readonly hasReturned: boolean };

/** What an effect gives, as it will be read back. */
export async function resultOf(effect: () => unknown, what: string): Promise<EffectResult> {
  let hasReturned = false;
  try {
    const given = await allowDirectReads(effect);
    hasReturned = true;
    const value = copyJson(orNull(given), what, "payloadBytes");
    return { value, bytes: encodeCopy(value, what, "payloadBytes") };
  } catch (thrown) {
    return { thrown, hasReturned: hasReturned || looked(() => isInvalidOutput(thrown), false) };
  }
}

/** Nothing is known of it, or it failed in a run which this one takes up: what was permitted there was permitted there. */
export function isNewStep(record: StepRecord | undefined): boolean {
  return record === undefined || (record.status === "failed" && record.isRetryPoint === true);
}

/** "tool pay"; where there is one of a kind, it has no name of its own. */
export function stepWords(kind: string, name: string): string {
  return kind === name ? kind : `${kind} ${name}`;
}

/** A tool that gives nothing gave null: it has happened, and calling it a failure would invite a second time. */
function orNull(value: unknown): unknown {
  return value === undefined ? null : value;
}

export function parseStepInput(bytes: Uint8Array): Json {
  return JSON.parse(decodeText(bytes)) as Json;
}
