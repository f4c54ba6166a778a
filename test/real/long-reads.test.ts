// A run keeps its lease while the process that works on it also verifies, reads, exports and imports a long session. A
// worker in another process is ready to take the run over as soon as its lease is lost.
import { spawn } from "node:child_process";
import * as path from "node:path";
import { afterAll, describe, expect } from "vitest";
import { defineAgent } from "../../src/index.ts";
import { open } from "../../src/open.ts";
import { COMPILED } from "../compiled.ts";
import { testLong } from "../long-test.ts";
import { ENGINES, TestStores } from "./stores.ts";

const CLAIMER = path.join(import.meta.dirname, "claimer.ts");
const EVENTS = 200_000;
/** Shorter than what each of these took when it held the event loop. */
const LEASE_MS = 3000;
const scope = { session: "long", agent: "ada" };
const stores = new TestStores();
afterAll(() => stores.remove());

describe.each(ENGINES)("a run beside long work on %s", (engine) => {
  testLong("ST15 RU3 keeps its lease", { timeout: 600_000 }, async () => {
    const url = await stores.fresh(engine);
    const store = await open(url);
    for (let done = 0; done < EVENTS; done += 5000) {
      const batch = Array.from({ length: 5000 }, (_, i) => ({
        role: "user" as const,
        content: `message ${done + i} ${"x".repeat(400)}`,
      }));
      await store.history.appendMany(scope, batch);
    }
    const work = Promise.withResolvers<null>();
    const slow = defineAgent({
      id: "slow",
      version: "1",
      tools: { slow: { effect: "idempotent", execute: () => work.promise } },
      iterate: async (it) => it.done(await it.tool("slow")),
    });
    const running = store.runs.execute(slow, { session: "s", id: "job", leaseMs: LEASE_MS });
    await expect.poll(async () => (await store.runs.get("job"))?.status).toBe("running");
    const claimer = spawn(process.execPath, [CLAIMER, url], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...COMPILED },
    });
    let said = "";
    claimer.stdout.on("data", (text) => {
      said += String(text);
    });
    try {
      await expect.poll(() => said, { timeout: 120_000 }).toBe("ready\n");
      expect(await store.log.verify(scope.session)).toMatchObject({ ok: true });
      expect(await store.history.get(scope)).toHaveLength(EVENTS);
      expect((await store.sessions.context(scope.session)).messages).toHaveLength(EVENTS);
      const pieces: Uint8Array[] = [];
      for await (const piece of store.sessions.export(scope.session)) pieces.push(piece);
      const other = await open(await stores.fresh(engine));
      expect(await other.sessions.import(pieces)).toMatchObject({ session: scope.session });
      await other.close();
      work.resolve(null);
      expect((await running).status).toBe("completed");
      expect(said).toBe("ready\n");
    } finally {
      claimer.kill("SIGKILL");
      work.resolve(null);
      await running.catch(() => {});
      await store.close();
    }
  });
});
