// The suite of the state contract: ShortTermMemory with versions, compare-and-set and times to live.
import assert from "node:assert/strict";
import type { JsonObject } from "../../contracts/json.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { State, Versioned } from "../../contracts/state.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { stateRaceCases } from "./races.ts";
import { stateCallCases } from "./state-calls.ts";

export function runStateSuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  runCases(
    `state: ${name}`,
    [
      ...wholeCases,
      ...exactCases,
      ...limitCases,
      ...concurrentCases,
      ...ttlCases,
      ...logCases,
      ...stateCallCases,
      ...stateRaceCases,
    ],
    make,
    options,
  );
}

const wholeCases: readonly Case[] = [
  prove("ME1 before the first change there is nothing, at version 0", ["state"], async ({ state }) => {
    assert.deepEqual(await state.get("chat"), {});
    assert.equal(await state.getKey("chat", "a"), undefined);
    assert.deepEqual(await state.getVersioned("chat"), { value: {}, version: 0 });
  }),

  prove("ME1 set replaces the whole", ["state"], async ({ state }) => {
    const first = await state.set("chat", { a: 1, b: { c: [2] } });
    assert.deepEqual(first.value, { a: 1, b: { c: [2] } });
    assert.ok(first.version > 0);
    const second = await state.set("chat", { b: 2 });
    assert.ok(second.version > first.version);
    assert.deepEqual(await state.get("chat"), { b: 2 });
    assert.equal(await state.getKey("chat", "a"), undefined);
    assert.equal(await state.getKey("chat", "b"), 2);
    assert.deepEqual(await state.getVersioned("chat"), second);
  }),

  prove("ME1 patch replaces the given top-level keys and no others", ["state"], async ({ state }) => {
    await state.set("chat", { a: { x: 1, y: 2 }, b: "kept", c: 3 });
    const patched = await state.patch("chat", { a: { z: 3 }, c: null, d: [] });
    assert.deepEqual(patched.value, { a: { z: 3 }, b: "kept", c: null, d: [] });
    assert.deepEqual(await state.getVersioned("chat"), patched);
    assert.equal(await state.getKey("chat", "c"), null, "null is a value");
  }),

  prove("ME1 patch removes the named keys", ["state"], async ({ state }) => {
    await state.set("chat", { a: 1, b: 2, c: 3 });
    const patched = await state.patch("chat", { d: 4 }, { remove: ["a", "c", "never"] });
    assert.deepEqual(patched.value, { b: 2, d: 4 });
    assert.deepEqual((await state.patch("chat", {}, { remove: ["b"] })).value, { d: 4 });
  }),

  prove("ME1 patch of a session that has no state yet begins one", ["state"], async ({ state }) => {
    const { value, version } = await state.patch("chat", { a: 1 });
    assert.deepEqual(value, { a: 1 });
    assert.ok(version > 0);
  }),

  prove("ME1 a patch on a version that has passed is a Conflict, and changes nothing", ["state"], async ({ state }) => {
    await refuses("Conflict", () => state.patch("chat", { a: 1 }, { version: 1 }));
    const first = await state.patch("chat", { a: 1 }, { version: 0 });
    await refuses("Conflict", () => state.patch("chat", { a: 2 }, { version: 0 }));
    const second = await state.patch("chat", { b: 2 }, { version: first.version, remove: ["a"] });
    assert.deepEqual(await state.getVersioned("chat"), second);
    // Of patches that expect the same version one succeeds, whether one commit decides about all of them or not.
    const { version } = second;
    const outcomes = await Promise.allSettled(range(8).map((n) => state.patch("chat", { [`k${n}`]: n }, { version })));
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
    assert.equal(Object.keys(await state.get("chat")).length, 2);
    await state.patch("chat", { free: true });
  }),

  prove("ME1 clear leaves nothing, and the version still grows", ["state"], async ({ state }) => {
    const before = await state.set("chat", { a: 1, b: 2 });
    await state.clear("chat");
    const after = await state.getVersioned("chat");
    assert.deepEqual(after.value, {});
    assert.ok(after.version > before.version);
    assert.ok((await state.set("chat", { c: 3 })).version > after.version);
    assert.deepEqual(await state.get("chat"), { c: 3 });
  }),

  prove("ME1 clear of what is not there is no mistake", ["state"], async ({ state }) => {
    await state.clear("nobody");
    assert.deepEqual(await state.get("nobody"), {});
  }),

  prove("ME1 sessions are apart", ["state"], async ({ state }) => {
    await state.set("one", { a: 1 });
    await state.set("two", { a: 2 });
    await state.patch("one", { b: 1 });
    await state.clear("two");
    assert.deepEqual(await state.get("one"), { a: 1, b: 1 });
    assert.deepEqual(await state.get("two"), {});
  }),

  prove("ST2 compareAndSet holds only on the version it names", ["state"], async ({ state }) => {
    const first = present(await state.compareAndSet("chat", 0, { n: 1 }));
    assert.deepEqual(first.value, { n: 1 });
    assert.equal(await state.compareAndSet("chat", 0, { n: 2 }), null);
    const second = present(await state.compareAndSet("chat", first.version, { m: 2 }));
    assert.deepEqual(second.value, { m: 2 }, "it replaces the whole");
    assert.equal(await state.compareAndSet("chat", first.version, { n: 3 }), null);
    assert.deepEqual(await state.getVersioned("chat"), second);
    assert.equal(await state.compareAndSet("unknown", 7, {}), null);
  }),

  prove("ME1 state goes with its session", ["state", "sessions"], async ({ state, sessions }) => {
    await state.set("chat", { a: 1 });
    assert.equal(present(await sessions.get("chat")).id, "chat");
    await sessions.delete("chat");
    assert.deepEqual(await state.get("chat"), {});
    assert.equal(await state.getKey("chat", "a"), undefined);
    await refuses("SessionDeleted", () => state.set("chat", { a: 2 }));
    await refuses("SessionDeleted", () => state.patch("chat", { a: 2 }));
  }),
];

const exactCases: readonly Case[] = [
  prove("ST5 values come back as they serialise", ["state"], async ({ state }) => {
    let deep: JsonObject = { bottom: true };
    for (const _ of range(300)) deep = { deep };
    const value = JSON.parse(
      '{"nested":{"z":1,"a":2,"__proto__":{"polluted":true},"10":0,"9":0},"__proto__":{"own":1},"constructor":"x",' +
        '"null":null,"list":[null,[],{},"",0,-0.0,1e-7,1e21,9007199254740991],"ünï":"\\u0000\\ud83d\\ude00\\u2028"}',
    );
    await state.set("chat", { ...value, deep });
    for (const key of ["nested", "constructor", "null", "list", "ünï"]) {
      assert.equal(JSON.stringify(await state.getKey("chat", key)), JSON.stringify(value[key]), key);
    }
    const read = await state.get("chat");
    assert.equal(JSON.stringify(read.nested), JSON.stringify(value.nested), "keys inside a value keep their order");
    assert.deepEqual(read.deep, deep);
    assert.equal(({} as Record<string, unknown>).polluted, undefined);
  }),

  prove("ST5 the keys of one set keep their order", ["state"], async ({ state }) => {
    const text = '{"zeta":1,"alpha":{"z":1,"a":2},"Mid":[],"é":null,"__proto__":0,"b":""}';
    await state.set("chat", JSON.parse(text));
    assert.equal(JSON.stringify(await state.get("chat")), text);
    assert.equal(JSON.stringify((await state.getVersioned("chat")).value), text);
  }),

  prove("ST5 __proto__ is a key like others", ["state"], async ({ state }) => {
    const text = '{"__proto__":{"own":[1]},"a":1}';
    const set = await state.set("chat", JSON.parse(text));
    assert.deepEqual(Object.keys(set.value).toSorted(), ["__proto__", "a"]);
    const read = await state.get("chat");
    assert.deepEqual(Object.keys(read).toSorted(), ["__proto__", "a"]);
    assert.equal(JSON.stringify(Object.getOwnPropertyDescriptor(read, "__proto__")?.value), '{"own":[1]}');
    assert.equal(Object.getPrototypeOf(read), Object.prototype);
    assert.deepEqual(await state.getKey("chat", "__proto__"), { own: [1] });
    await state.patch("chat", JSON.parse('{"__proto__":2}'));
    assert.equal(await state.getKey("chat", "__proto__"), 2);
    await state.patch("chat", {}, { remove: ["__proto__"] });
    assert.deepEqual(Object.keys(await state.get("chat")), ["a"]);
    assert.equal(await state.getKey("chat", "toString"), undefined);
  }),

  prove("ST5 keys are compared as they are", ["state"], async ({ state }) => {
    const keys = [
      "a",
      "A",
      " a",
      "a ",
      "é",
      "e\u0301",
      "a.b",
      "$.a",
      "a[0]",
      "'",
      '"',
      "\u202e",
      "😀",
      "../x",
      "0",
      "00",
    ];
    await state.set("chat", Object.fromEntries(keys.map((key, n) => [key, n])));
    for (const [n, key] of keys.entries()) assert.equal(await state.getKey("chat", key), n, JSON.stringify(key));
    assert.equal(Object.keys(await state.get("chat")).length, keys.length);
  }),

  prove("ST5 what the caller does with a value later changes nothing", ["state"], async ({ state }) => {
    const nouns = { list: [1] };
    await state.set("chat", nouns);
    nouns.list.push(2);
    const read = (await state.get("chat")) as { list: number[] };
    assert.deepEqual(read, { list: [1] });
    read.list.push(3);
    assert.deepEqual(await state.get("chat"), { list: [1] });
  }),

  prove("ST8 too many keys, and keys that are no ids, are refused whole", ["state"], async ({ state }) => {
    const many = Object.fromEntries(range(LIMITS.stateKeys + 1).map((n) => [`k${n}`, n]));
    await refuses("LimitExceeded", () => state.set("chat", many));
    for (const key of ["", "a\u0000b", "\ud800", "k".repeat(LIMITS.idBytes + 1)]) {
      await refuses("InvalidId", () => state.set("chat", { fine: 1, [key]: 2 }), JSON.stringify(key.slice(0, 20)));
      await refuses("InvalidId", () => state.patch("chat", { fine: 1, [key]: 2 }), JSON.stringify(key.slice(0, 20)));
    }
    assert.deepEqual(await state.getVersioned("chat"), { value: {}, version: 0 });
  }),
];

/** Full but for so many keys. */
async function nearlyFull(state: State, room: number): Promise<void> {
  await state.set("chat", Object.fromEntries(range(LIMITS.stateKeys - room).map((n) => [`k${n}`, 0])));
}

const limitCases: readonly Case[] = [
  prove("ST8 patches that add up to too many keys are refused, each whole", ["state"], async ({ state }) => {
    await nearlyFull(state, 1);
    const full = await state.patch("chat", { last: 1 });
    assert.equal(Object.keys(full.value).length, LIMITS.stateKeys);
    const refused = await refuses("LimitExceeded", () => state.patch("chat", { k0: 1, more: 1 }));
    assert.equal(refused.details.limit, "stateKeys");
    assert.deepEqual(await state.getVersioned("chat"), full, "nothing of it was written");
    const replaced = await state.patch("chat", { k0: 1 });
    assert.equal(Object.keys(replaced.value).length, LIMITS.stateKeys);
    const swapped = await state.patch("chat", { other: 1 }, { remove: ["k0"] });
    assert.equal(Object.keys(swapped.value).length, LIMITS.stateKeys);
  }),

  prove("ST8 patches at once add up to the limit and not beyond", ["state"], async ({ state }) => {
    await nearlyFull(state, 3);
    const done = await Promise.allSettled(range(6).map((n) => state.patch("chat", { [`new${n}`]: n })));
    assert.equal(done.filter(({ status }) => status === "fulfilled").length, 3);
    for (const one of done)
      if (one.status === "rejected") await refuses("LimitExceeded", () => Promise.reject(one.reason));
    assert.equal(Object.keys(await state.get("chat")).length, LIMITS.stateKeys);
  }),

  prove("ST8 a patch that is refused leaves nothing to those decided with it", ["state"], async ({ state }) => {
    await nearlyFull(state, 0);
    // While the first is under way, the others wait and are then decided together.
    const [, refused, fits] = await Promise.allSettled(
      ["k0", "more", "k1"].map((key) => state.patch("chat", { [key]: 1 })),
    );
    assert.equal(refused?.status, "rejected");
    assert.ok(fits?.status === "fulfilled", "it adds no key");
    assert.deepEqual(fits.value, await state.getVersioned("chat"));
  }),

  prove("ST8 patches of two handles at once do not go over the limit", ["state", "another"], async (nouns) => {
    const handles = [nouns.state, (await nouns.another()).state];
    await nearlyFull(nouns.state, 3);
    const done = await Promise.allSettled(
      handles.flatMap((handle, who) => range(2).map((n) => handle.patch("chat", { [`${who}:${n}`]: n }))),
    );
    assert.equal(done.filter(({ status }) => status === "fulfilled").length, 3);
    assert.equal(Object.keys(await nouns.state.get("chat")).length, LIMITS.stateKeys);
  }),
];

/** Of patches that add one key each to a state of one: in the order of their versions, each has one key more. */
function addUp(answers: readonly Versioned[]): void {
  const inOrder = answers.toSorted((a, b) => a.version - b.version);
  assert.equal(new Set(inOrder.map(({ version }) => version)).size, answers.length, "a version of its own for each");
  for (const [n, { value }] of inOrder.entries()) assert.equal(Object.keys(value).length, n + 2);
}

const concurrentCases: readonly Case[] = [
  prove("ST2 a patch answers with the state of its own version", ["state"], async ({ state }) => {
    await state.set("chat", { base: true });
    addUp(await Promise.all(range(20).map((n) => state.patch("chat", { [`k${n}`]: n }))));
  }),

  prove("ST2 also when another handle patches beside it", ["state", "another"], async ({ state, another }) => {
    const handles = [state, (await another()).state];
    await state.set("chat", { base: true });
    const patches = handles.flatMap((handle, who) =>
      range(10).map((n) => handle.patch("chat", { [`${who}:${n}`]: n })),
    );
    addUp(await Promise.all(patches));
  }),

  prove("ST5 answers to patches at once share nothing", ["state"], async ({ state }) => {
    await state.set("chat", { list: [0] });
    const answers = await Promise.all(range(4).map((n) => state.patch("chat", { [`k${n}`]: n })));
    for (const { value } of answers) (value as { list: number[] }).list.push(1);
    for (const { value } of answers) assert.deepEqual(value.list, [0, 1]);
  }),

  prove("ME1 patches of different keys at once never lose each other", ["state"], async ({ state }) => {
    await state.set("chat", { base: true });
    await Promise.all(range(64).map((n) => state.patch("chat", { [`k${n}`]: n })));
    const expected = Object.fromEntries(range(64).map((n) => [`k${n}`, n]));
    assert.deepEqual(await state.get("chat"), { base: true, ...expected });
  }),

  prove(
    "ME1 patches of two handles at once never lose each other",
    ["state", "another"],
    async ({ state, another }) => {
      const handles = [state, (await another()).state];
      await Promise.all(
        handles.flatMap((handle, who) => range(20).map((n) => handle.patch("chat", { [`${who}:${n}`]: n }))),
      );
      for (const handle of handles) assert.equal(Object.keys(await handle.get("chat")).length, 40);
    },
  ),

  prove("ME1 every change at once makes a version of its own", ["state", "log"], async ({ state, log }) => {
    const done = await Promise.all(range(32).map((n) => state.patch("chat", { [`k${n}`]: n })));
    for (const [n, { value }] of done.entries())
      assert.equal(value[`k${n}`], n, "an answer holds the change it answers");
    const last = done.reduce((a, b) => (a.version > b.version ? a : b));
    assert.deepEqual(await state.getVersioned("chat"), last);
    assert.equal((await log.read("chat", { types: ["state/patched"] })).length, 32);
  }),

  prove("ST2 compareAndSet from 0 holds beside what makes the session", ["state", "history"], async (nouns) => {
    for (const n of range(10)) {
      const append = nouns.history.append({ session: `s${n}`, agent: "a" }, { role: "user", content: "hi" });
      const [held] = await Promise.all([nouns.state.compareAndSet(`s${n}`, 0, { n }), append]);
      assert.deepEqual(held?.value, { n }, "nobody else changed the state");
    }
  }),

  prove("ST2 counting by compareAndSet from two handles counts right", ["state", "another"], async (nouns) => {
    const handles = [nouns.state, (await nouns.another()).state];
    const increment = async (handle: typeof nouns.state) => {
      for (;;) {
        const { value, version } = await handle.getVersioned("chat");
        if ((await handle.compareAndSet("chat", version, { n: Number(value.n ?? 0) + 1 })) !== null) return;
      }
    };
    await Promise.all(
      handles.map(async (handle) => {
        for (const _ of range(10)) await increment(handle);
      }),
    );
    assert.deepEqual(await nouns.state.get("chat"), { n: 20 });
  }),

  prove("ST2 of 16 compareAndSet on one version exactly one holds", ["state"], async ({ state }) => {
    const { version } = await state.set("chat", {});
    const done = await Promise.all(range(16).map((n) => state.compareAndSet("chat", version, { n })));
    const held = done.filter((one) => one !== null);
    assert.equal(held.length, 1);
    assert.deepEqual(await state.getVersioned("chat"), held[0]);
  }),
];

const ttlCases: readonly Case[] = [
  prove("ME1 keys written with a time to live are gone after it", ["state", "clock"], async ({ state, clock }) => {
    await state.set("chat", { kept: 1 });
    const { value } = await state.patch("chat", { brief: 2 }, { ttlMs: 60_000 });
    assert.deepEqual(value, { kept: 1, brief: 2 });
    await clock.advance(50_000);
    assert.equal(await state.getKey("chat", "brief"), 2);
    await clock.advance(20_000);
    assert.deepEqual(await state.get("chat"), { kept: 1 });
    assert.equal(await state.getKey("chat", "brief"), undefined);
    assert.deepEqual((await state.getVersioned("chat")).value, { kept: 1 });
  }),

  prove("ME1 a key written again has the new time to live, or none", ["state", "clock"], async ({ state, clock }) => {
    await state.set("chat", { a: 1, b: 1, c: 1 }, { ttlMs: 60_000 });
    await state.patch("chat", { a: 2 });
    await state.patch("chat", { b: 2 }, { ttlMs: 600_000 });
    await clock.advance(120_000);
    assert.deepEqual(await state.get("chat"), { a: 2, b: 2 });
    await clock.advance(600_000);
    assert.deepEqual(await state.get("chat"), { a: 2 });
  }),

  prove("ME1 what has expired does not come back by a patch", ["state", "clock"], async ({ state, clock }) => {
    await state.set("chat", { old: 1 }, { ttlMs: 1_000 });
    await clock.advance(60_000);
    const { value } = await state.patch("chat", { fresh: 2 });
    assert.deepEqual(value, { fresh: 2 });
    assert.deepEqual(await state.get("chat"), { fresh: 2 });
  }),

  prove("ME1 a patch is not answered with what it wrote for no time", ["state"], async ({ state }) => {
    await state.set("chat", { kept: 1, brief: 1 });
    const answer = await state.patch("chat", { brief: 2 }, { ttlMs: 0 });
    assert.deepEqual(answer.value, { kept: 1 });
    assert.deepEqual(await state.getVersioned("chat"), answer);
  }),

  prove("ME1 compareAndSet takes a time to live too", ["state", "clock"], async ({ state, clock }) => {
    const { version } = present(await state.compareAndSet("chat", 0, { a: 1 }, { ttlMs: 1_000 }));
    assert.ok(version > 0);
    await clock.advance(60_000);
    assert.deepEqual(await state.get("chat"), {});
  }),
];

const logCases: readonly Case[] = [
  prove("LG5 every change is one event, without its values", ["state", "log"], async ({ state, log }) => {
    await state.set("chat", { a: "secret-1" });
    await state.patch("chat", { b: "secret-2" }, { remove: ["a"] });
    const { version } = await state.getVersioned("chat");
    await state.compareAndSet("chat", version, { c: "secret-3" });
    await state.compareAndSet("chat", version, { d: "refused" });
    await state.clear("chat");
    const events = await log.read("chat");
    const types = events.map(({ type }) => type);
    assert.deepEqual(types, ["session/created", "state/set", "state/patched", "state/set", "state/cleared"]);
    assert.ok(!JSON.stringify(events).includes("secret-"));
    assert.equal((await log.verify("chat")).ok, true);
  }),

  prove("LG2 every value has a commitment in its event, for every key", ["state", "log"], async ({ state, log }) => {
    const keys = ["a", "__proto__", "constructor", "10", "é"];
    await state.set("chat", Object.fromEntries(keys.map((key) => [key, "same"])));
    const event = present((await log.read("chat", { types: ["state/set"] }))[0]);
    assert.deepEqual(Object.keys(event.commitments).toSorted(), keys.toSorted());
    assert.equal(new Set(Object.values(event.commitments)).size, keys.length);
  }),
];
