// The trace's summaries of a run's steps.
import { expect, test } from "vitest";
import { open } from "../open.ts";
import { agent } from "../testing/suites/runs-agents.ts";

test("SE9 a step whose name is that of its kind is named once", async () => {
  const hf = await open(":memory:");
  try {
    const steps = agent(
      async (it) => {
        await it.now();
        await it.model("hi");
        return it.done(await it.tool("pay"));
      },
      {
        models: { model: { model: "fake-1", call: () => ({ output: "hello" }) } },
        tools: { pay: { execute: () => "paid" } },
      },
    );
    await hf.runs.execute(steps, { session: "s" });
    const said = (await hf.trace("s", { types: ["step/started", "step/done"] })).map(({ summary }) => summary);
    expect(said.filter((one) => !one.startsWith("step "))).toEqual([
      "now, iteration 1 done",
      "model begun, iteration 1",
      "tool pay begun, iteration 1",
    ]);
  } finally {
    await hf.close();
  }
});
