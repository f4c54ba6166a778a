// A program that waits to take over runs of the agent "slow", given the URL of a store. It says so when it has claimed one.
import { setTimeout as sleep } from "node:timers/promises";
import { open } from "../../src/index.ts";
import { slow } from "./agents.ts";

const [url = ""] = process.argv.slice(2);
const store = await open(url);
const worker = store.runs.createWorker({ agents: [slow(1)] });
process.stdout.write("ready\n");
for (;;) {
  if ((await worker.look()) > 0) process.stdout.write("claimed\n");
  await sleep(100);
}
