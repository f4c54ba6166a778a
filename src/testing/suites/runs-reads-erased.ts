// Recorded reads of what was erased, hidden, compacted, expired or taken up since.
import assert from "node:assert/strict";
import type { AgentDefinition, Iteration } from "../../contracts/agent-definitions.ts";
import type { Context } from "../../contracts/context.ts";
import type { Json } from "../../contracts/json.ts";
import { present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { agent, cutOff, EffectRecorder, endedOnce, gate, NEEDS, texts } from "./runs-agents.ts";

const STATE = [...NEEDS, "state"] as const;

export const textsIn = ({ messages }: Pick<Context, "messages">): readonly string[] =>
  messages.map(({ content: [block] }) => (block?.type === "text" ? block.text : "?"));

/** Reads, does a step that the journal has afterwards, and stops in a tool; goes on when the gate is open. */
export function readsThenWaits(
  read: (it: Iteration) => Promise<Json>,
  seen: Json[] = [],
): { readonly made: AgentDefinition; readonly held: ReturnType<typeof gate> } {
  const held = gate();
  const recorder = new EffectRecorder();
  const made = agent(
    async (it) => {
      const value = await read(it);
      seen.push(value);
      await it.message({ role: "assistant", content: `read ${JSON.stringify(value)}` });
      await it.tool("wait");
      return it.done(value);
    },
    { tools: { wait: recorder.tool("wait", () => held.pass().then(() => null), { effect: "idempotent" }) } },
  );
  return { made, held };
}

const READS: readonly (readonly [name: string, read: (it: Iteration) => Promise<Json>])[] = [
  ["context", async (it) => textsIn(await it.context())],
  ["history", async (it) => textsIn({ messages: (await it.history()) as never })],
];

export const erasedReadCases: readonly Case[] = [
  prove(
    "RU14 content that was erased since is ContentErased; with the option, the run continues with a placeholder",
    NEEDS,
    async (nouns) => {
      const { runs, history, lineage } = nouns;
      const mother = { session: "mother", agent: "ada" };
      await history.append(mother, { role: "user", content: "gone before" });
      await history.clear(mother);
      await history.append(mother, { role: "user", content: "of the mother" });
      for (const [name, read] of READS) {
        const source = { session: `source-${name}`, agent: "ada" };
        await lineage.sessions.fork("mother", { id: source.session });
        const [own] = await history.appendMany(source, [
          { role: "user", content: "secret" },
          { role: "user", content: "more" },
        ]);
        await lineage.sessions.fork(source.session, { id: `run-${name}` });
        const seen: Json[] = [];
        const { made, held } = readsThenWaits(read, seen);
        const { id } = await runs.start(made, { session: `run-${name}` });
        await cutOff(runs, made, id, held.reached);
        await history.clear(source);
        held.open();
        const error = await refuses("ContentErased", () => runs.resume(made, id));
        assert.deepEqual(error.details, { session: source.session, seq: present(own).seq, run: id, step: "1/1" });
        assert.match(present(error.hint), /placeholder/);
        assert.equal((await runs.get(id))?.status, "running", "it has not failed");
        const { status, value, run } = await runs.resume(made, id, { erased: "placeholder" });
        assert.equal(status, "completed");
        assert.deepEqual(seen[0], ["of the mother", "secret", "more"]);
        assert.deepEqual(value, ["of the mother", "[erased]", "[erased]"]);
        await endedOnce(nouns, run);
      }
    },
  ),
  prove("RU14 what had been erased at the position is left out, then as now, also everywhere", STATE, async (nouns) => {
    const { runs, history, lineage, sessions, state } = nouns;
    const read = async (it: Iteration): Promise<Json> => [
      textsIn(await it.context()),
      (await it.context({ budget: 10, tokenizer: () => 9 })).leftOut.messages,
      (await it.history({ agent: null })).length,
      await it.state(),
    ];
    for (const session of ["cleared", "everywhere"]) {
      await history.append({ session, agent: "ada" }, { role: "user", content: "gone" });
      await history.append({ session, agent: "eve" }, { role: "user", content: "stays" });
      await state.set(session, { theirs: 1 });
      await lineage.sessions.fork(session, { id: `of-${session}` });
    }
    await history.clear({ session: "cleared", agent: "ada" });
    await sessions.delete("everywhere", { everywhere: true });
    for (const session of ["cleared", "everywhere"]) {
      const fork = `of-${session}`;
      await history.append({ session: fork, agent: "ada" }, { role: "user", content: "own" });
      await state.patch(fork, { own: 1 });
      const { made, held } = readsThenWaits(read);
      const { id } = await runs.start(made, { session: fork });
      await cutOff(runs, made, id, held.reached);
      held.open();
      const { status, value, run } = await runs.resume(made, id);
      assert.equal(status, "completed");
      const isCleared = session === "cleared";
      assert.deepEqual(
        value,
        isCleared ? [["stays", "own"], 1, 2, { own: 1, theirs: 1 }] : [["own"], 0, 1, { own: 1 }],
      );
      await endedOnce(nouns, run);
    }
  }),
  prove("RU14 messages and state that are erased everywhere after a read are reported", STATE, async (nouns) => {
    const { runs, history, lineage, sessions, state } = nouns;
    for (const [name, read] of [...READS, ["state", async (it: Iteration) => await it.state()] as const]) {
      const source = `source-${name}`;
      await history.append({ session: source, agent: "ada" }, { role: "user", content: "theirs" });
      await state.set(source, { kept: 1, taken: 2 });
      await state.patch(source, {}, { remove: ["taken"] });
      await lineage.sessions.fork(source, { id: `run-${name}` });
      await state.patch(`run-${name}`, { own: 1 });
      const seen: Json[] = [];
      const { made, held } = readsThenWaits(read, seen);
      const { id } = await runs.start(made, { session: `run-${name}` });
      await cutOff(runs, made, id, held.reached);
      await sessions.delete(source);
      held.open();
      await sessions.delete(source, { everywhere: true });
      const { details } = await refuses("ContentErased", () => runs.resume(made, id));
      assert.equal(details.session, source);
      const { status, value, run } = await runs.resume(made, id, { erased: "placeholder" });
      assert.equal(status, "completed");
      assert.deepEqual(value, name === "state" ? { kept: null, own: 1 } : ["[erased]"]);
      assert.deepEqual(seen[0], name === "state" ? { kept: 1, own: 1 } : ["theirs"]);
      await endedOnce(nouns, run);
    }
  }),
  prove("RU14 of values erased before and after a read, only those after it are reported", STATE, async (nouns) => {
    const { runs, lineage, sessions, state } = nouns;
    await state.set("grandmother", { hers: 1 });
    await lineage.sessions.fork("grandmother", { id: "mother" });
    await state.patch("mother", { theirs: 1 });
    await lineage.sessions.fork("mother", { id: "s" });
    await sessions.delete("mother", { everywhere: true });
    const { made, held } = readsThenWaits(async (it) => await it.state());
    const { id } = await runs.start(made, { session: "s" });
    await cutOff(runs, made, id, held.reached);
    await sessions.delete("grandmother", { everywhere: true });
    held.open();
    const { details } = await refuses("ContentErased", () => runs.resume(made, id));
    assert.deepEqual([details.session, details.key], ["grandmother", "hers"]);
    const { value, run } = await runs.resume(made, id, { erased: "placeholder" });
    assert.deepEqual(value, { hers: null });
    await endedOnce(nouns, run);
  }),
  prove("RU14 what the session erases of a child is reported to a read that saw it", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const held = gate();
    const recorder = new EffectRecorder();
    const says = agent(
      async (it) => {
        await it.message({ role: "user", content: "to be forgotten" });
        await it.tool("meet");
        return it.done(null);
      },
      { id: "kid", tools: { meet: { execute: () => met.pass().then(() => null), effect: "idempotent" } } },
    );
    const met = gate();
    const parent = agent(
      async (it) => {
        const [seen] = await it.parallel(
          async (one: Iteration) => {
            await met.reached;
            const messages = await one.history({ agent: null });
            await one.message({ role: "assistant", content: "noted" });
            met.open();
            return textsIn({ messages: messages as never });
          },
          async (two: Iteration) => two.spawn(says, { sameSession: true, forget: true }),
        );
        await it.tool("wait");
        return it.done(seen);
      },
      { tools: { wait: recorder.tool("wait", () => held.pass().then(() => null), { effect: "idempotent" }) } },
    );
    const { id } = await runs.start(parent, { session: "s" });
    await cutOff(runs, parent, id, held.reached);
    held.open();
    assert.deepEqual(await texts(nouns, "s"), ["noted"]);
    await refuses("ContentErased", () => runs.resume(parent, id));
    const { value, run } = await runs.resume(parent, id, { erased: "placeholder" });
    assert.deepEqual(value, ["[erased]"]);
    await endedOnce(nouns, run);
  }),
  prove("RU14 a retry reads at the positions of the run that it retries", STATE, async (nouns) => {
    const { runs, history, state } = nouns;
    const scope = { session: "s", agent: "ada" };
    for (const isErased of [false, true]) {
      await history.append(scope, { role: "user", content: "hello" });
      await state.set("s", { plan: 1 });
      const seen: Json[] = [];
      let fails = true;
      const recorder = new EffectRecorder();
      const flaky = agent(
        async (it) => {
          const read = [(await it.history()).length, textsIn(await it.context()), await it.state()];
          seen.push(read as Json);
          await it.message({ role: "assistant", content: `${read[0]} messages` });
          await it.tool("pay", read[0]);
          return it.done(read);
        },
        {
          tools: {
            pay: recorder.tool("pay", () => (fails ? Promise.reject(new Error("no money")) : "paid")),
          },
        },
      );
      const first = await runs.execute(flaky, { session: "s" });
      assert.equal(first.status, "failed");
      await history.append(scope, { role: "user", content: "later" });
      await state.set("s", { plan: 2 });
      if (isErased) await history.clear(scope);
      fails = false;
      const next = await runs.retry(first.run.id);
      if (isErased) {
        const { details } = await refuses("ContentErased", () => runs.resume(flaky, next.id));
        assert.deepEqual([details.session, details.run], ["s", next.id]);
      }
      const { status, value, run } = await runs.resume(flaky, next.id, { erased: "placeholder" });
      assert.equal(status, "completed");
      if (!isErased) assert.deepEqual(value, seen[0]);
      else assert.deepEqual((value as Json[])[2], { plan: 1 }, "what was replaced is still known");
      await endedOnce(nouns, run);
      await history.clear(scope);
    }
  }),
  prove(
    "RU14 a value that has expired since was there when it was read",
    [...STATE, "clock"] as const,
    async (nouns) => {
      const { runs, state, clock } = nouns;
      await state.set("s", { always: 1 });
      await state.patch("s", { brief: 1 }, { ttlMs: 1000 });
      const seen: Json[] = [];
      const sleeper = agent(async (it) => {
        const before = await it.state();
        await it.sleep(60_000);
        const after = await it.state();
        seen.push([before, after]);
        return it.done([before, after]);
      });
      const { run } = await runs.execute(sleeper, { session: "s" }, { wait: false });
      assert.equal(run.status, "paused");
      await clock.advance(60_001);
      const { value } = await runs.resume(sleeper, run.id);
      assert.deepEqual(value, [{ always: 1, brief: 1 }, { always: 1 }]);
    },
  ),
  prove("RU14 a compaction is made once, and contexts begin with it from then on", NEEDS, async (nouns) => {
    const { runs, history, lineage } = nouns;
    const scope = { session: "s", agent: "ada" };
    const messages = await history.appendMany(
      scope,
      [1, 2, 3, 4].map((n) => ({ role: "user" as const, content: `message ${n}` })),
    );
    const seen: Json[] = [];
    const { made, held } = readsThenWaits(async (it) => {
      const before = await it.context();
      await it.compact({ summary: "one to three", upTo: present(messages[2]).id });
      const after = await it.context();
      return [textsIn(before), textsIn(after)];
    }, seen);
    const { id } = await runs.start(made, { session: "s" });
    await cutOff(runs, made, id, held.reached);
    held.open();
    const { status, value, run } = await runs.resume(made, id);
    assert.equal(status, "completed");
    const all = ["message 1", "message 2", "message 3", "message 4"];
    assert.deepEqual(value, [all, ["one to three", "message 4"]]);
    assert.deepEqual(seen, [value, value]);
    const shown = textsIn(await lineage.sessions.context("s"));
    assert.deepEqual(shown.slice(0, 2), ["one to three", "message 4"]);
    const steps = await runs.steps(id);
    assert.deepEqual(
      steps.map(({ kind }) => kind),
      ["read", "compact", "read", "message", "tool"],
    );
    const summaries = (await texts(nouns, "s")).filter((text) => text === "one to three");
    assert.equal(summaries.length, 1);
    await endedOnce(nouns, run);
  }),
  prove(
    "RU14 a summary that was erased since is reported; the messages that it replaced are not shown in its place",
    NEEDS,
    async (nouns) => {
      const { runs, history, lineage } = nouns;
      const [first] = await history.appendMany({ session: "mother", agent: "ada" }, [
        { role: "user", content: "one" },
        { role: "user", content: "two" },
      ]);
      await lineage.heads.compact("mother", { agent: "eve", summary: "in short", upTo: present(first).id });
      await lineage.sessions.fork("mother", { id: "s" });
      const { made, held } = readsThenWaits(async (it) => textsIn(await it.context()));
      const { id } = await runs.start(made, { session: "s" });
      await cutOff(runs, made, id, held.reached);
      await history.clear({ session: "mother", agent: "eve" });
      held.open();
      await refuses("ContentErased", () => runs.resume(made, id));
      const { value, run } = await runs.resume(made, id, { erased: "placeholder" });
      assert.deepEqual(value, ["[erased]", "two"]);
      await endedOnce(nouns, run);
    },
  ),
];
