// Every commit of a run, failed: it ends once, with the right result, and what it did outside it did once.
import { describe, expect, test } from "vitest";
import type { AgentDefinition } from "../../src/contracts/agent-definitions.ts";
import { scaled } from "../../src/testing/scale.ts";
import { crashMatrix, sampleMatrix } from "../../src/testing/sim/matrix.ts";
import type { Simulation } from "../../src/testing/sim/simulate.ts";
import { clerk, petitioner, reader, sleeper, waiter } from "./agents.ts";

const SEED = 7;
/** Of the five ways, `npm test` tries two for each commit. */
const playMatrix = scaled({ short: sampleMatrix, long: crashMatrix });

function running(agent: AgentDefinition, input: unknown, value: unknown): Simulation {
  return {
    seed: SEED,
    agents: [agent],
    workers: 2,
    limits: { quietMs: 900_000 },
    async scenario(client) {
      await client.start(agent.id, { id: "run", session: "s", input });
      if (agent === waiter) await client.signal("run", "go", "word");
      const result = await client.ended("run");
      client.expect(result.status === "completed", `it is ${result.status}: ${result.error?.message}`);
      client.expect(JSON.stringify(result.value) === JSON.stringify(value), `it gave ${JSON.stringify(result.value)}`);
    },
  };
}

describe("crash matrix", () => {
  test.each([
    ["iterations with messages, models and tools", running(clerk, { iterations: 2 }, { charged: 2 })],
    ["a pause", running(sleeper, null, "rested")],
    ["a signal", running(waiter, null, "word")],
    ["approvals", running(petitioner, null, 4)],
  ])("RU5 RU7 RU11 RU16 %s: every commit failed", { timeout: 300_000 }, async (_, simulation) => {
    const { points, problems } = await playMatrix(simulation);
    expect(problems).toEqual([]);
    expect(points.length, "no commits found: this test would pass on nothing").toBeGreaterThan(
      scaled({ short: 10, long: 25 }),
    );
  });

  test("RU14 recorded reads: every commit failed", { timeout: 300_000 }, async () => {
    const shown = ["it began", '{"charged":1}', "2 so far", '{"charged":4}'];
    const value = shown.map((text) => [{ type: "text", text }]);
    const { points, problems } = await playMatrix(running(reader, null, value));
    expect(problems).toEqual([]);
    expect(points.length).toBeGreaterThan(scaled({ short: 32, long: 80 }));
  });

  test("RU7 what a step is given may be the time: that is no difference", async () => {
    const timely: AgentDefinition = {
      id: "timely",
      version: "1",
      tools: { mail: { execute: () => "sent" } },
      async iterate(iteration) {
        await iteration.tool("mail", { at: await iteration.now() });
        return iteration.done(1);
      },
    };
    const { points, problems } = await playMatrix(running(timely, null, 1));
    expect(problems).toEqual([]);
    expect(points.length).toBeGreaterThan(scaled({ short: 8, long: 20 }));
  });

  test("RU6 an agent that does something else each time is told with why, and not for ever", async () => {
    let times = 0;
    const fickle: AgentDefinition = {
      id: "fickle",
      version: "1",
      tools: { pay: { execute: () => "paid" } },
      async iterate(iteration) {
        await iteration.message({ role: "user", content: `try ${times++}` });
        await iteration.tool("pay");
        return iteration.done();
      },
    };
    const simulation: Simulation = {
      seed: SEED,
      agents: [fickle],
      limits: { quietMs: 120_000 },
      async scenario(client) {
        await client.start("fickle", { id: "run", session: "s" });
        await client.until("run", ({ endedAt, error }) => endedAt !== null || error !== null);
      },
    };
    const { points, problems } = await crashMatrix(simulation);
    expect(problems.find((problem) => problem.includes("pay was never done"))).toMatch(/NonDeterminism/);
    expect(problems.at(-1)).toMatch(/of \d+ points were not played: 5 had problems/);
    expect(points.length).toBeGreaterThan(25);
  });
});
