// The options of a tool loop, and the types of its agent.
import type { AgentDefinition, Iteration } from "../contracts/agent-definitions.ts";
import type { ChatReply } from "../contracts/chat.ts";
import type { ContextMemoryQuery, ContextOptions } from "../contracts/context.ts";
import type { RunLimits } from "../contracts/run-record.ts";
import type { ToolWithSchema } from "../contracts/tools.ts";
import type { AnyChatModel } from "../models/any.ts";
import type { LoopInput } from "./input.ts";
import type { Summarize } from "./summary.ts";

export interface ToolLoopOptions {
  readonly id: string;
  readonly version: string;
  /** A chat model (anthropicModel(), openaiChatModel(), …), a language model of the AI SDK, or a function. */
  readonly model: AnyChatModel;
  /** The system prompt, or a function that makes it from the run's input. */
  readonly system?: string | ((input: LoopInput) => string);
  /** Each with an `input` validator that knows its JSON Schema, or with an `inputSchema`. */
  readonly tools?: Readonly<Record<string, ToolWithSchema>>;
  /**
   * Core blocks that every model call is given after the system prompt, as in a context: those of the run's agent, which has the id of this
   * loop, or of another one. A registered agent's own system prompt comes before them.
   */
  readonly blocks?: ContextOptions["blocks"];
  /** Also the memories that match the words of the run's input: of that agent (true), or as the options say. */
  readonly memory?: boolean | Omit<ContextMemoryQuery, "query">;
  /** The most tokens of the messages, blocks and memories that a model call is given; the oldest messages are left out, or summarised. */
  readonly contextTokens?: number;
  /** Counts the tokens of a message; an estimate when not given. */
  readonly tokenizer?: ContextOptions["tokenizer"];
  /** Summarises messages that exceed the budget: a model, or a function that returns the text. */
  readonly summarize?: Summarize;
  /** Gives the model only messages of this agent; those of the whole session when not given. */
  readonly ownMessagesOnly?: boolean;
  /** Tool calls of one reply at a time; all of them when not given. */
  readonly maxParallelTools?: number;
  /** 100 iterations when not given. */
  readonly limits?: RunLimits;
}

export interface LoopOutput {
  /** The text of the model's last message. */
  readonly text: string;
  readonly finish: ChatReply["finish"];
}

export interface LoopState {
  /** The input is in the session. */
  readonly begun: boolean;
}

export type ToolLoop = AgentDefinition<LoopState, LoopInput, LoopOutput>;
export type LoopIteration = Iteration<LoopState, LoopInput, LoopOutput>;
