// Functions of texts. Characters are code points.
import { EvaluationError } from "../errors.ts";
import type { CypherList, CypherValue } from "../values/value.ts";
import {
  type CypherFunction,
  checkListLength,
  checkTextLength,
  invalidValue,
  ofText,
  wholeNumber,
} from "./call-context.ts";

export function textFunctions(): readonly (readonly [string, CypherFunction])[] {
  const lower = ofText("toLower", (text) => text.toLowerCase());
  const upper = ofText("toUpper", (text) => text.toUpperCase());
  return [
    ["tolower", lower],
    ["lower", lower],
    ["toupper", upper],
    ["upper", upper],
    ["trim", ofText("trim", (text) => text.trim())],
    ["ltrim", trimStart],
    ["rtrim", trimEnd],
    ["left", (operands) => cut("left", operands, (length) => [0, length])],
    ["right", (operands) => cut("right", operands, (length, size) => [Math.max(0, size - length), size])],
    ["substring", substring],
    ["replace", replace],
    ["split", split],
    ["char_length", ofText("char_length", (text) => BigInt(textLength(text)))],
    ["character_length", ofText("character_length", (text) => BigInt(textLength(text)))],
  ];
}

export function textLength(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}

function trimStart([value = null, characters]: CypherList): CypherValue {
  if (value === null || characters === null) return null;
  if (typeof value !== "string") throw invalidValue("ltrim", value);
  if (typeof characters !== "string") return value.trimStart();
  const all = [...value];
  const first = all.findIndex((character) => !characters.includes(character));
  return first < 0 ? "" : all.slice(first).join("");
}

function trimEnd([value = null, characters]: CypherList): CypherValue {
  if (value === null || characters === null) return null;
  if (typeof value !== "string") throw invalidValue("rtrim", value);
  if (typeof characters !== "string") return value.trimEnd();
  const all = [...value];
  return all.slice(0, all.findLastIndex((character) => !characters.includes(character)) + 1).join("");
}

function cut(
  name: string,
  [text = null, length = null]: CypherList,
  range: (length: number, size: number) => [from: number, to: number],
): CypherValue {
  if (text === null || length === null) return null;
  if (typeof text !== "string") throw invalidValue(name, text);
  const characters = [...text];
  return characters.slice(...range(notNegative(name, length), characters.length)).join("");
}

function notNegative(name: string, value: CypherValue | undefined): number {
  const number = wholeNumber(name, value);
  if (number >= 0) return number;
  throw new EvaluationError("ArgumentError", "NumberOutOfRange", `${name}() needs a number from 0`);
}

function substring([text = null, start = null, length]: CypherList): CypherValue {
  if (text === null || start === null || length === null) return null;
  if (typeof text !== "string") throw invalidValue("substring", text);
  const from = notNegative("substring", start);
  const to = length === undefined ? undefined : from + notNegative("substring", length);
  return [...text].slice(from, to).join("");
}

function replace([text = null, search = null, replacement = null]: CypherList): CypherValue {
  if (text === null || search === null || replacement === null) return null;
  for (const one of [text, search, replacement]) if (typeof one !== "string") throw invalidValue("replace", one);
  if (typeof text !== "string" || typeof search !== "string" || typeof replacement !== "string") return null;
  if (search === "") return text;
  const parts = text.split(search);
  checkTextLength(text.length + (parts.length - 1) * replacement.length);
  return parts.join(replacement);
}

function split([text = null, separator = null]: CypherList): CypherValue {
  if (text === null || separator === null) return null;
  if (typeof text !== "string") throw invalidValue("split", text);
  if (typeof separator !== "string") throw invalidValue("split", separator);
  const parts = separator === "" ? [...text] : text.split(separator);
  checkListLength(parts.length);
  return parts;
}
