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
    async (nouns) => {
      const { heads } = nouns.lineage;
      await say(nouns, "chat", "one");
      assert.equal(await heads.current("chat"), null);
      const first = await heads.publish("chat", { final: { answer: 1 }, finalSummary: "one", fingerprint: "f" });
      await say(nouns, "chat", "two");
      const second = await heads.publish("chat", { expect: first.id });
      assert.equal(second.basis, first.id);
      assert.notEqual(second.id, first.id);
      assert.deepEqual(await heads.get(first.id), first);
      assert.deepEqual(await heads.current("chat"), second);
      assert.deepEqual(await heads.current(`chat@${first.id}`), first);
      assert.deepEqual((await heads.list("chat")).items, [second, first]);
      assert.deepEqual([first.counts.messages, second.counts.messages], [1, 2]);
      assert.deepEqual(await shownAt(nouns, `chat@${first.id}`), ["one"]);
      assert.deepEqual(await shownAt(nouns, `chat@${second.id}`), ["one", "two"]);
      assert.equal((await nouns.sessions.get("chat"))?.head, second.id);
      assert.equal((await nouns.log.verify("chat")).ok, true);
    },
  ),

  prove("SE1 the current head moves by compare-and-set", NEEDS, async (nouns) => {
    const { heads } = nouns.lineage;
    await say(nouns, "chat", "one");
    await refuses("Conflict", () => heads.publish("chat", { expect: `hd-${"0".repeat(64)}` }));
    const first = await heads.publish("chat", { expect: null });
    await refuses("Conflict", () => heads.publish("chat", { expect: null }));
    const races = await Promise.allSettled(range(5).map(() => heads.publish("chat", { expect: first.id })));
    assert.equal(races.filter(({ status }) => status === "fulfilled").length, 1);
    assert.equal((await heads.list("chat")).items.length, 2);
  }),

  prove("SE6 compaction is an ordinary head; older heads still show the full transcript", NEEDS, async (nouns) => {
    const { heads } = nouns.lineage;
    await say(nouns, "chat", "a", "b", "c", "d");
    const before = await heads.publish("chat");
    const messages = await nouns.history.session("chat");
    const head = await heads.compact("chat", { agent: AGENT, summary: "a and b and c", keep: 1 });
    assert.equal(head.compaction?.upTo, messages[2]?.id);
    assert.equal(head.basis, before.id);
    assert.deepEqual(await shownAt(nouns, `chat@${before.id}`), ["a", "b", "c", "d"]);
    assert.deepEqual(await shown(nouns, "chat"), ["a", "b", "c", "d", "a and b and c"]);
    const later = await heads.publish("chat");
    assert.deepEqual(later.compaction, head.compaction, "it holds until the next one");
    await refuses("InvalidArgument", () => heads.compact("chat", { agent: AGENT, summary: "s", keep: 5 }));
  }),

  prove(
    "LG6 what is cleared shows at older heads that it was there, and is gone from later ones",
    NEEDS,
    async (nouns) => {
      const { heads } = nouns.lineage;
      await say(nouns, "chat", "secret", "other");
      const before = await heads.publish("chat");
      await nouns.history.clear({ session: "chat", agent: AGENT });
      await say(nouns, "chat", "after");
      const after = await heads.publish("chat");
      assert.deepEqual(await shownAt(nouns, `chat@${before.id}`), ["(erased)", "(erased)"]);
      assert.deepEqual(await shownAt(nouns, `chat@${after.id}`), ["after"]);
      assert.deepEqual(await shown(nouns, "chat"), ["after"]);
      assert.equal((await nouns.log.verify("chat")).ok, true);
    },
  ),
];

const turnCases: readonly Case[] = [
  prove(
    "SE12 finishing a turn stores final value and variables, publishes a head and does not end the session",
    NEEDS,
    async (nouns) => {
      const { turns, snapshots, heads } = nouns.lineage;
      await nouns.sessions.create({ id: "chat" });
      const turn = await turns.begin("chat", { agent: AGENT, run: "r1" });
      await say(nouns, "chat", "question");
      assert.deepEqual(await (await nouns.lineage.sessions.at("chat")).turns(), [turn], "visible in mid-turn");
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
      const [done] = await (await nouns.lineage.sessions.at(`chat@${head.id}`)).turns();
      assert.equal(done?.status, "done");
      assert.deepEqual([head.counts.turns, head.counts.snapshots, head.counts.messages], [1, 1, 1]);
      await refuses("InvalidTransition", () => turns.finish(turn.id));
      await say(nouns, "chat", "it goes on");
    },
  ),

  prove("SE5 an aborted turn publishes an aborted head that is reached by its id only", NEEDS, async (nouns) => {
    const { turns, heads } = nouns.lineage;
    await say(nouns, "chat", "kept");
    const basis = await heads.publish("chat");
    const turn = await turns.begin("chat");
    await say(nouns, "chat", "half");
    const aborted = await turns.abort(turn.id, { final: "nothing" });
    assert.equal(aborted.status, "aborted");
    assert.match((await refuses("InvalidTransition", () => turns.finish(turn.id))).message, /was aborted/);
    assert.deepEqual(await shown(nouns, "chat"), ["kept"]);
    assert.deepEqual(await shownAt(nouns, `chat@${aborted.id}`), ["kept", "half"]);
    assert.equal((await heads.current("chat"))?.id, basis.id);
    await say(nouns, "chat", "anew");
    const next = await heads.publish("chat");
    assert.equal(next.basis, basis.id);
    assert.deepEqual(await shownAt(nouns, `chat@${next.id}`), ["kept", "anew"]);
    assert.equal((await nouns.log.verify("chat")).ok, true);
  }),

  prove(
    "SE5 an aborted turn takes nothing from what came before it, published or not",
    [...NEEDS, "state"],
    async (nouns) => {
      const { heads, turns } = nouns.lineage;
      await say(nouns, "chat", "published");
      const early = await heads.publish("chat");
      await say(nouns, "chat", "left");
      await heads.publish("chat");
      await nouns.lineage.sessions.resume(`chat@${early.id}`);
      await say(nouns, "chat", "asked");
      await nouns.state.set("chat", { asked: true });
      const turn = await turns.begin("chat");
      await say(nouns, "chat", "half");
      await nouns.state.set("chat", { asked: false });
      await turns.abort(turn.id);
      assert.deepEqual(await shown(nouns, "chat"), ["published", "asked"]);
      assert.deepEqual(await nouns.state.get("chat"), { asked: true });
      const head = await heads.publish("chat");
      assert.equal(head.basis, early.id);
      assert.equal(head.counts.messages, 2);
    },
  ),

  prove(
    "SE5 a turn that is aborted behind a head of its own is aborted from there on, and open at that head",
    [...NEEDS, "check", "query"],
    async (nouns) => {
      const { heads, turns, sessions } = nouns.lineage;
      await say(nouns, "chat", "before");
      const turn = await turns.begin("chat", { agent: AGENT, run: "r" });
      await say(nouns, "chat", "half");
      const inside = await heads.publish("chat");
      await say(nouns, "chat", "lost");
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
      assert.deepEqual(await shown(nouns, "chat"), ["before", "half"]);
      await refuses("InvalidTransition", () => turns.finish(turn.id));
      assert.deepEqual(await nouns.query("[:find ?status . :where [_ :turn/status ?status]]"), "aborted");
      const [shownTurn] = await (await sessions.at("chat")).turns();
      assert.deepEqual([shownTurn?.agent, shownTurn?.run], [AGENT, "r"]);
      assert.deepEqual((await nouns.check()).issues, []);
      await nouns.sessions.delete("chat");
      assert.deepEqual(await statusAt(fork.id), [[turn.id, "aborted"]], "also when the source is gone");
      assert.deepEqual((await nouns.check()).issues, []);
    },
  ),

  prove("SE5 a first turn that is aborted leaves what was there before it", NEEDS, async (nouns) => {
    const { turns } = nouns.lineage;
    await say(nouns, "chat", "before");
    const turn = await turns.begin("chat");
    await say(nouns, "chat", "half");
    await turns.abort(turn.id);
    assert.deepEqual(await shown(nouns, "chat"), ["before"]);
    await refuses("InvalidTransition", () => turns.finish(turn.id));
  }),
];

const branchCases: readonly Case[] = [
  prove(
    "SE3 resume goes on from a head without what came later; the pointer moves with the next head",
    NEEDS,
    async (nouns) => {
      const { heads, sessions } = nouns.lineage;
      await say(nouns, "chat", "one");
      const first = await heads.publish("chat");
      await say(nouns, "chat", "two");
      const second = await heads.publish("chat");
      assert.equal((await sessions.resume("chat")).branched, false, "nothing came after the current head");
      const moved = await sessions.resume(`chat@${first.id}`);
      assert.equal(moved.branched, true);
      assert.deepEqual(await shown(nouns, "chat"), ["one"]);
      assert.equal((await heads.current("chat"))?.id, second.id);
      await say(nouns, "chat", "other two");
      const third = await heads.publish("chat", { expect: second.id });
      assert.equal(third.basis, first.id);
      assert.deepEqual(await shown(nouns, "chat"), ["one", "other two"]);
      assert.deepEqual(await shownAt(nouns, `chat@${second.id}`), ["one", "two"]);
      assert.equal((await nouns.log.verify("chat")).ok, true);
    },
  ),

  prove("SE3 resume leaves what was never published", NEEDS, async (nouns) => {
    const { heads, sessions } = nouns.lineage;
    await say(nouns, "chat", "one");
    await heads.publish("chat");
    await say(nouns, "chat", "cut off by a crash");
    assert.equal((await sessions.resume("chat")).branched, true);
    assert.deepEqual(await shown(nouns, "chat"), ["one"]);
  }),

  prove("SE3 rewind moves the current head to an ancestor and deletes nothing", NEEDS, async (nouns) => {
    const { heads, sessions } = nouns.lineage;
    await say(nouns, "chat", "one");
    const first = await heads.publish("chat");
    await say(nouns, "chat", "two");
    const second = await heads.publish("chat");
    await sessions.rewind({ session: "chat", head: first.id });
    assert.equal((await heads.current("chat"))?.id, first.id);
    assert.deepEqual(await shown(nouns, "chat"), ["one"]);
    assert.deepEqual(await shownAt(nouns, `chat@${second.id}`), ["one", "two"]);
    await refuses("Conflict", () => sessions.rewind(`chat@${second.id}`));
    await refuses("InvalidArgument", () => sessions.rewind("chat"));
    assert.equal((await nouns.log.verify("chat")).ok, true);
  }),

  prove("SE4 ids go on above the highest ever used", NEEDS, async (nouns) => {
    const { heads, sessions } = nouns.lineage;
    await say(nouns, "chat", "one");
    const first = await heads.publish("chat");
    const [two] = await say(nouns, "chat", "two");
    await heads.publish("chat");
    await sessions.rewind(`chat@${first.id}`);
    const [other] = await say(nouns, "chat", "other two");
    assert.ok(present(other).seq > present(two).seq);
    assert.notEqual(other?.id, two?.id);
  }),

  prove("SE3 a key that was used on a line the session has left is free again", NEEDS, async (nouns) => {
    const { heads, sessions } = nouns.lineage;
    const scope = { session: "chat", agent: AGENT };
    const kept = await nouns.history.append(scope, { role: "user", content: "one", key: "k1" });
    const first = await heads.publish("chat");
    const left = await nouns.history.append(scope, { role: "user", content: "two", key: "k2" });
    await sessions.rewind(`chat@${first.id}`);
    assert.deepEqual(await nouns.history.append(scope, { role: "user", content: "one", key: "k1" }), kept);
    const again = await nouns.history.append(scope, { role: "user", content: "two", key: "k2" });
    assert.notEqual(again.id, left.id);
    assert.deepEqual(await shown(nouns, "chat"), ["one", "two"]);
  }),

  prove(
    "SE2 another handle goes on where a rewind of this one left the session",
    [...NEEDS, "another"],
    async (nouns) => {
      const other = await nouns.another();
      await say(nouns, "chat", "one");
      const first = await nouns.lineage.heads.publish("chat");
      await other.history.append({ session: "chat", agent: AGENT }, { role: "user", content: "two" });
      await nouns.lineage.sessions.rewind(`chat@${first.id}`);
      await other.history.append({ session: "chat", agent: AGENT }, { role: "user", content: "three" });
      assert.deepEqual(await shown(nouns, "chat"), ["one", "three"]);
      assert.equal((await other.log.verify("chat")).ok, true);
    },
  ),
];

const forkCases: readonly Case[] = [
  prove("SE3 a session counts the messages it shows, its own and those it inherits", NEEDS, async (nouns) => {
    const { heads, sessions } = nouns.lineage;
    await say(nouns, "chat", "one", "two");
    const first = await heads.publish("chat");
    await say(nouns, "chat", "three");
    assert.equal((await sessions.fork("chat", { id: "fork" })).messages, 2);
    assert.equal((await sessions.fork("chat", { id: "at", message: "chat#2" })).messages, 1);
    await say(nouns, "fork", "four");
    await sessions.fork("fork", { id: "deep" });
    await sessions.rewind(`chat@${first.id}`);
    const counted = async () => {
      const found: Record<string, number> = {};
      for (const { id, messages } of (await nouns.sessions.list()).items) {
        assert.equal((await nouns.sessions.get(id))?.messages, messages);
        assert.equal((await sessions.update(id, { title: "t" })).messages, messages);
        assert.equal((await sessions.at(id)).session.messages, messages);
        assert.equal((await shown(nouns, id)).length, messages, id);
        found[id] = messages;
      }
      return found;
    };
    assert.deepEqual(await counted(), { chat: 2, fork: 3, at: 1, deep: 3 });
    await nouns.history.clear({ session: "fork", agent: AGENT });
    assert.deepEqual(await counted(), { chat: 2, fork: 0, at: 1, deep: 2 });
    await say(nouns, "fork", "five");
    assert.deepEqual(await counted(), { chat: 2, fork: 1, at: 1, deep: 2 });
  }),

  prove("SE3 fork makes a session that shares what was before and goes its own way", NEEDS, async (nouns) => {
    const { sessions, heads } = nouns.lineage;
    await say(nouns, "chat", "one", "two");
    const head = await heads.publish("chat");
    await say(nouns, "chat", "three");
    const events = (await nouns.sessions.get("chat"))?.seq;
    const fork = await sessions.fork(`chat@${head.id}`, { id: "fork", title: "Other" });
    assert.equal(fork.title, "Other");
    assert.equal(fork.cacheId, "chat");
    assert.equal((await nouns.sessions.get("chat"))?.seq, events, "the source gains no event");
    assert.deepEqual(await shown(nouns, "fork"), ["one", "two"]);
    await say(nouns, "fork", "own");
    await say(nouns, "chat", "four");
    assert.deepEqual(await shown(nouns, "fork"), ["one", "two", "own"]);
    assert.deepEqual(await shown(nouns, "chat"), ["one", "two", "three", "four"]);
    const own = await heads.publish("fork");
    assert.equal(own.basis, null);
    assert.equal(own.counts.messages, 3);
    assert.equal((await nouns.log.verify("fork")).ok, true);
  }),

  prove(
    "SE3 a fork is made at a message, from the current head, or from where a session without one stands",
    NEEDS,
    async (nouns) => {
      const { sessions, heads } = nouns.lineage;
      const [, two] = await say(nouns, "chat", "one", "two", "three");
      await sessions.fork("chat", { id: "tip" });
      assert.deepEqual(await shown(nouns, "tip"), ["one", "two", "three"]);
      await sessions.fork("chat", { id: "at", message: present(two).id });
      assert.deepEqual(await shown(nouns, "at"), ["one", "two"]);
      await heads.publish("chat");
      await say(nouns, "chat", "unpublished");
      await sessions.fork("chat", { id: "head" });
      assert.deepEqual(await shown(nouns, "head"), ["one", "two", "three"]);
      await sessions.fork("tip", { id: "inherited", message: present(two).id });
      assert.deepEqual(await shown(nouns, "inherited"), ["one", "two"]);
      const [own] = await say(nouns, "tip", "own");
      await refuses("NotFound", () => sessions.fork("chat", { message: present(own).id }));
      await refuses("NotFound", () => sessions.fork("nobody"));
    },
  ),

  prove("HI1 limit, offset, last, after and count go through what a fork inherits", NEEDS, async (nouns) => {
    const { sessions } = nouns.lineage;
    const all: string[] = [];
    let session = "s0";
    for (const n of range(6)) {
      if (n > 0) {
        await sessions.fork(session, { id: `s${n}` });
        session = `s${n}`;
      }
      const words = range(3).map((i) => `${n}.${i}`);
      await say(nouns, session, ...words);
      all.push(...words);
    }
    const scope = { session, agent: AGENT };
    const { history } = nouns;
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

  prove("LG6 a fork that clears hides what it inherited; the source keeps it", NEEDS, async (nouns) => {
    const { sessions, heads } = nouns.lineage;
    await say(nouns, "chat", "one", "two");
    await sessions.fork("chat", { id: "fork" });
    const before = await heads.publish("fork");
    await say(nouns, "fork", "own");
    await nouns.history.clear({ session: "fork", agent: AGENT });
    await say(nouns, "fork", "after");
    assert.deepEqual(await shown(nouns, "fork"), ["after"]);
    assert.equal(await nouns.history.count({ session: "fork", agent: AGENT }), 1);
    assert.deepEqual(await shown(nouns, "chat"), ["one", "two"]);
    assert.deepEqual(await shownAt(nouns, `fork@${before.id}`), ["one", "two"]);
    await sessions.fork("fork", { id: "fork of it" });
    assert.deepEqual(await shown(nouns, "fork of it"), ["one", "two"], "from its head, which is older than the clear");
    const later = await heads.publish("fork");
    await sessions.fork(`fork@${later.id}`, { id: "later" });
    assert.deepEqual(await shown(nouns, "later"), ["after"]);
  }),

  prove(
    "LG6 what a live fork inherits stays when its source is deleted, and goes with the last fork",
    NEEDS,
    async (nouns) => {
      const { sessions } = nouns.lineage;
      await say(nouns, "chat", "one", "two");
      await sessions.fork("chat", { id: "a" });
      await say(nouns, "chat", "three");
      await sessions.fork("a", { id: "b" });
      await say(nouns, "b", "own");
      const gone = present(await nouns.sessions.delete("chat"));
      assert.equal(gone.removed.messages, 1);
      assert.equal(gone.kept.inherited, 2);
      assert.deepEqual([gone.removed.events, gone.kept.events], [1, 3], "only what nobody inherits went");
      const { message } = await refuses("SessionDeleted", () => nouns.log.anchor("chat"));
      assert.match(message, /"chat" was deleted, and 2 messages of it kept for "a"/);
      assert.equal(await nouns.sessions.get("chat"), null);
      assert.deepEqual(await shown(nouns, "chat"), []);
      assert.deepEqual(await shown(nouns, "a"), ["one", "two"]);
      await nouns.sessions.delete("a");
      assert.deepEqual(await shown(nouns, "b"), ["one", "two", "own"]);
      const last = present(await nouns.sessions.delete("b"));
      assert.equal(last.removed.messages, 3, "its own and what was kept for it");
      assert.deepEqual([last.removed.events, last.kept.events], [3 + 2 + 3, undefined], "of all three");
    },
  ),

  prove(
    "LG6 a fork that is made while its source and another fork are deleted keeps what it inherits",
    [...NEEDS, "another"],
    async (nouns) => {
      const [one, two] = [await nouns.another(), await nouns.another()];
      for (const round of range(scaled({ short: 8, long: 20 }))) {
        const [source, old, fork] = [`source ${round}`, `old ${round}`, `fork ${round}`];
        const [first, last] = await say(nouns, source, "one", "two");
        await nouns.lineage.sessions.fork(source, { id: old, message: present(first).id });
        const [made] = await Promise.allSettled([
          one.sessions.fork(source, { id: fork, message: present(last).id }),
          nouns.sessions.delete(old),
          two.sessions.delete(source),
        ]);
        if (made.status === "fulfilled") assert.deepEqual(await shown(nouns, fork), ["one", "two"], fork);
        else await refuses(["SessionDeleted", "NotFound"], () => Promise.reject(made.reason));
      }
    },
  ),

  prove("LG6 everywhere: what forks inherit goes too, and they show that it was there", NEEDS, async (nouns) => {
    const { sessions } = nouns.lineage;
    await say(nouns, "chat", "one", "two");
    await sessions.fork("chat", { id: "fork" });
    await say(nouns, "fork", "own");
    const gone = present(await nouns.sessions.delete("chat", { everywhere: true }));
    assert.equal(gone.removed.messages, 2);
    assert.deepEqual(await shown(nouns, "fork"), ["own"]);
  }),
];

const stateCases: readonly Case[] = [
  prove(
    "SE2 state goes with the lineage: back with rewind, along with fork, and apart afterwards",
    NEEDS,
    async (nouns) => {
      const { sessions, heads } = nouns.lineage;
      await nouns.state.set("chat", { a: 1, b: 1 });
      const first = await heads.publish("chat");
      await nouns.state.patch("chat", { b: 2, c: 2 });
      const second = await heads.publish("chat");
      await sessions.fork(`chat@${first.id}`, { id: "fork" });
      assert.deepEqual(await nouns.state.get("fork"), { a: 1, b: 1 });
      await nouns.state.patch("fork", { d: 3 }, { remove: ["a"] });
      assert.deepEqual(await nouns.state.get("fork"), { b: 1, d: 3 });
      assert.equal(await nouns.state.getKey("fork", "a"), undefined);
      assert.equal(await nouns.state.getKey("fork", "b"), 1);
      assert.deepEqual(await nouns.state.get("chat"), { a: 1, b: 2, c: 2 });
      await sessions.rewind(`chat@${first.id}`);
      assert.deepEqual(await nouns.state.get("chat"), { a: 1, b: 1 });
      assert.deepEqual(await (await sessions.at(`chat@${second.id}`)).state(), { a: 1, b: 2, c: 2 });
      await nouns.state.set("fork", { e: 5 });
      assert.deepEqual(await nouns.state.get("fork"), { e: 5 });
      assert.equal(await nouns.state.getKey("fork", "b"), undefined);
      await nouns.state.clear("fork");
      assert.deepEqual(await nouns.state.get("fork"), {});
      assert.deepEqual(await nouns.state.get("chat"), { a: 1, b: 1 });
    },
  ),

  prove("SE2 a decision on the state before a rewind is not carried out after it", NEEDS, async (nouns) => {
    const { sessions, heads } = nouns.lineage;
    await nouns.state.set("chat", { a: 1 });
    const first = await heads.publish("chat");
    const { version } = await nouns.state.set("chat", { a: 2 });
    await sessions.rewind(`chat@${first.id}`);
    assert.equal(await nouns.state.compareAndSet("chat", version, { a: 3 }), null);
    assert.deepEqual(await nouns.state.get("chat"), { a: 1 });
  }),
];

const rowCases: readonly Case[] = [
  prove(
    "SE7 a leaf call keeps its request, a root call a descriptor; unknown cost is null",
    [...NEEDS, "blobs"],
    async (nouns) => {
      const { calls, turns } = nouns.lineage;
      const [message] = await say(nouns, "chat", "hi");
      const turn = await turns.begin("chat");
      const leaf = await calls.start("chat", {
        type: "leaf",
        model: "m",
        provider: "p",
        request: { q: 1 },
        turn: turn.id,
      });
      assert.equal(leaf.status, "started");
      assert.deepEqual(await nouns.blobs.resolveJson(present(leaf.requestRef)), { q: 1 });
      const done = await calls.finish(leaf.id, { response: { a: 2 }, inputTokens: 10, outputTokens: 5, costUsd: 0.25 });
      assert.deepEqual(await calls.get(leaf.id), done);
      assert.deepEqual([done.status, done.costUsd, done.requestRef], ["done", 0.25, leaf.requestRef]);
      const root = await calls.add("chat", {
        ...{ type: "root", descriptor: { messages: [present(message).id], system: "be kind" }, response: "hello" },
      });
      const descriptor = await nouns.blobs.resolveJson(present(root.requestRef));
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

  prove("SE2 a row shows at each head the version it had there", NEEDS, async (nouns) => {
    const { calls, evals, heads, sessions } = nouns.lineage;
    await nouns.sessions.create({ id: "chat" });
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
    async (nouns) => {
      const { evals, snapshots, calls } = nouns.lineage;
      const [message] = await say(nouns, "chat", "code");
      const snapshot = await snapshots.add("chat", { big: "x".repeat(5000) });
      assert.deepEqual(await snapshots.vars(snapshot.id), { big: "x".repeat(5000) });
      const one = await evals.add("chat", { code: "boom()", error: { message: "boom" }, message: present(message).id });
      assert.equal(one.status, "failed");
      const call = await calls.add("chat", { type: "leaf", request: "secret question", response: "secret answer" });
      await nouns.sessions.delete("chat");
      for (const ref of [snapshot.varsRef, one.codeRef, one.errorRef, call.requestRef, call.responseRef]) {
        assert.equal(await nouns.blobs.exists(present(ref)), false);
      }
      assert.equal(await calls.get(call.id), null);
    },
  ),
];

const hostileCases: readonly Case[] = [
  prove(
    "ST7 heads of another session, unknown ids and broken locators are refused, and nothing is written",
    NEEDS,
    async (nouns) => {
      const { heads, sessions, turns, calls } = nouns.lineage;
      await say(nouns, "chat", "one");
      await say(nouns, "other", "one");
      const head = await heads.publish("other");
      const before = (await nouns.sessions.get("chat"))?.seq;
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
      assert.equal((await nouns.sessions.get("chat"))?.seq, before);
    },
  ),

  prove("SE1 a locator is read back from its text, whatever the session is called", NEEDS, async (nouns) => {
    const { heads } = nouns.lineage;
    for (const id of ["a@b", "a#1", "x@ab12cd34", "my holdfast:x", "ünï ✓", "hd-abcd"]) {
      await nouns.sessions.create({ id });
      await say(nouns, id, "one");
      const head = await heads.publish(id);
      assert.equal((await heads.current({ session: id, head: head.id }))?.id, head.id);
    }
  }),
];
