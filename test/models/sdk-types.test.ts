// The adapters take the events of a model SDK as objects and read some of their fields. Here the compiler compares those fields with the
// types of the real SDKs: a version that renames one does not compile.
import type { createAnthropic } from "@ai-sdk/anthropic";
import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import { expectTypeOf, test } from "vitest";
import type { AnthropicEvent } from "../../src/models/anthropic.ts";
import type { OpenAIChunk } from "../../src/models/openai-chat.ts";
import type { OpenAIResponseEvent } from "../../src/models/openai-responses.ts";

/** The fields of every member of a union. */
type FieldsOf<Union> = Union extends unknown ? keyof Union : never;

/** The type of a field in the members of a union that have it. */
type FieldOf<Union, Name> = Union extends unknown ? (Name extends keyof Union ? Union[Name] : never) : never;

type PartOf<Union, Type extends string> = Extract<Union, { type: Type }>;

test("RU19 events of the Anthropic SDK have the fields that the adapter reads", () => {
  type Event = Anthropic.RawMessageStreamEvent;
  expectTypeOf<Event>().toExtend<Pick<AnthropicEvent, "type">>();
  expectTypeOf<keyof AnthropicEvent>().toExtend<FieldsOf<Event>>();
  expectTypeOf<keyof NonNullable<AnthropicEvent["delta"]>>().toExtend<FieldsOf<FieldOf<Event, "delta">>>();
  expectTypeOf<keyof NonNullable<AnthropicEvent["usage"]>>().toExtend<FieldsOf<FieldOf<Event, "usage">>>();
  expectTypeOf<keyof NonNullable<AnthropicEvent["usage"]>>().toExtend<keyof Anthropic.Usage>();
  expectTypeOf<FieldOf<Event, "message">>().toExtend<{ readonly usage: Anthropic.Usage }>();
});

test("RU19 chunks of the OpenAI SDK have the fields that the adapter reads", () => {
  type Chunk = OpenAI.ChatCompletionChunk;
  type Choice = OpenAIChunk["choices"][number];
  type Delta = NonNullable<Choice["delta"]>;
  type Call = NonNullable<Delta["tool_calls"]>[number];
  type Usage = NonNullable<OpenAIChunk["usage"]>;
  expectTypeOf<keyof OpenAIChunk>().toExtend<keyof Chunk>();
  expectTypeOf<keyof Choice>().toExtend<keyof OpenAI.ChatCompletionChunk.Choice>();
  expectTypeOf<keyof Delta>().toExtend<keyof OpenAI.ChatCompletionChunk.Choice.Delta>();
  expectTypeOf<keyof Call>().toExtend<keyof OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall>();
  expectTypeOf<keyof NonNullable<Call["function"]>>().toExtend<
    keyof OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall.Function
  >();
  expectTypeOf<keyof Usage>().toExtend<keyof OpenAI.CompletionUsage>();
  expectTypeOf<keyof NonNullable<Usage["prompt_tokens_details"]>>().toExtend<
    keyof OpenAI.CompletionUsage.PromptTokensDetails
  >();
});

test("RU19 events of the OpenAI SDK's responses have the fields that the adapter reads", () => {
  type Event = OpenAI.Responses.ResponseStreamEvent;
  type Response = NonNullable<OpenAIResponseEvent["response"]>;
  type Usage = NonNullable<Response["usage"]>;
  expectTypeOf<keyof OpenAIResponseEvent>().toExtend<FieldsOf<Event>>();
  expectTypeOf<keyof Response>().toExtend<keyof OpenAI.Responses.Response>();
  expectTypeOf<keyof Usage>().toExtend<keyof OpenAI.Responses.ResponseUsage>();
  expectTypeOf<keyof NonNullable<Usage["input_tokens_details"]>>().toExtend<
    keyof OpenAI.Responses.ResponseUsage.InputTokensDetails
  >();
  expectTypeOf<keyof NonNullable<Response["error"]>>().toExtend<keyof OpenAI.Responses.ResponseError>();
});

test("RU19 parts of the AI SDK's streams have the fields that the adapter reads", () => {
  type Model = ReturnType<ReturnType<typeof createAnthropic>>;
  type Stream = Awaited<ReturnType<Model["doStream"]>>["stream"];
  type Part = Stream extends ReadableStream<infer P> ? P : never;
  expectTypeOf<"id" | "delta">().toExtend<
    FieldsOf<PartOf<Part, "text-delta">> & FieldsOf<PartOf<Part, "reasoning-delta">>
  >();
  expectTypeOf<"toolCallId" | "toolName" | "input" | "providerExecuted">().toExtend<
    FieldsOf<PartOf<Part, "tool-call">>
  >();
  expectTypeOf<"finishReason" | "usage">().toExtend<FieldsOf<PartOf<Part, "finish">>>();
  expectTypeOf<"error">().toExtend<FieldsOf<PartOf<Part, "error">>>();
});
