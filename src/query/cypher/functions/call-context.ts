// What functions get besides their operands, and the errors and checks that they share.
import { EvaluationError } from "../errors.ts";
import { CYPHER_LIMITS, exceedsLimit } from "../limits.ts";
import {
  type CypherList,
  type CypherValue,
  isNumber,
  type NodeValue,
  type RelationshipValue,
  typeOfValue,
} from "../values/value.ts";

export interface CallContext {
  /** From 0 up to, and without, 1. */
  readonly random: () => number;
}

/** A function gets as many operands as its signature allows; missing ones are undefined. */
export type CypherFunction = (operands: CypherList, context: CallContext) => CypherValue;

export function invalidValue(name: string, value: CypherValue): EvaluationError {
  return new EvaluationError("TypeError", "InvalidArgumentValue", `${name}() cannot take a ${typeOfValue(value)}`);
}

/** null in, null out. */
export function ofText(name: string, run: (text: string) => CypherValue): CypherFunction {
  return ([value = null]) => {
    if (value === null) return null;
    if (typeof value !== "string") throw invalidValue(name, value);
    return run(value);
  };
}

export function ofNumber(name: string, run: (value: number) => number): CypherFunction {
  return ([value = null]) => {
    if (value === null) return null;
    if (!isNumber(value)) throw invalidValue(name, value);
    return run(Number(value));
  };
}

export function wholeNumber(name: string, value: CypherValue | undefined): number {
  if (typeof value !== "bigint") throw invalidValue(name, value ?? null);
  return Number(value);
}

/** A deleted node or relationship has nothing to read. */
export function checkReadable<T extends NodeValue | RelationshipValue>(entity: T): T {
  if (!entity.isDeleted) return entity;
  throw new EvaluationError(
    "EntityNotFound",
    "DeletedEntityAccess",
    `the ${entity.kind} ${entity.id} is deleted by this query`,
  );
}

export function checkListLength(length: number): void {
  const max = CYPHER_LIMITS.cypherListItems;
  if (length > max) throw exceedsLimit("cypherListItems", max, length, "the query makes a list that is too long");
}

export function checkTextLength(length: number): void {
  const max = CYPHER_LIMITS.cypherTextChars;
  if (length > max) throw exceedsLimit("cypherTextChars", max, length, "the query makes a text that is too long");
}
