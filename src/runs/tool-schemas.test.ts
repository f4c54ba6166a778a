// The JSON Schemas of tools, from the validators that people use, in the shapes that the SDKs of providers declare.
import type Anthropic from "@anthropic-ai/sdk";
import { type } from "arktype";
import type OpenAI from "openai";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { isHoldfastError, type ToolsWithSchemas, tool, toolSchemas } from "../index.ts";

const order = { type: "object", properties: { order: { type: "string" } }, required: ["order"] };
const tools = {
  zod: tool({
    description: "Refunds an order",
    input: z.object({ order: z.string() }),
    execute: (input) => input.order.length,
  }),
  arktype: tool({ input: type({ order: "string" }), execute: (input) => input.order.length }),
  valibot: tool({
    input: v.object({ order: v.string() }),
    inputSchema: { $schema: "https://json-schema.org/draft/2020-12/schema", ...order },
    execute: (input) => input.order.length,
  }),
  plain: tool({ inputSchema: { properties: {} }, execute: (input: { readonly order: string }) => input.order }),
};

describe("RU15 toolSchemas", () => {
  test("returns the format of Anthropic", () => {
    const given: Anthropic.Messages.Tool[] = toolSchemas(tools, "anthropic");
    expect(given).toEqual([
      { name: "zod", description: "Refunds an order", input_schema: order },
      { name: "arktype", input_schema: order },
      { name: "valibot", input_schema: order },
      { name: "plain", input_schema: { type: "object", properties: {} } },
    ]);
  });

  test("returns the formats of OpenAI, for chat and for responses", () => {
    const chat: OpenAI.Chat.Completions.ChatCompletionTool[] = toolSchemas(tools, "openai-chat");
    expect(chat[0]).toEqual({
      type: "function",
      function: { name: "zod", description: "Refunds an order", parameters: order },
    });
    const responses: OpenAI.Responses.Tool[] = toolSchemas(tools, "openai-responses");
    expect(responses[1]).toEqual({ type: "function", name: "arktype", parameters: order, strict: false });
    const strict = toolSchemas({ zod: tools.zod }, "openai-chat", { strict: true });
    expect(strict[0]?.function).toMatchObject({ strict: true });
    expect(toolSchemas({ zod: tools.zod }, "openai-responses", { strict: true })[0]?.strict).toBe(true);
  });

  test("returns plain JSON Schema", () => {
    expect(toolSchemas(tools, "json-schema")[0]).toEqual({
      name: "zod",
      description: "Refunds an order",
      inputSchema: order,
    });
  });

  test("uses the inputSchema if the validator cannot express its input in JSON Schema", () => {
    const dated = tool({ input: z.object({ at: z.date() }), execute: () => 1 });
    expect(() => toolSchemas({ dated }, "anthropic")).toThrow(
      /validator of the tool dated exports no JSON Schema: Date/,
    );
    const told = { ...dated, inputSchema: { type: "object", properties: { at: { type: "string" } } } };
    expect(toolSchemas({ told }, "anthropic")[0]?.input_schema).toEqual(told.inputSchema);
  });

  test("refuses a tool without a schema, when it is compiled and when it runs", () => {
    const bare = tool({ execute: (input: { readonly order: string }) => input.order });
    const checked = tool({ input: v.object({ order: v.string() }), execute: () => 1 });
    for (const given of [
      // @ts-expect-error: a tool with neither
      () => toolSchemas({ bare }, "anthropic"),
      // @ts-expect-error: valibot's validators cannot describe themselves
      () => toolSchemas({ checked }, "anthropic"),
    ]) {
      const thrown = thrownBy(given);
      expect(isHoldfastError(thrown) && [thrown.code, thrown.hint]).toEqual([
        "InvalidArgument",
        "Add an inputSchema, or an input validator that can export JSON Schema (those of zod and arktype can, valibot's cannot).",
      ]);
    }
    const text = tool({ input: z.string(), execute: () => 1 });
    expect(() => toolSchemas({ text }, "json-schema")).toThrow(/models call tools with an object; .* text is "string"/);
    expect(() => toolSchemas(tools, "gemini" as "anthropic")).toThrow(/format must be/);
  });
});

test("RU15 ToolsWithSchemas types inline tools, and refuses those without a schema", () => {
  const take = <Inputs>(tools: ToolsWithSchemas<Inputs>) => toolSchemas(tools, "json-schema").map(({ name }) => name);
  const names = take({
    ...tools,
    inline: { input: z.object({ n: z.number() }), execute: ({ n }) => n + 1 },
    given: { inputSchema: { type: "object" }, execute: (input: { readonly n: number }) => input.n },
  });
  expect(names).toEqual(["zod", "arktype", "valibot", "plain", "inline", "given"]);
  // @ts-expect-error: no schema
  expect(() => take({ bare: { execute: () => 1 } })).toThrow(/has no JSON Schema/);
  // @ts-expect-error: valibot's validators cannot describe themselves
  expect(() => take({ valibot: { input: v.object({}), execute: () => 1 } })).toThrow(/has no JSON Schema/);
});

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
