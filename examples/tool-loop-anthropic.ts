// A tool loop with the Anthropic SDK: the model asks for tools, the loop calls them, until the model has answered. Every step is in the
// store before anything relies on it. Kill the program at any moment and start it again: it continues where it was.
//
//   npm install holdfast @anthropic-ai/sdk zod
//   export ANTHROPIC_API_KEY=…
//   node tool-loop-anthropic.ts
import { writeFile } from "node:fs/promises";
import Anthropic from "@anthropic-ai/sdk";
import { anthropicModel, open, tool, toolLoop } from "holdfast";
import { z } from "zod";

const refund = tool({
  description: "Refunds an order.",
  input: z.object({ order: z.string() }),
  effect: "idempotent", // repeating it under the same key is harmless
  async execute({ order }, { idempotencyKey }) {
    // Stands for your payment provider, which takes the same key.
    await writeFile(`refund-${idempotencyKey}.json`, JSON.stringify({ order }));
    return { refunded: order };
  },
});

const support = toolLoop({
  id: "support",
  version: "1",
  model: anthropicModel(new Anthropic(), { model: "claude-sonnet-5-5", maxTokens: 1024 }),
  system: "You are the support agent of a shop. Be brief.",
  tools: { refund },
});

const hf = await open("support.db");
const ticket = { id: "ticket-42", session: "ticket-42", input: "Please refund order 7." };
const result = await hf.runs.execute(support, ticket, { onWait: ({ message }) => console.error(message) });
console.log(result.status === "completed" ? result.value.text : result.error);
await hf.close();
