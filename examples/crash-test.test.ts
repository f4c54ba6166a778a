// Testing an agent of your own: simulated crashes at every moment, in milliseconds and without processes.
//
//   node --test crash-test.test.ts
//
// `simulate` plays workers, a client and faults from a seed; the same seed plays the same history again. `crashMatrix` fails
// every single commit of the scenario once, in every way. Both check what must always hold: each run ends once, a tool that
// is not idempotent acts at most once, no message appears twice, and the log verifies.

import assert from "node:assert/strict";
import { test } from "node:test";
import { defineAgent } from "holdfast";
import { crashMatrix, type Simulation, simulate } from "holdfast/testing";

/** In your project it is imported from where the program has it. */
const cashier = defineAgent<null, { order: string; eur: number }>({
  id: "cashier",
  version: "1",
  initial: () => null,
  tools: {
    charge: { execute: (eur) => ({ charged: eur }) }, // not declared idempotent: never done twice unless a person says so
    sendReceipt: { effect: "idempotent", execute: (order) => ({ sent: order }) },
  },
  async iterate(it) {
    await it.tool("charge", it.input.eur);
    await it.tool("sendReceipt", it.input.order);
    await it.message({ role: "assistant", content: `Order ${it.input.order} is paid.` });
    return it.done("paid");
  },
});

const simulation: Simulation = {
  seed: 1,
  agents: [cashier],
  // A client that dies plays the scenario again from its beginning, as a program that is started again.
  async scenario(client) {
    await client.start("cashier", { id: "order-7", session: "order-7", input: { order: "7", eur: 40 } });
    const { status } = await client.ended("order-7");
    client.expect(status === "completed", `the run is ${status}`);
    const charges = client.world.effects().filter(({ tool }) => tool === "charge");
    client.expect(charges.length === 1, `the customer was charged ${charges.length} times`);
  },
};

test("it survives processes that die, a slow store and failing tools", async () => {
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
