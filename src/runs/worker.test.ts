// What a handle keeps of its workers. What they do is in the suites.
import { expect, test } from "vitest";
import { defineAgent, open } from "../index.ts";
import type { RunWorker } from "./worker.ts";

test("RU13 a worker that was stopped is forgotten by its handle", async () => {
  const hf = await open(":memory:");
  const waits = defineAgent({ id: "ada", version: "1", iterate: async (it) => it.done(await it.waitFor("go")) });
  const told: string[] = [];
  const workers = ["a", "b"].map((name) => {
    const worker = hf.runs.createWorker({ agents: [waits] }) as RunWorker;
    worker.poke = () => void told.push(name);
    return worker;
  });
  const first = await hf.runs.start(waits, { session: "s" });
  await hf.runs.cancel(first.id);
  expect(told).toEqual(["a", "b"]);
  await workers[0]?.stop();
  const second = await hf.runs.start(waits, { session: "s" });
  await hf.runs.cancel(second.id);
  expect(told).toEqual(["a", "b", "b"]);
  await hf.close();
});
