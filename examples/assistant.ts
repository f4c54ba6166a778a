// An assistant that remembers across sessions. Each run of the program is a conversation of its own. What the assistant will need
// later it writes down with its memory tools: in a block, which it always sees, or as a fact, which it sees when it matters.
//
//   npm install holdfast
//   node assistant.ts "My name is Ada."
//   node assistant.ts "I drink green tea without sugar."
//   node assistant.ts "What do I drink?"
//
// Without a key a script answers in place of a model, so that the example works offline. With a real model:
//
//   npm install @anthropic-ai/sdk
//   export ANTHROPIC_API_KEY=…
import { anthropicModel, type ChatFunction, open, toolLoop } from "holdfast";
import { memoryTools } from "holdfast/memory-tools";

/** Stands for a model: it calls a memory tool when it is told something, and answers from what it sees when it is asked. */
const script: ChatFunction = ({ system = "", messages }) => {
  const last = messages.at(-1);
  const [block] = last?.content ?? [];
  if (last?.role === "tool") return "I will remember that.";
  const said = block?.type === "text" ? block.text : "";
  const name = /my name is (\p{L}+)/iu.exec(said)?.[1];
  const use = (tool: string, input: Record<string, string>) =>
    ({ content: [{ type: "tool_use", id: "call-1", name: tool, input }], finish: "tools" }) as const;
  if (name !== undefined) return use("core_memory_append", { label: "human", content: `Called ${name}.` });
  if (!said.includes("?")) return use("archival_memory_insert", { content: `The user said: ${said}` });
  const caller = /Called (\p{L}+)/u.exec(system)?.[1] ?? "stranger";
  const memory = /^> (.+)$/mu.exec(system)?.[1];
  return memory === undefined ? `I do not know, ${caller}.` : `${caller}, I know this: ${memory}`;
};

async function chooseModel() {
  if (process.env.ANTHROPIC_API_KEY === undefined) return script;
  const { default: Anthropic } = await import("@anthropic-ai/sdk");
  return anthropicModel(new Anthropic(), { model: "claude-sonnet-5-5", maxTokens: 1024 });
}

const [input = "What do you know about me?"] = process.argv.slice(2);
const hf = await open(process.env.STORE ?? "assistant.db");
const agent = "assistant";
const session = `chat-${Date.now()}`;

// The blocks are yours to define; the assistant edits them.
if ((await hf.agents.loadBlocks(agent)).length === 0) {
  await hf.agents.saveBlocks(agent, [
    { label: "persona", value: "You are a friendly assistant. You are brief.", readOnly: true },
    { label: "human", description: "What you always have to know about the user", limit: 1000 },
  ]);
}

const assistant = toolLoop({
  id: agent,
  version: "1",
  model: await chooseModel(),
  system:
    "You remember people. When the user says something that you will need later, save it: their name and how they want to be " +
    "treated in the block human (core_memory_append), everything else as a fact (archival_memory_insert).",
  tools: memoryTools(hf, { agent, session }),
  blocks: true, // shown to the model with each call
  memory: true, // the facts that match what the user says
  contextTokens: 20_000,
});

const result = await hf.runs.execute(assistant, { session, input });
console.log(result.status === "completed" ? result.value.text : result.error);
await hf.close();
