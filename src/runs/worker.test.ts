// What a handle keeps of its workers. The suites test what workers do.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { expect, test } from "vitest";
import { postgresUrl, takeSchema } from "../../test/schemas.ts";
import { defineAgent, open } from "../index.ts";
import type { RunWorker } from "./worker.ts";

test("RU13 a worker that was stopped is forgotten by its handle", async () => {
  const hf = await open(":memory:");
  const waits = defineAgent({ id: "ada", version: "1", iterate: async (it) => it.done(await it.waitFor("go")) });
  const told: string[] = [];
  // Loads the code of workers, so that createWorker() returns them directly.
  await hf.runs.list();
  const workers = ["a", "b"].map((name) => {
    const worker = hf.runs.createWorker({ agents: [waits] }) as RunWorker;
    worker.checkNow = () => void told.push(name);
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

test("RU13 a worker claims no child of a parent that has ended, and ends cancelled runs of any agent", async () => {
  const folder = await mkdtemp(join(tmpdir(), "worker-"));
  const file = join(folder, "a.db");
  const hf = await open(file);
  const kid = defineAgent({ id: "kid", version: "1", iterate: async (it) => it.done(await it.waitFor("go")) });
  const parent = defineAgent({ id: "ada", version: "1", iterate: async (it) => it.done((await it.spawn(kid)).status) });
  const other = defineAgent({ id: "bob", version: "1", iterate: (it) => it.done(1) });
  // Rows as an older version of Holdfast left them.
  const change = (sql: string, id: string) => {
    const db = new DatabaseSync(file);
    db.prepare(sql).run(id);
    db.close();
  };
  await hf.runs.execute(parent, { session: "s", id: "top" }, { wait: false });
  const [child] = (await hf.runs.list({ agent: "kid" })).items;
  await hf.runs.signal(child?.id ?? "", "go", 1);
  change("UPDATE runs SET status = 'completed', ended_at = 1, wake_at = NULL, waits = NULL WHERE id = ?", "top");
  await hf.runs.start(other, { session: "t", id: "asked" });
  change("UPDATE runs SET cancel = 1 WHERE id = ?", "asked");
  const worker = hf.runs.createWorker({ agents: [kid] });
  expect(await worker.look()).toBe(0);
  for (const id of [child?.id ?? "", "asked"]) expect((await hf.runs.get(id))?.status).toBe("cancelled");
  await hf.close();
  await rm(folder, { recursive: true });
});

test("RU13 a claim that waits for a lock delays no other claim, and no search for due runs", async () => {
  const schema = await takeSchema();
  // Longer than the test may take: a worker that waits for the lock does nothing else in time.
  const hf = await open(schema.url, { busyMs: 600_000 });
  const agent = defineAgent({ id: "ada", version: "1", iterate: (it) => it.done(1) });
  const stuck = await hf.runs.start(agent, { session: "locked", priority: 1 });
  const first = await Promise.all(["a", "b", "c"].map((session) => hf.runs.start(agent, { session })));
  const sql = postgres(postgresUrl(), { max: 1, onnotice: () => {} });
  const name = new URL(schema.url).searchParams.get("schema");
  const worker = hf.runs.createWorker({ agents: [agent], concurrency: 2, pollMs: 20 });
  const completed = async (ids: readonly string[]) => {
    for (const id of ids) while ((await hf.runs.get(id))?.status !== "completed") await sleep(10);
  };
  await sql.begin(async (locking) => {
    await locking.unsafe(`SELECT 1 FROM "${name}".sessions WHERE id = 'locked' FOR UPDATE`);
    worker.start();
    await completed(first.map(({ id }) => id));
    // Runs that become due while the claim still waits.
    const second = await Promise.all(["d", "e"].map((session) => hf.runs.start(agent, { session })));
    await completed(second.map(({ id }) => id));
    expect((await hf.runs.get(stuck.id))?.status).toBe(stuck.status);
  });
  await completed([stuck.id]);
  await worker.stop();
  await sql.end();
  await hf.close();
  await schema.leave();
});
