// The suite of the store itself: what it says of itself, what closing means, and that what was acknowledged stays.
import assert from "node:assert/strict";
import { LIMITS } from "../../contracts/limits.ts";
import { noise, present, range, refuses } from "../expect.ts";
import { type Case, type CaseContext, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { agent } from "./runs-agents.ts";

export function runStoreSuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  runCases(`store: ${name}`, [...selfCases, ...closeCases, ...handleCases], make, options);
}

const scope = { session: "chat", agent: "helper" };

const selfCases: readonly Case[] = [
  prove("ST4 a store says what it is", ["info"], async ({ info }) => {
    assert.ok(info.engine === "sqlite" || info.engine === "postgres");
    assert.ok(Number.isSafeInteger(info.schemaVersion) && info.schemaVersion >= 1);
    assert.ok(info.storeId.length > 0);
    assert.ok(Number.isSafeInteger(info.createdAt));
  }),

  prove("ST8 stats of an empty store are zeros, not errors", ["stats"], async ({ stats }) => {
    const { bytesOnDisk, nouns, blobs, sessions } = await stats();
    assert.ok(Number.isSafeInteger(bytesOnDisk) && bytesOnDisk >= 0);
    for (const [noun, { rows, deleted = 0 }] of Object.entries(nouns)) assert.equal(rows + deleted, 0, noun);
    for (const [what, count] of Object.entries(blobs)) assert.equal(count, 0, what);
    assert.deepEqual(sessions, []);
    await refuses("LimitExceeded", () => stats({ sessions: LIMITS.page + 1 }));
  }),

  prove("ST11 stats count what was written", ["stats", "history"], async ({ stats, history }) => {
    for (const n of range(5)) {
      const messages = range(n + 1).map((m) => ({
        role: "user" as const,
        content: `${n} ${m} ${"text ".repeat(1_000)}`,
      }));
      await history.appendMany({ ...scope, session: `s${n}` }, messages);
    }
    const { nouns, blobs, sessions } = await stats({ sessions: 3 });
    assert.equal(nouns.messages?.rows, 15);
    assert.equal(nouns.sessions?.rows, 5);
    assert.equal(nouns.events?.rows, 20);
    assert.equal(blobs.count, 15);
    assert.ok(blobs.bytes > 75_000 && blobs.referencedBytes === blobs.bytes);
    assert.ok(blobs.outsideBytes >= 0 && blobs.outsideBytes <= blobs.storedBytes);
    assert.ok(blobs.storedBytes > 0 && blobs.compressionSavings > 0 && blobs.compressionSavings < 1);
    assert.deepEqual(
      sessions.map(({ id, events, messages }) => [id, events, messages]),
      [
        ["s4", 6, 5],
        ["s3", 5, 4],
        ["s2", 4, 3],
      ],
    );
  }),

  prove(
    "BL6 a session's bytes are all that it refers to, once each, and what others share is said",
    ["stats", "history", "state", "blobs", "lineage", "runs"],
    async ({ stats, history, state, blobs, lineage, runs }) => {
      const said = { session: "talk", agent: "a" };
      const own = new Uint8Array(50_000).fill(1);
      const both = new Uint8Array(30_000).fill(2);
      const attach = (ref: string) => ({
        role: "user" as const,
        content: [{ type: "image" as const, source: { ref } }],
      });
      const [image, shared] = [await blobs.store(own), await blobs.store(both)];
      await history.append(said, attach(image));
      await history.append(said, attach(image));
      await history.append(said, attach(shared));
      await state.set("keeps", { large: "s".repeat(100_000) });
      await state.set("keeps", { large: "t".repeat(100_000) });
      await history.append({ session: "keeps", agent: "a" }, attach(shared));
      await lineage.sessions.fork("talk", { id: "fork" });
      const works = agent(async (it) => it.done(await it.tool("t", "i".repeat(20_000))), {
        tools: { t: { execute: () => "r".repeat(10_000) } },
      });
      await runs.execute(works, { session: "run" });
      const { sessions } = await stats();
      const sizes = new Map(sessions.map((one) => [one.id, one]));
      assert.deepEqual([sessions[0]?.id, sessions[1]?.id, sessions[2]?.id], ["keeps", "talk", "run"]);
      const isAbout = (id: string, bytes: number, sharedBytes: number) => {
        const found = present(sizes.get(id));
        assert.ok(found.bytes >= bytes && found.bytes < bytes + 2000, `${id} has ${found.bytes} bytes`);
        assert.ok(
          found.sharedBytes >= sharedBytes && found.sharedBytes < sharedBytes + 500,
          `${id} shares ${found.sharedBytes}`,
        );
      };
      isAbout("talk", 80_000, 30_000);
      isAbout("keeps", 230_000, 30_000);
      isAbout("run", 30_000, 0);
      isAbout("fork", 0, 0);
    },
  ),

  prove("ST11 stats tell the deleted from those that live", ["stats", "sessions", "agents"], async (context) => {
    const { stats, sessions, agents } = context;
    for (const n of range(3)) {
      await sessions.create({ id: `s${n}` });
      await agents.create({ id: `a${n}` });
    }
    await sessions.delete("s0");
    await agents.delete("a0");
    await agents.delete("a1");
    const { nouns } = await stats();
    assert.deepEqual(nouns.sessions, { rows: 2, deleted: 1 });
    assert.deepEqual(nouns.agents, { rows: 1, deleted: 2 });
  }),
];

/** One call of every noun. */
function calls(store: Pick<CaseContext, (typeof ALL)[number]>): readonly (() => Promise<unknown>)[] {
  const { heads, turns, calls, evals, snapshots, invocations } = store.lineage;
  return [
    () => heads.current("chat"),
    () => turns.begin("chat"),
    () => calls.get("chat#1"),
    () => evals.get("chat#1"),
    () => snapshots.get("chat#1"),
    () => invocations.get("chat#1"),
    () => invocations.spawn("chat", {}, () => 1),
    () => store.lineage.sessions.fork("chat"),
    () => store.agents.get("a"),
    () => store.agents.create(),
    () => store.sessions.get("chat"),
    () => store.sessions.create(),
    () => store.history.get(scope),
    () => store.history.append(scope, { role: "user", content: "late" }),
    () => store.state.get("chat"),
    () => store.state.set("chat", {}),
    () => store.tasks.root("chat"),
    () => store.tasks.create("chat", ["x"]),
    () => store.blobs.store("late"),
    () => store.blobs.stat(`sha256:${"0".repeat(64)}`),
    () => store.log.read("chat"),
    () => store.log.anchor("chat"),
    () => store.stats(),
    () => store.query("[:find ?s :where [?s :session/id]]"),
    () => store.explain("[:find ?s :where [?s :session/id]]"),
  ];
}

const ALL = [
  "agents",
  "sessions",
  "history",
  "state",
  "tasks",
  "blobs",
  "log",
  "stats",
  "query",
  "explain",
  "lineage",
  "close",
] as const;

const closeCases: readonly Case[] = [
  prove("ST7 after close every call is refused with Closed", ALL, async (context) => {
    await context.history.append(scope, { role: "user", content: "hi" });
    await context.close();
    await context.close();
    for (const call of calls(context)) await refuses("Closed", call, String(call));
  }),

  prove("ST1 close waits for what is under way", ["history", "close", "another"], async (context) => {
    const other = await context.another();
    const appends = range(50).map((n) => context.history.append(scope, { role: "user", content: `${n}` }));
    const settled = Promise.allSettled(appends);
    await context.close();
    const held = (await settled).filter(({ status }) => status === "fulfilled").length;
    assert.equal(held, 50, "what was asked for before close is done");
    assert.equal(await other.history.count(scope), 50);
  }),

  prove("ST1 close waits for calls of several steps", ["history", "sessions", "close", "another"], async (context) => {
    const other = await context.another();
    await context.history.append(scope, { role: "user", content: "hi" });
    const big = { role: "user", content: "word ".repeat(500_000) } as const;
    const calls = [
      ...range(3).map((n) => context.history.append(scope, { ...big, key: `big ${n}` })),
      ...range(5).map((n) => context.sessions.update("chat", { title: `${n}` })),
    ];
    const settled = Promise.allSettled(calls);
    await context.close();
    const lost = (await settled).filter(({ status }) => status === "rejected");
    assert.deepEqual(lost, [], "what was asked for before close is done");
    assert.equal(await other.history.count(scope), 4);
  }),
];

const handleCases: readonly Case[] = [
  prove("ST1 what was acknowledged is there for the next handle", [...ALL, "another"], async (context) => {
    const message = await context.history.append(scope, { role: "user", content: "kept" });
    const session = await context.sessions.update("chat", { title: "kept", tags: ["t"] });
    await context.sessions.setAlias("chat", "name");
    const state = await context.state.set("chat", { kept: [1] });
    const board = await context.tasks.create("chat", ["kept"]);
    const ref = await context.blobs.store(noise(500_000, 1));
    const agent = await context.agents.create({ id: "kept", name: "kept" });
    const blocks = await context.agents.saveBlocks("kept", [{ label: "b", value: "kept" }]);
    const anchor = await context.log.anchor("chat");
    await context.close();

    const store = await context.another();
    assert.deepEqual(await store.history.get(scope), [message]);
    assert.equal(present(await store.sessions.get("name")).title, session.title);
    assert.deepEqual(await store.state.getVersioned("chat"), state);
    assert.deepEqual(await store.tasks.get(board.id), board);
    assert.equal((await store.blobs.verify(ref)).ok, true);
    assert.equal(present(await store.agents.get("kept")).name, agent.name);
    assert.deepEqual(await store.agents.loadBlocks("kept"), blocks);
    assert.equal((await store.log.verify("chat", { anchor })).ok, true);
    const next = await store.history.append(scope, { role: "user", content: "on" });
    assert.equal(next.seq, anchor.seq + 1);
  }),

  prove("ST4 a store has one identity for all handles", ["info", "another"], async ({ info, another }) => {
    const other = await another();
    assert.equal(other.info.storeId, info.storeId);
    assert.equal(other.info.createdAt, info.createdAt);
    assert.equal(other.info.schemaVersion, info.schemaVersion);
  }),

  prove("ST6 four handles that write at once all get through", ["history", "another"], async ({ history, another }) => {
    const handles = [history, ...(await Promise.all(range(3).map(() => another()))).map((store) => store.history)];
    await Promise.all(
      handles.map(async (handle, who) => {
        for (const n of range(25)) {
          await handle.append({ session: `s${n % 5}`, agent: `a${who}` }, { role: "user", content: `${n}` });
        }
      }),
    );
    for (const who of range(4)) assert.equal((await history.byAgent(`a${who}`)).length, 25);
  }),

  prove("ST6 a handle that waits for another does not stop the event loop", ["history", "another"], async (context) => {
    const other = (await context.another()).history;
    const big = range(3_000).map((n) => ({ role: "user" as const, content: `${n} ${"x".repeat(200)}` }));
    let last = performance.now();
    let longest = 0;
    const timer = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 5);
    const writes = [context.history.appendMany(scope, big), other.appendMany({ ...scope, session: "two" }, big)];
    await Promise.all([...writes, ...range(20).map((n) => other.append(scope, { role: "user", content: `${n}` }))]);
    clearInterval(timer);
    assert.ok(longest < 2_000, `the event loop stood still for ${Math.round(longest)} ms`);
  }),
];
