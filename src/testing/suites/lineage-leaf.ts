// Leaf calls: recorded with what they cost, whether they end well or not, alone and in batches.
import assert from "node:assert/strict";
import { present, range, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";

const NEEDS = ["lineage", "sessions", "log"] as const;

export const leafCases: readonly Case[] = [
  prove("SE11 a leaf call is recorded with what it cost, and makes no session", [...NEEDS, "blobs"], async (nouns) => {
    const { calls, sessions } = nouns.lineage;
    await nouns.sessions.create({ id: "caller" });
    const done = await calls.leaf("caller", { model: "m", provider: "p", request: { q: 1 } }, async (leaf) => {
      assert.equal((await calls.get(leaf.call.id))?.status, "started");
      leaf.report({ response: { raw: "4" }, inputTokens: 10 });
      leaf.report({ outputTokens: 2, costUsd: 0.5 });
      return 4;
    });
    const call = present(await calls.get(present(done.meta).call));
    assert.deepEqual(done, {
      value: 4,
      session: "caller",
      head: null,
      status: "done",
      meta: {
        call: call.id,
        type: "leaf",
        model: "m",
        provider: "p",
        inputTokens: 10,
        outputTokens: 2,
        cachedTokens: null,
        costUsd: 0.5,
      },
    });
    assert.deepEqual([call.status, call.type, call.costUsd], ["done", "leaf", 0.5]);
    assert.deepEqual(await nouns.blobs.resolveJson(present(call.resultRef)), 4);
    assert.deepEqual(await nouns.blobs.resolveJson(present(call.responseRef)), { raw: "4" });
    assert.deepEqual(await (await sessions.at("caller")).invocations(), []);
    assert.equal((await nouns.sessions.list()).items.length, 1);
  }),

  prove("SE11 sums of costs have no dust of binary fractions in them", [...NEEDS, "archives"], async (nouns) => {
    const { calls } = nouns.lineage;
    const costs = { a: [0.1, 0.2], b: [0.7, 0.1], c: [1e-9, 123.456] };
    for (const [id, some] of Object.entries(costs)) {
      await nouns.sessions.create({ id });
      for (const costUsd of some) await calls.add(id, { type: "leaf", model: "m", costUsd });
    }
    const { total, sessions } = await nouns.archives.cost();
    assert.deepEqual(
      sessions.map((one) => [one.session, one.total.costUsd, one.models[0]?.costUsd]),
      [
        ["a", 0.3, 0.3],
        ["b", 0.8, 0.8],
        ["c", 123.456000001, 123.456000001],
      ],
    );
    assert.equal(total.costUsd, 124.556000001);
    const { b } = await nouns.archives.diff("b", "a");
    assert.equal(b.spent.costUsd, 0.3);
  }),

  prove(
    "QU1 sums and averages of costs have no dust in them, and other numbers are not rounded",
    [...NEEDS, "query"],
    async (nouns) => {
      await nouns.sessions.create({ id: "s" });
      for (const costUsd of [0.7, 0.1]) await nouns.lineage.calls.add("s", { type: "leaf", model: "m", costUsd });
      const costs = "[?c :call/cost-usd ?usd]";
      assert.deepEqual(await nouns.query(`[:find (sum ?usd) (avg ?usd) (max ?usd) :with ?c :where ${costs}]`), [
        [0.8, 0.4, 0.7],
      ]);
      const large = "123456789012.75";
      assert.equal(
        await nouns.query(`[:find (sum ?x) . :with ?c :where ${costs} [(> ?usd 0.5)] [(+ ?usd ${large}) ?x]]`),
        0.7 + Number(large),
      );
    },
  ),

  prove("SE11 what a failed leaf call cost is recorded, and unknown cost is null", NEEDS, async (nouns) => {
    const { calls, sessions } = nouns.lineage;
    await nouns.sessions.create({ id: "caller" });
    const boom = new Error("no JSON in it");
    const thrown = await calls
      .leaf("caller", { request: "q" }, (leaf) => {
        leaf.report({ inputTokens: 7, costUsd: 0.25 });
        throw boom;
      })
      .catch((error: unknown) => error);
    assert.equal(thrown, boom);
    await refuses("InvalidJson", () =>
      calls.leaf("caller", { request: "q" }, (leaf) => {
        leaf.report({ outputTokens: 3 });
        return (() => 1) as never;
      }),
    );
    await refuses("InvalidArgument", () =>
      calls.leaf("caller", {}, (leaf) => {
        leaf.report({ costUsd: -1 });
        return 1;
      }),
    );
    const all = await (await sessions.at("caller")).calls();
    assert.deepEqual(
      all.map(({ status, inputTokens, outputTokens, costUsd }) => [status, inputTokens, outputTokens, costUsd]),
      [
        ["failed", 7, null, 0.25],
        ["failed", null, 3, null],
        ["failed", null, null, null],
      ],
    );
    assert.ok(all.every(({ errorRef }) => errorRef !== null));
  }),

  prove("SE11 a batch of leaf calls keeps its order and records every one", NEEDS, async (nouns) => {
    const { calls, sessions } = nouns.lineage;
    await nouns.sessions.create({ id: "caller" });
    const envelopes = await calls.leafAll(
      "caller",
      range(9).map((n) => ({ request: n })),
      (leaf, index) => {
        leaf.report({ costUsd: index });
        if (index === 4) throw new Error("odd one out");
        return index;
      },
      { concurrency: 5 },
    );
    assert.deepEqual(
      envelopes.map(({ value, status, meta }) => [value, status, meta?.costUsd]),
      range(9).map((n) => [n === 4 ? null : n, n === 4 ? "failed" : "done", n]),
    );
    assert.equal((await (await sessions.at("caller")).calls()).length, 9);
    assert.equal((await nouns.log.verify("caller")).ok, true);
  }),
];
