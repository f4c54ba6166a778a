// The arguments of a tool call as the model wrote them. What is no JSON object is kept as text and marked: the model is told
// so by a tool error, and nothing else happens.

import type { InvalidToolInput } from "../contracts/chat.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import { copyJson, isObject } from "../core/check.ts";

export function readToolInput(text: string): JsonObject {
  // A tool without parameters is often called with nothing at all.
  if (text.trim() === "") return {};
  try {
    return toolInputOf(JSON.parse(text), text);
  } catch {
    return markInvalid(text);
  }
}

/** Arguments that an SDK has parsed already. */
function toolInputOf(value: unknown, text = String(value)): JsonObject {
  if (!isObject(value)) return markInvalid(text);
  try {
    const copy = copyJson(value, "input", "payloadBytes");
    return isObject(copy) && isWellFormed(copy) ? copy : markInvalid(text);
  } catch {
    return markInvalid(text);
  }
}

/** What the model wrote, where that was no JSON object. */
export function invalidTextOf(input: Json): string | undefined {
  if (!isObject(input)) return JSON.stringify(input);
  const { $invalid: text, ...rest } = input;
  return typeof text === "string" && Object.keys(rest).length === 0 ? text : undefined;
}

function markInvalid(text: string): JsonObject {
  return { $invalid: text.toWellFormed() } satisfies InvalidToolInput;
}

/** Half a character would come back as another. */
function isWellFormed(value: Json): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, one]) => key.isWellFormed() && isWellFormed(one));
}
