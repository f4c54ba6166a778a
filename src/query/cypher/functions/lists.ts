// Functions of lists, maps, nodes, relationships and paths.
import { EvaluationError } from "../errors.ts";
import { equalValues } from "../values/equality.ts";
import {
  type CypherList,
  type CypherValue,
  isEntity,
  isList,
  isMap,
  isNode,
  isPath,
  isRelationship,
  typeOfValue,
} from "../values/value.ts";
import { type CypherFunction, checkListLength, checkReadable, invalidValue } from "./call-context.ts";
import { textLength } from "./text.ts";

export function listFunctions(): readonly (readonly [string, CypherFunction])[] {
  return [
    ["coalesce", (operands) => operands.find((value) => value !== null) ?? null],
    ["nullif", ([left = null, right = null]) => (equalValues(left, right) === true ? null : left)],
    ["head", ofList("head", (list) => list[0] ?? null)],
    ["last", ofList("last", (list) => list.at(-1) ?? null)],
    ["tail", ofList("tail", (list) => list.slice(1))],
    ["size", ([value = null]) => sizeOf("size", value)],
    ["isempty", ([value = null]) => (value === null ? null : sizeOf("isEmpty", value) === 0n)],
    ["reverse", reverse],
    ["range", range],
    ["keys", ([value = null]) => listKeys(mapOf("keys", value))],
    ["properties", ([value = null]) => mapOf("properties", value)],
    ["labels", labels],
    ["type", type],
    ["id", identify],
    ["elementid", identify],
    ["length", ofPath("length", ({ relationships }) => BigInt(relationships.length))],
    ["nodes", ofPath("nodes", ({ nodes }) => nodes)],
    ["relationships", ofPath("relationships", ({ relationships }) => relationships)],
    ["rels", ofPath("rels", ({ relationships }) => relationships)],
    ["valuetype", ([value = null]) => typeOfValue(value).toUpperCase()],
    ["exists", ([value = null]) => (typeof value === "boolean" ? value : value !== null)],
  ];
}

function ofList(name: string, run: (list: CypherList) => CypherValue): CypherFunction {
  return ([value = null]) => {
    if (value === null) return null;
    if (!isList(value)) throw invalidValue(name, value);
    return run(value);
  };
}

function ofPath(name: string, run: (path: Extract<CypherValue, { kind: "path" }>) => CypherValue): CypherFunction {
  return ([value = null]) => {
    if (value === null) return null;
    if (!isPath(value)) throw invalidValue(name, value);
    return run(value);
  };
}

function sizeOf(name: string, value: CypherValue): bigint | null {
  if (value === null) return null;
  if (typeof value === "string") return BigInt(textLength(value));
  if (isList(value)) return BigInt(value.length);
  if (isMap(value)) return BigInt(value.size);
  throw invalidValue(name, value);
}

function reverse([value = null]: CypherList): CypherValue {
  if (value === null) return null;
  if (typeof value === "string") return [...value].reverse().join("");
  if (isList(value)) return value.toReversed();
  throw invalidValue("reverse", value);
}

function range([start = null, end = null, step = 1n]: CypherList): CypherValue {
  if (typeof start !== "bigint" || typeof end !== "bigint" || typeof step !== "bigint") {
    throw new EvaluationError("ArgumentError", "InvalidArgumentType", "range() takes integers");
  }
  if (step === 0n) throw new EvaluationError("ArgumentError", "NumberOutOfRange", "the step of range() cannot be 0");
  const length = (end - start) / step + 1n;
  if ((step > 0n && start > end) || (step < 0n && start < end)) return [];
  checkListLength(Number(length));
  const items: bigint[] = [];
  for (let item = start; step > 0n ? item <= end : item >= end; item += step) items.push(item);
  return items;
}

function mapOf(name: string, value: CypherValue): ReadonlyMap<string, CypherValue> | null {
  if (value === null) return null;
  if (isMap(value)) return value;
  if (isEntity(value)) return new Map(checkReadable(value).properties);
  throw invalidValue(name, value);
}

function labels([value = null]: CypherList): CypherValue {
  if (value === null) return null;
  if (!isNode(value)) throw invalidValue("labels", value);
  return [...checkReadable(value).labels];
}

/** The type of a deleted relationship can still be read. */
function type([value = null]: CypherList): CypherValue {
  if (value === null) return null;
  if (!isRelationship(value)) throw invalidValue("type", value);
  return value.type;
}

function identify([value = null]: CypherList): CypherValue {
  if (value === null) return null;
  if (!isEntity(value)) throw invalidValue("id", value);
  return value.id;
}

function listKeys(map: ReadonlyMap<string, CypherValue> | null): CypherValue {
  return map === null ? null : [...map.keys()];
}
