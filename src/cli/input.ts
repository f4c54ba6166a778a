// The input of commands: files, standard input, and JSON in an argument.
import { readFile } from "node:fs/promises";
import * as path from "node:path";
import type { Json, JsonObject } from "../contracts/json.ts";
import { isObject } from "../core/check.ts";
import { fileFailure, UsageError } from "./failure.ts";
import type { Io } from "./io.ts";
import { quoted } from "./terminal.ts";

/**
 * Returns the text itself, or standard input for "-". Refuses empty input: usually the command before the pipe has
 * failed.
 */
export async function readTextOperand(operand: string, io: Io): Promise<string> {
  if (operand !== "-") return operand;
  const chunks: Buffer[] = [];
  for await (const chunk of io.stdin) chunks.push(Buffer.from(chunk));
  // The line break that `echo` adds is not part of the text.
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

/** `example` is appended to the error and shows the right form. */
export function parseJson(text: string, what: string, example = ""): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new UsageError(`${what} is not JSON: ${text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text}${example}`);
  }
}

/** An error shows at most so many characters of the wrong text. */
const SHOWN = 40;

/** Reads any JSON value. The error about a text without quotes shows how to quote it. */
export function readJson(text: string, what: string): Json {
  // If the text begins like JSON, missing quotes are not the mistake.
  const isBare = text.length <= SHOWN && !/^\s*[[{"]/.test(text);
  return parseJson(text, what, isBare ? `; a text is written ${quoted(JSON.stringify(text))}` : "");
}

export function readObject(text: string, what: string): JsonObject {
  const value = parseJson(text, what, `; it takes an object, such as '{"key": "value"}'`);
  if (isObject(value)) return value;
  throw new UsageError(`${what} must be a JSON object, such as '{"key": "value"}'`);
}
