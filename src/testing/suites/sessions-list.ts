// Sessions suite: lists. Newest first, by page, narrowed by filters; pages stay true while sessions come and go.
import assert from "node:assert/strict";
import { LIMITS } from "../../contracts/limits.ts";
import type { Session, SessionFilter } from "../../contracts/session.ts";
import type { SessionBasics } from "../../contracts/sessions.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";

async function pages(
  sessions: SessionBasics,
  filter: SessionFilter,
  between?: () => Promise<unknown>,
): Promise<Session[]> {
  const all: Session[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await sessions.list(cursor === undefined ? filter : { ...filter, cursor });
    assert.ok(filter.limit === undefined || page.items.length <= filter.limit, "a page holds at most its limit");
    all.push(...page.items);
    if (page.next === null) return all;
    cursor = page.next;
    await between?.();
  }
}

const ids = (sessions: readonly Session[]) => sessions.map(({ id }) => id);

async function listed(sessions: SessionBasics, filter: SessionFilter): Promise<string[]> {
  return ids((await sessions.list(filter)).items);
}

export const sessionListCases: readonly Case[] = [
  prove("ST11 a list of nothing is empty", ["sessions"], async ({ sessions }) => {
    assert.deepEqual(await sessions.list(), { items: [], next: null });
    assert.deepEqual(await sessions.list({ limit: 1 }), { items: [], next: null });
  }),

  prove("ST11 sessions are listed newest first, as get gives them", ["sessions"], async ({ sessions }) => {
    for (const n of range(5)) await sessions.create({ id: `s${n}`, tags: [`t${n}`], metadata: { n } });
    await sessions.setAlias("s3", "name");
    const { items, next } = await sessions.list();
    assert.deepEqual(ids(items), ["s4", "s3", "s2", "s1", "s0"]);
    assert.equal(next, null);
    for (const item of items) assert.deepEqual(item, await sessions.get(item.id));
  }),

  prove(
    "ST3 the newest session is the last created one, also if the clock went back",
    ["sessions", "clock"],
    async ({ sessions, clock }) => {
      await sessions.create({ id: "first" });
      clock.jump(-3_600_000);
      await sessions.create({ id: "second" });
      await sessions.update("first", { title: "changed" });
      assert.deepEqual(await listed(sessions, {}), ["second", "first"]);
    },
  ),

  prove("ST8 pages give every session once, in order", ["sessions"], async ({ sessions }) => {
    for (const n of range(23)) await sessions.create({ id: `s${n}` });
    const all = range(23).map((n) => `s${22 - n}`);
    for (const limit of [1, 2, 7, 22, 23, 24]) assert.deepEqual(ids(await pages(sessions, { limit })), all);
    const exact = await sessions.list({ limit: 23 });
    assert.equal(exact.next, null, "there is no page after the last session");
  }),

  prove("ST11 pages stay true while sessions are created and changed", ["sessions"], async ({ sessions }) => {
    for (const n of range(20)) await sessions.create({ id: `s${n}` });
    let late = 0;
    const seen = await pages(sessions, { limit: 3 }, async () => {
      await sessions.create({ id: `late${late++}` });
      await sessions.update("s0", { title: `${late}` });
    });
    assert.ok(late > 5);
    assert.deepEqual(
      ids(seen),
      range(20).map((n) => `s${19 - n}`),
    );
  }),

  prove("ST11 pages stay true while sessions are deleted", ["sessions"], async ({ sessions }) => {
    for (const n of range(12)) await sessions.create({ id: `s${n}` });
    const { items, next } = await sessions.list({ limit: 4 });
    await sessions.delete(present(items[3]).id);
    await sessions.delete("s7");
    await sessions.delete("s2");
    const rest = await pages(sessions, { limit: 2, cursor: present(next) });
    assert.deepEqual(ids(rest), ["s6", "s5", "s4", "s3", "s1", "s0"]);
  }),

  prove("ST10 filters narrow, alone and together", ["sessions"], async ({ sessions }) => {
    await sessions.create({ id: "s0", agent: "a", tags: ["x", "y"], request: "r1" });
    await sessions.create({ id: "s1", agent: "b", tags: ["x"], request: "r1" });
    await sessions.create({ id: "s2", agent: "a", tags: ["y"], request: "r2" });
    await sessions.create({ id: "s3" });
    await sessions.update("s2", { status: "closed" });
    assert.deepEqual(await listed(sessions, { agent: "a" }), ["s2", "s0"]);
    assert.deepEqual(await listed(sessions, { tag: "x" }), ["s1", "s0"]);
    assert.deepEqual(await listed(sessions, { request: "r1" }), ["s1", "s0"]);
    assert.deepEqual(await listed(sessions, { status: "closed" }), ["s2"]);
    assert.deepEqual(await listed(sessions, { status: "open" }), ["s3", "s1", "s0"]);
    assert.deepEqual(await listed(sessions, { agent: "a", tag: "x" }), ["s0"]);
    assert.deepEqual(await listed(sessions, { agent: "b", request: "r1", tag: "x" }), ["s1"]);
    assert.deepEqual(await listed(sessions, { agent: "a", status: "open" }), ["s0"]);
    assert.deepEqual(await listed(sessions, { tag: "y", status: "closed", request: "r2" }), ["s2"]);
    for (const filter of [{ agent: "A" }, { tag: "" + "X" }, { request: "r" }]) {
      assert.deepEqual(await listed(sessions, filter), [], "names are compared as they are");
    }
  }),

  prove("ST10 filtered lists have pages too", ["sessions"], async ({ sessions }) => {
    for (const n of range(30)) {
      await sessions.create({ id: `s${n}`, agent: n % 2 === 0 ? "even" : "odd", tags: [`m${n % 3}`] });
    }
    const expected = range(30)
      .filter((n) => n % 2 === 0 && n % 3 === 0)
      .map((n) => `s${n}`)
      .toReversed();
    for (const limit of [1, 2, 100]) {
      assert.deepEqual(ids(await pages(sessions, { agent: "even", tag: "m0", limit })), expected);
    }
  }),

  prove("ST10 tags are found as they are now", ["sessions"], async ({ sessions }) => {
    await sessions.create({ id: "s0", tags: ["old", "kept"] });
    await sessions.update("s0", { tags: ["kept", "new"] });
    assert.deepEqual(await listed(sessions, { tag: "old" }), []);
    assert.deepEqual(await listed(sessions, { tag: "kept" }), ["s0"]);
    assert.deepEqual(await listed(sessions, { tag: "new" }), ["s0"]);
  }),

  prove("ST10 createdAfter and createdBefore narrow by time", ["sessions", "clock"], async ({ sessions, clock }) => {
    const marks: number[] = [];
    for (const n of range(4)) {
      await sessions.create({ id: `s${n}` });
      await clock.advance(30_000);
      marks.push(clock.now());
      await clock.advance(30_000);
    }
    const createdAfter = present(marks[0]);
    const createdBefore = present(marks[2]);
    assert.deepEqual(await listed(sessions, { createdAfter }), ["s3", "s2", "s1"]);
    assert.deepEqual(await listed(sessions, { createdBefore }), ["s2", "s1", "s0"]);
    assert.deepEqual(await listed(sessions, { createdAfter, createdBefore }), ["s2", "s1"]);
  }),

  prove("ST8 a page over the limit, and a cursor that is none, are refused", ["sessions"], async ({ sessions }) => {
    await refuses("LimitExceeded", () => sessions.list({ limit: LIMITS.page + 1 }));
    for (const cursor of ["", "x", "' OR 1=1", "-1", "9".repeat(40), "\u0000", "null"]) {
      await refuses("InvalidArgument", () => sessions.list({ cursor }), `cursor ${JSON.stringify(cursor)}`);
    }
  }),
];
