// What users hand to a command: files, standard input, and JSON typed at a prompt.

import { readFile } from "node:fs/promises";
import * as path from "node:path";
import type { Json, JsonObject } from "../contracts/json.ts";
import { isObject } from "../core/object.ts";
import { fileFailure, UsageError } from "./failure.ts";
import type { Io } from "./io.ts";
import { quoted } from "./terminal.ts";

/** The text itself, or standard input for "-": that there is nothing in it is a mistake, such as a command that failed. */
export async function readTextOperand(operand: string, io: Io): Promise<string> {
  if (operand !== "-") return operand;
  const chunks: Buffer[] = [];
  for await (const chunk of io.stdin) chunks.push(Buffer.from(chunk));
  // What `echo` adds at the end is not part of the text.
  const text = decode(Buffer.concat(chunks), "standard input").replace(/\r?\n$/, "");
  if (text === "") throw new UsageError("standard input is empty; for an empty text write '' instead of -");
  return text;
}

export async function readTextFile(file: string, io: Io): Promise<string> {
  try {
    return decode(await readFile(path.resolve(io.cwd, file)), file);
  } catch (error) {
    throw fileFailure(error, file);
  }
}

function decode(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError(`${what} is not UTF-8 text; store other bytes with \`holdfast blobs put\``);
  }
}

/** `example` shows a caller who wrote it wrong how to write it. */
export function parseJson(text: string, what: string, example = ""): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new UsageError(`${what} is not JSON: ${text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text}${example}`);
  }
}

/** So much of what is not JSON is shown. */
const SHOWN = 40;

/** Any value; a text without its quotes is the usual mistake. */
export function readJson(text: string, what: string): Json {
  // What begins like an object, a list or a text is one that has a mistake in it.
  const isBare = text.length <= SHOWN && !/^\s*[[{"]/.test(text);
  return parseJson(text, what, isBare ? `; a text is written ${quoted(JSON.stringify(text))}` : "");
}

export function readObject(text: string, what: string): JsonObject {
  const value = parseJson(text, what, `; it takes an object, such as '{"key": "value"}'`);
  if (isObject(value)) return value;
  throw new UsageError(`${what} must be a JSON object, such as '{"key": "value"}'`);
}
