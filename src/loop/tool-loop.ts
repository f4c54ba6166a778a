// A tool loop: an ordinary agent that calls a model, runs the tools that the model requests, and repeats that until the model ends its
// turn. One iteration is one model call with its tool calls; an interrupted iteration resumes where it stopped.
import type { Verdict } from "../contracts/agent-definitions.ts";
import type { ChatModel, ChatReply } from "../contracts/chat.ts";
import type { Context } from "../contracts/context.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Json } from "../contracts/json.ts";
import type { ContentBlock } from "../contracts/messages.ts";
import type { Model, RecordedReply } from "../contracts/models.ts";
import type { RunLimits } from "../contracts/run-record.ts";
import type { DescribedTool } from "../contracts/tool-schemas.ts";
import { sha256Hex } from "../core/bytes.ts";
import { checkInt, checkRecord, invalid } from "../core/check.ts";
import { orderedJson } from "../core/hashing.ts";
import { readyMessage } from "../history/append.ts";
import { chatModelOf } from "../models/any.ts";
import { defineAgent } from "../runs/agents.ts";
import { toolSchemas } from "../runs/tool-schemas.ts";
import { shape } from "../runs/tools.ts";
import { describeContext, readLoopContext } from "./context.ts";
import { inputSchema, messagesOf } from "./input.ts";
import type { LoopIteration, LoopOutput, LoopState, ToolLoop, ToolLoopOptions } from "./loop-types.ts";
import { summarizerOf } from "./summary.ts";
import { callTools } from "./tool-calls.ts";
import { appendToolResults } from "./tool-results.ts";

const OPTIONS = [
  "id",
  "version",
  "model",
  "system",
  "tools",
  "blocks",
  "memory",
  "contextTokens",
  "tokenizer",
  "summarize",
  "ownMessagesOnly",
  "maxParallelTools",
  "limits",
];
/** The query is the run's input. */
const MEMORY = ["namespace", "agent", "kind", "limit", "tokens"];
const LIMITS: RunLimits = { iterations: 100 };
/** A tool name that all providers accept. */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

export function toolLoop(options: ToolLoopOptions): ToolLoop {
  const { id, version, tools = {}, limits = LIMITS } = checkOptions(options);
  const model = chatModelOf(options.model, "toolLoop.model");
  const described = toolSchemas(tools, "json-schema");
  const summarizer = options.summarize === undefined ? undefined : summarizerOf(options.summarize);
  return defineAgent({
    id,
    version,
    limits,
    input: inputSchema,
    state: shape<LoopState>(),
    output: shape<LoopOutput>(),
    tools,
    initial: (): LoopState => ({ begun: false }),
    async iterate(it: LoopIteration, { begun }: LoopState): Promise<Verdict> {
      if (!begun) for (const message of messagesOf(it.input)) await it.message(message);
      const context = await readLoopContext(it, options, summarizer);
      const reply = await askModel(it, options, model, described, context);
      await it.message({ role: "assistant", content: reply.content }, { call: reply.call });
      const uses = reply.content.filter((block) => block.type === "tool_use");
      if (uses.length > 0) {
        const results = await callTools(it, uses, Object.keys(tools), options.maxParallelTools);
        await appendToolResults(it, results);
      } else if (reply.finish !== "continue") {
        return it.done({ text: textOf(reply.content), finish: reply.finish });
      }
      return it.next({ begun: true });
    },
  });
}

interface LoopReply extends Pick<ChatReply, "content" | "finish"> {
  readonly call: string;
}

/**
 * The recorded request names the position of its messages, because the session has the messages. The rest of the request is recorded with
 * the reply, so that a replay accepts a reply that was made with an earlier system prompt.
 */
async function askModel(
  it: LoopIteration,
  { system }: ToolLoopOptions,
  chat: ChatModel,
  tools: readonly DescribedTool[],
  { messages, ...context }: Context,
): Promise<LoopReply> {
  const model: Model = {
    provider: chat.provider,
    model: chat.model,
    ...(chat.retry === undefined ? {} : { retry: chat.retry }),
    async call(_, call) {
      const prompt = promptOf(typeof system === "function" ? system(it.input) : system, context);
      const sent = { system: digestOf(prompt ?? null), tools: digestOf(tools as unknown as Json) };
      const { content, finish, ...usage } = await chat.generate({ system: prompt, messages, tools }, call);
      checkReply(content);
      return { output: { content, finish, sent } as unknown as Json, ...usage };
    },
  };
  const reply = await it.model(describeContext({ messages, ...context }), model);
  return { ...replyIn(reply), call: reply.call };
}

/** The loop's system prompt, and what the context has to say before its messages. */
function promptOf(prompt: string | undefined, { system }: Pick<Context, "system">): string | undefined {
  if (system === undefined || system.text === "") return prompt;
  return prompt === undefined || prompt === "" ? system.text : `${prompt}\n\n${system.text}`;
}

/** The reply that askModel() recorded. */
function replyIn({ output }: RecordedReply): Pick<ChatReply, "content" | "finish"> {
  return output as unknown as Pick<ChatReply, "content" | "finish">;
}

/** Refuses a reply that cannot be appended as a message before it is recorded, so that the model is called again. */
function checkReply(content: unknown): void {
  if (Array.isArray(content) && content.length === 0) return;
  try {
    readyMessage({ role: "assistant", content: content as readonly ContentBlock[] });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new HoldfastError("InvalidArgument", `the model's reply is not a valid message: ${message}`, {
      retryable: true,
      cause: error,
    });
  }
}

function digestOf(value: Json): string {
  return sha256Hex(orderedJson(value));
}

function textOf(content: readonly ContentBlock[]): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
}

function checkOptions(options: ToolLoopOptions): ToolLoopOptions {
  const given = checkRecord(options, "toolLoop", OPTIONS);
  for (const name of ["contextTokens", "maxParallelTools"]) {
    if (given[name] !== undefined) checkInt(given[name], `toolLoop.${name}`, 1, Number.MAX_SAFE_INTEGER);
  }
  const { system } = given;
  if (system !== undefined && typeof system !== "string" && typeof system !== "function") {
    throw invalid("toolLoop.system", "a text or a function", system);
  }
  const { memory } = given;
  if (memory !== undefined && typeof memory !== "boolean") checkRecord(memory, "toolLoop.memory", MEMORY);
  for (const name of Object.keys(checkRecord(given.tools, "toolLoop.tools"))) {
    if (!TOOL_NAME.test(name)) {
      throw invalid("toolLoop.tools", "named with up to 64 letters, digits, _ or -, as providers want it", name);
    }
  }
  return options;
}
