// Recorded reads: journalled as a position in the log, and the same again whenever the iteration is replayed.
import assert from "node:assert/strict";
import type { Iteration } from "../../contracts/agent-definitions.ts";
import type { Json } from "../../contracts/json.ts";
import { present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { agent, cutOff, EffectRecorder, endedOnce, gate, NEEDS, texts } from "./runs-agents.ts";
import { readsThenWaits, textsIn } from "./runs-reads-erased.ts";

const STATE = [...NEEDS, "state"] as const;

const everything = async (it: Iteration): Promise<Json> => [
  textsIn(await it.context()),
  textsIn(await it.context({ budget: 40 })),
  (await it.history()).map(({ id }) => id),
  (await it.history({ agent: null, last: 3 })).map(({ id }) => id),
  (await it.history({ agent: "eve", offset: 1, limit: 2 })).map(({ id }) => id),
  await it.state(),
];

export const readCases: readonly Case[] = [
  prove(
    "RU14 a recorded read stays the same, also if others add rows until the run continues",
    STATE,
    async (nouns) => {
      const { runs, history, lineage, state } = nouns;
      const ada = { session: "s", agent: "ada" };
      const eve = { session: "s", agent: "eve" };
      await history.appendMany(ada, [
        { role: "user", content: "first" },
        { role: "assistant", content: "second" },
      ]);
      for (const n of [1, 2, 3, 4]) await history.append(eve, { role: "user", content: `eve ${n}` });
      await state.set("s", { plan: [1], 7: "seven", old: true });
      await state.patch("s", { brief: 1 }, { ttlMs: 60_000 });
      const plain = [
        textsIn(await lineage.sessions.context("s")),
        textsIn(await lineage.sessions.context("s", { budget: 40 })),
        (await history.get(ada)).map(({ id }) => id),
        (await history.session("s", { last: 3 })).map(({ id }) => id),
        (await history.get(eve, { offset: 1, limit: 2 })).map(({ id }) => id),
        await state.get("s"),
      ];
      const seen: Json[] = [];
      const { made, held } = readsThenWaits(everything, seen);
      const { id } = await runs.start(made, { session: "s" });
      await cutOff(runs, made, id, held.reached);
      await history.append(ada, { role: "user", content: "later" });
      await history.append(eve, { role: "user", content: "later still" });
      await state.patch("s", { plan: [2], more: 1 }, { remove: ["old"] });
      await state.clear("s");
      held.open();
      const { status, value, run } = await runs.resume(made, id);
      assert.deepEqual([status, seen.length], ["completed", 2]);
      assert.deepEqual(seen[0], plain, "as the handle reads");
      assert.deepEqual(seen[1], plain, "and again");
      assert.deepEqual(value, plain);
      await endedOnce(nouns, run);
    },
  ),
  prove("RU14 a read makes no commit: it is written with what comes next, in order", NEEDS, async (nouns) => {
    const { runs, history, log } = nouns;
    await history.append({ session: "s", agent: "ada" }, { role: "user", content: "hello" });
    const recorder = new EffectRecorder();
    const written: number[] = [];
    const count = async () => written.push((await log.read("s", { limit: 1000 })).length);
    const reads = agent(
      async (it, n: number) => {
        await count();
        const { messages } = await it.context();
        await it.history();
        await count();
        if (n === 1) return it.next(2);
        await it.tool("do", messages.length);
        await it.state();
        return it.done(messages.length);
      },
      { tools: { do: recorder.tool("do") }, initial: () => 1 },
    );
    const { run, value } = await runs.execute(reads, { session: "s" });
    assert.equal(value, 1);
    assert.deepEqual([written[1], written[3]], [written[0], written[2]], "nothing was committed by a read");
    const steps = await runs.steps(run.id);
    assert.deepEqual(
      steps.map(({ iteration, path, kind, name, status }) => [iteration, path, kind, name, status]),
      [
        [1, "1", "read", "context", "done"],
        [1, "2", "read", "history", "done"],
        [2, "1", "read", "context", "done"],
        [2, "2", "read", "history", "done"],
        [2, "3", "tool", "do", "done"],
        [2, "4", "read", "state", "done"],
      ],
    );
    const types = (await log.read("s", { limit: 1000 })).map(({ type }) => type);
    const from = types.indexOf("step/done");
    assert.deepEqual(types.slice(from, from + 6), [
      "step/done",
      "step/done",
      "iteration/complete",
      "head/created",
      "step/done",
      "step/done",
    ]);
    const [first] = steps;
    const events = await log.read("s", { limit: 1000 });
    const position = present(first?.position);
    assert.deepEqual([position.branch, position.count], [1, 1]);
    assert.ok(position.seq >= 1 && position.seq < (events.at(-1)?.seq ?? 0));
    await endedOnce(nouns, run);
  }),
  prove("RU14 a loop that reads its own messages continues after a kill", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const held = gate();
    const asked: Json[] = [];
    const loop = agent(
      async (it, n: number) => {
        const { messages } = await it.context();
        const { output } = await it.model(messages.map(({ content }) => content) as unknown as Json);
        await it.message({ role: "assistant", content: String(output) });
        const after = await it.history();
        await it.tool("count", after.length);
        return n === 3 ? it.done(after.length) : it.next(n + 1);
      },
      {
        tools: {
          count: recorder.tool("count", (input) => (input === 2 ? held.pass().then(() => input) : input), {
            effect: "idempotent",
          }),
        },
        models: {
          m: {
            call: (request) => {
              asked.push(request);
              return { output: `answer ${(request as Json[]).length}` };
            },
          },
        },
        initial: () => 1,
      },
    );
    const { id } = await runs.start(loop, { session: "s" });
    await cutOff(runs, loop, id, held.reached);
    held.open();
    const { status, value, run } = await runs.resume(loop, id);
    assert.deepEqual([status, value, asked.length], ["completed", 3, 3]);
    assert.deepEqual(await texts(nouns, "s"), ["answer 0", "answer 1", "answer 2"]);
    await endedOnce(nouns, run);
  }),
  prove(
    "RU14 reads of parallel branches keep their places, and go before what follows from them",
    NEEDS,
    async (nouns) => {
      const { runs, history, log } = nouns;
      await history.append({ session: "s", agent: "ada" }, { role: "user", content: "hello" });
      const recorder = new EffectRecorder();
      const held = gate();
      const seen: number[][] = [];
      const branches = agent(
        async (it) => {
          const found = await it.parallel(
            ...Array.from({ length: 8 }, (_, n) => async (one: Iteration) => {
              const first = (await one.history()).length;
              await one.message({ role: "assistant", content: `branch ${n}: ${first}` });
              const second = (await one.history()).length;
              await one.tool("note", second);
              return [first, second];
            }),
          );
          seen.push(found.flat() as number[]);
          await it.tool("wait", seen.at(-1));
          return it.done(null);
        },
        {
          tools: {
            note: recorder.tool("note"),
            wait: recorder.tool("wait", () => held.pass().then(() => null), { effect: "idempotent" }),
          },
        },
      );
      const { id } = await runs.start(branches, { session: "s" });
      await cutOff(runs, branches, id, held.reached);
      await history.append({ session: "s", agent: "ada" }, { role: "user", content: "later" });
      held.open();
      const { status, run } = await runs.resume(branches, id);
      assert.equal(status, "completed");
      assert.deepEqual(seen[1], seen[0]);
      assert.deepEqual([recorder.count("note"), (await runs.steps(id)).length], [8, 33]);
      // In each branch a read is in the log before what was done with it.
      const events = await log.read("s", { limit: 1000 });
      const seqOf = (path: string) =>
        events.find(({ data }) => (data.path ?? (data.step as { path?: string } | undefined)?.path) === path)?.seq ?? 0;
      for (let branch = 1; branch <= 8; branch++) {
        const order = [1, 2, 3, 4].map((n) => seqOf(`1.${branch}.${n}`));
        assert.deepEqual(
          order,
          order.toSorted((a, b) => a - b),
        );
      }
      await endedOnce(nouns, run);
    },
  ),
  prove(
    "RU14 other options at the place of a read are NonDeterminism; the tokenizer is not among them",
    NEEDS,
    async (nouns) => {
      const { runs, history } = nouns;
      await history.append({ session: "s", agent: "ada" }, { role: "user", content: "hello" });
      const held = gate();
      const recorder = new EffectRecorder();
      const made = (budget: number) =>
        agent(
          async (it) => {
            const { messages } = await it.context({ budget, tokenizer: () => 1 });
            await it.tool("wait", messages.length);
            return it.done(messages.length);
          },
          { tools: { wait: recorder.tool("wait", () => held.pass().then(() => null), { effect: "idempotent" }) } },
        );
      const { id } = await runs.start(made(10), { session: "s" });
      await cutOff(runs, made(10), id, held.reached);
      const wrong = await refuses("NonDeterminism", () => runs.resume(made(11), id));
      assert.match(wrong.message, /1\/1 .* did read context .* with other arguments/);
      held.open();
      assert.equal((await runs.resume(made(10), id)).value, 1);
    },
  ),
  prove("RU14 what a read is asked wrongly is thrown at the iteration", NEEDS, async (nouns) => {
    const { runs, history } = nouns;
    await history.append({ session: "s", agent: "ada" }, { role: "user", content: "hello" });
    const wrong = agent(async (it) => {
      const codes: string[] = [];
      const tries = [
        () => it.history({ last: 1, limit: 1 }),
        () => it.history({ after: "nowhere#1" }),
        () => it.context({ budget: -1 }),
        () => it.context({ tokenizer: () => Number.NaN }),
        () => it.compact({ summary: " ", upTo: "s#1" }),
      ];
      for (const read of tries) {
        await read().catch((error: { code?: string }) => codes.push(String(error.code)));
      }
      await it
        .context({
          tokenizer: () => {
            throw new RangeError("no such model");
          },
        })
        .catch((error: Error) => codes.push(error.name));
      await it.compact({ summary: "all", upTo: "s#999" }).catch((error: Error) => codes.push(error.name));
      return it.done(codes);
    });
    const { value, run } = await runs.execute(wrong, { session: "s" });
    const five = Array.from({ length: 5 }, () => "InvalidArgument");
    assert.deepEqual(value, [...five, "RangeError", "StepFailed"]);
    await endedOnce(nouns, run);
  }),
  prove(
    "RU14 the error of a non-deterministic iteration that read the handle names the recorded read to use",
    STATE,
    async (nouns) => {
      const { runs, history, lineage, state } = nouns;
      const scope = { session: "s", agent: "ada" };
      await history.append(scope, { role: "user", content: "hello" });
      const reads: readonly (readonly [read: () => Promise<number>, advice: RegExp])[] = [
        [async () => (await history.get(scope)).length, /hf\.history\.get\(\): use it\.history\(\)/],
        [
          async () => (await history.session("s")).length,
          /hf\.history\.session\(\): use it\.history\(\{ agent: null \}\)/,
        ],
        [
          async () => (await lineage.sessions.context("s")).messages.length,
          /hf\.sessions\.context\(\): use it\.context\(\)/,
        ],
        [async () => Object.keys(await state.get("s")).length, /hf\.state\.get\(\): use it\.state\(\)/],
      ];
      for (const [i, [read, advice]] of reads.entries()) {
        const held = gate();
        const recorder = new EffectRecorder();
        const made = agent(
          async (it) => {
            await it.tool("look");
            const n = await read();
            await it.message({ role: "assistant", content: `${n} so far` });
            await it.tool("wait");
            return it.done(n);
          },
          {
            tools: {
              // A tool may read what it likes.
              look: recorder.tool("look", async () => (await history.count(scope)) > 0),
              wait: recorder.tool("wait", () => held.pass().then(() => null), { effect: "idempotent" }),
            },
          },
        );
        const { id } = await runs.start(made, { session: "s" });
        await cutOff(runs, made, id, held.reached);
        await state.patch("s", { [`key-${i}`]: i });
        held.open();
        const wrong = await refuses("NonDeterminism", () => runs.resume(made, id));
        assert.match(present(wrong.hint), advice);
        assert.doesNotMatch(present(wrong.hint), /count/, "what a tool read is not named");
        await runs.cancel(id);
      }
      const held = gate();
      const made = (n: number) =>
        agent(async (it) => {
          await it.message({ role: "assistant", content: `${n}` });
          await held.pass();
          return it.done(null);
        });
      const { id } = await runs.start(made(1), { session: "s" });
      await cutOff(runs, made(1), id, held.reached);
      const wrong = await refuses("NonDeterminism", () => runs.resume(made(2), id));
      assert.doesNotMatch(present(wrong.hint), /hf\./);
    },
  ),
];
