// A run whose process was killed is continued at once on the same machine, long before its lease is over; a worker that is
// alive, or of which nothing is known, keeps its run. Nothing here measures time: the leases are longer than the tests.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { type PostgresServer, startPostgres } from "../../scripts/postgres.ts";
import type { RunWait } from "../../src/contracts/run-waits.ts";
import { defineAgent } from "../../src/index.ts";
import { open } from "../../src/open.ts";
import { COMPILED } from "../compiled.ts";
import { slow } from "./agents.ts";
import { ENGINES, schemaOn, TestStores } from "./stores.ts";

const PROGRAM = path.join(import.meta.dirname, "execute.ts");
const HOUR_MS = 3_600_000;
const stores = new TestStores();
const started: ChildProcess[] = [];

afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});
afterAll(() => stores.remove());

/** The program that executes the run "job"; resolves once its tool is at work. */
async function startProgram(url: string, world: string): Promise<ChildProcess> {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(NODE_|VITEST)/.test(name));
  const env = { ...Object.fromEntries(inherited), ...COMPILED, HOLDFAST_TEST_WORLD: world };
  const child = spawn(process.execPath, [PROGRAM, url, String(HOUR_MS)], { stdio: ["ignore", "pipe", "inherit"], env });
  started.push(child);
  await expect.poll(() => readFileSync(world, "utf8"), { timeout: 120_000, interval: 20 }).toContain('"slow"');
  return child;
}

describe.each(ENGINES)("a run of a process that was killed, on %s", (engine) => {
  test("RU3 is continued at once by the same program, and by a worker, and is cancelled at once", async () => {
    for (const how of ["execute", "worker", "cancel", "recover"] as const) {
      const url = await stores.fresh(engine);
      const world = stores.file("world");
      writeFileSync(world, "");
      const child = await startProgram(url, world);
      const store = await open(url);
      expect((await store.runs.get("job"))?.idle).toBeNull();
      child.kill("SIGKILL");
      await once(child, "close");
      expect(await store.runs.get("job")).toMatchObject({
        process: { pid: child.pid },
        idle: { reason: "owner-gone", hint: expect.stringContaining("runs.resume") },
      });
      const waits: RunWait[] = [];
      if (how === "execute") {
        const onWait = (wait: RunWait) => void waits.push(wait);
        const done = await store.runs.execute(slow(1), { session: "s", id: "job", leaseMs: HOUR_MS }, { onWait });
        expect([done.status, waits]).toEqual(["completed", []]);
      } else if (how === "worker") {
        const worker = store.runs.createWorker({ agents: [slow(1)] });
        expect(await worker.look()).toBe(1);
        await worker.stop({ graceMs: 30_000 });
        expect((await store.runs.get("job"))?.status).toBe("completed");
      } else if (how === "cancel") {
        expect((await store.runs.cancel("job")).status).toBe("cancelled");
      } else {
        expect(await store.runs.recover("job")).toMatchObject({ run: { owner: null }, needsPerson: false });
      }
      await store.close();
    }
  });

  test("RU3 stays with a process that is stopped; another call waits for it, and says so", async () => {
    const url = await stores.fresh(engine);
    const world = stores.file("world");
    writeFileSync(world, "");
    const child = await startProgram(url, world);
    child.kill("SIGSTOP");
    const store = await open(url);
    const args = Promise.withResolvers<RunWait>();
    const done = store.runs.execute(slow(1), { session: "s", id: "job" }, { onWait: args.resolve });
    const wait = await args.promise;
    expect(wait).toMatchObject({ reason: "owner", owner: { pid: child.pid } });
    expect(wait.message).toContain(`process ${child.pid}`);
    expect((await store.runs.get("job"))?.epoch).toBe(1);
    // It dies while the call waits: now the call goes on by itself.
    child.kill("SIGKILL");
    expect((await done).status).toBe("completed");
    await store.close();
  });
});

/** Its tool, which may be repeated, crashes the server the first time. */
function crashing(server: PostgresServer) {
  let isFirst = true;
  return defineAgent({
    id: "crashing",
    version: "1",
    tools: {
      crash: {
        effect: "idempotent",
        execute: async () => {
          if (isFirst) await server.kill();
          isFirst = false;
          return null;
        },
      },
    },
    iterate: async (it) => it.done(await it.tool("crash")),
  });
}

describe("a run whose server was away", () => {
  test.each(["execute", "worker"])(
    "RU3 is continued at once by the handle that still has its lease (%s)",
    async (how) => {
      const server = await startPostgres();
      try {
        const store = await open(schemaOn(server.url));
        // The lease lasts for longer than this test may.
        const run = { session: "s", id: "job", leaseMs: HOUR_MS };
        const agent = crashing(server);
        const worker = store.runs.createWorker({ agents: [agent], pollMs: 50 });
        if (how === "execute") {
          await expect(store.runs.execute(agent, run)).rejects.toMatchObject({ code: "StoreUnreachable" });
        } else {
          await store.runs.start(agent, run);
          expect(await worker.look()).toBe(1);
          await expect.poll(() => worker.working, { timeout: 120_000 }).toEqual([]);
        }
        await server.restart();
        if (how === "worker") worker.start();
        else void store.runs.execute(agent, run).catch(() => undefined);
        await expect.poll(async () => (await store.runs.get("job"))?.status, { timeout: 120_000 }).toBe("completed");
        await worker.stop();
        await store.close();
      } finally {
        await server.stop();
      }
    },
  );
});
