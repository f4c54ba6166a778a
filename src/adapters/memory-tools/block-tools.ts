// Tools with which an agent edits its own core blocks. Each edit relies on the block's version and is decided again if another
// writer was first, so that no edit is lost. An agent edits blocks that exist: which ones there are is for its operator to decide.
import type { Agents, Block } from "../../contracts/agents.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { type AgentTool, declareTool, type Field } from "./agent-tool.ts";
import { repeatOnConflict } from "./repeat-on-conflict.ts";
import { hasLines, insertLines, replacePassage, type TextEdit } from "./text-edits.ts";

export type BlockToolName =
  | "core_memory_append"
  | "core_memory_replace"
  | "memory_insert"
  | "memory_replace"
  | "memory_rethink";

const LABEL = {
  type: "string",
  limit: "idBytes",
  description: "The label of the block, for example human.",
  aliases: ["name", "block_label"],
} as const satisfies Field;

const text = (description: string, ...aliases: readonly string[]) =>
  ({ type: "string", limit: "messageBytes", description, aliases }) as const satisfies Field;

export function blockTools(hf: Pick<Holdfast, "agents">, agent: string): Readonly<Record<BlockToolName, AgentTool>> {
  const edit = (label: string, change: BlockChange) => editBlock(hf.agents, agent, label, change);
  const replace = (label: string, find: string, put: string, isAgain: boolean) =>
    edit(label, (block) => replaceInBlock(block, find, put, isAgain));
  return {
    core_memory_append: declareTool({
      name: "core_memory_append",
      description:
        "Adds a line to the end of one of your core memory blocks. Core memory is always in your context: keep in it, " +
        "briefly, what matters in every conversation.",
      fields: { label: LABEL, content: text("The text to add, on a line of its own.") },
      run: ({ label, content }, isAgain) =>
        edit(label, (block) =>
          isAgain && hasLines(block.value, content) ? block.value : appended(block.value, content),
        ),
    }),
    core_memory_replace: declareTool({
      name: "core_memory_replace",
      description:
        "Replaces a text in one of your core memory blocks by another one. To remove the text, replace it by an empty one.",
      fields: {
        label: LABEL,
        old_content: text(
          "The text to replace, exactly as it is in the block. It must occur once.",
          "old_string",
          "old_str",
        ),
        new_content: text("The text that takes its place.", "new_string", "new_str"),
      },
      run: ({ label, old_content, new_content }, isAgain) => replace(label, old_content, new_content, isAgain),
    }),
    memory_insert: declareTool({
      name: "memory_insert",
      description: "Inserts lines into one of your core memory blocks.",
      fields: {
        label: LABEL,
        new_string: text("The lines to insert.", "new_str", "content"),
        insert_line: {
          type: "integer",
          min: -1,
          max: LIMITS.blockChars,
          optional: true,
          description: "The number of the line after which to insert; 0 is the beginning, -1 (the default) the end.",
        },
      },
      run: ({ label, new_string, insert_line = -1 }, isAgain) =>
        edit(label, (block) => insertIntoBlock(block, new_string, insert_line, isAgain)),
    }),
    memory_replace: declareTool({
      name: "memory_replace",
      description: "Replaces a text in one of your core memory blocks by another one, for exact corrections.",
      fields: {
        label: LABEL,
        old_string: text(
          "The text to replace, exactly as it is in the block. It must occur once.",
          "old_str",
          "old_content",
        ),
        new_string: text("The text that takes its place; empty to remove the text.", "new_str", "new_content"),
      },
      run: ({ label, old_string, new_string }, isAgain) => replace(label, old_string, new_string, isAgain),
    }),
    memory_rethink: declareTool({
      name: "memory_rethink",
      description:
        "Rewrites one of your core memory blocks as a whole: to sum it up, to reorganise it, or to merge what it says twice.",
      fields: { label: LABEL, new_memory: text("The whole new text of the block.", "new_content", "content") },
      run: ({ label, new_memory }) => edit(label, () => new_memory),
    }),
  };
}

/** The new value of the block. */
type BlockChange = (block: Block) => string;

async function editBlock(agents: Agents, agent: string, label: string, change: BlockChange): Promise<string> {
  return repeatOnConflict(`the block ${JSON.stringify(label)}`, async () => {
    const block = await agents.getBlock(agent, label);
    if (block === null) throw unknownBlock(label, await agents.loadBlocks(agent));
    const value = change(block);
    const { version } = block;
    const addition = value.startsWith(block.value) ? value.slice(block.value.length) : "";
    return describeBlock(
      addition === ""
        ? await agents.rethinkBlock(agent, label, value, { version })
        : await agents.appendBlock(agent, label, addition, { version }),
    );
  });
}

function describeBlock({ label, value, version, limit }: Block): string {
  return `The block ${JSON.stringify(label)} is edited: version ${version}, ${lengthOf(value)} of ${limit} characters.`;
}

/** In characters as the limit of a block counts them. */
function lengthOf(value: string): number {
  let length = 0;
  for (const _ of value) length++;
  return length;
}

function unknownBlock(label: string, blocks: readonly Block[]): HoldfastError {
  const labels = blocks.map((block) => block.label);
  const there = labels.length === 0 ? "There are no blocks." : `The blocks are: ${labels.join(", ")}.`;
  return new HoldfastError("NotFound", `there is no block ${JSON.stringify(label)}. ${there}`, {
    details: { kind: "block", label },
    hint: "The operator adds a block with agents.saveBlocks().",
  });
}

function appended(value: string, addition: string): string {
  return value === "" || value.endsWith("\n") ? value + addition : `${value}\n${addition}`;
}

function replaceInBlock({ label, value }: Block, find: string, put: string, isAgain: boolean): string {
  const edit = replacePassage(value, find, put, isAgain);
  if ("text" in edit) return edit.text;
  const where =
    edit.foundIn.length === 0
      ? "does not occur in it exactly as given"
      : `occurs more than once, in the lines ${edit.foundIn.join(", ")}; give more of the text around it`;
  throw new HoldfastError(
    "InvalidArgument",
    `nothing was replaced in the block ${JSON.stringify(label)}: the old text ${where}`,
    {
      details: { label },
    },
  );
}

function insertIntoBlock({ label, value }: Block, insert: string, line: number, isAgain: boolean): string {
  if (line === -1) return isAgain && hasLines(value, insert) ? value : appended(value, insert);
  const edit: TextEdit | null =
    value === "" && line === 0 ? { text: insert, line: 1, lines: 1 } : insertLines(value, insert, line, isAgain);
  if (edit !== null) return edit.text;
  const most = value.split("\n").length;
  throw new HoldfastError(
    "InvalidArgument",
    `insert_line must be from 0 to ${most}, or -1 for the end of the block ${JSON.stringify(label)}`,
    {
      details: { label, most },
    },
  );
}
