// The suite of long-term memory: saving, scopes, lists, erasure. Supersession, search and isolation are in the files beside.
import assert from "node:assert/strict";
import { LIMITS } from "../../contracts/limits.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { contextMemoryCases } from "./context-memory.ts";
import { memoryIsolationCases } from "./memory-isolation.ts";
import { promotionCases } from "./memory-promotion.ts";
import { memorySearchCases } from "./memory-search.ts";
import { supersessionCases } from "./memory-supersession.ts";

export function runMemorySuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  const cases = [
    ...saveCases,
    ...lifeCases,
    ...supersessionCases,
    ...memorySearchCases,
    ...memoryIsolationCases,
    ...contextMemoryCases,
    ...promotionCases,
  ];
  runCases(`memory: ${name}`, cases, make, options);
}

const MINUTE_MS = 60_000;
const NO_EMBEDDING = { pending: 0, parked: 0 };

/** Time goes on while a case runs. */
function isAbout(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) < MINUTE_MS / 2, `${actual} is not about ${expected}`);
}

const saveCases: readonly Case[] = [
  prove("ME4 a memory is read back as it was saved", ["memory", "clock"], async ({ memory, clock }) => {
    const at = clock.now();
    const given = {
      namespace: "team",
      agent: "helper",
      kind: "preference",
      subject: "Ada",
      attribute: "drink",
      value: "tea ☕",
      importance: 0.8765,
      metadata: { tags: ["a", 1], inner: { x: null } },
      validFrom: at - 1000,
      validTo: at + 1_000_000,
      source: { session: "chat", message: "chat#1", run: "r" },
    };
    const content = "Ada prefers tea.\0 \u{1f375}";
    const { isNew, superseded, ...saved } = await memory.save(content, given);
    assert.deepEqual([isNew, superseded], [true, []]);
    const { source: _, ...columns } = given;
    isAbout(saved.recordedAt, at);
    assert.deepEqual(saved, {
      ...columns,
      id: saved.id,
      content,
      importance: 0.877,
      recordedAt: saved.recordedAt,
      confirmations: 0,
      confirmedAt: saved.recordedAt,
      expiresAt: null,
      supersededBy: null,
      supersededFrom: null,
      version: 1,
    });
    const scope = { namespace: "team", agent: "helper" };
    assert.deepEqual(await memory.get(saved.id, scope), saved);
    assert.deepEqual((await memory.list(scope)).items, [saved]);
    const [change] = (await memory.history(saved.id, scope)).items;
    assert.deepEqual(change, {
      memory: saved.id,
      version: 1,
      change: "created",
      at: saved.recordedAt,
      by: null,
      source: given.source,
    });
  }),

  prove("ME4 what is not given has a default", ["memory", "clock"], async ({ memory, clock }) => {
    const { id, isNew: _, superseded: __, ...rest } = await memory.save("a fact");
    isAbout(rest.recordedAt, clock.now());
    assert.deepEqual(rest, {
      namespace: "default",
      agent: null,
      content: "a fact",
      kind: "fact",
      subject: null,
      attribute: null,
      value: null,
      importance: 0.5,
      metadata: {},
      validFrom: rest.recordedAt,
      validTo: null,
      recordedAt: rest.recordedAt,
      confirmations: 0,
      confirmedAt: rest.recordedAt,
      expiresAt: null,
      supersededBy: null,
      supersededFrom: null,
      version: 1,
    });
    assert.equal(present(await memory.get(id)).id, id);
  }),

  prove("ME4 the same fact is confirmed, and every save keeps its source", ["memory", "clock"], async (nouns) => {
    const { memory, clock } = nouns;
    const first = await memory.save("Ada lives in  Paris.", { metadata: { n: 1 }, source: { session: "one" } });
    await clock.advance(MINUTE_MS);
    const again = await memory.save("ada LIVES in paris", { importance: 1, source: { session: "two", run: "r" } });
    assert.equal(again.id, first.id);
    assert.deepEqual([again.isNew, again.confirmations, again.version, again.importance], [false, 1, 2, 1]);
    assert.deepEqual([again.content, again.recordedAt], [first.content, first.recordedAt]);
    isAbout(again.confirmedAt, again.recordedAt + MINUTE_MS);
    assert.deepEqual(again.metadata, { n: 1 });
    const third = await memory.save("Ada lives in Paris", { metadata: { m: 2 } });
    assert.deepEqual([third.id, third.metadata, third.importance], [first.id, { m: 2 }, 1]);
    assert.equal((await memory.list()).items.length, 1);
    const changes = (await memory.history(first.id, { order: "oldest" })).items;
    assert.deepEqual(
      changes.map(({ change, version, source }) => [change, version, source]),
      [
        ["created", 1, { session: "one" }],
        ["saved", 2, { session: "two", run: "r" }],
        ["saved", 3, {}],
      ],
    );
  }),

  prove("ME4 other subjects, attributes and scopes make other facts", ["memory"], async ({ memory }) => {
    const options = [
      {},
      { subject: "Ada" },
      { subject: "Bob" },
      { subject: "Ada", attribute: "mood" },
      { subject: "Ada", attribute: "mood", value: "high", supersedes: null },
      { agent: "helper" },
      { namespace: "other" },
    ];
    const ids: string[] = [];
    for (const one of options) ids.push((await memory.save("is happy", one)).id);
    assert.equal(new Set(ids).size, options.length);
    for (const [i, one] of options.entries()) assert.equal((await memory.save("is happy", one)).id, ids[i]);
  }),

  prove("ME4 an event that happened at another time is another event", ["memory"], async ({ memory }) => {
    const first = await memory.save("met Bob", { kind: "event", validFrom: 1000 });
    const second = await memory.save("met Bob", { kind: "event", validFrom: 2000 });
    const again = await memory.save("met Bob", { kind: "event", validFrom: 1000 });
    assert.notEqual(second.id, first.id);
    assert.equal(again.id, first.id);
  }),

  prove("ME4 of many callers that save a fact at once, one adds it", ["memory", "another"], async (nouns) => {
    const other = await nouns.another();
    const saves = range(24).map((n) => (n % 2 === 0 ? nouns.memory : other.memory).save(`fact ${n % 3}`));
    const saved = await Promise.all(saves);
    assert.equal(saved.filter(({ isNew }) => isNew).length, 3);
    const all = (await nouns.memory.list()).items;
    assert.deepEqual(
      all.map(({ confirmations }) => confirmations),
      [7, 7, 7],
    );
  }),

  prove("ME4 touching confirms a memory as saving it again does", ["memory", "clock"], async ({ memory, clock }) => {
    const { id } = await memory.save("a fact");
    await clock.advance(MINUTE_MS);
    const touched = await memory.touch(id, { source: { run: "r" } });
    isAbout(touched.confirmedAt, touched.recordedAt + MINUTE_MS);
    assert.deepEqual([touched.confirmations, touched.version], [1, 2]);
    const [change] = (await memory.history(id)).items;
    assert.deepEqual([change?.change, change?.source], ["touched", { run: "r" }]);
    await memory.search("fact");
    assert.deepEqual(await memory.get(id), touched, "a search is no use");
    await refuses("NotFound", () => memory.touch("mem_none"));
    await refuses("NotFound", () => memory.touch(id, { agent: "helper" }));
  }),

  prove("ME4 metadata replaces what was there, also for filters", ["memory"], async ({ memory }) => {
    await memory.save("a fact", { metadata: { colour: "red" } });
    await memory.save("a fact", { metadata: { colour: "blue", size: 2 } });
    assert.equal((await memory.search("fact", { filter: { colour: "red" } })).length, 0);
    assert.equal((await memory.search("fact", { filter: { colour: "blue", size: { gt: 1 } } })).length, 1);
  }),

  prove("ST7 what contradicts itself is refused, and nothing is written", ["memory"], async ({ memory }) => {
    await refuses("InvalidArgument", () => memory.save(" \n"));
    await refuses("InvalidText", () => memory.save("lone \ud800"));
    await refuses("InvalidArgument", () => memory.save("x", { attribute: "a" }));
    await refuses("InvalidArgument", () => memory.save("x", { subject: "s", value: "v" }));
    await refuses("InvalidArgument", () => memory.save("x", { validFrom: 5, validTo: 5 }));
    await refuses("InvalidArgument", () => memory.save("x", { validTo: 5 }));
    await refuses("InvalidArgument", () => memory.save("x", { importance: 1.01 }));
    await refuses("LimitExceeded", () => memory.save("x".repeat(LIMITS.memoryBytes + 1)));
    await refuses("InvalidArgument", () => memory.list({ attribute: "a" }));
    await refuses("InvalidArgument", () => memory.search("x", { filter: { a: { like: "b" } } as never }));
    assert.deepEqual(await memory.status(), {
      scopes: 0,
      memories: 0,
      superseded: 0,
      expired: 0,
      embedding: NO_EMBEDDING,
    });
  }),
];

const lifeCases: readonly Case[] = [
  prove("ME2 an expired memory is found by no read, and swept", ["memory", "clock"], async ({ memory, clock }) => {
    const { id } = await memory.save("short news", { ttlMs: MINUTE_MS });
    await memory.save("long news");
    await clock.advance(MINUTE_MS / 2);
    assert.equal((await memory.search("news")).length, 2);
    await clock.advance(MINUTE_MS / 2);
    assert.equal(await memory.get(id), null);
    assert.equal((await memory.list({ superseded: true })).items.length, 1);
    assert.equal((await memory.search("news", { superseded: true })).length, 1);
    await refuses("NotFound", () => memory.history(id));
    await refuses("NotFound", () => memory.touch(id));
    assert.deepEqual(await memory.status(), {
      scopes: 1,
      memories: 1,
      superseded: 0,
      expired: 1,
      embedding: NO_EMBEDDING,
    });
    const removed = { memories: 1, changes: 1, bytes: 10 };
    assert.deepEqual((await memory.deleteExpired({ dryRun: true })).removed, removed);
    assert.deepEqual((await memory.deleteExpired()).removed, removed);
    assert.equal((await memory.deleteExpired()).removed.memories, 0);
    assert.deepEqual(await memory.status(), {
      scopes: 1,
      memories: 1,
      superseded: 0,
      expired: 0,
      embedding: NO_EMBEDDING,
    });
  }),

  prove("ME2 saving a fact again makes it live longer, never shorter", ["memory", "clock"], async (nouns) => {
    const { memory, clock } = nouns;
    const first = await memory.save("a fact", { ttlMs: 2 * MINUTE_MS });
    assert.equal(first.expiresAt, first.recordedAt + 2 * MINUTE_MS);
    await clock.advance(MINUTE_MS);
    assert.equal((await memory.save("a fact", { ttlMs: 1000 })).expiresAt, first.expiresAt);
    const later = await memory.save("a fact", { ttlMs: 2 * MINUTE_MS });
    assert.equal(later.expiresAt, later.confirmedAt + 2 * MINUTE_MS);
    assert.equal((await memory.save("a fact")).expiresAt, null);
    await clock.advance(5 * MINUTE_MS);
    assert.equal(present(await memory.get(first.id)).confirmations, 3);
  }),

  prove("ME2 an expired fact that is saved again is a new memory", ["memory", "clock"], async ({ memory, clock }) => {
    const first = await memory.save("a fact", { ttlMs: MINUTE_MS });
    await clock.advance(MINUTE_MS);
    const second = await memory.save("a fact");
    assert.notEqual(second.id, first.id);
    await memory.deleteExpired();
    assert.deepEqual(
      (await memory.list()).items.map(({ id }) => id),
      [second.id],
    );
  }),

  prove("ME13 what is deleted is gone with its history", ["memory", "stats"], async ({ memory, stats }) => {
    const { id } = await memory.save("a fact", { metadata: { a: 1 } });
    await memory.touch(id);
    const report = await memory.delete(id);
    assert.deepEqual(report, { removed: { memories: 1, changes: 2, bytes: 13 }, kept: {} });
    assert.equal(await memory.get(id), null);
    await refuses("NotFound", () => memory.history(id));
    assert.equal((await memory.delete(id)).removed.memories, 0);
    assert.equal((await memory.delete("mem_none", { agent: "unknown" })).removed.memories, 0);
    const { nouns } = await stats();
    const tables = ["memories", "memory_changes", "metadata_fields"];
    assert.deepEqual(
      tables.map((table) => nouns[table]?.rows),
      [0, 0, 0],
    );
    assert.notEqual((await memory.save("a fact")).id, id);
  }),

  prove("ME13 a cleared scope is empty, and others are as before", ["memory"], async ({ memory }) => {
    for (const n of range(30)) await memory.save(`fact ${n}`, { agent: "a", metadata: { n } });
    const kept = await memory.save("fact 1", { agent: "b", metadata: { n: 1 } });
    assert.equal((await memory.clear({ agent: "a" })).removed.memories, 30);
    assert.equal((await memory.clear({ agent: "a" })).removed.memories, 0);
    assert.deepEqual((await memory.list({ agent: "a" })).items, []);
    assert.deepEqual(await memory.search("fact", { agent: "a" }), []);
    assert.deepEqual(await memory.search("fact", { agent: "a", filter: { n: 1 } }), []);
    assert.deepEqual(
      (await memory.search("fact", { agent: "b", filter: { n: 1 } })).map(({ id }) => id),
      [kept.id],
    );
  }),

  prove("ME2 a list has filters, and the status counts", ["memory"], async ({ memory }) => {
    await memory.save("Ada is 36", { subject: "Ada", attribute: "age", kind: "fact" });
    await memory.save("Ada is 37", { subject: "ada", attribute: "Age", kind: "fact" });
    await memory.save("Ada likes tea", { subject: "Ada", kind: "preference" });
    await memory.save("Bob is 20", { subject: "Bob", attribute: "age" });
    const contents = async (filter: Parameters<typeof memory.list>[0]) =>
      (await memory.list({ ...filter, order: "oldest" })).items.map(({ content }) => content);
    assert.deepEqual(await contents({ subject: "ADA" }), ["Ada is 37", "Ada likes tea"]);
    assert.deepEqual(await contents({ subject: "Ada", attribute: "age" }), ["Ada is 37"]);
    const timeline = { subject: "Ada", attribute: "age", superseded: true };
    assert.deepEqual(await contents(timeline), ["Ada is 36", "Ada is 37"]);
    assert.deepEqual(await contents({ kind: "preference" }), ["Ada likes tea"]);
    await memory.save("elsewhere", { namespace: "n", agent: "a" });
    assert.deepEqual(await memory.status(), {
      scopes: 2,
      memories: 5,
      superseded: 1,
      expired: 0,
      embedding: NO_EMBEDDING,
    });
    assert.deepEqual((await memory.scopes({ order: "oldest" })).items, [
      { namespace: "default", agent: null, memories: 4, superseded: 1, expired: 0 },
      { namespace: "n", agent: "a", memories: 1, superseded: 0, expired: 0 },
    ]);
  }),
];
