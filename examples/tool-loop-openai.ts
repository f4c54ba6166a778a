// A tool loop with the OpenAI SDK: the model asks for tools, the loop calls them, until the model has answered. Every step is in the
// store before anything relies on it. Kill the program at any moment and start it again: it continues where it was.
//
//   npm install holdfast openai zod
//   export OPENAI_API_KEY=…
//   node tool-loop-openai.ts           (the Responses API)
//   node tool-loop-openai.ts chat      (the Chat Completions API)
import { writeFile } from "node:fs/promises";
import { open, openaiChatModel, openaiResponsesModel, tool, toolLoop } from "holdfast";
import OpenAI from "openai";
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

const client = new OpenAI();
const isChat = process.argv[2] === "chat";

const support = toolLoop({
  id: "support",
  version: "1",
  model: isChat
    ? openaiChatModel(client, { model: "gpt-5.5" })
    : openaiResponsesModel(client, { model: "gpt-5.5", keepReasoning: true }),
  system: "You are the support agent of a shop. Be brief.",
  tools: { refund },
});

const hf = await open("support.db");
const ticket = { id: "ticket-42", session: "ticket-42", input: "Please refund order 7." };
const result = await hf.runs.execute(support, ticket, { onWait: ({ message }) => console.error(message) });
console.log(result.status === "completed" ? result.value.text : result.error);
await hf.close();
