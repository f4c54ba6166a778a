// Reads the messages for a loop's model call: as many of the session's newest as the budget has room for, after a summary of the others
// if there is a summarizer.
import type { Context, ContextMessage, ContextOptions } from "../contracts/context.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { Model } from "../contracts/models.ts";
import { estimate } from "../sessions/token-estimate.ts";
import type { LoopIteration, ToolLoopOptions } from "./loop-types.ts";
import { memoryQueryOf } from "./memory-query.ts";
import type { Summarizer } from "./summary.ts";

/** The share of the budget that is not summarised, so that not every call makes a new summary. */
const KEPT = 0.5;
/** A session without a summary may be many times as long as the budget; each round summarises one budget of it. */
const MOST_ROUNDS = 1000;

export async function readLoopContext(
  it: LoopIteration,
  { contextTokens, tokenizer, ownMessagesOnly = false, id, blocks, memory = false }: ToolLoopOptions,
  summarizer: Summarizer | undefined,
): Promise<Context> {
  const options = { ...(ownMessagesOnly ? { agent: id } : {}), ...(tokenizer === undefined ? {} : { tokenizer }) };
  const system = systemOptions(it, blocks, memory);
  if (contextTokens === undefined) return it.context({ ...options, ...system });
  const read = (budget: number) => it.context({ ...options, ...system, budget });
  let context = await read(contextTokens);
  for (let round = 0; summarizer !== undefined && context.leftOut.messages > 0 && round < MOST_ROUNDS; round++) {
    const kept = await read(Math.floor(contextTokens * KEPT));
    const whole = await it.context(options);
    const old = oldestOf(whole, kept, contextTokens, tokenizer ?? estimate);
    const upTo = old.findLast((message) => message.id !== null && message.id !== whole.compaction?.summary)?.id;
    if (upTo === undefined || upTo === null) break;
    await it.compact({ summary: await summarize(it, summarizer, old), upTo });
    context = await read(contextTokens);
  }
  return requireLast(context, contextTokens);
}

function systemOptions(
  { input }: LoopIteration,
  blocks: ToolLoopOptions["blocks"],
  memory: Exclude<ToolLoopOptions["memory"], undefined>,
): Pick<ContextOptions, "blocks" | "memory"> {
  const query = memory === false ? "" : memoryQueryOf(input);
  return {
    ...(blocks === undefined ? {} : { blocks }),
    ...(query === "" ? {} : { memory: { ...(memory === true ? {} : memory), query } }),
  };
}

/**
 * The oldest messages to summarise: all that are not kept, or as many of them as fit the budget. They end where every tool call has its
 * results.
 */
function oldestOf(
  { messages }: Context,
  kept: Context,
  budget: number,
  count: (message: ContextMessage) => number,
): readonly ContextMessage[] {
  const first = kept.messages.find(({ id }) => id !== null && id !== kept.compaction?.summary)?.id;
  const end = first === undefined ? messages.length - 1 : messages.findIndex(({ id }) => id === first);
  let [tokens, upTo] = [0, 0];
  for (const [i, message] of messages.slice(0, Math.max(0, end)).entries()) {
    tokens += count(message);
    if (tokens > budget && upTo > 0) break;
    const next = messages[i + 1];
    if (next === undefined || !next.content.some(({ type }) => type === "tool_result")) upTo = i + 1;
  }
  return messages.slice(0, upTo);
}

async function summarize(
  it: LoopIteration,
  { provider, model, summarize: make }: Summarizer,
  messages: readonly ContextMessage[],
): Promise<string> {
  const caller: Model = { provider, model, call: (_, call) => make(messages, call) };
  const { output } = await it.model({ ...describeMessages(messages), purpose: "summary" }, caller);
  return String(output);
}

/** Without the newest message the model would answer something else, so it must fit the budget. */
function requireLast(context: Context, budget: number): Context {
  if (context.messages.some(({ id }) => id !== context.compaction?.summary)) return context;
  throw new HoldfastError(
    "LimitExceeded",
    `the newest message of the session has no room in a context of ${budget} tokens`,
    {
      details: { contextTokens: budget, leftOut: context.leftOut.messages },
      hint: "Raise contextTokens of the tool loop, or give it shorter input and tools that answer with less.",
    },
  );
}

/** Identifies the messages of a request without repeating them. */
export function describeContext(context: Context): JsonObject {
  const { messages, leftOut, compaction } = context;
  return {
    ...describeMessages(messages),
    ...(leftOut.messages === 0 ? {} : { leftOut: leftOut.messages }),
    ...(compaction === null ? {} : { summary: compaction.summary }),
  };
}

function describeMessages(messages: readonly ContextMessage[]): JsonObject {
  const ids = messages.flatMap(({ id }) => (id === null ? [] : [id]));
  return {
    kind: "context",
    rendered: false,
    count: messages.length,
    first: ids[0] ?? null,
    last: ids.at(-1) ?? null,
    ...(messages.some(({ repaired }) => repaired) ? { repaired: true } : {}),
  };
}
