// The suite of the checker: a store of every kind of row is clean, in both modes, alone and beside writers.
import assert from "node:assert/strict";
import type { CheckProgress } from "../../contracts/check.ts";
import { fillStore } from "../everything.ts";
import { range, refuses } from "../expect.ts";
import { scaled } from "../scale.ts";
import { type Case, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";

export function runCheckSuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  runCases(`check: ${name}`, cases, make, options);
}

const NEEDS = [
  "check",
  "agents",
  "sessions",
  "history",
  "state",
  "tasks",
  "memory",
  "blobs",
  "log",
  "lineage",
] as const;

const cases: readonly Case[] = [
  prove("SE10 a store with every kind of row is clean, and everything in it was looked at", NEEDS, async (nouns) => {
    const { chat, fork } = await fillStore(nouns);
    const deep = await nouns.check();
    assert.deepEqual(deep.issues, []);
    assert.deepEqual([deep.kind, deep.mode, deep.status, deep.issueCount], ["session-db/consistency", "deep", "ok", 0]);
    const { blobs = 0, events = 0, ...counts } = deep.counts;
    assert.ok(blobs > 10 && events > 30, JSON.stringify(deep.counts));
    assert.deepEqual(counts, {
      sessions: 5,
      deletedSessions: 1,
      messages: 10,
      heads: 6,
      turns: 2,
      evals: 2,
      calls: 3,
      snapshots: 3,
      branches: 5,
      derivations: 2,
      annotations: 1,
      state: 6,
      memories: 3,
      orphanBlobs: 1,
    });
    const quick = await nouns.check({ mode: "quick" });
    assert.deepEqual([quick.status, quick.mode, quick.issues], ["ok", "quick", []]);
    for (const session of [chat, fork]) assert.equal((await nouns.check({ session })).status, "ok");
  }),

  prove("SE10 an empty store is clean", ["check"], async ({ check }) => {
    const { engine, ...report } = await check();
    assert.equal(engine?.notRun, null);
    assert.deepEqual(report, {
      kind: "session-db/consistency",
      mode: "deep",
      status: "ok",
      counts: { orphanBlobs: 0 },
      issueCount: 0,
      issues: [],
    });
  }),

  prove("SE10 what was erased is no damage", NEEDS, async (nouns) => {
    const { chat, fork, split } = await fillStore(nouns);
    const clean = async (after: string) => assert.deepEqual((await nouns.check()).issues, [], after);
    await nouns.history.clear({ session: split, agent: "ada" });
    await clean("a clear of what was inherited");
    await nouns.history.clear({ session: chat, agent: "ada" });
    await clean("a clear of what others inherit");
    await nouns.sessions.delete(chat);
    await clean("what forks inherit stays");
    await nouns.sessions.delete(fork, { everywhere: true });
    await clean("and goes");
    await nouns.sessions.delete(split);
    await clean("with the last of them");
  }),

  prove("SE10 the checker runs beside writers and takes nothing they do for damage", NEEDS, async (nouns) => {
    const { history, state, lineage, check } = nouns;
    await fillStore(nouns);
    let over = false;
    const write = async (session: string) => {
      for (let i = 0; !over; i++) {
        await history.append(
          { session, agent: "ada" },
          { role: "user", content: `${i} `.repeat(i % 3 === 0 ? 900 : 1) },
        );
        await state.patch(session, { i });
        await lineage.calls.add(session, { type: "leaf", request: { i: i % 5 } });
        if (i % 4 === 0) await lineage.heads.publish(session, { final: i % 3 });
        if (i % 7 === 0) await history.clear({ session, agent: "ada" });
      }
    };
    const writers = [write("chat"), write("fork"), write("busy")];
    try {
      for (const _ of range(scaled({ short: 2, long: 4 }))) assert.deepEqual((await check()).issues, []);
    } finally {
      over = true;
      await Promise.all(writers);
    }
    assert.deepEqual((await check()).issues, []);
  }),

  prove("SE10 a long check reports its progress", NEEDS, async (nouns) => {
    await fillStore(nouns);
    const told: CheckProgress[] = [];
    await nouns.check({ onProgress: (progress) => told.push(progress) });
    assert.ok(told.some(({ at, session }) => at === "sessions" && session === "chat"));
    assert.ok(told.some(({ at }) => at === "blobs"));
  }),

  prove("SE10 what a check is asked must make sense", ["check"], async ({ check }) => {
    await refuses("InvalidArgument", () => check({ mode: "shallow" as never }));
    await refuses("InvalidArgument", () => check({ depth: 3 } as never));
    await refuses("InvalidArgument", () => check({ onProgress: 1 as never }));
    await refuses("NotFound", () => check({ session: "nobody" }));
  }),
];
