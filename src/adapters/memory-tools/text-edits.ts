// Edits of a text that a model asks for: replace a unique passage, insert lines. Each knows whether an earlier try has made the
// edit already, because a run may call a tool again when it does not know the outcome of the first call.

export interface TextEdit {
  readonly text: string;
  /** The number of the first line that changed, from 1, and how many lines the new passage has. */
  readonly line: number;
  readonly lines: number;
}

/** Why a passage is not replaced: it is nowhere, or begins in each of these lines. */
export interface AmbiguousPassage {
  readonly foundIn: readonly number[];
}

/** More line numbers would not help a model. */
const MOST_LINES_NAMED = 100;

export function replacePassage(text: string, find: string, put: string, isAgain: boolean): TextEdit | AmbiguousPassage {
  if (isAgain && wasReplaced(text, find, put)) return editAt(text, Math.max(0, text.indexOf(put)), put);
  const first = find === "" ? -1 : text.indexOf(find);
  if (first === -1) return { foundIn: [] };
  if (text.indexOf(find, first + 1) !== -1) return { foundIn: linesOf(text, find) };
  return editAt(text.slice(0, first) + put + text.slice(first + find.length), first, put);
}

/** Inserts lines after that many lines; null if the text does not have so many. */
export function insertLines(text: string, insert: string, after: number, isAgain: boolean): TextEdit | null {
  const lines = text.split("\n");
  if (!Number.isSafeInteger(after) || after < 0 || after > lines.length) return null;
  const added = insert.replace(/\n$/, "").split("\n");
  const edit = { line: after + 1, lines: added.length };
  if (isAgain && added.every((line, i) => lines[after + i] === line)) return { ...edit, text };
  return { ...edit, text: [...lines.slice(0, after), ...added, ...lines.slice(after)].join("\n") };
}

/** Whether the text has the addition as whole lines of its own. */
export function hasLines(text: string, addition: string): boolean {
  return `\n${text}\n`.includes(`\n${addition}\n`);
}

/** The passage is nowhere but inside of what replaces it. */
function wasReplaced(text: string, find: string, put: string): boolean {
  if (put === "") return find !== "" && !text.includes(find);
  return text.includes(put) && !text.split(put).join("\0").includes(find);
}

function editAt(text: string, index: number, put: string): TextEdit {
  return { text, line: countLines(text.slice(0, index)), lines: countLines(put) };
}

export function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines++;
  return lines;
}

function linesOf(text: string, find: string): readonly number[] {
  const found = new Set<number>();
  let [line, from] = [1, 0];
  for (let at = text.indexOf(find); at !== -1 && found.size < MOST_LINES_NAMED; at = text.indexOf(find, at + 1)) {
    line += countLines(text.slice(from, at)) - 1;
    from = at;
    found.add(line);
  }
  return [...found];
}
