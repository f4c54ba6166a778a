// Documents as `holdfast vectors add` takes them: JSON lines, text files, standard input, or a text in the argument itself.

import { stat } from "node:fs/promises";
import * as path from "node:path";
import { HoldfastError } from "../contracts/errors.ts";
import type { DocumentInput } from "../contracts/vectors.ts";
import { readObject, readTextFile, readTextOperand } from "./input.ts";
import type { Io } from "./io.ts";

export type GivenDocument = DocumentInput<object>;

/** `isWhole`: a text is one document; otherwise each of its paragraphs is one. */
export async function readDocuments(
  operands: readonly string[],
  io: Io,
  isWhole: boolean,
): Promise<readonly GivenDocument[]> {
  const documents: GivenDocument[] = [];
  for (const operand of operands) {
    // One by one: a file may be large.
    for (const one of await readOperand(operand, io, isWhole)) documents.push(one);
  }
  return documents;
}

async function readOperand(operand: string, io: Io, isWhole: boolean): Promise<readonly GivenDocument[]> {
  if (operand === "-") return parseText(await readTextOperand(operand, io), null, isWhole);
  if (isJsonLines(operand)) return parseLines(operand);
  if (await isThere(path.resolve(io.cwd, operand))) return parseText(await readTextFile(operand, io), operand, isWhole);
  // A single word is rather the name of a file that is missing.
  if (/\s/.test(operand.trim())) return [{ content: operand }];
  throw new HoldfastError("NotFound", `there is no file ${operand}`, {
    hint:
      "a text is written with spaces, 'Green tea is brewed below 80 °C', and a document with more than a text as JSON, " +
      `'{"content": "tea"}'`,
    details: { file: operand },
  });
}

async function isThere(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== "ENOENT" && error.code !== "ENAMETOOLONG",
  );
}

function isJsonLines(text: string): boolean {
  return /^\s*\{/.test(text);
}

function parseText(text: string, file: string | null, isWhole: boolean): readonly GivenDocument[] {
  if (isJsonLines(text)) return parseLines(text);
  if (isWhole)
    return text.trim() === ""
      ? []
      : [file === null ? { content: text } : { id: file, content: text, metadata: { file } }];
  return paragraphsOf(text).map(({ content, line }) =>
    file === null ? { content } : { id: `${file}:${line}`, content, metadata: { file, line } },
  );
}

function parseLines(text: string): readonly GivenDocument[] {
  const lines = text.split("\n").map((line, i) => ({ line: line.trim(), number: i + 1 }));
  return lines
    .filter(({ line }) => line !== "")
    .map(({ line, number }) => readObject(line, `line ${number}`) as unknown as GivenDocument);
}

interface Paragraph {
  readonly content: string;
  /** The number of its first line. */
  readonly line: number;
}

/** What stands between blank lines. */
function paragraphsOf(text: string): readonly Paragraph[] {
  const paragraphs: { content: string; line: number }[] = [];
  let isOpen = false;
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === "") {
      isOpen = false;
      continue;
    }
    const last = paragraphs.at(-1);
    if (isOpen && last !== undefined) last.content += `\n${line}`;
    else paragraphs.push({ content: line, line: at + 1 });
    isOpen = true;
  }
  return paragraphs;
}
