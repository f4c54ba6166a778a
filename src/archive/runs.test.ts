// Archives of sessions whose runs ended, wait, or were interrupted: the runs are imported, and continue in the new
// store.
import { beforeAll, describe, expect, test } from "vitest";
import { ENGINES, openOnEach, openPair } from "../../test/engines.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { open } from "../open.ts";
import { fillRuns } from "../testing/everything-runs.ts";
import { fileOf } from "../testing/expect.ts";
import { agent, EffectRecorder, gate } from "../testing/suites/runs-agents.ts";

const SESSIONS = ["worked", "waits", "pauses", "asked", "failed", "branched"];

const HELD = expect.objectContaining({ reason: "held" });

describe("archives of runs", () => {
  const stores: Holdfast[] = [];
  beforeAll(async () => {
    const opened = await openOnEach();
    stores.push(...opened.stores);
    await fillRuns((stores[0] as Holdfast).runs);
    return opened.close;
  });

  test("AR1 runs go along from SQLite into PostgreSQL, and back byte for byte", async () => {
    const [sqlite, postgres] = stores as [Holdfast, Holdfast];
    for (const session of SESSIONS) {
      const file = await fileOf(sqlite, session);
      await postgres.sessions.import([file]);
      // Heads of children that stayed behind are not named there.
      if (session !== "worked") expect((await fileOf(postgres, session)).equals(file)).toBe(true);
      const there = (await postgres.runs.list({ session })).items;
      const here = (await sqlite.runs.list({ session })).items;
      // They may still be running where they came from.
      expect(there).toEqual(
        here.map((run) => ({ ...run, held: run.endedAt === null, idle: run.endedAt === null ? HELD : null })),
      );
      for (const { id } of here) expect(await postgres.runs.steps(id)).toEqual(await sqlite.runs.steps(id));
    }
    expect((await postgres.runs.pending()).items).toEqual((await sqlite.runs.pending()).items);
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
    await expect(store.sessions.import([file])).rejects.toMatchObject({
      code: "AlreadyExists",
      details: { kind: "run" },
    });
    await store.runs.delete("run-pauses");
    await expect(store.sessions.import([file])).rejects.toMatchObject({
      code: "Conflict",
      retryable: false,
      details: { kind: "run", deleted: true },
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
    expect((await sqlite.runs.pending()).items).toEqual([]);
    expect((await sqlite.check()).issues).toEqual([]);
  });
});

describe.each(ENGINES)("runs that came with an archive ($name)", (engine) => {
  let source: Holdfast;
  let target: Holdfast;
  beforeAll(async () => {
    const pair = await openPair(engine);
    [source, target] = [pair.home, pair.here];
    return pair.close;
  });

  test("AR7 no worker claims a run that is at work where it came from until a caller resumes it", async () => {
    const recorder = new EffectRecorder();
    const held = gate();
    const pays = agent(async (it) => it.done(await it.tool("pay")), {
      tools: { pay: recorder.tool("pay", () => held.pass().then(() => "paid")) },
    });
    const working = source.runs.execute(pays, { session: "s", id: "r", leaseMs: 100 });
    await held.reached;
    const file = await fileOf(source, "s");
    await target.sessions.import([file]);
    expect(await target.runs.get("r")).toMatchObject({ status: "running", held: true });
    const worker = target.runs.createWorker({ agents: [pays], pollMs: 10 });
    worker.start();
    expect(await target.runs.recoverAll()).toEqual([]);
    for (const [id, options] of [
      [{}, {}],
      [{ id: "r" }, {}],
      [{ id: "r" }, { wait: false }],
    ] as const) {
      const call = target.runs.execute(pays, { session: "s", ...id }, options);
      await expect(call).rejects.toMatchObject({ code: "SessionBusy" });
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect([worker.working, recorder.count("pay")]).toEqual([[], 1]);
    await worker.stop();
    expect((await fileOf(target, "s")).equals(file)).toBe(true);
    expect((await target.check()).issues).toEqual([]);
    const asked = await target.runs.resume(pays, "r");
    expect([asked.status, asked.run.held, asked.run.waitsFor.length]).toEqual(["waiting", false, 1]);
    held.open();
    expect((await working).status).toBe("completed");
    expect(recorder.count("pay")).toBe(1);
    expect((await target.check()).issues).toEqual([]);
  });

  test("AR7 unpause lets it go on with its children; cancel ends it, whichever worker had it", async () => {
    const kid = agent(async (it) => it.done(await it.waitFor("go")), { id: "kid" });
    const parent = agent(async (it) => it.done((await it.spawn(kid, { session: "kid" })).value));
    await source.runs.execute(parent, { session: "family", id: "top" }, { wait: false });
    await target.sessions.import([await fileOf(source, "family")]);
    await target.sessions.import([await fileOf(source, "kid")]);
    const [child] = (await target.runs.list({ agent: "kid" })).items;
    expect(child?.held).toBe(true);
    await target.runs.signal(child?.id ?? "", "go", "on");
    const worker = target.runs.createWorker({ agents: [parent, kid], pollMs: 10 });
    expect(await worker.look()).toBe(0);
    await expect(target.runs.execute(parent, { session: "family" }, { wait: false })).rejects.toMatchObject({
      code: "SessionBusy",
    });
    expect((await target.runs.unpause("top")).held).toBe(false);
    worker.start();
    while ((await target.runs.get("top"))?.endedAt === null) await new Promise((resolve) => setTimeout(resolve, 5));
    await worker.stop();
    expect((await target.runs.result("top"))?.value).toBe("on");
    const held = gate();
    const hangs = agent(async (it) => it.done(await it.tool("t")), {
      tools: { t: { execute: () => held.pass().then(() => 1) } },
    });
    const working = source.runs.execute(hangs, { session: "hangs", id: "hangs" });
    await held.reached;
    await target.sessions.import([await fileOf(source, "hangs")]);
    expect((await target.runs.cancel("hangs")).status).toBe("cancelled");
    held.open();
    await working;
    expect((await target.check()).issues).toEqual([]);
  });

  test("AR7 of a child that did not come along the step fails", async () => {
    const kid = agent(async (it) => it.done(await it.waitFor("go")), { id: "kid" });
    const parent = agent(async (it) =>
      it.done(
        await it.spawn(kid).then(
          ({ status }) => status,
          (error: { code: string }) => error.code,
        ),
      ),
    );
    await source.runs.execute(parent, { session: "alone", id: "alone" }, { wait: false });
    await target.sessions.import([await fileOf(source, "alone")]);
    const { status, value } = await target.runs.resume(parent, "alone");
    expect([status, value]).toEqual(["completed", "NotFound"]);
    expect((await target.runs.steps("alone")).map((step) => [step.kind, step.status])).toEqual([["spawn", "failed"]]);
    expect((await target.check()).issues).toEqual([]);
  });
});
