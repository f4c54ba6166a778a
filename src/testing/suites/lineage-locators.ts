// Locators: what reads a session answers what there was at a head, what writes refuses one, and nothing ignores it.
import assert from "node:assert/strict";
import type { Head } from "../../contracts/lineage.ts";
import { formatLocator } from "../../core/locator.ts";
import { present, refuses } from "../expect.ts";
import { type Case, type Need, type Offers, prove } from "../suite.ts";

const NEEDS = ["history", "state", "log", "trace", "check", "info", "lineage", "archives"] as const satisfies Need[];
type Given = Pick<Offers, (typeof NEEDS)[number]>;

async function say(given: Given, session: string, text: string): Promise<void> {
  await given.history.append({ session, agent: "helper" }, { role: "user", content: text });
}

/** One, two heads, a line that was left, and a fork of the first head. */
async function ground(given: Given): Promise<{ readonly first: Head; readonly left: Head; readonly now: Head }> {
  const { heads, sessions, calls, invocations } = given.lineage;
  await say(given, "chat", "one");
  await calls.add("chat", { type: "leaf", model: "m", inputTokens: 1, outputTokens: 1, costUsd: 1 });
  await given.log.annotate("chat", { early: true });
  const first = await heads.publish("chat");
  await say(given, "chat", "left");
  await calls.add("chat", { type: "leaf", model: "m", inputTokens: 1, outputTokens: 1, costUsd: 10 });
  await invocations.start("chat", { session: { id: "child" } });
  await given.log.annotate("chat", { late: true });
  const left = await heads.publish("chat");
  await sessions.rewind(`chat@${first.id}`);
  await say(given, "chat", "two");
  await calls.add("chat", { type: "root", model: "n", costUsd: 100 });
  const now = await heads.publish("chat");
  await sessions.fork(`chat@${now.id}`, { id: "fork" });
  await calls.add("fork", { type: "root", model: "n", costUsd: 1000 });
  return { first, left, now };
}

const seqs = (events: readonly { readonly seq: number }[]) => events.map(({ seq }) => seq);

export const locatorCases: readonly Case[] = [
  prove("SE1 log and trace at a head show what lies on the line that leads to it", NEEDS, async (given) => {
    const { first, left, now } = await ground(given);
    const { log, trace } = given;
    const whole = seqs(await log.read("chat"));
    const from = (after: number, upTo: number) => whole.filter((seq) => seq > after && seq <= upTo);
    const cases: readonly (readonly [Head, readonly number[]])[] = [
      [first, from(0, first.seq)],
      [left, from(0, left.seq)],
      [now, [...from(0, first.seq), ...from(left.seq, now.seq)]],
    ];
    for (const [head, expected] of cases) {
      const forms = [`chat@${head.id}`, { session: "chat", head: head.id }];
      for (const at of [...forms, formatLocator({ store: given.info.url, session: "chat", head: head.id })]) {
        assert.deepEqual(seqs(await log.read(at)), expected);
        assert.deepEqual(seqs(await trace(at)), expected);
      }
      const at = `chat@${head.id}`;
      assert.deepEqual(seqs(await log.read(at, { after: 2, limit: 3 })), expected.filter((seq) => seq > 2).slice(0, 3));
      assert.deepEqual(seqs(await trace(at, { after: 2, limit: 3 })), expected.filter((seq) => seq > 2).slice(0, 3));
      const types = ["message/added"];
      const messages = await log.read(at, { types });
      assert.deepEqual(seqs(await trace(at, { types })), seqs(messages));
      assert.equal(messages.length, head === first ? 1 : 2);
    }
    const late = present(whole.find((seq) => seq === left.seq - 1));
    assert.deepEqual(await log.note(`chat@${left.id}`, late), { late: true });
    assert.equal(await log.note(`chat@${now.id}`, late), null, "on the line that was left");
    assert.deepEqual(await log.note(`chat@${now.id}`, first.seq - 1), { early: true });
  }),

  prove("SE1 a head is the anchor of its log, and the log is verified to hold it", NEEDS, async (given) => {
    const { first, now } = await ground(given);
    const { log } = given;
    const anchor = await log.anchor(`chat@${first.id}`);
    assert.equal(anchor.seq, first.seq);
    assert.equal((await log.verify("chat", { anchor })).ok, true);
    for (const head of [first, now]) assert.equal((await log.verify(`chat@${head.id}`)).ok, true);
    await refuses("InvalidArgument", () => log.verify(`chat@${first.id}`, { anchor }));
    await refuses("InvalidArgument", () => log.verify(`fork@${first.id}`));
  }),

  prove("SE1 heads, cost and tree at a head tell what leads to it", NEEDS, async (given) => {
    const { first, left, now } = await ground(given);
    const { heads } = given.lineage;
    const { cost, tree } = given.archives;
    const ids = async (at: string, range = {}) => (await heads.list(at, range)).items.map(({ id }) => id);
    assert.deepEqual(await ids("chat"), [first.id, left.id, now.id]);
    assert.deepEqual(await ids(`chat@${now.id}`), [first.id, now.id]);
    assert.deepEqual(await ids(`chat@${left.id}`, { limit: 1 }), [first.id]);
    const { next } = await heads.list(`chat@${left.id}`, { limit: 1 });
    assert.deepEqual(await ids(`chat@${left.id}`, { limit: 1, cursor: next }), [left.id]);

    const forked = await heads.publish("fork");
    const spent = async (at?: string) => (await cost(at)).sessions.map((one) => [one.session, one.total.costUsd]);
    assert.deepEqual(await spent("chat"), [["chat", 111]]);
    assert.deepEqual(await spent(`chat@${first.id}`), [["chat", 1]]);
    assert.deepEqual(await spent(`chat@${left.id}`), [["chat", 11]]);
    assert.deepEqual(await spent(`chat@${now.id}`), [["chat", 101]]);
    assert.deepEqual(await spent(`fork@${forked.id}`), [
      ["chat", 101],
      ["fork", 1000],
    ]);

    const drawn = await tree(`chat@${first.id}`);
    assert.deepEqual(
      drawn.sessions.map(({ id, messages, seq, branches, invocations, head }) => [
        ...[id, messages, seq, head, invocations.length],
        branches.map((branch) => branch.heads.map((one) => one.id)),
      ]),
      [["chat", 1, first.seq, first.id, 0, [[first.id]]]],
    );
    const [then] = (await tree(`chat@${left.id}`)).sessions;
    assert.deepEqual(
      then?.invocations.map(({ callee }) => callee),
      ["child"],
    );
    const line = await tree(`fork@${forked.id}`);
    assert.deepEqual(
      line.sessions.map(({ id }) => id),
      ["fork", "chat"],
    );
    assert.deepEqual(
      line.sessions[1]?.branches.map((branch) => branch.heads.map((one) => one.id)),
      [[first.id], [now.id]],
    );
  }),

  prove("ST7 what is not done at a head says so and what to do, and nothing is written", NEEDS, async (given) => {
    const { first } = await ground(given);
    const { sessions, heads, turns, calls, evals, snapshots, invocations } = given.lineage;
    const { log, history, state } = given;
    const at = `chat@${first.id}`;
    const before = await given.log.anchor("chat");
    const work = () => null;
    const asked: readonly (readonly [string, () => Promise<unknown>])[] = [
      ["sessions.get", () => sessions.get(at)],
      ["sessions.update", () => sessions.update(at, { title: "x" })],
      ["sessions.setAlias", () => sessions.setAlias(at, "name")],
      ["sessions.delete", () => sessions.delete(at)],
      ["heads.publish", () => heads.publish(at)],
      ["heads.compact", () => heads.compact(at, { agent: "helper", summary: "x" })],
      ["turns.begin", () => turns.begin(at)],
      ["calls.start", () => calls.start(at, { type: "leaf" })],
      ["calls.add", () => calls.add(at, { type: "leaf" })],
      ["calls.leaf", () => calls.leaf(at, {}, work)],
      ["calls.leafAll", () => calls.leafAll(at, [{}], work)],
      ["evals.start", () => evals.start(at, { code: "1" })],
      ["evals.add", () => evals.add(at, { code: "1" })],
      ["snapshots.add", () => snapshots.add(at, {})],
      ["invocations.start", () => invocations.start(at)],
      ["invocations.spawn", () => invocations.spawn(at, {}, work)],
      ["invocations.spawnAll", () => invocations.spawnAll(at, [{}], work)],
      ["invocations.attach", () => invocations.attach(at, "fork", { mode: "branch" }, work)],
      ["invocations.attachAll", () => invocations.attachAll(at, [{ at: "fork", mode: "branch" }], work)],
      ["sessions.attach", () => sessions.attach("fork", { caller: at, mode: "branch" })],
      ["log.annotate", () => log.annotate(at, { a: 1 })],
      ["log.tail", async () => log.tail(at)[Symbol.asyncIterator]().next()],
      ["check", () => given.check({ session: at })],
      ["export", async () => given.archives.export(at)[Symbol.asyncIterator]().next()],
      ["history.append", () => history.append({ session: at, agent: "a" }, { role: "user", content: "x" })],
      ["history.appendMany", () => history.appendMany({ session: at, agent: "a" }, [{ role: "user", content: "x" }])],
      ["history.get", () => history.get({ session: at, agent: "a" })],
      ["history.count", () => history.count({ session: at, agent: "a" })],
      ["history.session", () => history.session(at)],
      ["state.get", () => state.get(at)],
      ["state.getKey", () => state.getKey(at, "k")],
      ["state.set", () => state.set(at, {})],
      ["state.patch", () => state.patch(at, {})],
      ["state.compareAndSet", () => state.compareAndSet(at, 0, {})],
    ];
    for (const [name, call] of asked) {
      const error = await refuses("InvalidArgument", call, name);
      assert.match(error.message, /head/, name);
      assert.match(error.hint ?? "", /sessions?\.|[Ff]ork|without the head|log\.read/, name);
    }
    assert.deepEqual(await given.log.anchor("chat"), before);
    assert.equal(await sessions.get({ session: at }), null);
  }),

  prove(
    "SE1 a locator without a head names the session, and so does an id that looks like one",
    NEEDS,
    async (given) => {
      const { sessions, turns, calls, snapshots, heads } = given.lineage;
      const { info, log } = given;
      for (const id of ["plain", "holdfast:x", "holdfast:x#y", `x@hd-${"0".repeat(64)}`, "a b%20"]) {
        await say(given, id, "one");
        const forms = [id, { session: id }, { store: info.storeId, session: id }];
        for (const at of [...forms, formatLocator({ store: info.url, session: id })]) {
          assert.equal((await sessions.get(at))?.id, id);
          assert.equal((await turns.begin(at)).session, id);
          assert.equal((await calls.start(at, { type: "leaf" })).session, id);
          assert.equal((await snapshots.add(at, {})).session, id);
          assert.equal((await heads.publish(at)).session, id);
          assert.equal((await log.annotate(at, {})).session, id);
          assert.equal((await log.read(at)).at(0)?.session, id);
          assert.equal((await sessions.at(at)).session.id, id);
          assert.equal((await given.check({ session: at })).status, "ok");
        }
        await refuses("InvalidArgument", () => turns.begin({ store: "elsewhere", session: id }));
      }
    },
  ),

  prove(
    "SE1 nothing is said to be erased of a session that is named in another way",
    [...NEEDS, "sessions", "tasks"],
    async (given) => {
      const { first } = await ground(given);
      await given.sessions.setAlias("chat", "other name");
      const before = await given.history.session("chat");
      for (const session of ["other name", `chat@${first.id}`]) {
        const scope = { session, agent: "helper" };
        await refuses(["NotFound", "InvalidArgument"], () => given.history.clear(scope));
        await refuses(["NotFound", "InvalidArgument"], () => given.history.clearRun(scope, "run"));
        await refuses(["NotFound", "InvalidArgument"], () => given.state.clear(session));
        await refuses(["NotFound", "InvalidArgument"], () => given.tasks.settle(session, "failed"));
      }
      assert.deepEqual(await given.history.session("chat"), before);
    },
  ),
];
