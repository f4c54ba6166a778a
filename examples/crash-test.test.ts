// Tests your own agent: simulated crashes at every moment, in milliseconds and without processes.
//
//   npm install holdfast zod
//   node --test crash-test.test.ts
//
// `simulate` plays workers, a client and faults from a seed; the same seed plays the same history again. `crashMatrix` fails
// every single commit of the scenario once, in every way. Both check what must always hold: each run ends once, a tool that
// is not idempotent acts at most once, no message appears twice, and the log verifies.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ChatReply, type ChatRequest, tool, toolLoop } from "holdfast";
import { crashMatrix, type Simulation, simulate } from "holdfast/testing";
import { z } from "zod";

/** The model of the tests is a function of the messages: it asks for a refund, and answers when it has the result. */
function scriptedModel({ messages }: ChatRequest): ChatReply | string {
  const hasResult = messages.some(({ content }) => content.some(({ type }) => type === "tool_result"));
  if (hasResult) return "Order 7 is refunded.";
  return { content: [{ type: "tool_use", id: "call-1", name: "refund", input: { order: "7" } }], finish: "tools" };
}

/** In your project, import your agent, and pass the model as a parameter. */
const support = toolLoop({
  id: "support",
  version: "1",
  model: scriptedModel,
  tools: {
    // The tool is not declared idempotent: after a crash in the middle, a person decides.
    refund: tool({ input: z.object({ order: z.string() }), execute: ({ order }) => ({ refunded: order }) }),
  },
});

const simulation: Simulation = {
  seed: 1,
  agents: [support],
  // A client that dies plays the scenario again from its beginning, like a program that is started again.
  async scenario(client) {
    await client.start("support", { id: "ticket-42", session: "ticket-42", input: "Please refund order 7." });
    const { status } = await client.ended("ticket-42");
    client.expect(status === "completed", `the run is ${status}`);
    const refunds = client.world.effects();
    client.expect(refunds.length === 1, `there are ${refunds.length} refunds`);
  },
};

test("it survives processes that die, a slow store and failing writes", async () => {
  const faults: Simulation["faults"] = [
    { kind: "death", probability: 0.03 },
    { kind: "latency", probability: 0.1, ms: 5000 },
    { kind: "writeFail", probability: 0.05 },
  ];
  for (let seed = 1; seed <= 20; seed++) {
    const { problems } = await simulate({ ...simulation, seed, faults });
    assert.deepEqual(problems, [], `seed ${seed}`);
  }
});

test("it survives a crash at every commit", async () => {
  const { points, problems } = await crashMatrix(simulation);
  assert.deepEqual(problems, []);
  console.log(`crashed at ${points.length} points`);
});
