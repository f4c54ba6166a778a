// Parents and children: what ends one ends or wakes the other, whichever process ends it, and no run works for a parent
// that has ended.
import assert from "node:assert/strict";
import type { Run } from "../../contracts/run-record.ts";
import type { Runs } from "../../contracts/runs.ts";
import { present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { agent, EffectRecorder, endedOnce, gate, NEEDS, texts } from "./runs-agents.ts";

const kid = agent(
  async (it) => {
    await it.message({ role: "user", content: "scratch" });
    return it.done(await it.waitFor("go"));
  },
  { id: "kid" },
);

const kidOf = async (runs: Runs, parent: string): Promise<Run> =>
  present((await runs.list({ agent: "kid" })).items.find((run) => run.parent === parent));

const stateOf = async (runs: Runs, ...ids: readonly string[]) =>
  Promise.all(ids.map(async (id) => (await runs.get(id))?.status));

export const familyCases: readonly Case[] = [
  prove("RU2 a child that is cancelled while it waits wakes its parent and is forgotten", NEEDS, async (nouns) => {
    const { runs } = nouns;
    for (const [id, options] of [
      ["own", {}],
      ["same", { sameSession: true, forget: true }],
    ] as const) {
      const parent = agent(async (it) => it.done((await it.spawn(kid, options)).status));
      await runs.execute(parent, { session: id, id }, { wait: false });
      const child = await kidOf(runs, id);
      assert.equal((await runs.cancel(child.id)).status, "cancelled");
      assert.equal((await runs.get(id))?.status, "running", "woken");
      assert.deepEqual(await texts(nouns, child.session), id === "same" ? [] : ["scratch"]);
      const done = await runs.resume(parent, id);
      assert.deepEqual([done.status, done.value], ["completed", "cancelled"]);
      await endedOnce(nouns, done.run);
      await endedOnce(nouns, child);
    }
  }),
  prove("RU2 with a parent that is cancelled its children are, down the tree", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const middle = agent(async (it) => it.done((await it.spawn(kid, { sameSession: true, forget: true })).status), {
      id: "middle",
    });
    const parent = agent(async (it) =>
      it.done(
        (
          await it.parallel(
            (one) => one.spawn(middle),
            (one) => one.spawn(kid, { sameSession: true, forget: true }),
          )
        ).length,
      ),
    );
    const { run } = await runs.execute(parent, { session: "s", id: "top" }, { wait: false });
    assert.equal(run.waitsFor.length, 2);
    const all = (await runs.list()).items;
    assert.deepEqual(
      all.map(({ status }) => status),
      Array.from({ length: 4 }, () => "waiting"),
    );
    await runs.cancel("top");
    for (const one of all) {
      assert.equal((await runs.get(one.id))?.status, "cancelled");
      await endedOnce(nouns, one);
      assert.deepEqual(await texts(nouns, one.session), [], "and forgotten");
    }
  }),
  prove(
    "RU2 nothing is done any more for a parent that is cancelled, fails or is at its limit",
    [...NEEDS, "clock"],
    async (nouns) => {
      const { runs, clock } = nouns;
      const recorder = new EffectRecorder();
      for (const how of ["cancel", "fail", "limit"] as const) {
        const held = gate();
        const child = agent(
          async (it) => {
            await it.tool("slow");
            return it.done(await it.tool("pay"));
          },
          { id: "kid", tools: { slow: { execute: () => held.pass().then(() => 1) }, pay: recorder.tool("pay") } },
        );
        const parent = agent(async (it) => {
          const spawned = it.spawn(child);
          await held.reached;
          if (how === "fail") void spawned.catch(() => {});
          else await spawned;
          return it.fail(new Error("no"));
        });
        const limits = how === "limit" ? { wallMs: 60_000 } : {};
        const working = runs.execute(parent, { session: how, id: how, limits, leaseMs: 300 });
        await held.reached;
        if (how === "cancel") await runs.cancel(how);
        if (how === "limit") await clock.advance(60_000);
        // One that fails waits for what is at work.
        if (how === "fail") held.open();
        const { status } = await working;
        held.open();
        const one = await kidOf(runs, how);
        const was = how === "fail" ? ["failed", "completed"] : [how === "limit" ? "failed" : "cancelled", "cancelled"];
        assert.deepEqual([status, one.status], was, how);
        await endedOnce(nouns, one);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
      assert.equal(recorder.count("pay"), 1, "by the child of the one that failed, before");
    },
  ),
  prove(
    "RU2 a session is not free before the worker of an ended run has noticed the end",
    [...NEEDS, "another"],
    async (nouns) => {
      const { runs } = nouns;
      const elsewhere = (await nouns.another()).runs;
      const held = gate();
      const child = agent(
        async (it) => {
          await it.waitFor("go");
          await it.tool("slow");
          return it.next(null);
        },
        { id: "kid", tools: { slow: { execute: () => held.pass().then(() => 1) } } },
      );
      const parent = agent(async (it) => it.done((await it.spawn(child, { sameSession: true })).status));
      await nouns.history.append({ session: "s", agent: "x" }, { role: "user", content: "one" });
      const head = await nouns.lineage.heads.publish("s");
      await nouns.history.append({ session: "s", agent: "x" }, { role: "user", content: "two" });
      await nouns.lineage.heads.publish("s");
      await runs.execute(parent, { session: "s", id: "top", leaseMs: 3000 }, { wait: false });
      const { id } = await kidOf(runs, "top");
      await runs.signal(id, "go");
      const working = elsewhere.resume(child, id);
      await held.reached;
      assert.equal((await runs.cancel("top")).status, "cancelled");
      const busy = [
        () => nouns.lineage.sessions.rewind({ session: "s", head: head.id }),
        () => nouns.lineage.heads.publish("s"),
        () => runs.execute(parent, { session: "s", id: "next" }),
        () => runs.retry("top"),
      ];
      for (const one of busy) assert.equal((await refuses("SessionBusy", one)).details.run, id);
      held.open();
      assert.equal((await working).status, "cancelled");
      await nouns.lineage.sessions.rewind({ session: "s", head: head.id });
      assert.deepEqual(await texts(nouns, "s"), ["one"]);
      assert.deepEqual((await nouns.check()).issues, []);
    },
  ),
  prove("RU8 a child in a session that is rewound ends with that", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const parent = agent(
      async (it, n: number) => {
        await it.message({ role: "user", content: `p${n}` });
        if (n === 1) return it.done((await it.spawn(kid, { sameSession: true, forget: true })).status);
        return it.next(n + 1);
      },
      { initial: () => 0 },
    );
    await runs.execute(parent, { session: "s", id: "one" }, { wait: false });
    const child = await kidOf(runs, "one");
    await runs.rewind("one", { iteration: 1, id: "two" });
    assert.deepEqual(await stateOf(runs, "one", child.id), ["cancelled", "cancelled"]);
    await refuses("InvalidTransition", () => runs.signal(child.id, "go"));
    assert.deepEqual(await texts(nouns, "s"), ["p0"]);
    assert.equal((await runs.resume(parent, "two")).status, "waiting");
    await endedOnce(nouns, child);
  }),
  prove("RU11 what a run spawned is not spawned again by the one that takes it up", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    let isDown = true;
    const child = agent(async (it) => it.done(await it.tool("t")), { id: "kid", tools: { t: recorder.tool("t") } });
    const parent = agent(
      async (it) => {
        const { status } = await it.spawn(child);
        await it.tool("flaky");
        return it.done(status);
      },
      { tools: { flaky: { execute: () => (isDown ? Promise.reject(new Error("down")) : 1) } } },
    );
    assert.equal((await runs.execute(parent, { session: "s", id: "one" })).status, "failed");
    isDown = false;
    await runs.retry("one", { id: "two" });
    const done = await runs.resume(parent, "two");
    assert.deepEqual([done.status, done.value, recorder.count("t")], ["completed", "completed", 1]);
    await endedOnce(nouns, done.run);
  }),
  prove(
    "RU11 a child that was cancelled with its parent is begun anew by the run that takes that up",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const parent = agent(async (it) => it.done((await it.spawn(kid)).value));
      await runs.execute(parent, { session: "s", id: "one" }, { wait: false });
      const first = await kidOf(runs, "one");
      await runs.cancel("one");
      await runs.retry("one", { id: "two" });
      assert.equal((await runs.resume(parent, "two")).status, "waiting");
      const second = await kidOf(runs, "two");
      assert.notEqual(second.id, first.id);
      await runs.signal(second.id, "go", "there");
      assert.equal((await runs.resume(kid, second.id)).status, "completed");
      const done = await runs.resume(parent, "two");
      assert.deepEqual([done.status, done.value], ["completed", "there"]);
      await endedOnce(nouns, done.run);
    },
  ),
  prove("RU8 a child that its parent does not await ends, or waits, before the parent ends", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const pays = agent(
      async (it) => {
        await it.tool("pay", 1);
        return it.done(await it.tool("pay", 2));
      },
      {
        id: "kid",
        tools: { pay: recorder.tool("pay", () => new Promise((resolve) => setTimeout(() => resolve(1), 5))) },
      },
    );
    const careless = (child: typeof kid) =>
      agent((it) => {
        void it.spawn(child).catch(() => {});
        return it.done("end");
      });
    const { status } = await runs.execute(careless(pays), { session: "s", id: "one" });
    assert.deepEqual([status, (await kidOf(runs, "one")).status, recorder.count("pay")], ["completed", "completed", 2]);
    await runs.execute(careless(kid), { session: "t", id: "two" });
    assert.equal((await kidOf(runs, "two")).status, "cancelled", "nobody would hear of it");
    await endedOnce(nouns, await kidOf(runs, "two"));
  }),
  prove("RU4 a wrong request of an agent fails at its step, and a replay gets the same error", NEEDS, async (nouns) => {
    const { runs, history, sessions } = nouns;
    await history.append({ session: "s", agent: "ada" }, { role: "user", content: "first", key: "k" });
    await sessions.create({ id: "taken" });
    const wrong = agent(async (it) => {
      const codeOf = async (work: Promise<unknown>) => work.catch((error: { code: string }) => error.code);
      const codes = [
        await codeOf(it.message({ role: "user", content: "again", key: "k" })),
        await codeOf(
          it.message({ role: "user", content: [{ type: "image", source: { ref: `sha256:${"0".repeat(64)}` } }] }),
        ),
        await codeOf(it.spawn(kid, { session: "taken" })),
        await codeOf(it.spawn(kid, { session: it.session })),
        await codeOf(it.spawn(null as never)),
        await codeOf(it.spawn(kid, { session: 5 as never })),
        await codeOf(it.spawn(kid, { colour: "red" } as never)),
      ];
      await it.waitFor("go");
      return it.done(codes);
    });
    const { id } = await runs.start(wrong, { session: "s", leaseMs: 300 });
    assert.equal((await runs.resume(wrong, id)).status, "waiting");
    await sessions.delete("taken");
    await runs.signal(id, "go", 1);
    const { value, run } = await runs.resume(wrong, id);
    const [key, image, taken, ...others] = value as readonly string[];
    assert.deepEqual([key, image, taken], ["AlreadyExists", "BlobNotFound", "AlreadyExists"], "as it was then");
    assert.deepEqual(others.slice(0, 2), ["InvalidArgument", "InvalidArgument"]);
    assert.ok(others.slice(2).every((code) => code.startsWith("Invalid")));
    const failed = (await runs.steps(id)).filter(({ status }) => status === "failed");
    assert.deepEqual(
      failed.map(({ kind }) => kind),
      ["message", "message", "spawn"],
    );
    assert.equal((await runs.list({ agent: "kid" })).items.length, 0);
    await endedOnce(nouns, run);
  }),
  prove("RU13 a run whose work comes to nothing is tried with growing pauses", [...NEEDS, "clock"], async (nouns) => {
    const { runs, clock } = nouns;
    let tries = 0;
    const changes = agent(async (it) => {
      await it.message({ role: "user", content: `try ${++tries}` });
      return it.done(await it.waitFor("go"));
    });
    const { id } = await runs.start(changes, { session: "s" });
    await runs.resume(changes, id);
    await runs.signal(id, "go", 1);
    const notes: string[] = [];
    const left = { told: () => {} };
    const worker = runs.createWorker({
      agents: [changes],
      watch: (note) => {
        notes.push(note.kind === "refused" ? note.error.code : note.kind);
        if (note.kind === "left") left.told();
      },
    });
    const once = async () => {
      const over = Promise.withResolvers<void>();
      left.told = over.resolve;
      assert.equal(await worker.look(), 1);
      await over.promise;
      const run = present(await runs.get(id));
      const [listed] = (await runs.list()).items;
      assert.deepEqual([run.error?.code, listed?.error?.code], ["NonDeterminism", "NonDeterminism"], "and why is told");
      return present(run.wakesAt) - run.updatedAt;
    };
    const first = await once();
    assert.equal(await worker.look(), 0, "not before its time");
    await clock.advance(first + 1000);
    const second = await once();
    assert.ok(first > 500 && second > first, `${first}, ${second}`);
    assert.deepEqual(notes, ["begun", "NonDeterminism", "left", "begun", "NonDeterminism", "left"]);
    await worker.stop();
    tries = 0;
    const done = await runs.resume(changes, id);
    assert.deepEqual([done.status, done.run.error], ["completed", null], "whoever asks for it need not wait");
  }),
];
