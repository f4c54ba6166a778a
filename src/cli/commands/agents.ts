// holdfast agents: lists, shows, registers and removes agents.
import type { Agent, AgentInput, Block } from "../../contracts/agents.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Erasure } from "../../contracts/history.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Command, CommandGroup, Context } from "../command-line.ts";
import { confirm, YES_OPTION } from "../confirm.ts";
import { readObject } from "../input.ts";
import { ORDER_OPTION, readOrder } from "../list-order.ts";
import { pageOptions } from "../option.ts";
import type { Output } from "../output.ts";
import { type Column, facts, ID, table } from "../table.ts";
import { safe, safeLine, safeText, wrap } from "../terminal.ts";
import { formatAge, formatCount, formatTime, plural } from "../units.ts";

const ls: Command = {
  name: "ls",
  aliases: ["list"],
  summary: "list agents, newest first",
  usage: ["agents [ls] [--tag T] [--type TYPE] [--order ORDER] [--limit N] [--cursor C]"],
  description: "Lists agents, newest first, a page at a time.",
  options: {
    tag: { type: "text", value: "TAG", summary: "only agents with this tag" },
    type: { type: "text", value: "TYPE", summary: "only agents of this type" },
    order: ORDER_OPTION,
    ...pageOptions(50),
  },
  operands: [],
  examples: [
    { command: "holdfast agents", does: "list the newest 50" },
    { command: "holdfast agents --tag production --json", does: "print JSON for a program" },
  ],
  run: async (context) => {
    const { args, output } = context;
    const [tag, type, cursor] = [args.text("tag"), args.text("type"), args.text("cursor")];
    const page = await (await context.open()).agents.list({
      limit: args.number("limit") ?? 50,
      order: readOrder(args),
      cursor,
      ...(tag === undefined ? {} : { tag }),
      ...(type === undefined ? {} : { agentType: type }),
    });
    const now = Date.now();
    await output.answer(page, () =>
      page.items.length === 0 ? ["no agents"] : table(columns(now), page.items, output.frame),
    );
    await output.noteNextPage(page.next);
    return undefined;
  },
};

const columns = (now: number): readonly Column<Agent>[] => [
  { title: "AGENT", cell: ({ id }) => id, ...ID, colour: (text, _, style) => style.name(text) },
  { title: "NAME", cell: ({ id, name }) => (name === id ? "" : name), shrink: 3 },
  { title: "TYPE", cell: ({ agentType }) => agentType, shrink: 2 },
  { title: "MODEL", cell: ({ model }) => model ?? "", shrink: 2 },
  { title: "TOOLS", align: "right", cell: ({ toolIds }) => (toolIds.length === 0 ? "" : String(toolIds.length)) },
  { title: "CHANGED", cell: ({ updatedAt }) => formatAge(updatedAt, now) },
  { title: "TAGS", cell: ({ tags }) => tags.join(" "), shrink: 4, min: 0 },
];

const show: Command = {
  name: "show",
  summary: "show one agent with its blocks",
  usage: ["agents show ID"],
  description: "Shows an agent's registration and the labels and sizes of its core blocks.",
  options: {},
  operands: [{ name: "ID", need: "required" }],
  examples: [{ command: "holdfast agents show helper", does: "one agent" }],
  next: "holdfast agents blocks ID prints the text of its blocks.",
  run: async (context) => {
    const { output } = context;
    const holdfast = await context.open();
    const agent = await needAgent(holdfast, context.args.operand(0));
    const blocks = await holdfast.agents.loadBlocks(agent.id);
    await output.answer({ ...agent, blocks }, () => [
      ...describe(agent, output),
      ...(blocks.length === 0 ? [] : ["", ...table(BLOCK_COLUMNS, blocks, output.frame)]),
    ]);
    return undefined;
  },
};

function describe(agent: Agent, output: Output): string[] {
  return facts(
    [
      ["agent", agent.id],
      ["name", agent.name],
      ["type", agent.agentType],
      ["model", agent.model ?? ""],
      ["tools", agent.toolIds.join(" ")],
      ["tags", agent.tags.join(" ")],
      ["system", agent.system ?? ""],
      ["metadata", Object.keys(agent.metadata).length === 0 ? "" : JSON.stringify(agent.metadata)],
      ["created", formatTime(agent.createdAt)],
      ["changed", formatTime(agent.updatedAt)],
      ["version", String(agent.version)],
    ],
    output.frame,
  );
}

const BLOCK_COLUMNS: readonly Column<Block>[] = [
  { title: "BLOCK", cell: ({ label }) => label, ...ID, colour: (text, _, style) => style.name(text) },
  {
    title: "CHARS",
    align: "right",
    cell: ({ value, limit }) => `${formatCount([...value].length)}/${formatCount(limit)}`,
  },
  { title: "VERSION", align: "right", cell: ({ version }) => String(version) },
  { title: "", cell: ({ readOnly }) => (readOnly ? "read-only" : "") },
  { title: "DESCRIPTION", cell: ({ description }) => description, shrink: 2 },
];

const blocks: Command = {
  name: "blocks",
  summary: "print the text of an agent's core blocks",
  usage: ["agents blocks ID"],
  description:
    "Prints an agent's core blocks (persona, human, facts …) in order: the text that every model request contains.",
  options: {},
  operands: [{ name: "ID", need: "required" }],
  examples: [{ command: "holdfast agents blocks helper", does: "all of its blocks" }],
  run: async (context) => {
    const { output } = context;
    const holdfast = await context.open();
    const agent = await needAgent(holdfast, context.args.operand(0));
    const loaded = await holdfast.agents.loadBlocks(agent.id);
    await output.answer({ agent: agent.id, blocks: loaded }, () => {
      if (loaded.length === 0) return ["no blocks"];
      return loaded.flatMap((block, i) => [...(i === 0 ? [] : [""]), ...blockLines(block, output)]);
    });
    return undefined;
  },
};

function blockLines(block: Block, { style, width }: Output): string[] {
  const size = `${formatCount([...block.value].length)}/${formatCount(block.limit)} characters`;
  const about = [size, `version ${block.version}`, ...(block.readOnly ? ["read-only"] : [])].join(", ");
  const text = block.value === "" ? ["(empty)"] : wrap(safeText(block.value), width - 4);
  return [`${style.name(safeLine(block.label))} ${style.faint(about)}`, ...text.map((line) => `    ${line}`)];
}

const create: Command = {
  name: "create",
  summary: "register an agent",
  usage: [
    "agents create [ID] [--name N] [--type T] [--model M] [--system TEXT] [--tool ID]… [--tag T]… [--metadata JSON]",
  ],
  description:
    "Registers an agent; without an ID, Holdfast creates one. An agent that only writes messages needs no registration.",
  options: {
    name: { type: "text", summary: "a name for people" },
    type: { type: "text", value: "TYPE", summary: "what kind of agent it is" },
    model: { type: "text", summary: "the model it uses" },
    system: { type: "text", summary: "its system prompt" },
    tool: { type: "list", value: "ID", summary: "a tool it may use" },
    tag: { type: "list", value: "TAG", summary: "a tag to find it by" },
    metadata: { type: "text", value: "JSON", summary: "a JSON object to keep with it" },
  },
  operands: [{ name: "ID", need: "optional" }],
  examples: [
    { command: "holdfast agents create helper --name 'The helper' --tag production", does: "with your id and a tag" },
  ],
  next: "holdfast messages add SESSION --agent ID 'hello' writes its first message.",
  run: async (context) => {
    const agent = await (await context.open()).agents.create(readInput(context));
    await context.output.answer(agent, () => [safe`created agent ${agent.id}`]);
    return undefined;
  },
};

function readInput({ args }: Context): AgentInput {
  const input: { -readonly [K in keyof AgentInput]: AgentInput[K] } = {
    tags: args.list("tag"),
    toolIds: args.list("tool"),
  };
  const [id] = args.operands;
  const [name, type, model] = [args.text("name"), args.text("type"), args.text("model")];
  const [system, metadata] = [args.text("system"), args.text("metadata")];
  if (id !== undefined) input.id = id;
  if (name !== undefined) input.name = name;
  if (type !== undefined) input.agentType = type;
  if (model !== undefined) input.model = model;
  if (system !== undefined) input.system = system;
  if (metadata !== undefined) input.metadata = readObject(metadata, "--metadata");
  return input;
}

const rm: Command = {
  name: "rm",
  summary: "remove an agent and the blocks it does not share",
  usage: ["agents rm ID [--memories] [--yes]"],
  description:
    "Removes an agent. Blocks that another agent shares stay, and so do the agent's messages in their sessions and its memories. " +
    "With --memories its memories of all namespaces go too.",
  options: { memories: { type: "flag", summary: "erase the agent's memories of all namespaces too" }, yes: YES_OPTION },
  operands: [{ name: "ID", need: "required" }],
  examples: [{ command: "holdfast agents rm helper", does: "asks, then removes" }],
  run: async (context) => {
    const holdfast = await context.open();
    const id = context.args.operand(0);
    const memories = context.args.flag("memories");
    // Memories can be left of an agent that was removed before.
    if (!memories) await needAgent(holdfast, id);
    const what = memories ? "its own blocks and all its memories" : "its own blocks";
    await confirm(context, `This removes agent ${id}, ${what} for good.`);
    const report = await holdfast.agents.delete(id, { memories });
    if (report === null) throw notFound(id);
    await context.output.answer({ agent: id, deleted: true, ...report }, () => removedLines(id, report));
    return undefined;
  },
};

function removedLines(id: string, { removed, kept }: Erasure): string[] {
  const erased = removed.memories === undefined ? "" : ` and ${plural(removed.memories, "memory", "memories")}`;
  if (kept.memories === undefined) return [safe`removed agent ${id}${erased}`];
  const left = plural(kept.memories, "memory", "memories");
  return [safe`removed agent ${id}${erased}`, safe`kept ${left}, which agents rm ${id} --memories erases`];
}

async function needAgent(holdfast: Holdfast, id: string): Promise<Agent> {
  const agent = await holdfast.agents.get(id);
  if (agent === null) throw notFound(id);
  return agent;
}

function notFound(agent: string): HoldfastError {
  const hint = "`holdfast agents` lists all agents";
  return new HoldfastError("NotFound", `no agent "${agent}"`, { hint, details: { agent } });
}

export const agents: CommandGroup = {
  name: "agents",
  summary: "list, show, register and remove agents",
  usage: [...ls.usage, ...show.usage, ...blocks.usage, ...create.usage, ...rm.usage],
  description:
    "An agent is a registered identity with metadata and core blocks: text that every model request of the agent contains.",
  commands: [ls, show, blocks, create, rm],
  fallback: "ls",
  examples: [...ls.examples.slice(0, 1), ...create.examples, ...blocks.examples],
};
