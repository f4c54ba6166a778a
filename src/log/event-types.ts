// The types of events that a caller wants to see.
import { checkArray, checkId } from "../core/check.ts";

/** Null: all of them. */
export function checkTypes(types: unknown): ReadonlySet<string> | null {
  if (types === undefined) return null;
  return new Set(checkArray(types, "types", "page").map((type, i) => checkId(type, `types[${i}]`)));
}
