// Locators: what reads a session answers what there was at a head, what writes refuses one, and nothing ignores it.
import assert from "node:assert/strict";
import type { Head } from "../../contracts/heads.ts";
import { formatLocator } from "../../core/locator.ts";
import { present, range, refuses, texts } from "../expect.ts";
import { type Case, type CaseContext, type ContextName, prove } from "../suite.ts";
import { LOCATOR_LIKE_IDS } from "./locator-like-ids.ts";

const NEEDS = [
  "history",
  "state",
  "log",
  "trace",
  "check",
  "info",
  "lineage",
  "archives",
] as const satisfies ContextName[];
type Nouns = Pick<CaseContext, (typeof NEEDS)[number]>;

async function say(nouns: Nouns, session: string, text: string): Promise<void> {
  await nouns.history.append({ session, agent: "helper" }, { role: "user", content: text });
}

/** One, two heads, a line that was left, and a fork of the first head. */
async function ground(nouns: Nouns): Promise<{ readonly first: Head; readonly left: Head; readonly now: Head }> {
  const { heads, sessions, calls, invocations } = nouns.lineage;
  await say(nouns, "chat", "one");
  await calls.add("chat", { type: "leaf", model: "m", inputTokens: 1, outputTokens: 1, costUsd: 1 });
  await nouns.log.annotate("chat", { early: true });
  const first = await heads.publish("chat");
  await say(nouns, "chat", "left");
  await calls.add("chat", { type: "leaf", model: "m", inputTokens: 1, outputTokens: 1, costUsd: 10 });
  await invocations.start("chat", { session: { id: "child" } });
  await nouns.log.annotate("chat", { late: true });
  const left = await heads.publish("chat");
  await sessions.rewind(`chat@${first.id}`);
  await say(nouns, "chat", "two");
  await calls.add("chat", { type: "root", model: "n", costUsd: 100 });
  const now = await heads.publish("chat");
  await sessions.fork(`chat@${now.id}`, { id: "fork" });
  await calls.add("fork", { type: "root", model: "n", costUsd: 1000 });
  return { first, left, now };
}

const seqs = (events: readonly { readonly seq: number }[]) => events.map(({ seq }) => seq);

export const locatorCases: readonly Case[] = [
  prove("SE1 log and trace at a head show what lies on the line that leads to it", NEEDS, async (nouns) => {
    const { first, left, now } = await ground(nouns);
    const { log, trace } = nouns;
    const whole = seqs(await log.read("chat"));
    const from = (after: number, upTo: number) => whole.filter((seq) => seq > after && seq <= upTo);
    const cases: readonly (readonly [Head, readonly number[]])[] = [
      [first, from(0, first.seq)],
      [left, from(0, left.seq)],
      [now, [...from(0, first.seq), ...from(left.seq, now.seq)]],
    ];
    for (const [head, expected] of cases) {
      const forms = [`chat@${head.id}`, { session: "chat", head: head.id }];
      for (const at of [...forms, formatLocator({ store: nouns.info.url, session: "chat", head: head.id })]) {
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

  prove("SE1 a head is the anchor of its log, and the log is verified to hold it", NEEDS, async (nouns) => {
    const { first, now } = await ground(nouns);
    const { log } = nouns;
    const anchor = await log.anchor(`chat@${first.id}`);
    assert.equal(anchor.seq, first.seq);
    assert.equal((await log.verify("chat", { anchor })).ok, true);
    for (const head of [first, now]) assert.equal((await log.verify(`chat@${head.id}`)).ok, true);
    await refuses("InvalidArgument", () => log.verify(`chat@${first.id}`, { anchor }));
    await refuses("InvalidArgument", () => log.verify(`fork@${first.id}`));
  }),

  prove("SE1 heads, cost and tree at a head tell what leads to it", NEEDS, async (nouns) => {
    const { first, left, now } = await ground(nouns);
    const { heads } = nouns.lineage;
    const { cost, tree } = nouns.archives;
    const ids = async (at: string, range = {}) => (await heads.list(at, range)).items.map(({ id }) => id);
    assert.deepEqual(await ids("chat"), [now.id, left.id, first.id]);
    assert.deepEqual(await ids("chat", { order: "oldest" }), [first.id, left.id, now.id]);
    assert.deepEqual(await ids(`chat@${now.id}`), [now.id, first.id]);
    for (const [order, line] of [
      ["newest", [left.id, first.id]],
      ["oldest", [first.id, left.id]],
    ] as const) {
      for (const at of ["chat", `chat@${left.id}`]) {
        const whole = at === "chat" ? (await heads.list(at, { order })).items.map(({ id }) => id) : line;
        const { items, next } = await heads.list(at, { limit: 1, order });
        assert.deepEqual([items[0]?.id, ...(await ids(at, { order, cursor: next }))], whole, `${at}, ${order}`);
      }
    }
    await refuses("InvalidArgument", () => heads.list("chat", { order: "sideways" as never }));

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
        id,
        messages,
        seq,
        head,
        invocations.length,
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

  prove("ST7 what is not done at a head says so and what to do, and nothing is written", NEEDS, async (nouns) => {
    const { first } = await ground(nouns);
    const { sessions, heads, turns, calls, evals, snapshots, invocations } = nouns.lineage;
    const { log, history, state } = nouns;
    const at = `chat@${first.id}`;
    const before = await nouns.log.anchor("chat");
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
      ["check", () => nouns.check({ session: at })],
      ["export", async () => nouns.archives.export(at)[Symbol.asyncIterator]().next()],
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
    assert.deepEqual(await nouns.log.anchor("chat"), before);
    assert.equal(await sessions.get({ session: at }), null);
  }),

  prove(
    "SE1 a locator without a head names the session, and so does an id that looks like one",
    NEEDS,
    async (nouns) => {
      const { sessions, turns, calls, snapshots, heads } = nouns.lineage;
      const { info, log } = nouns;
      const ids = ["plain", "a b%20"];
      for (const id of ids) await sessions.create({ id });
      for (const [id, archive] of LOCATOR_LIKE_IDS) {
        await nouns.archives.import([Buffer.from(archive, "base64")]);
        ids.push(id);
      }
      for (const id of ids) {
        await say(nouns, id, "one");
        assert.equal((await nouns.history.session(id)).at(-1)?.session, id);
        await nouns.state.set(id, { a: 1 });
        assert.deepEqual(await nouns.state.get(id), { a: 1 });
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
          assert.equal((await nouns.check({ session: at })).status, "ok");
        }
        await refuses("InvalidArgument", () => turns.begin({ store: "elsewhere", session: id }));
      }
    },
  ),

  prove(
    "SE1 history, state and boards take a text that names a session, and make none that is called so",
    [...NEEDS, "sessions", "tasks"],
    async (nouns) => {
      const { history, state, tasks, info } = nouns;
      await say(nouns, "chat", "one");
      for (const text of ["holdfast:#chat", formatLocator({ store: info.storeId, session: "chat" })]) {
        const scope = { session: text, agent: "helper" };
        const [added] = await history.appendMany(scope, [{ role: "user", content: "two" }]);
        assert.equal(added?.session, "chat");
        assert.equal((await history.append(scope, { role: "user", content: "three" })).session, "chat");
        assert.deepEqual(await history.get(scope), await history.get({ ...scope, session: "chat" }));
        assert.deepEqual(await history.session(text), await history.session("chat"));
        assert.equal(await history.count(scope), await history.count({ ...scope, session: "chat" }));
        await state.set(text, { a: 1 });
        await state.patch(text, { b: 2 });
        const { version } = await state.getVersioned(text);
        await state.compareAndSet(text, version, { c: 3 });
        assert.deepEqual([await state.get(text), await state.get("chat")], [{ c: 3 }, { c: 3 }]);
        assert.equal(await state.getKey(text, "c"), 3);
        const board = await tasks.create(text, ["do it"], { agent: text });
        assert.equal(board.session, "chat");
        assert.equal((await tasks.boards(text)).length, (await tasks.boards("chat")).length);
        assert.notEqual(await tasks.root(text), null);
        assert.equal(await tasks.settle(text, "failed"), 0);
        await state.clear(text);
        assert.deepEqual(await state.get("chat"), {});
      }
      assert.notEqual((await history.clearRun({ session: "holdfast:#chat", agent: "helper" }, "r")).removed, undefined);
      assert.equal((await history.clear({ session: "holdfast:#chat", agent: "helper" })).removed.messages, 5);
      for (const session of ["holdfast:chat", "holdfast:elsewhere#chat", `chat@hd-${"0".repeat(64)}`, "chat@hd-0000"]) {
        const scope = { session, agent: "helper" };
        await refuses(["InvalidArgument", "NotFound"], () => history.append(scope, { role: "user", content: "x" }));
        await refuses(["InvalidArgument", "NotFound"], () => history.get(scope));
        await refuses(["InvalidArgument", "NotFound"], () => state.set(session, {}));
        await refuses(["InvalidArgument", "NotFound"], () => tasks.create(session, ["x"]));
        assert.equal(await nouns.sessions.get({ session }), null);
      }
    },
  ),

  prove(
    "SE1 no verb creates a session or an alias with a name that reads like a locator",
    [...NEEDS, "sessions", "tasks"],
    async (nouns) => {
      const { history, state, tasks } = nouns;
      const { sessions, invocations, heads } = nouns.lineage;
      await say(nouns, "s", "one");
      const { id: head } = await heads.publish("s");
      const names = [
        "s@hd-abc",
        "s@hd-",
        "s@hd-ABCD1234",
        "s@HD-abcd",
        `s@hd-${"0".repeat(65)}`,
        "s@hd-aaaa ",
        "s@hd-…",
        `s@${head}...`,
        `s@${head.toUpperCase()}`,
        `x s@${head} y`,
        "Holdfast:#s",
        "HOLDFAST:x",
        "holdFast:",
      ];
      const before = (await sessions.list()).items.map(({ id }) => id);
      for (const name of names) {
        const scope = { session: name, agent: "helper" };
        const makers: readonly (() => Promise<unknown>)[] = [
          () => sessions.create({ id: name }),
          () => sessions.fork("s", { id: name }),
          () => sessions.attach("s", { caller: "s", mode: "branch", session: { id: name } }),
          () => invocations.start("s", { session: { id: name } }),
          () => sessions.setAlias("s", name),
          () => history.append(scope, { role: "user", content: "x" }),
          () => history.append(scope, { role: "user", content: "x", key: "k" }),
          () => history.appendMany(scope, [{ role: "user", content: "x".repeat(5000) }]),
          () => state.set(name, { a: 1 }),
          () => state.patch(name, { a: 1 }),
          () => state.compareAndSet(name, 0, { a: 1 }),
          () => tasks.create(name, ["x"]),
        ];
        for (const [i, make] of makers.entries()) {
          const error = await refuses("InvalidId", make, `${name} by ${i}`);
          assert.match(error.hint ?? "", /SESSION@HEAD/);
        }
      }
      for (const name of ["holdfast:x", "holdfast:#s", `s@${head}`]) {
        await refuses("InvalidId", () => sessions.create({ id: name }));
        await refuses("InvalidId", () => sessions.fork("s", { id: name }));
        await refuses("InvalidId", () => sessions.setAlias("s", name));
      }
      assert.deepEqual(
        (await sessions.list()).items.map(({ id }) => id),
        before,
      );
      assert.deepEqual((await sessions.get("s"))?.aliases, []);
      for (const name of ["s@abc", "ada@hd.example", "my holdfast:x", "@", "hd-abcd"]) await say(nouns, name, "fine");
    },
  ),

  prove(
    "SE1 a locator names a session that is there: one that is not is NotFound, and is not made",
    [...NEEDS, "sessions", "tasks"],
    async (nouns) => {
      const { history, state, tasks, info } = nouns;
      for (const session of ["holdfast:#nobody", formatLocator({ store: info.storeId, session: "nobody" })]) {
        const scope = { session, agent: "helper" };
        await refuses("NotFound", () => history.append(scope, { role: "user", content: "x" }));
        await refuses("NotFound", () => history.session(session));
        await refuses("NotFound", () => state.set(session, {}));
        await refuses("NotFound", () => state.get(session));
        await refuses("NotFound", () => tasks.create(session, ["x"]));
        await refuses("NotFound", () => tasks.root(session));
      }
      assert.equal(await nouns.sessions.get("nobody"), null);
      assert.deepEqual(await history.session("nobody"), []);
      await say(nouns, "nobody", "by its id it is made");
      await say(nouns, "holdfast:#nobody", "and now it is there");
      assert.equal((await history.session("nobody")).length, 2);
    },
  ),

  prove("HI1 messages come in the order of the calls, however their session is named", NEEDS, async (nouns) => {
    await say(nouns, "chat", "first");
    const names = range(40).map((n) => (n % 3 === 0 ? "holdfast:#chat" : "chat"));
    await Promise.all(names.map((session, n) => say(nouns, session, `${n}`)));
    const said = (await nouns.history.session("chat")).map(({ content: [block] }) =>
      block?.type === "text" ? block.text : "?",
    );
    assert.deepEqual(said, ["first", ...range(40).map(String)]);
  }),

  prove("SE1 the beginning of a head's id names it, unless another of the session begins so", NEEDS, async (nouns) => {
    const { sessions, heads } = nouns.lineage;
    const { first, now } = await ground(nouns);
    for (const digits of [7, 12, 66]) {
      const head = first.id.slice(0, digits);
      for (const at of [`chat@${head}`, `holdfast:#chat@${head}`, `chat@${head}…`, { session: "chat", head }]) {
        assert.equal((await sessions.at(at)).head?.id, first.id);
        assert.equal((await heads.current(at))?.id, first.id);
      }
      await refuses("InvalidArgument", () => say(nouns, `chat@${head}`, "x"));
      await refuses("InvalidArgument", () => heads.publish(`chat@${head}`));
    }
    assert.equal((await sessions.rewind(`chat@${first.id.slice(0, 9)}`)).head?.id, first.id);
    assert.equal((await sessions.fork(`chat@${now.id.slice(0, 9)}`, { id: "again" })).id, "again");
    await refuses("NotFound", () => sessions.at("chat@hd-0000"));
    await refuses("NotFound", () => sessions.at("chat@hd-000"), "too short to be a head");
    await refuses("NotFound", () => sessions.at(`nobody@${first.id.slice(0, 9)}`));
    await refuses("InvalidArgument", () => sessions.at({ session: "chat", head: "hd-000" }));
    // Among so many, two begin with the same four digits.
    const ids = new Map<string, string[]>();
    await sessions.create({ id: "many" });
    let twins: readonly string[] = [];
    for (let n = 0; twins.length < 2 && n < 2000; n++) {
      const { id } = await heads.publish("many");
      twins = [...(ids.get(id.slice(0, 7)) ?? []), id];
      ids.set(id.slice(0, 7), [...twins]);
    }
    const error = await refuses("InvalidArgument", () => sessions.at(`many@${twins[0]?.slice(0, 7)}`));
    assert.deepEqual(error.details.heads, twins.toSorted());
  }),

  prove(
    "SE1 nothing is said to be erased of a session that is named in another way",
    [...NEEDS, "sessions", "tasks"],
    async (nouns) => {
      const { first } = await ground(nouns);
      await nouns.sessions.setAlias("chat", "other name");
      const before = await nouns.history.session("chat");
      for (const session of ["other name", `chat@${first.id}`]) {
        const scope = { session, agent: "helper" };
        await refuses(["NotFound", "InvalidArgument"], () => nouns.history.clear(scope));
        await refuses(["NotFound", "InvalidArgument"], () => nouns.history.clearRun(scope, "run"));
        await refuses(["NotFound", "InvalidArgument"], () => nouns.state.clear(session));
        await refuses(["NotFound", "InvalidArgument"], () => nouns.tasks.settle(session, "failed"));
      }
      assert.deepEqual(await nouns.history.session("chat"), before);
    },
  ),

  prove(
    "SE1 what goes with a locator is what it was at the call, however long that is looked up",
    NEEDS,
    async (nouns) => {
      await say(nouns, "chat", "first");
      await nouns.state.set("chat", {});
      const session = "holdfast:#chat";
      const message = { role: "user" as const, content: [{ type: "text" as const, text: "as it was" }] };
      const value = { list: [1] };
      const calls = [
        nouns.history.append({ session, agent: "helper" }, message),
        nouns.state.set(session, value),
      ] as const;
      for (const block of message.content) block.text = "as it became";
      value.list.push(2);
      await Promise.all(calls);
      assert.deepEqual(texts(await nouns.history.session("chat")), ["first", "as it was"]);
      assert.deepEqual(await nouns.state.get("chat"), { list: [1] });
    },
  ),

  prove("SE1 a locator is read when the call is made, also if the object changes later", NEEDS, async (nouns) => {
    const message = { role: "user", content: "stays" } as const;
    for (const session of ["meant", "other"]) {
      await nouns.history.append({ session, agent: "helper" }, message);
      await nouns.state.set(session, { n: 0 });
    }
    const [ofState, ofHistory] = [{ session: "meant" }, { session: "meant" }];
    const changes = [
      nouns.state.set(ofState, { n: 1 }),
      nouns.history.clear({ session: ofHistory, agent: "helper" }),
    ] as const;
    for (const locator of [ofState, ofHistory]) locator.session = "other";
    await Promise.all(changes);
    const left = async (session: string) => [
      (await nouns.history.session(session)).length,
      await nouns.state.get(session),
    ];
    assert.deepEqual(
      [await left("meant"), await left("other")],
      [
        [0, { n: 1 }],
        [1, { n: 0 }],
      ],
    );
  }),
];
