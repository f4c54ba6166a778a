// Two ways to make a tool repeatable after a crash with the idempotency key.
//
//   check before you act   ask the other system whether it has seen the key, and use its answer
//   upsert                 write under the key, so that the second write finds the first one
//
//   node idempotency.ts
import { DatabaseSync } from "node:sqlite";
import { defineAgent, open } from "holdfast";

/** The other system, which outlives this process: a bank that finds orders by their reference. */
const bank = {
  orders: new Map<string, { receipt: string; eur: number }>(),
  find: async (reference: string) => bank.orders.get(reference),
  async transfer(reference: string, eur: number) {
    const order = { receipt: `R-${bank.orders.size + 1}`, eur };
    bank.orders.set(reference, order);
    return order;
  },
};

/** This program's own database: the idempotency key is the primary key. */
const warehouse = new DatabaseSync(":memory:");
warehouse.exec("CREATE TABLE parcels (key TEXT PRIMARY KEY, item TEXT NOT NULL)");

/** Where the "crash" happens: after the effect, before its result is recorded. */
const crash = { at: "", reached: Promise.withResolvers<void>() };
async function maybeCrash(tool: string): Promise<void> {
  if (crash.at !== tool) return;
  crash.at = "";
  crash.reached.resolve();
  await new Promise(() => {}); // this process does not come back
}

const clerk = defineAgent({
  id: "clerk",
  version: "1",
  tools: {
    // The tool is declared idempotent. It is, because it looks first.
    pay: {
      effect: "idempotent",
      async execute(input, { idempotencyKey, again }) {
        const known = await bank.find(idempotencyKey);
        if (known !== undefined) {
          console.log(`pay: told again: ${again}, already done: ${known.receipt}`);
          return known;
        }
        const order = await bank.transfer(idempotencyKey, input as number);
        await maybeCrash("pay");
        return order;
      },
    },
    // The tool is declared idempotent. It is, because its statement does nothing the second time.
    ship: {
      effect: "idempotent",
      async execute(input, { idempotencyKey }) {
        warehouse
          .prepare("INSERT INTO parcels (key, item) VALUES (?, ?) ON CONFLICT (key) DO NOTHING")
          .run(idempotencyKey, String(input));
        await maybeCrash("ship");
        return { parcel: idempotencyKey };
      },
    },
  },
  async iterate(it) {
    await it.tool("pay", 40);
    await it.tool("ship", "kettle");
    return it.done("shipped");
  },
});

const hf = await open(":memory:");

/** Works on the run until the tool has acted, and stops then. A kill -9 leaves the same state. */
async function dieIn(tool: string, run: string): Promise<void> {
  Object.assign(crash, { at: tool, reached: Promise.withResolvers<void>() });
  const worker = hf.runs.createWorker({ agents: [clerk] });
  await worker.look();
  await crash.reached.promise;
  await worker.stop({ graceMs: 0 });
  console.log(`${run}: cut off in ${tool}`);
}

await hf.runs.start(clerk, { session: "order-1", id: "order-1" });
await dieIn("pay", "order-1"); // → order-1: cut off in pay
await dieIn("ship", "order-1"); // → pay: told again: true, already done: R-1
// → order-1: cut off in ship
const { status, value } = await hf.runs.resume(clerk, "order-1");
console.log(status, value); // → completed shipped

const { parcels } = warehouse.prepare("SELECT count(*) AS parcels FROM parcels").get() as { parcels: number };
console.log(bank.orders.size, "transfer,", parcels, "parcel"); // → 1 transfer, 1 parcel
const tries = (await hf.log.read("order-1", { types: ["step/again"] })).length;
console.log("done again:", tries); // → done again: 2
await hf.close();
