// The suite of sessions as a graph: heads, turns, fork, resume, rewind, and what there was at each head.
import assert from "node:assert/strict";
import { present, range, refuses } from "../expect.ts";
import { type Case, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { rowCases, stateCases } from "./lineage-at-heads.ts";
import { busyCases } from "./lineage-busy.ts";
import { compactCases } from "./lineage-compact.ts";
import { contextCases } from "./lineage-context.ts";
import { AGENT, NEEDS, say, shown, shownAt } from "./lineage-fixture.ts";
import { forkCases } from "./lineage-forks.ts";
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
    "SE3 resume continues from a head without later messages; the pointer moves with the next head",
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

  prove("SE4 ids continue above the highest ever used", NEEDS, async (nouns) => {
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
    "SE2 another handle continues where a rewind of this one left the session",
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

  prove("SE1 a locator is read back from its text, for every session id", NEEDS, async (nouns) => {
    const { heads } = nouns.lineage;
    for (const id of ["a@b", "a#1", "x@ab12cd34", "my holdfast:x", "ünï ✓", "hd-abcd"]) {
      await nouns.sessions.create({ id });
      await say(nouns, id, "one");
      const head = await heads.publish(id);
      assert.equal((await heads.current({ session: id, head: head.id }))?.id, head.id);
    }
  }),
];
