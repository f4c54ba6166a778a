// Anthropic's memory tool (memory_20250818) over the store. To a model that knows the tool, an API names it by its type and name;
// for other models it has a description and a JSON Schema like any tool.
import { HoldfastError } from "../../../contracts/errors.ts";
import { checkArray, checkId, checkInt, checkOneOf, checkSome, checkText, invalid } from "../../../core/check.ts";
import { type AgentTool, inputSchema, type ToolCallInfo } from "../agent-tool.ts";
import { createFile, deletePath, insertIntoFile, renamePath, replaceInFile, viewPath } from "./commands.ts";
import { changeFiles, type DirectoryOwner, type DirectoryStore, readFiles } from "./directory.ts";
import { parseMemoryPath } from "./memory-path.ts";

const COMMANDS = ["view", "create", "str_replace", "insert", "delete", "rename"] as const;
const FIELDS = [
  "command",
  "path",
  "view_range",
  "file_text",
  "old_str",
  "new_str",
  "insert_line",
  "insert_text",
  "old_path",
  "new_path",
] as const;

export type MemoryCommands = Readonly<Record<(typeof COMMANDS)[number], (command: unknown) => Promise<string>>>;

/** Mistakes of the model, which it reads and can correct. */
const MISTAKES: readonly string[] = ["InvalidArgument", "InvalidId", "InvalidText", "LimitExceeded"];

/** `namespace` is "default" if it is not given. Each agent of a namespace has files of its own. */
export function anthropicMemoryTool(
  hf: DirectoryStore,
  { agent, namespace = "default" }: { readonly agent: string; readonly namespace?: string },
): AgentTool & { readonly name: "memory" } {
  const owner = { agent: checkId(agent, "options.agent"), namespace: checkId(namespace, "options.namespace") };
  return {
    name: "memory",
    description:
      `Your memory: a directory of text files below /memories that lasts between conversations. View it before you begin a task, ` +
      "to see what you know already, and keep in it what will matter later. Commands: view (path, view_range), create (path, " +
      "file_text), str_replace (path, old_str, new_str), insert (path, insert_line, insert_text), delete (path), rename (old_path, " +
      "new_path).",
    inputSchema: SCHEMA,
    effect: "idempotent",
    execute: (input: unknown, call?: ToolCallInfo) => answerCommand(hf, owner, input, call?.again === true),
  };
}

/** The commands one by one, as betaMemoryTool() of Anthropic's SDK takes them. */
export function memoryCommands(tool: AgentTool): MemoryCommands {
  const run = (command: unknown) => tool.execute(command);
  return { view: run, create: run, str_replace: run, insert: run, delete: run, rename: run };
}

const text = (description: string) =>
  ({ type: "string", limit: "memoryFileBytes", description, optional: true }) as const;
const path = (description: string) => ({ type: "string", limit: "idBytes", description, optional: true }) as const;

const SCHEMA = inputSchema({
  command: { type: "string", limit: "idBytes", of: COMMANDS, description: "What to do." },
  path: path("The file or directory, for example /memories/notes.md; for all commands but rename."),
  view_range: {
    type: "integers",
    description: "view: the first and the last line to show; -1 as the last is the end of the file.",
    optional: true,
  },
  file_text: text("create: the text of the new file."),
  old_str: text("str_replace: the text to replace. It must occur once in the file."),
  new_str: text("str_replace: the text that takes its place."),
  insert_line: {
    type: "integer",
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    description: "insert: the number of the line after which to insert; 0 is the beginning of the file.",
    optional: true,
  },
  insert_text: text("insert: the lines to insert."),
  old_path: path("rename: the file or directory to rename."),
  new_path: path("rename: its new path."),
});

async function answerCommand(
  hf: DirectoryStore,
  owner: DirectoryOwner,
  input: unknown,
  isAgain: boolean,
): Promise<string> {
  try {
    return await runCommand(hf, owner, checkSome(input, "the input", FIELDS), isAgain);
  } catch (error) {
    if (error instanceof HoldfastError && MISTAKES.includes(error.code)) return `Error: ${error.message}`;
    throw error;
  }
}

async function runCommand(
  hf: DirectoryStore,
  owner: DirectoryOwner,
  given: Readonly<Record<string, unknown>>,
  isAgain: boolean,
): Promise<string> {
  const command = checkOneOf(given.command, "command", COMMANDS);
  if (command === "rename") {
    const [from, to] = [parseMemoryPath(given.old_path, "old_path"), parseMemoryPath(given.new_path, "new_path")];
    return changeFiles(hf, owner, (files) => renamePath(files, from, to, isAgain));
  }
  const at = parseMemoryPath(given.path, "path");
  switch (command) {
    case "view": {
      const range = checkRange(given.view_range);
      return viewPath(await readFiles(hf, owner), at, range);
    }
    case "create": {
      const content = checkFileText(given.file_text, "file_text");
      return changeFiles(hf, owner, (files) => createFile(files, at, content, isAgain));
    }
    case "str_replace": {
      const find = checkFileText(given.old_str, "old_str");
      // A model leaves out the new text to remove the old one.
      const put = given.new_str === undefined ? "" : checkFileText(given.new_str, "new_str");
      return changeFiles(hf, owner, (files) => replaceInFile(files, at, find, put, isAgain));
    }
    case "insert": {
      const line = given.insert_line;
      if (typeof line !== "number") throw invalid("insert_line", "a whole number", line);
      const insert = checkFileText(given.insert_text, "insert_text");
      return changeFiles(hf, owner, (files) => insertIntoFile(files, at, line, insert, isAgain));
    }
    case "delete":
      return changeFiles(hf, owner, (files) => deletePath(files, at, isAgain));
  }
}

function checkFileText(value: unknown, what: string): string {
  return checkText(value, what, "memoryFileBytes");
}

function checkRange(value: unknown): readonly number[] | undefined {
  if (value === undefined || value === null) return undefined;
  const range = checkArray(value, "view_range", "tags").map((line) =>
    checkInt(line, "view_range", -1, Number.MAX_SAFE_INTEGER),
  );
  if (range.length !== 2) throw invalid("view_range", "the numbers of two lines", value);
  return range;
}
