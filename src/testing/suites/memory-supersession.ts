// What takes the place of what: only for a reason that its history names.
import assert from "node:assert/strict";
import type { Memories, Memory, MemoryJudge } from "../../contracts/memory.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";

const MINUTE_MS = 60_000;
const HOME = { subject: "Ada", attribute: "home" };

const contents = (memories: readonly Memory[]) => memories.map(({ content }) => content).sort();

async function homesAt(memory: Memories, at: number): Promise<readonly string[]> {
  return contents(await memory.search("Ada home", { at }));
}

export const supersessionCases: readonly Case[] = [
  prove("ME4 another value of the same attribute supersedes", ["memory", "clock"], async ({ memory, clock }) => {
    const paris = await memory.save("lives in Paris", HOME);
    await clock.advance(1000);
    const rome = await memory.save("lives in Rome", { subject: "ada", attribute: " Home " });
    assert.deepEqual(rome.superseded, [paris.id]);
    const old = present(await memory.get(paris.id));
    assert.deepEqual([old.supersededBy, old.supersededFrom, old.version], [rome.id, rome.validFrom, 2]);
    assert.deepEqual(contents((await memory.list()).items), ["lives in Rome"]);
    assert.deepEqual(contents(await memory.search("lives")), ["lives in Rome"]);
    assert.deepEqual(await homesAt(memory, paris.validFrom + 1), ["lives in Paris"]);
    const changes = (await memory.history(paris.id, { order: "oldest" })).items;
    assert.deepEqual(
      changes.map((one) => [one.memory, one.change, one.by]),
      [
        [paris.id, "created", null],
        [rome.id, "created", null],
        [paris.id, "superseded", rome.id],
      ],
    );
    assert.deepEqual((await memory.history(rome.id, { order: "oldest" })).items, changes);
  }),

  prove("ME4 nothing supersedes by being similar", ["memory"], async ({ memory }) => {
    const saved = [
      await memory.save("Ada lives in Paris"),
      await memory.save("Ada lives in Paris now"),
      await memory.save("Ada lives in Rome", { subject: "Ada" }),
      await memory.save("Ada lives in Rome!", { subject: "Bob", attribute: "home" }),
      await memory.save("Ada lives in Oslo", { subject: "Ada", attribute: "work" }),
      await memory.save("Ada lives in Oslo", { ...HOME, namespace: "other" }),
      await memory.save("Ada lives in Oslo", { ...HOME, agent: "helper" }),
      await memory.save("Ada lives in Lima", HOME),
    ];
    assert.deepEqual(
      saved.flatMap(({ superseded }) => superseded),
      [],
    );
    assert.equal((await memory.list()).items.length, 6);
  }),

  prove("ME4 the same value in other words stays beside the old ones", ["memory"], async ({ memory }) => {
    const first = await memory.save("lives in Paris", { ...HOME, value: "Paris" });
    const second = await memory.save("has a flat in Paris", { ...HOME, value: " PARIS" });
    assert.deepEqual([second.isNew, second.superseded], [true, []]);
    const third = await memory.save("moved to Rome", { ...HOME, value: "Rome" });
    assert.deepEqual([...third.superseded].sort(), [first.id, second.id].sort());
  }),

  prove("ME4 a fact about the past takes its place between others", ["memory"], async ({ memory }) => {
    const paris = await memory.save("Paris", { ...HOME, validFrom: 1000 });
    const rome = await memory.save("Rome", { ...HOME, validFrom: 3000 });
    const oslo = await memory.save("Oslo", { ...HOME, validFrom: 2000 });
    assert.deepEqual([oslo.superseded, oslo.supersededBy, oslo.supersededFrom], [[paris.id], rome.id, 3000]);
    const homes = await Promise.all([500, 1000, 1999, 2000, 2999, 3000].map((at) => homesAt(memory, at)));
    assert.deepEqual(homes, [[], ["Paris"], ["Paris"], ["Oslo"], ["Oslo"], ["Rome"]]);
    assert.deepEqual(contents((await memory.list()).items), ["Rome"]);
    assert.deepEqual(contents(await memory.search("home", { from: 1500, to: 2500 })), ["Oslo", "Paris"]);
    assert.deepEqual(contents(await memory.search("home", { from: 3000 })), ["Rome"]);
  }),

  prove("ME4 what ends or expires sooner takes no place", ["memory", "clock"], async ({ memory, clock }) => {
    await memory.save("Paris", HOME);
    const visit = await memory.save("Rome", { ...HOME, validTo: clock.now() + MINUTE_MS });
    const note = await memory.save("Oslo", { ...HOME, ttlMs: 2 * MINUTE_MS });
    assert.deepEqual([visit.superseded, note.superseded], [[], []]);
    await clock.advance(1.5 * MINUTE_MS);
    assert.deepEqual(contents((await memory.list()).items), ["Oslo", "Paris"]);
    await clock.advance(MINUTE_MS);
    assert.deepEqual(contents((await memory.list()).items), ["Paris"]);
    const moved = await memory.save("Lima", HOME);
    assert.equal(moved.superseded.length, 1);
    assert.deepEqual(contents((await memory.list()).items), ["Lima"]);
  }),

  prove("ME4 a value from a later time on holds from then on", ["memory", "clock"], async ({ memory, clock }) => {
    await memory.save("Paris", HOME);
    await memory.save("Rome", { ...HOME, validFrom: clock.now() + MINUTE_MS });
    assert.deepEqual(contents((await memory.list()).items), ["Paris", "Rome"]);
    assert.deepEqual(await homesAt(memory, clock.now() + 1), ["Paris"]);
    await clock.advance(1.5 * MINUTE_MS);
    assert.deepEqual(contents((await memory.list()).items), ["Rome"]);
  }),

  prove("ME4 the caller names what a fact supersedes", ["memory"], async ({ memory }) => {
    const old = await memory.save("The office is in Berlin");
    const moved = await memory.save("The office has moved to Bonn", { supersedes: old.id });
    assert.deepEqual(moved.superseded, [old.id]);
    assert.equal(present(await memory.get(old.id)).supersededBy, moved.id);
    const again = await refuses("Conflict", () => memory.save("or to Kiel", { supersedes: old.id }));
    assert.match(again.hint ?? "", new RegExp(moved.id));
    await refuses("NotFound", () => memory.save("x", { supersedes: "mem_none" }));
    await refuses("NotFound", () => memory.save("x", { supersedes: moved.id, agent: "helper" }));
    assert.equal((await memory.list()).items.length, 1);
    const several = await memory.save("likes tea", { subject: "Ada", attribute: "likes" });
    const more = await memory.save("likes cake", { subject: "Ada", attribute: "likes", supersedes: null });
    assert.deepEqual(more.superseded, []);
    assert.equal(present(await memory.get(several.id)).supersededBy, null);
  }),

  prove("ME4 a superseded memory can be brought back", ["memory", "clock"], async ({ memory, clock }) => {
    const paris = await memory.save("Paris", HOME);
    await refuses("Conflict", () => memory.undo(paris.id));
    await clock.advance(1);
    const rome = await memory.save("Rome", HOME);
    const back = await memory.undo(paris.id);
    assert.deepEqual([back.supersededBy, back.supersededFrom, back.version], [null, null, 3]);
    assert.deepEqual(contents((await memory.list()).items), ["Paris", "Rome"]);
    const [change] = (await memory.history(paris.id)).items;
    assert.deepEqual([change?.change, change?.by], ["restored", rome.id]);
    await clock.advance(1);
    const oslo = await memory.save("Oslo", HOME);
    assert.deepEqual([...oslo.superseded].sort(), [paris.id, rome.id].sort());
    await clock.advance(1);
    const again = await memory.save("Paris", HOME);
    assert.notEqual(again.id, paris.id);
    const { details } = await refuses("Conflict", () => memory.undo(paris.id));
    assert.equal(details.savedAgainAs, again.id);
  }),

  prove("ME13 what a deleted memory superseded stays superseded until undo", ["memory"], async ({ memory }) => {
    const paris = await memory.save("Paris", HOME);
    const rome = await memory.save("Rome", HOME);
    await memory.delete(rome.id);
    assert.deepEqual((await memory.list()).items, []);
    assert.equal(present(await memory.get(paris.id)).supersededBy, rome.id);
    await memory.undo(paris.id);
    assert.deepEqual(contents((await memory.list()).items), ["Paris"]);
  }),

  prove("ME4 of many values that are saved at once, one holds", ["memory", "another"], async ({ memory, another }) => {
    const other = await another();
    const saves = range(12).map((n) => (n % 2 === 0 ? memory : other.memory).save(`city ${n}`, HOME));
    await Promise.all(saves);
    assert.equal((await memory.list()).items.length, 1);
    assert.deepEqual(await memory.status(), {
      scopes: 1,
      memories: 12,
      superseded: 11,
      expired: 0,
      embedding: { pending: 0, parked: 0 },
    });
  }),

  prove("ME4 a judge decides about what looks alike", ["memory"], async ({ memory }) => {
    const old = await memory.save("Ada's cat is called Minka");
    await memory.save("The weather is fine");
    const seen: string[][] = [];
    const judge: MemoryJudge = (fact, candidates) => {
      seen.push([fact.content, ...candidates.map(({ content }) => content)]);
      return { supersedes: candidates.slice(0, 1).map(({ id }) => id) };
    };
    const next = await memory.save("Ada's cat is called Mikesch now", { judge });
    assert.deepEqual(next.superseded, [old.id]);
    assert.deepEqual(seen, [["Ada's cat is called Mikesch now", "Ada's cat is called Minka"]]);
    const same = await memory.save("Her cat has the name Mikesch", {
      judge: (_, [first]) => ({ sameAs: first?.id ?? "" }),
    });
    assert.deepEqual([same.id, same.isNew, same.confirmations], [next.id, false, 1]);
    const plain = await memory.save("A cat ate the fish", { judge: async () => null });
    assert.deepEqual([plain.isNew, plain.superseded], [true, []]);
    await memory.save("A cat ate the fish", { judge: () => assert.fail("the same fact needs no judge") });
    for (const verdict of [{ sameAs: old.id }, { supersedes: ["mem_none"] }, { like: 1 }, 7]) {
      await refuses("InvalidArgument", () => memory.save("cat and fish", { judge: () => verdict as never }));
    }
    const failure = new Error("the model is down");
    await assert.rejects(memory.save("cat and fish", { judge: () => Promise.reject(failure) }), failure);
    assert.equal((await memory.search("and")).length, 0);
  }),

  prove("ME4 a judge is asked again if what it named has changed", ["memory"], async ({ memory }) => {
    const { id } = await memory.save("the cat sleeps");
    let calls = 0;
    const judge: MemoryJudge = async (_, candidates) => {
      calls += 1;
      if (calls === 1) await memory.touch(id);
      assert.equal(candidates[0]?.confirmations, calls - 1);
      return { supersedes: [id] };
    };
    const saved = await memory.save("the cat wakes", { judge });
    assert.deepEqual([calls, saved.superseded], [2, [id]]);
  }),
];
