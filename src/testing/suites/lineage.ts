// The suite of sessions as a graph: heads, turns, fork, resume, rewind, and what there was at each head.
import assert from "node:assert/strict";
import type { MessageAt } from "../../contracts/lineage.ts";
import type { Message } from "../../contracts/messages.ts";
import { present, range, refuses } from "../expect.ts";
import { scaled } from "../scale.ts";
import { type Case, type CaseContext, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { busyCases } from "./lineage-busy.ts";
import { compactCases } from "./lineage-compact.ts";
import { contextCases } from "./lineage-context.ts";
import { hidingCases } from "./lineage-hiding.ts";
import { invocationCases } from "./lineage-invocations.ts";
import { leafCases } from "./lineage-leaf.ts";
import { locatorCases } from "./lineage-locators.ts";

export function runLineageSuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  const cases = [...headCases, ...turnCases, ...branchCases, ...forkCases, ...stateCases, ...rowCases, ...hostileCases];
  runCases(
    `lineage: ${name}`,
    [
      ...cases,
      ...hidingCases,
      ...invocationCases,
      ...leafCases,
      ...contextCases,
      ...compactCases,
      ...busyCases,
      ...locatorCases,
    ],
    make,
    options,
  );
}

const NEEDS = ["lineage", "sessions", "history", "state", "log"] as const;
type Nouns = Pick<CaseContext, (typeof NEEDS)[number]>;

const AGENT = "ada";
const textOf = (message: Message | MessageAt): string => {
  if ("erased" in message) return "(erased)";
  const [block] = message.content;
  return block?.type === "text" ? block.text : "?";
};
const texts = (messages: readonly (Message | MessageAt)[]) => messages.map(textOf);

async function say({ history }: Nouns, session: string, ...words: readonly string[]): Promise<readonly Message[]> {
  const scope = { session, agent: AGENT };
  return history.appendMany(
    scope,
    words.map((content) => ({ role: "user" as const, content })),
  );
}

async function shown({ history }: Nouns, session: string): Promise<readonly string[]> {
  return texts(await history.session(session));
}

async function shownAt({ lineage }: Nouns, at: string): Promise<readonly string[]> {
  const view = await lineage.sessions.at(at);
  return texts(await view.messages());
}

const headCases: readonly Case[] = [
  prove(
    "SE1 a head is a position that never changes, and its id commits to what is before it",
    NEEDS,
    async (given) => {
      const { heads } = given.lineage;
      await say(given, "chat", "one");
      assert.equal(await heads.current("chat"), null);
      const first = await heads.publish("chat", { final: { answer: 1 }, finalSummary: "one", fingerprint: "f" });
      await say(given, "chat", "two");
      const second = await heads.publish("chat", { expect: first.id });
      assert.equal(second.basis, first.id);
      assert.notEqual(second.id, first.id);
      assert.deepEqual(await heads.get(first.id), first);
      assert.deepEqual(await heads.current("chat"), second);
      assert.deepEqual(await heads.current(`chat@${first.id}`), first);
      assert.deepEqual((await heads.list("chat")).items, [second, first]);
      assert.deepEqual([first.counts.messages, second.counts.messages], [1, 2]);
      assert.deepEqual(await shownAt(given, `chat@${first.id}`), ["one"]);
      assert.deepEqual(await shownAt(given, `chat@${second.id}`), ["one", "two"]);
      assert.equal((await given.sessions.get("chat"))?.head, second.id);
      assert.equal((await given.log.verify("chat")).ok, true);
    },
  ),

  prove("SE1 the current head moves by compare-and-set", NEEDS, async (given) => {
    const { heads } = given.lineage;
    await say(given, "chat", "one");
    await refuses("Conflict", () => heads.publish("chat", { expect: `hd-${"0".repeat(64)}` }));
    const first = await heads.publish("chat", { expect: null });
    await refuses("Conflict", () => heads.publish("chat", { expect: null }));
    const races = await Promise.allSettled(range(5).map(() => heads.publish("chat", { expect: first.id })));
    assert.equal(races.filter(({ status }) => status === "fulfilled").length, 1);
    assert.equal((await heads.list("chat")).items.length, 2);
  }),

  prove("SE6 compaction is an ordinary head; older heads still show the full transcript", NEEDS, async (given) => {
    const { heads } = given.lineage;
    await say(given, "chat", "a", "b", "c", "d");
    const before = await heads.publish("chat");
    const messages = await given.history.session("chat");
    const head = await heads.compact("chat", { agent: AGENT, summary: "a and b and c", keep: 1 });
    assert.equal(head.compaction?.upTo, messages[2]?.id);
    assert.equal(head.basis, before.id);
    assert.deepEqual(await shownAt(given, `chat@${before.id}`), ["a", "b", "c", "d"]);
    assert.deepEqual(await shown(given, "chat"), ["a", "b", "c", "d", "a and b and c"]);
    const later = await heads.publish("chat");
    assert.deepEqual(later.compaction, head.compaction, "it holds until the next one");
    await refuses("InvalidArgument", () => heads.compact("chat", { agent: AGENT, summary: "s", keep: 5 }));
  }),

  prove(
    "LG6 what is cleared shows at older heads that it was there, and is gone from later ones",
    NEEDS,
    async (given) => {
      const { heads } = given.lineage;
      await say(given, "chat", "secret", "other");
      const before = await heads.publish("chat");
      await given.history.clear({ session: "chat", agent: AGENT });
      await say(given, "chat", "after");
      const after = await heads.publish("chat");
      assert.deepEqual(await shownAt(given, `chat@${before.id}`), ["(erased)", "(erased)"]);
      assert.deepEqual(await shownAt(given, `chat@${after.id}`), ["after"]);
      assert.deepEqual(await shown(given, "chat"), ["after"]);
      assert.equal((await given.log.verify("chat")).ok, true);
    },
  ),
];

const turnCases: readonly Case[] = [
  prove(
    "SE12 finishing a turn stores final value and variables, publishes a head and does not end the session",
    NEEDS,
    async (given) => {
      const { turns, snapshots, heads } = given.lineage;
      await given.sessions.create({ id: "chat" });
      const turn = await turns.begin("chat", { agent: AGENT, run: "r1" });
      await say(given, "chat", "question");
      assert.deepEqual(await (await given.lineage.sessions.at("chat")).turns(), [turn], "visible in mid-turn");
      const head = await turns.finish(turn.id, {
        final: [1, 2],
        vars: { x: 1 },
        fingerprint: "f",
        finalSummary: "done",
      });
      assert.equal(head.turn, turn.id);
      assert.equal(head.finalSummary, "done");
      assert.deepEqual(await snapshots.vars(present(head.snapshot)), { x: 1 });
      assert.deepEqual((await heads.current("chat"))?.id, head.id);
      const [done] = await (await given.lineage.sessions.at(`chat@${head.id}`)).turns();
      assert.equal(done?.status, "done");
      assert.deepEqual([head.counts.turns, head.counts.snapshots, head.counts.messages], [1, 1, 1]);
      await refuses("InvalidTransition", () => turns.finish(turn.id));
      await say(given, "chat", "it goes on");
    },
  ),

  prove("SE5 an aborted turn publishes an aborted head that is reached by its id only", NEEDS, async (given) => {
    const { turns, heads } = given.lineage;
    await say(given, "chat", "kept");
    const basis = await heads.publish("chat");
    const turn = await turns.begin("chat");
    await say(given, "chat", "half");
    const aborted = await turns.abort(turn.id, { final: "nothing" });
    assert.equal(aborted.status, "aborted");
    assert.match((await refuses("InvalidTransition", () => turns.finish(turn.id))).message, /was aborted/);
    assert.deepEqual(await shown(given, "chat"), ["kept"]);
    assert.deepEqual(await shownAt(given, `chat@${aborted.id}`), ["kept", "half"]);
    assert.equal((await heads.current("chat"))?.id, basis.id);
    await say(given, "chat", "anew");
    const next = await heads.publish("chat");
    assert.equal(next.basis, basis.id);
    assert.deepEqual(await shownAt(given, `chat@${next.id}`), ["kept", "anew"]);
    assert.equal((await given.log.verify("chat")).ok, true);
  }),

  prove(
    "SE5 an aborted turn takes nothing from what came before it, published or not",
    [...NEEDS, "state"],
    async (given) => {
      const { heads, turns } = given.lineage;
      await say(given, "chat", "published");
      const early = await heads.publish("chat");
      await say(given, "chat", "left");
      await heads.publish("chat");
      await given.lineage.sessions.resume(`chat@${early.id}`);
      await say(given, "chat", "asked");
      await given.state.set("chat", { asked: true });
      const turn = await turns.begin("chat");
      await say(given, "chat", "half");
      await given.state.set("chat", { asked: false });
      await turns.abort(turn.id);
      assert.deepEqual(await shown(given, "chat"), ["published", "asked"]);
      assert.deepEqual(await given.state.get("chat"), { asked: true });
      const head = await heads.publish("chat");
      assert.equal(head.basis, early.id);
      assert.equal(head.counts.messages, 2);
    },
  ),

  prove(
    "SE5 a turn that is aborted behind a head of its own is aborted from there on, and open at that head",
    [...NEEDS, "check", "query"],
    async (given) => {
      const { heads, turns, sessions } = given.lineage;
      await say(given, "chat", "before");
      const turn = await turns.begin("chat", { agent: AGENT, run: "r" });
      await say(given, "chat", "half");
      const inside = await heads.publish("chat");
      await say(given, "chat", "lost");
      const aborted = await turns.abort(turn.id);
      const next = await heads.publish("chat");
      const fork = await sessions.fork("chat", { id: "fork" });
      const statusAt = async (at: string) =>
        (await (await sessions.at(at)).turns()).map(({ id, status }) => [id, status]);
      assert.deepEqual(await statusAt(`chat@${inside.id}`), [[turn.id, "open"]]);
      for (const at of [`chat@${aborted.id}`, `chat@${next.id}`, "chat", fork.id]) {
        assert.deepEqual(await statusAt(at), [[turn.id, "aborted"]], at);
      }
      assert.deepEqual([inside.counts.turns, aborted.counts.turns, next.counts.turns], [1, 1, 1]);
      assert.deepEqual(await shown(given, "chat"), ["before", "half"]);
      await refuses("InvalidTransition", () => turns.finish(turn.id));
      assert.deepEqual(await given.query("[:find ?status . :where [_ :turn/status ?status]]"), "aborted");
      const [shownTurn] = await (await sessions.at("chat")).turns();
      assert.deepEqual([shownTurn?.agent, shownTurn?.run], [AGENT, "r"]);
      assert.deepEqual((await given.check()).issues, []);
      await given.sessions.delete("chat");
      assert.deepEqual(await statusAt(fork.id), [[turn.id, "aborted"]], "also when the source is gone");
      assert.deepEqual((await given.check()).issues, []);
    },
  ),

  prove("SE5 a first turn that is aborted leaves what was there before it", NEEDS, async (given) => {
    const { turns } = given.lineage;
    await say(given, "chat", "before");
    const turn = await turns.begin("chat");
    await say(given, "chat", "half");
    await turns.abort(turn.id);
    assert.deepEqual(await shown(given, "chat"), ["before"]);
    await refuses("InvalidTransition", () => turns.finish(turn.id));
  }),
];

const branchCases: readonly Case[] = [
  prove(
    "SE3 resume goes on from a head without what came later; the pointer moves with the next head",
    NEEDS,
    async (given) => {
      const { heads, sessions } = given.lineage;
      await say(given, "chat", "one");
      const first = await heads.publish("chat");
      await say(given, "chat", "two");
      const second = await heads.publish("chat");
      assert.equal((await sessions.resume("chat")).branched, false, "nothing came after the current head");
      const moved = await sessions.resume(`chat@${first.id}`);
      assert.equal(moved.branched, true);
      assert.deepEqual(await shown(given, "chat"), ["one"]);
      assert.equal((await heads.current("chat"))?.id, second.id);
      await say(given, "chat", "other two");
      const third = await heads.publish("chat", { expect: second.id });
      assert.equal(third.basis, first.id);
      assert.deepEqual(await shown(given, "chat"), ["one", "other two"]);
      assert.deepEqual(await shownAt(given, `chat@${second.id}`), ["one", "two"]);
      assert.equal((await given.log.verify("chat")).ok, true);
    },
  ),

  prove("SE3 resume leaves what was never published", NEEDS, async (given) => {
    const { heads, sessions } = given.lineage;
    await say(given, "chat", "one");
    await heads.publish("chat");
    await say(given, "chat", "cut off by a crash");
    assert.equal((await sessions.resume("chat")).branched, true);
    assert.deepEqual(await shown(given, "chat"), ["one"]);
  }),

  prove("SE3 rewind moves the current head to an ancestor and deletes nothing", NEEDS, async (given) => {
    const { heads, sessions } = given.lineage;
    await say(given, "chat", "one");
    const first = await heads.publish("chat");
    await say(given, "chat", "two");
    const second = await heads.publish("chat");
    await sessions.rewind({ session: "chat", head: first.id });
    assert.equal((await heads.current("chat"))?.id, first.id);
    assert.deepEqual(await shown(given, "chat"), ["one"]);
    assert.deepEqual(await shownAt(given, `chat@${second.id}`), ["one", "two"]);
    await refuses("Conflict", () => sessions.rewind(`chat@${second.id}`));
    await refuses("InvalidArgument", () => sessions.rewind("chat"));
    assert.equal((await given.log.verify("chat")).ok, true);
  }),

  prove("SE4 ids go on above the highest ever used", NEEDS, async (given) => {
    const { heads, sessions } = given.lineage;
    await say(given, "chat", "one");
    const first = await heads.publish("chat");
    const [two] = await say(given, "chat", "two");
    await heads.publish("chat");
    await sessions.rewind(`chat@${first.id}`);
    const [other] = await say(given, "chat", "other two");
    assert.ok(present(other).seq > present(two).seq);
    assert.notEqual(other?.id, two?.id);
  }),

  prove("SE3 a key that was used on a line the session has left is free again", NEEDS, async (given) => {
    const { heads, sessions } = given.lineage;
    const scope = { session: "chat", agent: AGENT };
    const kept = await given.history.append(scope, { role: "user", content: "one", key: "k1" });
    const first = await heads.publish("chat");
    const left = await given.history.append(scope, { role: "user", content: "two", key: "k2" });
    await sessions.rewind(`chat@${first.id}`);
    assert.deepEqual(await given.history.append(scope, { role: "user", content: "one", key: "k1" }), kept);
    const again = await given.history.append(scope, { role: "user", content: "two", key: "k2" });
    assert.notEqual(again.id, left.id);
    assert.deepEqual(await shown(given, "chat"), ["one", "two"]);
  }),

  prove(
    "SE2 another handle goes on where a rewind of this one left the session",
    [...NEEDS, "another"],
    async (given) => {
      const other = await given.another();
      await say(given, "chat", "one");
      const first = await given.lineage.heads.publish("chat");
      await other.history.append({ session: "chat", agent: AGENT }, { role: "user", content: "two" });
      await given.lineage.sessions.rewind(`chat@${first.id}`);
      await other.history.append({ session: "chat", agent: AGENT }, { role: "user", content: "three" });
      assert.deepEqual(await shown(given, "chat"), ["one", "three"]);
      assert.equal((await other.log.verify("chat")).ok, true);
    },
  ),
];

const forkCases: readonly Case[] = [
  prove("SE3 a session counts the messages it shows, its own and those it inherits", NEEDS, async (given) => {
    const { heads, sessions } = given.lineage;
    await say(given, "chat", "one", "two");
    const first = await heads.publish("chat");
    await say(given, "chat", "three");
    assert.equal((await sessions.fork("chat", { id: "fork" })).messages, 2);
    assert.equal((await sessions.fork("chat", { id: "at", message: "chat#2" })).messages, 1);
    await say(given, "fork", "four");
    await sessions.fork("fork", { id: "deep" });
    await sessions.rewind(`chat@${first.id}`);
    const counted = async () => {
      const found: Record<string, number> = {};
      for (const { id, messages } of (await given.sessions.list()).items) {
        assert.equal((await given.sessions.get(id))?.messages, messages);
        assert.equal((await sessions.update(id, { title: "t" })).messages, messages);
        assert.equal((await sessions.at(id)).session.messages, messages);
        assert.equal((await shown(given, id)).length, messages, id);
        found[id] = messages;
      }
      return found;
    };
    assert.deepEqual(await counted(), { chat: 2, fork: 3, at: 1, deep: 3 });
    await given.history.clear({ session: "fork", agent: AGENT });
    assert.deepEqual(await counted(), { chat: 2, fork: 0, at: 1, deep: 2 });
    await say(given, "fork", "five");
    assert.deepEqual(await counted(), { chat: 2, fork: 1, at: 1, deep: 2 });
  }),

  prove("SE3 fork makes a session that shares what was before and goes its own way", NEEDS, async (given) => {
    const { sessions, heads } = given.lineage;
    await say(given, "chat", "one", "two");
    const head = await heads.publish("chat");
    await say(given, "chat", "three");
    const events = (await given.sessions.get("chat"))?.seq;
    const fork = await sessions.fork(`chat@${head.id}`, { id: "fork", title: "Other" });
    assert.equal(fork.title, "Other");
    assert.equal(fork.cacheId, "chat");
    assert.equal((await given.sessions.get("chat"))?.seq, events, "the source gains no event");
    assert.deepEqual(await shown(given, "fork"), ["one", "two"]);
    await say(given, "fork", "own");
    await say(given, "chat", "four");
    assert.deepEqual(await shown(given, "fork"), ["one", "two", "own"]);
    assert.deepEqual(await shown(given, "chat"), ["one", "two", "three", "four"]);
    const own = await heads.publish("fork");
    assert.equal(own.basis, null);
    assert.equal(own.counts.messages, 3);
    assert.equal((await given.log.verify("fork")).ok, true);
  }),

  prove(
    "SE3 a fork is made at a message, from the current head, or from where a session without one stands",
    NEEDS,
    async (given) => {
      const { sessions, heads } = given.lineage;
      const [, two] = await say(given, "chat", "one", "two", "three");
      await sessions.fork("chat", { id: "tip" });
      assert.deepEqual(await shown(given, "tip"), ["one", "two", "three"]);
      await sessions.fork("chat", { id: "at", message: present(two).id });
      assert.deepEqual(await shown(given, "at"), ["one", "two"]);
      await heads.publish("chat");
      await say(given, "chat", "unpublished");
      await sessions.fork("chat", { id: "head" });
      assert.deepEqual(await shown(given, "head"), ["one", "two", "three"]);
      await sessions.fork("tip", { id: "inherited", message: present(two).id });
      assert.deepEqual(await shown(given, "inherited"), ["one", "two"]);
      const [own] = await say(given, "tip", "own");
      await refuses("NotFound", () => sessions.fork("chat", { message: present(own).id }));
      await refuses("NotFound", () => sessions.fork("nobody"));
    },
  ),

  prove("HI1 limit, offset, last, after and count go through what a fork inherits", NEEDS, async (given) => {
    const { sessions } = given.lineage;
    const all: string[] = [];
    let session = "s0";
    for (const n of range(6)) {
      if (n > 0) {
        await sessions.fork(session, { id: `s${n}` });
        session = `s${n}`;
      }
      const words = range(3).map((i) => `${n}.${i}`);
      await say(given, session, ...words);
      all.push(...words);
    }
    const scope = { session, agent: AGENT };
    const { history } = given;
    assert.deepEqual(texts(await history.get(scope)), all);
    assert.equal(await history.count(scope), all.length);
    for (const last of [1, 3, 4, 10, 18, 30])
      assert.deepEqual(texts(await history.get(scope, { last })), all.slice(-last));
    for (const offset of [0, 2, 3, 7, 17, 18, 40]) {
      assert.deepEqual(texts(await history.get(scope, { offset, limit: 5 })), all.slice(offset, offset + 5));
      assert.deepEqual(texts(await history.session(session, { offset })), all.slice(offset));
    }
    const read = await history.get(scope);
    for (const [i, message] of read.entries()) {
      assert.deepEqual(texts(await history.get(scope, { after: message.id })), all.slice(i + 1));
    }
    assert.deepEqual(texts(await history.get(scope, { after: present(read.at(-2)).seq })), all.slice(-1));
    await refuses("InvalidArgument", () => history.get(scope, { after: "elsewhere#3" }));
    await refuses("InvalidArgument", () => history.get(scope, { after: "no id" }));
  }),

  prove("LG6 a fork that clears hides what it inherited; the source keeps it", NEEDS, async (given) => {
    const { sessions, heads } = given.lineage;
    await say(given, "chat", "one", "two");
    await sessions.fork("chat", { id: "fork" });
    const before = await heads.publish("fork");
    await say(given, "fork", "own");
    await given.history.clear({ session: "fork", agent: AGENT });
    await say(given, "fork", "after");
    assert.deepEqual(await shown(given, "fork"), ["after"]);
    assert.equal(await given.history.count({ session: "fork", agent: AGENT }), 1);
    assert.deepEqual(await shown(given, "chat"), ["one", "two"]);
    assert.deepEqual(await shownAt(given, `fork@${before.id}`), ["one", "two"]);
    await sessions.fork("fork", { id: "fork of it" });
    assert.deepEqual(await shown(given, "fork of it"), ["one", "two"], "from its head, which is older than the clear");
    const later = await heads.publish("fork");
    await sessions.fork(`fork@${later.id}`, { id: "later" });
    assert.deepEqual(await shown(given, "later"), ["after"]);
  }),

  prove(
    "LG6 what a live fork inherits stays when its source is deleted, and goes with the last fork",
    NEEDS,
    async (given) => {
      const { sessions } = given.lineage;
      await say(given, "chat", "one", "two");
      await sessions.fork("chat", { id: "a" });
      await say(given, "chat", "three");
      await sessions.fork("a", { id: "b" });
      await say(given, "b", "own");
      const gone = present(await given.sessions.delete("chat"));
      assert.equal(gone.removed.messages, 1);
      assert.equal(gone.kept.inherited, 2);
      assert.deepEqual([gone.removed.events, gone.kept.events], [1, 3], "only what nobody inherits went");
      const { message } = await refuses("SessionDeleted", () => given.log.anchor("chat"));
      assert.match(message, /"chat" was deleted, and 2 messages of it kept for "a"/);
      assert.equal(await given.sessions.get("chat"), null);
      assert.deepEqual(await shown(given, "chat"), []);
      assert.deepEqual(await shown(given, "a"), ["one", "two"]);
      await given.sessions.delete("a");
      assert.deepEqual(await shown(given, "b"), ["one", "two", "own"]);
      const last = present(await given.sessions.delete("b"));
      assert.equal(last.removed.messages, 3, "its own and what was kept for it");
      assert.deepEqual([last.removed.events, last.kept.events], [3 + 2 + 3, undefined], "of all three");
    },
  ),

  prove(
    "LG6 a fork that is made while its source and another fork are deleted keeps what it inherits",
    [...NEEDS, "another"],
    async (given) => {
      const [one, two] = [await given.another(), await given.another()];
      for (const round of range(scaled({ short: 8, long: 20 }))) {
        const [source, old, fork] = [`source ${round}`, `old ${round}`, `fork ${round}`];
        const [first, last] = await say(given, source, "one", "two");
        await given.lineage.sessions.fork(source, { id: old, message: present(first).id });
        const [made] = await Promise.allSettled([
          one.sessions.fork(source, { id: fork, message: present(last).id }),
          given.sessions.delete(old),
          two.sessions.delete(source),
        ]);
        if (made.status === "fulfilled") assert.deepEqual(await shown(given, fork), ["one", "two"], fork);
        else await refuses(["SessionDeleted", "NotFound"], () => Promise.reject(made.reason));
      }
    },
  ),

  prove("LG6 everywhere: what forks inherit goes too, and they show that it was there", NEEDS, async (given) => {
    const { sessions } = given.lineage;
    await say(given, "chat", "one", "two");
    await sessions.fork("chat", { id: "fork" });
    await say(given, "fork", "own");
    const gone = present(await given.sessions.delete("chat", { everywhere: true }));
    assert.equal(gone.removed.messages, 2);
    assert.deepEqual(await shown(given, "fork"), ["own"]);
  }),
];

const stateCases: readonly Case[] = [
  prove(
    "SE2 state goes with the lineage: back with rewind, along with fork, and apart afterwards",
    NEEDS,
    async (given) => {
      const { sessions, heads } = given.lineage;
      await given.state.set("chat", { a: 1, b: 1 });
      const first = await heads.publish("chat");
      await given.state.patch("chat", { b: 2, c: 2 });
      const second = await heads.publish("chat");
      await sessions.fork(`chat@${first.id}`, { id: "fork" });
      assert.deepEqual(await given.state.get("fork"), { a: 1, b: 1 });
      await given.state.patch("fork", { d: 3 }, { remove: ["a"] });
      assert.deepEqual(await given.state.get("fork"), { b: 1, d: 3 });
      assert.equal(await given.state.getKey("fork", "a"), undefined);
      assert.equal(await given.state.getKey("fork", "b"), 1);
      assert.deepEqual(await given.state.get("chat"), { a: 1, b: 2, c: 2 });
      await sessions.rewind(`chat@${first.id}`);
      assert.deepEqual(await given.state.get("chat"), { a: 1, b: 1 });
      assert.deepEqual(await (await sessions.at(`chat@${second.id}`)).state(), { a: 1, b: 2, c: 2 });
      await given.state.set("fork", { e: 5 });
      assert.deepEqual(await given.state.get("fork"), { e: 5 });
      assert.equal(await given.state.getKey("fork", "b"), undefined);
      await given.state.clear("fork");
      assert.deepEqual(await given.state.get("fork"), {});
      assert.deepEqual(await given.state.get("chat"), { a: 1, b: 1 });
    },
  ),

  prove("SE2 a decision on the state before a rewind is not carried out after it", NEEDS, async (given) => {
    const { sessions, heads } = given.lineage;
    await given.state.set("chat", { a: 1 });
    const first = await heads.publish("chat");
    const { version } = await given.state.set("chat", { a: 2 });
    await sessions.rewind(`chat@${first.id}`);
    assert.equal(await given.state.compareAndSet("chat", version, { a: 3 }), null);
    assert.deepEqual(await given.state.get("chat"), { a: 1 });
  }),
];

const rowCases: readonly Case[] = [
  prove(
    "SE7 a leaf call keeps its request, a root call a descriptor; unknown cost is null",
    [...NEEDS, "blobs"],
    async (given) => {
      const { calls, turns } = given.lineage;
      const [message] = await say(given, "chat", "hi");
      const turn = await turns.begin("chat");
      const leaf = await calls.start("chat", {
        type: "leaf",
        model: "m",
        provider: "p",
        request: { q: 1 },
        turn: turn.id,
      });
      assert.equal(leaf.status, "started");
      assert.deepEqual(await given.blobs.resolveJson(present(leaf.requestRef)), { q: 1 });
      const done = await calls.finish(leaf.id, { response: { a: 2 }, inputTokens: 10, outputTokens: 5, costUsd: 0.25 });
      assert.deepEqual(await calls.get(leaf.id), done);
      assert.deepEqual([done.status, done.costUsd, done.requestRef], ["done", 0.25, leaf.requestRef]);
      const root = await calls.add("chat", {
        ...{ type: "root", descriptor: { messages: [present(message).id], system: "be kind" }, response: "hello" },
      });
      const descriptor = await given.blobs.resolveJson(present(root.requestRef));
      assert.deepEqual((descriptor as { messageIds: unknown }).messageIds, [present(message).id]);
      assert.equal((descriptor as { rendered: unknown }).rendered, false);
      assert.equal(root.costUsd, null);
      assert.equal((await calls.add("chat", { type: "leaf", error: "rate limit" })).status, "failed");
      await refuses("InvalidTransition", () => calls.finish(leaf.id, {}));
      await refuses("NotFound", () => calls.finish("chat#999", {}));
      await refuses("InvalidArgument", () => calls.add("chat", { type: "leaf", costUsd: Number.NaN }));
      // @ts-expect-error The compiler refuses it too.
      await refuses("InvalidArgument", () => calls.start("chat", { type: "root", request: {} }));
      // @ts-expect-error
      await refuses("InvalidArgument", () => calls.add("chat", { type: "leaf", descriptor: { messages: [] } }));
    },
  ),

  prove("SE2 a row shows at each head the version it had there", NEEDS, async (given) => {
    const { calls, evals, heads, sessions } = given.lineage;
    await given.sessions.create({ id: "chat" });
    const call = await calls.start("chat", { type: "leaf", request: "q" });
    const run = await evals.start("chat", { code: "1 + 1" });
    const before = await heads.publish("chat");
    await calls.finish(call.id, { response: "a" });
    await evals.finish(run.id, { result: 2 });
    const after = await heads.publish("chat");
    const at = async (head: string) => {
      const view = await sessions.at(`chat@${head}`);
      return [(await view.calls())[0]?.status, (await view.evals())[0]?.status, (await view.calls()).length];
    };
    assert.deepEqual(await at(before.id), ["started", "running", 1]);
    assert.deepEqual(await at(after.id), ["done", "done", 1]);
    assert.deepEqual([before.counts.calls, after.counts.calls, after.counts.evals], [1, 1, 1]);
    await sessions.fork(`chat@${before.id}`, { id: "fork" });
    assert.equal((await (await sessions.at("fork")).calls())[0]?.status, "started");
    await sessions.rewind(`chat@${before.id}`);
    assert.equal((await (await sessions.at("chat")).calls())[0]?.status, "started");
  }),

  prove(
    "SE7 snapshots and evals keep their payloads, and a session takes them along when it goes",
    [...NEEDS, "blobs"],
    async (given) => {
      const { evals, snapshots, calls } = given.lineage;
      const [message] = await say(given, "chat", "code");
      const snapshot = await snapshots.add("chat", { big: "x".repeat(5000) });
      assert.deepEqual(await snapshots.vars(snapshot.id), { big: "x".repeat(5000) });
      const one = await evals.add("chat", { code: "boom()", error: { message: "boom" }, message: present(message).id });
      assert.equal(one.status, "failed");
      const call = await calls.add("chat", { type: "leaf", request: "secret question", response: "secret answer" });
      await given.sessions.delete("chat");
      for (const ref of [snapshot.varsRef, one.codeRef, one.errorRef, call.requestRef, call.responseRef]) {
        assert.equal(await given.blobs.exists(present(ref)), false);
      }
      assert.equal(await calls.get(call.id), null);
    },
  ),
];

const hostileCases: readonly Case[] = [
  prove(
    "ST7 heads of another session, unknown ids and broken locators are refused, and nothing is written",
    NEEDS,
    async (given) => {
      const { heads, sessions, turns, calls } = given.lineage;
      await say(given, "chat", "one");
      await say(given, "other", "one");
      const head = await heads.publish("other");
      const before = (await given.sessions.get("chat"))?.seq;
      await refuses("InvalidArgument", () => sessions.resume(`chat@${head.id}`));
      await refuses("InvalidArgument", () => sessions.rewind(`chat@${head.id}`));
      await refuses("InvalidArgument", () => sessions.fork(`chat@${head.id}`));
      await refuses("InvalidArgument", () => sessions.at({ session: "chat", head: "hd-1" }));
      await refuses("InvalidArgument", () => sessions.at("holdfast:elsewhere.db#chat"));
      await refuses("NotFound", () => sessions.resume(`chat@hd-${"0".repeat(64)}`));
      await refuses("InvalidArgument", () => turns.finish("chat"));
      await refuses("NotFound", () => turns.finish("chat#99"));
      await refuses("InvalidArgument", () => calls.start("chat", { type: "leaf", turn: "other#1" }));
      await refuses("AlreadyExists", () => sessions.fork("chat", { id: "other" }));
      await refuses("LimitExceeded", () => heads.publish("chat", { final: "x".repeat(70_000_000) }));
      assert.equal((await given.sessions.get("chat"))?.seq, before);
    },
  ),

  prove("SE1 a locator is read back from its text, whatever the session is called", NEEDS, async (given) => {
    const { heads } = given.lineage;
    for (const id of ["a@b", "a#1", "x@ab12cd34", "my holdfast:x", "ünï ✓", "hd-abcd"]) {
      await given.sessions.create({ id });
      await say(given, id, "one");
      const head = await heads.publish(id);
      assert.equal((await heads.current({ session: id, head: head.id }))?.id, head.id);
    }
  }),
];
