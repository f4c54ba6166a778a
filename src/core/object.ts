// What is an object in the sense of JSON: neither null nor a list.
import type { Json, JsonObject } from "../contracts/json.ts";

export function isObject(value: Json | undefined): value is JsonObject;
export function isObject(value: unknown): value is Readonly<Record<string, unknown>>;
export function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
