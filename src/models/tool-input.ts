// Reads the arguments of a tool call. Arguments that are not a JSON object are stored as marked text: the tool is not called, and the
// model gets a tool error.
import type { InvalidToolInput } from "../contracts/chat.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import { copyJson, isObject } from "../core/check.ts";

export function readToolInput(text: string): JsonObject {
  // Models often call a tool without parameters with an empty text.
  if (text.trim() === "") return {};
  try {
    return toolInputOf(JSON.parse(text), text);
  } catch {
    return markInvalid(text);
  }
}

/** Checks arguments that an SDK has parsed already. */
function toolInputOf(value: unknown, text = String(value)): JsonObject {
  if (!isObject(value)) return markInvalid(text);
  try {
    const copy = copyJson(value, "input", "payloadBytes");
    return isObject(copy) && isWellFormed(copy) ? copy : markInvalid(text);
  } catch {
    return markInvalid(text);
  }
}

/** The text of arguments that were not a JSON object; undefined for valid arguments. */
export function invalidTextOf(input: Json): string | undefined {
  if (!isObject(input)) return JSON.stringify(input);
  const { $invalid: text, ...rest } = input;
  return typeof text === "string" && Object.keys(rest).length === 0 ? text : undefined;
}

function markInvalid(text: string): JsonObject {
  return { $invalid: text.toWellFormed() } satisfies InvalidToolInput;
}

/** Storage would replace lone surrogates by other characters. */
function isWellFormed(value: Json): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, one]) => key.isWellFormed() && isWellFormed(one));
}
