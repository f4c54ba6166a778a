// The Claude Agent SDK with a session that outlives its process and its machine. Everything the agent writes is in the store
// as it is written, and its files are captured while it works. A program that is killed and started again, also in another
// container with an empty home, continues the same conversation.
//
//   npm install @anthropic-ai/claude-agent-sdk
//   export ANTHROPIC_API_KEY=…
//   node claude-agent-sdk.ts "Write a haiku about tides to haiku.txt"
import { query } from "@anthropic-ai/claude-agent-sdk";
import { open } from "holdfast";
import { claudeFiles, persistentQuery } from "holdfast/claude";

const task = process.argv[2] ?? "Write a haiku about tides to haiku.txt";
const request = "ticket-7"; // what this work belongs to: the next start finds the session by it
const cwd = process.cwd();

const hf = await open(process.env.HOLDFAST_STORE ?? "claude.db");
const messages = persistentQuery({
  hf,
  query,
  request,
  prompt: ({ resumed }) => (resumed === null ? task : `You were interrupted. Continue with: ${task}`),
  options: { cwd, permissionMode: "acceptEdits" },
  ...claudeFiles({ hf, request, cwd }),
});
for await (const message of messages) {
  if (message.type !== "result") continue;
  console.log(message.subtype === "success" ? message.result : message.subtype);
}
const { total } = await hf.sessions.cost();
console.log(`${total.calls} model calls in the store`);
await hf.close();
