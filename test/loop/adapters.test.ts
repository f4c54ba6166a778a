// One program, six models: through whichever SDK the model is reached, a run leaves the same transcript, and lives through the
// same troubles.
import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { open, tool, toolLoop } from "../../src/index.ts";
import { answerInOrder, type FakeAnswer, type FakeModels, startFakeModels } from "../fake-models.ts";
import { ADAPTERS } from "../models/adapters.ts";
import { transcript } from "./scripted-model.ts";

let server: FakeModels | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

const lookup = tool({
  description: "Looks an order up",
  input: z.object({ order: z.string() }),
  effect: "idempotent",
  execute: ({ order }) => ({ order, paid: order === "7" ? 2 : 1 }),
});

const SCRIPT: readonly FakeAnswer[] = [
  { status: 429, headers: { "retry-after": "0" } },
  {
    thinking: "Two orders.",
    text: "Looking.",
    tools: ["7", "8"].map((order) => ({ name: "lookup", input: { order } })),
  },
  { status: 500 },
  { cut: { text: "Order 7 was" }, how: "end" },
  {
    tools: [
      { name: "lookup", json: '{"order": ' },
      { name: "look_up", input: {} },
      { name: "lookup", input: { order: 7 } },
    ],
  },
  { text: "Order 7 was paid twice." },
];

test.each(ADAPTERS)("RU18 RU19 $name: the same transcript, whichever SDK", async (adapter) => {
  server = await startFakeModels(answerInOrder(...SCRIPT));
  const hf = await open(":memory:");
  const model = { ...adapter.make(server.url), retry: { attempts: 4, backoffMs: 1 } };
  const loop = toolLoop({ id: "support", version: "1", model, system: "Be brief.", tools: { lookup } });
  const { value, run } = await hf.runs.execute(loop, { id: "r", session: "s", input: "Was order 7 paid twice?" });
  expect(value).toEqual({ text: "Order 7 was paid twice.", finish: "stop" });
  const said = await transcript(hf, "s");
  expect(said).toEqual([
    "user: Was order 7 paid twice?",
    'assistant: Looking. | lookup({"order":"7"}) | lookup({"order":"8"})',
    'tool: = {"order":"7","paid":2} | = {"order":"8","paid":1}',
    'assistant: lookup({"$invalid":"{\\"order\\": "}) | look_up({}) | lookup({"order":7})',
    expect.stringMatching(/^tool: ! The arguments .* \| ! There is no tool "look_up".* \| ! InvalidInput: .*order/),
    "assistant: Order 7 was paid twice.",
  ]);
  expect(server.requests).toHaveLength(SCRIPT.length);
  expect([run.tokens, run.costUsd]).toEqual([360, null]);
  const steps = await hf.runs.steps("r");
  expect(steps.filter(({ kind }) => kind === "model").map(({ attempt, status }) => `${attempt} ${status}`)).toEqual([
    "1 failed",
    "2 done",
    "1 failed",
    "2 failed",
    "3 done",
    "1 done",
  ]);
  await hf.close();
});
