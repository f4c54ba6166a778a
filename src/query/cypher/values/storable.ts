// Which values can be properties of nodes and relationships.
import { EvaluationError } from "../errors.ts";
import { type CypherMap, type CypherValue, isEntity, isList, isMap, typeOfValue } from "./value.ts";

/** Booleans, numbers, texts, and lists of them. */
export function checkStorable(key: string, value: CypherValue): void {
  const isPlain = (one: CypherValue) => one !== null && typeof one !== "object";
  if (value === null || isPlain(value)) return;
  if (isList(value) && value.every(isPlain)) return;
  const inner = isList(value) ? value.find((one) => !isPlain(one)) : value;
  const message = `the property ${key} cannot hold a ${typeOfValue(inner ?? null)}${isList(value) ? " in a list" : ""}`;
  throw new EvaluationError("TypeError", "InvalidPropertyType", message);
}

/** A map, or the properties of a node or relationship, without nulls. */
export function readPropertyMap(value: CypherValue): CypherMap {
  const map = isEntity(value) ? value.properties : value;
  if (map === null || !isMap(map)) {
    throw new EvaluationError(
      "TypeError",
      "InvalidArgumentType",
      `properties come as a map, not as a ${typeOfValue(value)}`,
    );
  }
  for (const [key, one] of map) checkStorable(key, one);
  return map;
}
