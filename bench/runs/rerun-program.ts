// The program that the bench kills and starts again: one run under a fixed id, whose steps each print a line.
import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineAgent, open } from "../../src/index.ts";

const [url = ""] = process.argv.slice(2);
const agent = defineAgent({
  id: "rerun",
  version: "1",
  tools: {
    act: {
      effect: "idempotent",
      execute: async (n) => {
        writeSync(1, `step ${n}\n`);
        await sleep(5);
        return n;
      },
    },
  },
  async iterate(it) {
    for (let n = 1; n <= 100_000; n++) await it.tool("act", n);
    return it.done(null);
  },
});

const store = await open(url);
await store.runs.execute(agent, { id: "job", session: "job" });
await store.close();
