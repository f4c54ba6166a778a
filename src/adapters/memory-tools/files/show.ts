// What a model sees of files and directories, in the texts of Anthropic's documentation of its memory tool.
import type { TextEdit } from "../text-edits.ts";
import type { Files } from "./directory.ts";
import { isBelow } from "./memory-path.ts";

export const MOST_LINES = 999_999;
const NUMBER_WIDTH = String(MOST_LINES).length;
const MOST_DEPTH = 2;
/** Lines that are shown before and after an edit. */
const LINES_AROUND = 2;

/** The directory with its sizes: a directory has the bytes of all files in it. */
export function listDirectory(files: Files, directory: string): string {
  const sizes = new Map<string, number>([[directory, 0]]);
  const add = (path: string, bytes: number) => sizes.set(path, (sizes.get(path) ?? 0) + bytes);
  for (const [path, text] of files) {
    if (!isBelow(path, directory)) continue;
    const bytes = Buffer.byteLength(text);
    add(directory, bytes);
    const names = path.slice(directory.length + 1).split("/");
    if (names.slice(0, MOST_DEPTH).some((name) => name.startsWith(".") || name === "node_modules")) continue;
    for (let depth = 1; depth <= Math.min(names.length, MOST_DEPTH); depth++) {
      add(`${directory}/${names.slice(0, depth).join("/")}${depth < names.length ? "/" : ""}`, bytes);
    }
  }
  const head = `Here're the files and directories up to 2 levels deep in ${directory}, excluding hidden items and node_modules:`;
  const paths = [...sizes.keys()].sort(inTreeOrder);
  return [head, ...paths.map((path) => `${formatSize(sizes.get(path) ?? 0)}\t${path}`)].join("\n");
}

/** Name by name, so that a directory is followed by what is in it. */
function inTreeOrder(a: string, b: string): number {
  const [left, right] = [a, b].map((path) => path.replaceAll("/", "\0"));
  return left === right ? 0 : (left ?? "") < (right ?? "") ? -1 : 1;
}

function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes}B`;
  const kilobytes = bytes / 1024;
  if (kilobytes < 1024) return `${kilobytes.toFixed(1)}K`;
  return `${(kilobytes / 1024).toFixed(1)}M`;
}

export function showFile(path: string, lines: readonly string[], first: number): string {
  return `Here's the content of ${path} with line numbers:\n${numberLines(lines, first)}`;
}

export function showEdit({ text, line, lines }: TextEdit): string {
  const all = text.split("\n");
  const first = Math.max(1, line - LINES_AROUND);
  const shown = all.slice(first - 1, line - 1 + lines + LINES_AROUND);
  return `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${numberLines(shown, first)}`;
}

function numberLines(lines: readonly string[], first: number): string {
  return lines.map((line, i) => `${String(first + i).padStart(NUMBER_WIDTH)}\t${line}`).join("\n");
}
