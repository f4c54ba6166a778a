// What a search of memories finds, in which order, and what it promises.
import assert from "node:assert/strict";
import type { MemoryHit } from "../../contracts/memory.ts";
import type { MetadataFilter } from "../../contracts/metadata-filter.ts";
import { range, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";

const contents = (hits: readonly MemoryHit[]) => hits.map(({ content }) => content);
const DAY_MS = 24 * 3600 * 1000;

export const memorySearchCases: readonly Case[] = [
  prove("ME12 the best match comes first, with its score and signals", ["memory"], async ({ memory }) => {
    await memory.save("Ada prefers tea in the morning");
    await memory.save("The morning train leaves at seven");
    await memory.save("Bob has a dog");
    const hits = await memory.search("When does Ada drink tea in the mornings?");
    assert.deepEqual(contents(hits), ["Ada prefers tea in the morning", "The morning train leaves at seven"]);
    for (const { score, signals } of hits) {
      assert.ok(score > 0 && score <= 1);
      assert.deepEqual(
        signals.map(({ name }) => name),
        ["text", "recency"],
      );
      const [text, recency] = signals.map((one) => one.value);
      assert.ok(Math.abs(score - (text ?? 0) * (0.85 + 0.15 * (recency ?? 0))) < 1e-5);
    }
    assert.equal((await memory.search("ada tea", { limit: 1 })).length, 1);
  }),

  prove("ME12 it is empty if and only if no word is found", ["memory"], async ({ memory }) => {
    await memory.save("Ada prefers tea");
    for (const query of ["", "  ", "coffee", '"tea prefers"', "-tea", "tea -ada", "kind:goal tea", "the"]) {
      assert.deepEqual(await memory.search(query), [], query);
    }
    for (const n of range(200)) await memory.save(`note ${n} about something else entirely`);
    assert.equal((await memory.search("coffee or tea and a hundred other words that nothing has")).length, 1);
  }),

  prove("ME12 phrases, prefixes, exclusions and fields select", ["memory"], async ({ memory }) => {
    await memory.save("Ada drinks green tea", { kind: "preference", subject: "Ada Lovelace" });
    await memory.save("Tea that is green and teapots", { kind: "fact" });
    await memory.save("Lives in Paris", { subject: "Ada Lovelace", attribute: "home", value: "Paris" });
    const find = async (query: string) => contents(await memory.search(query)).sort();
    assert.deepEqual(await find('"green tea"'), ["Ada drinks green tea"]);
    assert.deepEqual(await find('tea -"green tea"'), ["Tea that is green and teapots"]);
    assert.deepEqual(await find("teap*"), ["Tea that is green and teapots"]);
    assert.deepEqual(await find("tea -teap*"), ["Ada drinks green tea"]);
    assert.deepEqual(await find("tea kind:preference"), ["Ada drinks green tea"]);
    assert.deepEqual(await find("tea -kind:PREFERENCE"), ["Tea that is green and teapots"]);
    assert.deepEqual(await find('paris subject:"ada lovelace"'), ["Lives in Paris"]);
    assert.deepEqual(await find("lovelace home"), ["Ada drinks green tea", "Lives in Paris"]);
    const of = { subject: "ADA lovelace", kind: "preference" };
    assert.deepEqual(contents(await memory.search("tea paris", of)), ["Ada drinks green tea"]);
  }),

  prove("ME12 recency counts from validFrom, relative to at", ["memory", "clock"], async ({ memory, clock }) => {
    const now = clock.now();
    await memory.save("the old meeting with Bob", { validFrom: now - 400 * DAY_MS });
    await memory.save("the new meeting with Bob", { validFrom: now - DAY_MS });
    const both = ["the new meeting with Bob", "the old meeting with Bob"];
    assert.deepEqual(contents(await memory.search("meeting Bob")), both);
    const past = await memory.search("meeting Bob", { at: now - 399 * DAY_MS });
    assert.deepEqual(contents(past), ["the old meeting with Bob"]);
    // A fact whose words match better is before a recent one.
    assert.deepEqual(contents(await memory.search("old meeting Bob")), both.toReversed());
    const [hit] = await memory.search("new meeting", { limit: 1 });
    assert.ok((hit?.signals[1]?.value ?? 0) > 0.97);
  }),

  prove("ME12 at, from and to find what held then", ["memory", "clock"], async ({ memory, clock }) => {
    const now = clock.now();
    await memory.save("job at the mill", { validFrom: now - 3000, validTo: now - 2000 });
    await memory.save("job at the bank", { validFrom: now - 1000 });
    await memory.save("job at the zoo", { validFrom: now + 1000 });
    const find = async (options: object) =>
      contents(await memory.search("job", options))
        .map((one) => one.slice(11))
        .sort();
    assert.deepEqual(await find({}), ["bank", "zoo"]);
    assert.deepEqual(await find({ superseded: true }), ["bank", "mill", "zoo"]);
    assert.deepEqual(await find({ at: now - 2500 }), ["mill"]);
    assert.deepEqual(await find({ at: now - 1500 }), []);
    assert.deepEqual(await find({ at: now }), ["bank"]);
    assert.deepEqual(await find({ from: now - 2500, to: now - 1000 }), ["mill"]);
    assert.deepEqual(await find({ from: now - 2500, to: now - 999 }), ["bank", "mill"]);
    assert.deepEqual(await find({ from: now + 5000 }), ["bank", "zoo"]);
    assert.deepEqual(await find({ to: now - 5000 }), []);
  }),

  prove("ME12 filters over metadata keep what matches", ["memory"], async ({ memory }) => {
    for (const n of range(60)) {
      await memory.save(`note ${n}`, { metadata: { n, even: n % 2 === 0, tags: [`t${n % 3}`], "a.b": { c: n } } });
    }
    const count = async (filter: MetadataFilter) => (await memory.search("note", { filter, limit: 100 })).length;
    assert.equal(await count({}), 60);
    assert.equal(await count({ even: true, n: { lt: 10 } }), 5);
    assert.equal(await count({ or: [{ n: 1 }, { tags: "t2" }], not: { n: 2 } }), 20);
    assert.equal(await count({ tags: { nin: ["t0"] } }), 40);
    assert.equal(await count({ "a.b.c": { gte: 58 } }), 2);
    assert.equal(await count({ n: "1" }), 0);
    for (const filter of [{ n: { $gt: 1 } }, { n: [1] }, { "'; DROP TABLE memories; --": { x: 1 } }, "n = 1"]) {
      await refuses("InvalidArgument", () => memory.search("note", { filter: filter as never }));
    }
    assert.equal(await count({ "'; DROP TABLE memories; --": 1 }), 0);
  }),

  prove("ME12 a budget of tokens is kept", ["memory"], async ({ memory }) => {
    for (const n of range(10)) await memory.save(`${"tea ".repeat(20)}${n}`);
    const hits = await memory.search("tea", { tokens: 50 });
    assert.equal(hits.length, 2);
    assert.deepEqual(await memory.search("tea", { tokens: 1 }), []);
  }),

  prove("ME12 hostile queries find or do not find, and never fail", ["memory"], async ({ memory }) => {
    await memory.save('Ada\'s tea: 100% "green" (really) \0 \u{1f375} 日本語のお茶');
    const queries = [
      "'; DROP TABLE memories; --",
      'x" OR 1=1',
      '"'.repeat(999),
      "*",
      "-",
      "a*".repeat(500),
      "\0",
      "\u{1f375}",
      `${"\u0301".repeat(5000)}`,
      "kind:",
      '-kind:x subject:"',
      "NEAR(a b) AND NOT c",
      "%_%",
    ];
    for (const query of queries) assert.ok(Array.isArray(await memory.search(query)), query);
    assert.equal((await memory.search("お茶")).length, 1);
    assert.equal((await memory.search("GREEN")).length, 1);
    assert.equal((await memory.search("teas")).length, 1);
  }),
];
