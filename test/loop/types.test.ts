// What the compiler knows of a tool loop. The parts in `refused` do not compile; that they do not is what is tested.
import { openai } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import * as v from "valibot";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  anthropicModel,
  type Holdfast,
  type LoopOutput,
  open,
  openaiChatModel,
  openaiResponsesModel,
  tool,
  toolLoop,
} from "../../src/index.ts";

const described = tool({ input: z.object({ order: z.string() }), execute: ({ order }) => order });
const bare = tool({ execute: (input: { order: string }) => input.order });
const undescribed = tool({ input: v.object({ order: v.string() }), execute: ({ order }) => order });
const base = { id: "a", version: "1", model: () => "ok" } as const;

test("RU18 every tool has a schema for the model, or it does not compile", () => {
  toolLoop({ ...base, tools: { described } });
  toolLoop({ ...base, tools: { plain: tool({ inputSchema: { type: "object" }, execute: () => null }) } });
  // @ts-expect-error it says nothing of its input
  const refused = () => toolLoop({ ...base, tools: { described, bare } });
  expect(refused).toThrow(/JSON Schema/);
  // @ts-expect-error a validator of valibot cannot describe itself
  expect(() => toolLoop({ ...base, tools: { undescribed } })).toThrow(/JSON Schema/);
});

test("RU18 any client is taken as it is", () => {
  const client = new OpenAI({ apiKey: "test" });
  const options = { model: "m", maxTokens: 1000 };
  for (const model of [
    anthropicModel(new Anthropic({ apiKey: "test" }), options),
    openaiChatModel(client, options),
    openaiResponsesModel(client, options),
    openai("gpt-5"),
    (request: { readonly system: string | undefined }) => request.system ?? "",
  ]) {
    expect(toolLoop({ ...base, model }).id).toBe("a");
  }
  // @ts-expect-error the name of a model is no model
  expect(() => toolLoop({ ...base, model: "gpt-5" })).toThrow(/model/);
});

test("RU18 what it gives is typed, and its input is checked before anything is written", async () => {
  const hf = await open(":memory:");
  const execute = (runs: Holdfast["runs"]) => runs.execute(toolLoop(base), { session: "s", id: "r", input: "hi" });
  const result = await execute(hf.runs);
  if (result.status === "completed") expectTypeOf(result.value).toEqualTypeOf<LoopOutput>();
  expect(result.value).toEqual({ text: "ok", finish: "stop" });
  for (const input of [7, { role: "king", content: "x" }, [{ role: "user" }]]) {
    // @ts-expect-error this is no message
    const refused = hf.runs.execute(toolLoop(base), { session: "other", id: "bad", input });
    await expect(refused).rejects.toMatchObject({ code: "InvalidArgument" });
  }
  expect(await hf.sessions.get("other")).toBeNull();
  await hf.close();
});

test("RU18 options that are wrong are refused when the loop is defined", () => {
  for (const [options, why] of [
    [{ contextTokens: 0 }, /contextTokens/],
    [{ maxParallelTools: 1.5 }, /maxParallelTools/],
    [{ system: 7 }, /system/],
    [{ tools: { "look up": described } }, /letters, digits/],
    [{ model: {} }, /model/],
    [{ systemPrompt: "x" }, /systemPrompt/],
    [{ summarize: 7 }, /summarize|model/],
  ] as const) {
    expect(() => toolLoop({ ...base, ...options } as never)).toThrow(why);
  }
});
