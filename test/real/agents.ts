// Agents for `holdfast worker` in the tests of this folder. What they do to the world is a line in a file.
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineAgent } from "../../src/index.ts";

const world = process.env.HOLDFAST_TEST_WORLD ?? "";

/** Five iterations; each thinks a little and puts a line. */
export const steady = defineAgent<number>({
  id: "steady",
  version: "1",
  initial: () => 1,
  models: { m: { call: () => ({ output: "go on", inputTokens: 3, outputTokens: 1, costUsd: 0.001 }) } },
  tools: {
    put: {
      effect: "idempotent",
      execute: async (input, { idempotencyKey: key, run, again }) => {
        appendFileSync(world, `${JSON.stringify({ tool: "put", run, n: input, key, again })}\n`);
        await sleep(20);
        return input;
      },
    },
  },
  async iterate(it, n) {
    await it.model({ n });
    await it.tool("put", n);
    await it.message({ role: "assistant", content: `put ${n}` });
    return n === 5 ? it.done(n) : it.next(n + 1);
  },
});

/** Ends only when it is stopped from outside. */
export const stubborn = defineAgent({
  id: "stubborn",
  version: "1",
  tools: {
    hang: {
      execute: async (_input, { run }) => {
        appendFileSync(world, `${JSON.stringify({ tool: "hang", run })}\n`);
        await new Promise(() => {});
      },
    },
  },
  iterate: async (it) => it.done(await it.tool("hang")),
});

/** Its one tool, which may be repeated, takes so long. */
export const slow = (ms: number) =>
  defineAgent({
    id: "slow",
    version: "1",
    tools: {
      slow: {
        effect: "idempotent",
        execute: async (_input, { run, signal }) => {
          if (world !== "") appendFileSync(world, `${JSON.stringify({ tool: "slow", run })}\n`);
          await sleep(ms, undefined, { signal });
          return null;
        },
      },
    },
    iterate: async (it) => it.done(await it.tool("slow")),
  });
