// The six commands of Anthropic's memory tool, as its documentation describes them. A command decides on the files and says what
// changes; a mistake of the model is a text that it can read. `isAgain`: an earlier try may have made the change already.
import { countLines, insertLines, replacePassage, type TextEdit } from "../text-edits.ts";
import type { FileChange, Files } from "./directory.ts";
import { isBelow, parentsOf, ROOT } from "./memory-path.ts";
import { listDirectory, MOST_LINES, showEdit, showFile } from "./show.ts";

/** A longer text would fill the model's context with what it has written itself. */
const MOST_QUOTED = 2000;

export function viewPath(files: Files, path: string, range: readonly number[] | undefined): string {
  const text = files.get(path);
  if (text === undefined) return isDirectory(files, path) ? listDirectory(files, path) : missingPath(path);
  const count = countLines(text);
  if (count > MOST_LINES) return `File ${path} exceeds maximum line limit of 999,999 lines.`;
  const lines = text.split("\n");
  if (range === undefined) return showFile(path, lines, 1);
  const [from = 1, to = -1] = range;
  const first = Math.max(1, from);
  const last = to === -1 ? count : Math.min(to, count);
  if (first > last) {
    return (
      `Error: Invalid \`view_range\` parameter: [${range.join(", ")}]. ` +
      `It should be within the range of lines of the file: [1, ${count}]`
    );
  }
  return showFile(path, lines.slice(first - 1, last), first);
}

export function createFile(files: Files, path: string, text: string, isAgain: boolean): FileChange | string {
  const answer = `File created successfully at: ${path}`;
  if (isAgain && files.get(path) === text) return answer;
  if (files.has(path) || isDirectory(files, path)) return `Error: File ${path} already exists`;
  return fileAbove(files, path) ?? { put: { [path]: text }, summary: `create ${path}`, answer };
}

export function replaceInFile(
  files: Files,
  path: string,
  find: string,
  put: string,
  isAgain: boolean,
): FileChange | string {
  const text = files.get(path);
  if (text === undefined) return `Error: ${missingPath(path)}`;
  const edit = replacePassage(text, find, put, isAgain);
  if ("text" in edit) return changeText(text, { path, edit, summary: `str_replace ${path}`, answer: showEdit(edit) });
  if (edit.foundIn.length === 0) {
    return `No replacement was performed, old_str \`${quote(find)}\` did not appear verbatim in ${path}.`;
  }
  return (
    `No replacement was performed. Multiple occurrences of old_str \`${quote(find)}\` in lines: ` +
    `${edit.foundIn.join(", ")}. Please ensure it is unique`
  );
}

export function insertIntoFile(
  files: Files,
  path: string,
  line: number,
  insert: string,
  isAgain: boolean,
): FileChange | string {
  const text = files.get(path);
  if (text === undefined) return `Error: The path ${path} does not exist`;
  const edit = insertLines(text, insert, line, isAgain);
  if (edit !== null) {
    return changeText(text, { path, edit, summary: `insert ${path}`, answer: `The file ${path} has been edited.` });
  }
  return (
    `Error: Invalid \`insert_line\` parameter: ${line}. ` +
    `It should be within the range of lines of the file: [0, ${countLines(text)}]`
  );
}

/** An edit that leaves the text as it is, or was made before, writes nothing. */
function changeText(
  text: string,
  {
    path,
    edit,
    summary,
    answer,
  }: Pick<FileChange, "summary" | "answer"> & { readonly path: string; readonly edit: TextEdit },
): FileChange | string {
  return edit.text === text ? answer : { put: { [path]: edit.text }, summary, answer };
}

export function deletePath(files: Files, path: string, isAgain: boolean): FileChange | string {
  if (path === ROOT) return `Error: Cannot delete the ${ROOT} directory itself`;
  const answer = `Successfully deleted ${path}`;
  const remove = filesAt(files, path);
  if (remove.length > 0) return { remove, summary: `delete ${path}`, answer };
  return isAgain ? answer : `Error: The path ${path} does not exist`;
}

export function renamePath(files: Files, from: string, to: string, isAgain: boolean): FileChange | string {
  if (from === ROOT) return `Error: Cannot rename the ${ROOT} directory itself`;
  const answer = `Successfully renamed ${from} to ${to}`;
  const remove = filesAt(files, from);
  const isTaken = files.has(to) || isDirectory(files, to);
  if (remove.length === 0) return isAgain && isTaken ? answer : `Error: The path ${from} does not exist`;
  if (isTaken) return `Error: The destination ${to} already exists`;
  if (isBelow(to, from)) return `Error: Cannot rename ${from} to ${to}, which is inside of it`;
  const put = Object.fromEntries(remove.map((path) => [to + path.slice(from.length), files.get(path) ?? ""]));
  return fileAbove(files, to) ?? { put, remove, summary: `rename ${from} to ${to}`, answer };
}

/** A directory exists as long as a file is in it; the root always exists. */
function isDirectory(files: Files, path: string): boolean {
  return path === ROOT || [...files.keys()].some((one) => isBelow(one, path));
}

/** The file itself, or all files in the directory. */
function filesAt(files: Files, path: string): readonly string[] {
  return [...files.keys()].filter((one) => one === path || isBelow(one, path));
}

/** A file has no files in it. */
function fileAbove(files: Files, path: string): string | undefined {
  const file = parentsOf(path).find((parent) => files.has(parent));
  return file === undefined ? undefined : `Error: The path ${file} is not a directory`;
}

function missingPath(path: string): string {
  return `The path ${path} does not exist. Please provide a valid path.`;
}

function quote(text: string): string {
  return text.length > MOST_QUOTED ? `${text.slice(0, MOST_QUOTED)}…` : text;
}
