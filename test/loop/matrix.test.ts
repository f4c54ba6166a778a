// Every commit of a tool loop, failed: it ends once, with the transcript of an undisturbed run, and what it did
// outside it did once.
import { describe, expect, test } from "vitest";
import type { ChatReply, ChatRequest } from "../../src/contracts/chat.ts";
import type { Json } from "../../src/contracts/json.ts";
import { tool, toolLoop } from "../../src/index.ts";
import { scaled } from "../../src/testing/scale.ts";
import { crashMatrix, sampleMatrix } from "../../src/testing/sim/matrix.ts";
import type { Simulation } from "../../src/testing/sim/simulate.ts";
import { say, use } from "./scripted-model.ts";

/** Of the five ways, `npm test` tries two for each commit. */
const playMatrix = scaled({ short: sampleMatrix, long: crashMatrix });
const PATIENT = { attempts: 12, backoffMs: 100, maxBackoffMs: 1000 };
const described = { inputSchema: { type: "object" }, retry: PATIENT } as const;
const tools = {
  charge: tool({ ...described, effect: "non-idempotent", execute: (input: Json) => ({ charged: input }) }),
  note: tool({ ...described, effect: "idempotent", execute: (input: Json) => ({ noted: input }) }),
};

/** What it says is a function of what was said, as a crash could not change it. */
function clerk({ messages }: ChatRequest): ChatReply {
  const results = messages.flatMap(({ content }) => content.filter(({ type }) => type === "tool_result"));
  const turn = messages.filter(({ role }) => role === "assistant").length;
  const usage = { inputTokens: 10, outputTokens: 5, costUsd: 0.001 };
  const summary = messages.some(({ content: [block] }) => block?.type === "text" && block.text.startsWith("Summary"));
  if (turn + (summary ? 1 : 0) >= 2) return { content: [say(`did ${results.length}`)], finish: "stop", ...usage };
  const calls = [use(`a${turn}`, "charge", { turn }), use(`b${turn}`, "note", { turn }), use(`c${turn}`, "unknown")];
  return { content: [say("doing"), ...calls], finish: "tools", ...usage };
}

const model = {
  provider: "fake",
  model: "clerk",
  retry: PATIENT,
  generate: async (request: ChatRequest) => clerk(request),
};
const loop = toolLoop({ id: "loop", version: "1", model, tools });
/** Its second tool names a blob that is not there, so the message with the results is refused and appended without it. */
const picturing = toolLoop({
  id: "picturing",
  version: "1",
  model,
  tools: {
    ...tools,
    note: tool({
      ...described,
      effect: "idempotent",
      execute: (): Json => [{ type: "image", source: { ref: `sha256:${"0".repeat(64)}` } }],
    }),
  },
});
const summarising = toolLoop({
  id: "summarising",
  version: "1",
  model,
  tools,
  contextTokens: 3,
  tokenizer: () => 1,
  summarize: (messages) => `of ${messages.length}`,
});

function running(agent: typeof loop, wanted: readonly string[]): Simulation {
  // The first one is played without faults.
  let undisturbed: string | undefined;
  return {
    seed: 7,
    agents: [agent],
    workers: 2,
    limits: { quietMs: 900_000 },
    async scenario(client) {
      await client.start(agent.id, { id: "run", session: "s", input: "Charge twice." });
      const result = await client.ended("run");
      client.expect(result.status === "completed", `it is ${result.status}: ${result.error?.message}`);
      const messages = await client.patiently(() => client.store.history.session("s"));
      const found = messages.map(({ role, content }) => `${role} ${content.map(({ type }) => type).join(" ")}`);
      client.expect(JSON.stringify(found) === JSON.stringify(wanted), `the transcript is ${JSON.stringify(found)}`);
      const exact = JSON.stringify(messages.map(({ role, content }) => ({ role, content })));
      undisturbed ??= exact;
      client.expect(exact === undisturbed, `the transcript is not that of an undisturbed run: ${exact}`);
    },
  };
}

describe("crash matrix of the tool loop", () => {
  const turn = ["assistant text tool_use tool_use tool_use", "tool tool_result tool_result tool_result"];
  test.each([
    ["model calls and parallel tools", running(loop, ["user text", ...turn, ...turn, "assistant text"])],
    ["a missing blob in a result", running(picturing, ["user text", ...turn, ...turn, "assistant text"])],
    ["with a summary", running(summarising, ["user text", ...turn, ...turn, "user text", "assistant text"])],
  ])("RU18 %s: every commit failed", { timeout: 600_000 }, async (_, simulation) => {
    const { points, problems } = await playMatrix(simulation);
    expect(problems).toEqual([]);
    expect(points.length, "no commits found: this test would pass on nothing").toBeGreaterThan(
      scaled({ short: 16, long: 40 }),
    );
  });
});
