// State suite: a call counts for what it was given when it was made, and for its place among the others.
import assert from "node:assert/strict";
import { present, range } from "../expect.ts";
import { type Case, prove } from "../suite.ts";

export const stateCallCases: readonly Case[] = [
  prove("ME1 a state is what was given when it was asked for, and so is the answer", ["state"], async ({ state }) => {
    const calls = {
      set: (value: Record<string, { n: number }>) => state.set("set", value),
      patch: (value: Record<string, { n: number }>) => state.patch("patch", value),
      cas: (value: Record<string, { n: number }>) => state.compareAndSet("cas", 0, value),
    };
    for (const [session, call] of Object.entries(calls)) {
      const value = { a: { n: 1 }, b: { n: 1 }, c: { n: 1 } };
      const called = call(value);
      for (const one of [value.a, value.b, value.c]) one.n = 2;
      const answer = present(await called);
      value.a.n = 3;
      assert.deepEqual(answer.value, { a: { n: 1 }, b: { n: 1 }, c: { n: 1 } }, session);
      assert.deepEqual(await state.getVersioned(session), answer);
    }
  }),

  prove("ME1 changes through one handle happen in the order of the calls", ["state"], async ({ state }) => {
    const wide = Object.fromEntries(range(200).map((n) => [`k${n}`, n]));
    const long = { text: "x".repeat(300_000) };
    for (const first of [{ w: 1 }, { ...wide, w: 1 }, { long, w: 1 }]) {
      await Promise.all([state.set("sets", first), state.set("sets", { w: 2 })]);
      assert.deepEqual(await state.get("sets"), { w: 2 });
      await Promise.all([state.patch("patches", first), state.patch("patches", { w: 2 })]);
      assert.equal(await state.getKey("patches", "w"), 2);
      const before = await state.getVersioned("all");
      const [, patched, , set] = await Promise.all([
        state.clear("all"),
        state.patch("all", first),
        state.compareAndSet("all", before.version, { lost: true }),
        state.set("all", { set: true }),
        state.patch("all", { w: 3 }),
        state.patch("all", { w: 4 }),
      ]);
      assert.deepEqual(patched.value, first);
      assert.deepEqual(set.value, { set: true });
      assert.deepEqual(await state.get("all"), { set: true, w: 4 });
      await Promise.all([state.patch("all", first), state.clear("all")]);
      assert.deepEqual(await state.get("all"), {});
    }
  }),
];
