// Archives of sessions whose runs ended, wait, or were cut off: the runs go along, and go on where they arrive.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ENGINES, type Ground } from "../../test/engines.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { open } from "../open.ts";
import { fillRuns } from "../testing/everything-runs.ts";
import { fileOf } from "../testing/expect.ts";
import { agent } from "../testing/suites/runs-agents.ts";

const SESSIONS = ["worked", "waits", "pauses", "asked", "failed", "branched"];

describe("archives of runs", () => {
  const grounds: Ground[] = [];
  const stores: Holdfast[] = [];
  beforeAll(async () => {
    for (const engine of ENGINES) {
      const ground = await engine.fresh();
      grounds.push(ground);
      stores.push(await open(ground.url));
    }
    await fillRuns((stores[0] as Holdfast).runs);
  });
  afterAll(async () => {
    for (const store of stores) await store.close();
    for (const ground of grounds) await ground.end();
  });

  test("AR1 runs go along from SQLite into PostgreSQL, and back byte for byte", async () => {
    const [sqlite, postgres] = stores as [Holdfast, Holdfast];
    for (const session of SESSIONS) {
      const file = await fileOf(sqlite, session);
      await postgres.import([file]);
      // Heads of children that stayed behind are not named there.
      if (session !== "worked") expect((await fileOf(postgres, session)).equals(file)).toBe(true);
      const there = (await postgres.runs.list({ session })).items;
      const here = (await sqlite.runs.list({ session })).items;
      expect(there).toEqual(here);
      for (const { id } of here) expect(await postgres.runs.steps(id)).toEqual(await sqlite.runs.steps(id));
    }
    expect(await postgres.runs.pending()).toEqual(await sqlite.runs.pending());
    expect(await postgres.runs.loadCheckpoint("worked", "bob")).toEqual(
      await sqlite.runs.loadCheckpoint("worked", "bob"),
    );
    expect((await postgres.check()).issues).toEqual([]);
    expect((await sqlite.check()).issues).toEqual([]);
  });

  test("AR1 a run that came with an archive goes on from where it was", async () => {
    const postgres = stores[1] as Holdfast;
    const waits = agent(async (it) => it.done(await it.waitFor("go", { timeoutMs: 3_600_000 })), { initial: () => 1 });
    await postgres.runs.signal("run-waits", "go", "here");
    const { status, value } = await postgres.runs.resume(waits, "run-waits");
    expect([status, value]).toEqual(["completed", "here"]);
    expect((await postgres.check()).issues).toEqual([]);
  });

  test("AR4 a run whose id is taken by another session's is not imported", async () => {
    const store = await open(":memory:");
    await store.runs.execute(
      agent((it) => it.done()),
      { session: "mine", id: "run-pauses" },
    );
    const file = await fileOf(stores[0] as Holdfast, "pauses");
    await expect(store.import([file])).rejects.toMatchObject({ code: "AlreadyExists", details: { kind: "run" } });
    await store.runs.delete("run-pauses");
    await expect(store.import([file])).rejects.toMatchObject({
      ...{ code: "Conflict", retryable: false, details: { kind: "run", deleted: true } },
    });
    expect(await store.sessions.get("pauses")).toBeNull();
    await store.close();
  });

  test("LG6 with a session go its runs", async () => {
    const sqlite = stores[0] as Holdfast;
    for (const session of SESSIONS) {
      const { items } = await sqlite.runs.list({ session });
      for (const { id, endedAt } of items) if (endedAt === null) await sqlite.runs.cancel(id);
      await sqlite.sessions.delete(session);
    }
    const left = (await sqlite.runs.list({ limit: 100 })).items.map(({ session }) => session);
    expect(left.filter((session) => SESSIONS.includes(session))).toEqual([]);
    expect(await sqlite.runs.pending()).toEqual([]);
    expect((await sqlite.check()).issues).toEqual([]);
  });
});
