// History suite: ranges. limit and offset count from the start, last from the end; after is by seq and since by time.
import assert from "node:assert/strict";
import type { History } from "../../contracts/history.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { Message } from "../../contracts/messages.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";

const scope = { session: "chat", agent: "helper" };

/** Ten of ours, m0 to m9, the odd ones in run r1, with one of another agent's after each. */
async function tenMessages(history: History): Promise<readonly Message[]> {
  for (const n of range(10)) {
    await history.append(scope, { role: "user", content: `m${n}` }, n % 2 === 1 ? { run: "r1" } : {});
    await history.append({ ...scope, agent: "other" }, { role: "user", content: `other ${n}` });
  }
  return history.get(scope);
}

export const historyRangeCases: readonly Case[] = [
  prove("HI1 limit and offset count from the start", ["history"], async ({ history }) => {
    const all = await tenMessages(history);
    assert.equal(all.length, 10);
    assert.deepEqual(await history.get(scope, { limit: 3 }), all.slice(0, 3));
    assert.deepEqual(await history.get(scope, { limit: 3, offset: 4 }), all.slice(4, 7));
    assert.deepEqual(await history.get(scope, { offset: 8 }), all.slice(8));
    assert.deepEqual(await history.get(scope, { offset: 10 }), []);
    assert.deepEqual(await history.get(scope, { limit: 100 }), all);
  }),

  prove("HI1 last counts from the end and is still oldest first", ["history"], async ({ history }) => {
    const all = await tenMessages(history);
    assert.deepEqual(await history.get(scope, { last: 3 }), all.slice(-3));
    assert.deepEqual(await history.get(scope, { last: 100 }), all);
  }),

  prove("HI1 after gives only messages with a greater seq", ["history"], async ({ history }) => {
    const all = await tenMessages(history);
    const after = present(all[3]).seq;
    assert.deepEqual(await history.get(scope, { after }), all.slice(4));
    assert.deepEqual(await history.get(scope, { after, limit: 2 }), all.slice(4, 6));
    assert.deepEqual(await history.get(scope, { after, limit: 2, offset: 1 }), all.slice(5, 7));
    assert.deepEqual(await history.get(scope, { after, last: 2 }), all.slice(-2));
    assert.deepEqual(await history.get(scope, { after, last: 100 }), all.slice(4));
    assert.deepEqual(await history.get(scope, { after: 0 }), all);
    assert.deepEqual(await history.get(scope, { after: present(all[9]).seq }), []);
  }),

  prove("HI1 run narrows every kind of range", ["history"], async ({ history }) => {
    const all = await tenMessages(history);
    const mine = all.filter(({ run }) => run === "r1");
    assert.equal(mine.length, 5);
    assert.deepEqual(await history.get(scope, { run: "r1" }), mine);
    assert.deepEqual(await history.get(scope, { run: "r1", limit: 2, offset: 1 }), mine.slice(1, 3));
    assert.deepEqual(await history.get(scope, { run: "r1", last: 2 }), mine.slice(-2));
    assert.deepEqual(await history.get(scope, { run: "r1", after: present(mine[1]).seq }), mine.slice(2));
    assert.deepEqual(await history.get(scope, { run: "unknown" }), []);
    assert.equal(await history.count(scope), 10);
    assert.equal(await history.count(scope, { run: "r1" }), 5);
    assert.equal(await history.count(scope, { run: "unknown" }), 0);
  }),

  prove("HI1 since gives what was recorded then or later", ["history", "clock"], async ({ history, clock }) => {
    const written: Message[] = [];
    for (const n of range(4)) {
      written.push(await history.append(scope, { role: "user", content: `m${n}` }));
      await clock.advance(60_000);
    }
    const since = present(written[2]).at;
    assert.deepEqual(await history.get(scope, { since }), written.slice(2));
    assert.deepEqual(await history.get(scope, { since: since + 1 }), written.slice(3));
    assert.deepEqual(await history.get(scope, { since, limit: 1 }), written.slice(2, 3));
    assert.deepEqual(await history.get(scope, { since, last: 1 }), written.slice(3));
    assert.deepEqual(await history.get(scope, { since: clock.now() + 1 }), []);
    assert.deepEqual(await history.get(scope, { since: 0 }), written);
  }),

  prove("ST3 messages are ordered by seq also when the clock goes back", ["history", "clock"], async (nouns) => {
    const { history, clock } = nouns;
    await history.append(scope, { role: "user", content: "m0" });
    clock.jump(-3_600_000);
    await history.append(scope, { role: "user", content: "m1" });
    const read = await history.get(scope);
    assert.deepEqual(
      read.map(({ content }) => content),
      [[{ type: "text", text: "m0" }], [{ type: "text", text: "m1" }]],
    );
    assert.deepEqual(await history.byAgent("helper"), read);
    assert.deepEqual(await history.session("chat", { last: 1 }), read.slice(1));
  }),

  prove("HI1 last together with limit or offset is refused", ["history"], async ({ history }) => {
    await refuses("InvalidArgument", () => history.get(scope, { last: 1, limit: 1 }));
    await refuses("InvalidArgument", () => history.get(scope, { last: 1, offset: 1 }));
    await refuses("InvalidArgument", () => history.session("chat", { last: 1, limit: 1 }));
  }),

  prove("ST8 a range over the limit is refused", ["history"], async ({ history }) => {
    const limit = LIMITS.historyPage + 1;
    await refuses("LimitExceeded", () => history.get(scope, { limit }));
    await refuses("LimitExceeded", () => history.get(scope, { last: limit }));
    await refuses("LimitExceeded", () => history.session("chat", { limit }));
    await refuses("LimitExceeded", () => history.byAgent("helper", { limit }));
  }),

  prove("HI1 session gives all agents in seq order, in every range", ["history"], async ({ history }) => {
    await tenMessages(history);
    const all = await history.session("chat");
    assert.equal(all.length, 20);
    assert.deepEqual(
      all.map(({ agent }) => agent),
      range(20).map((n) => (n % 2 === 0 ? "helper" : "other")),
    );
    const seqs = all.map(({ seq }) => seq);
    assert.deepEqual(
      seqs,
      seqs.toSorted((a, b) => a - b),
    );
    assert.deepEqual(await history.session("chat", { limit: 3, offset: 2 }), all.slice(2, 5));
    assert.deepEqual(await history.session("chat", { last: 3 }), all.slice(-3));
    assert.deepEqual(await history.session("chat", { after: present(all[4]).seq, limit: 4 }), all.slice(5, 9));
    assert.deepEqual(
      await history.session("chat", { run: "r1" }),
      all.filter(({ run }) => run === "r1"),
    );
  }),

  prove("HI1 byAgent gives the latest across sessions, oldest first", ["history"], async ({ history }) => {
    const mine: Message[] = [];
    for (const n of range(9)) {
      mine.push(await history.append({ session: `s${n % 3}`, agent: "helper" }, { role: "user", content: `${n}` }));
      await history.append({ session: `s${n % 3}`, agent: "other" }, { role: "user", content: `other ${n}` });
    }
    assert.deepEqual(await history.byAgent("helper"), mine);
    assert.deepEqual(await history.byAgent("helper", { limit: 4 }), mine.slice(-4));
    assert.deepEqual(await history.byAgent("nobody"), []);
  }),

  prove("HI1 byAgent by time and number", ["history", "clock"], async ({ history, clock }) => {
    const mine: Message[] = [];
    for (const n of range(5)) {
      mine.push(await history.append({ session: `s${n}`, agent: "helper" }, { role: "user", content: `${n}` }));
      await clock.advance(1_000);
    }
    const since = present(mine[2]).at;
    assert.deepEqual(await history.byAgent("helper", { since }), mine.slice(2));
    assert.deepEqual(await history.byAgent("helper", { since, limit: 2 }), mine.slice(-2));
    assert.deepEqual(await history.byAgent("helper", { until: since }), mine.slice(0, 3));
    assert.deepEqual(await history.byAgent("helper", { until: since, limit: 2 }), mine.slice(1, 3));
    assert.deepEqual(await history.byAgent("helper", { since, until: since }), mine.slice(2, 3));
    assert.deepEqual(await history.byAgent("helper", { since, until: since - 1 }), []);
  }),

  prove("HI1 pages by after give every message once while others append", ["history"], async ({ history }) => {
    await tenMessages(history);
    const seen: Message[] = [];
    for (let after = 0; ; ) {
      const page = await history.get(scope, { after, limit: 3 });
      if (page.length === 0) break;
      seen.push(...page);
      after = present(page.at(-1)).seq;
      if (seen.length < 12) await history.append(scope, { role: "user", content: `late ${seen.length}` });
    }
    assert.deepEqual(seen, await history.get(scope));
    assert.ok(seen.length > 10);
  }),
];
