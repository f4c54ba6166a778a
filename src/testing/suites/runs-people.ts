// Runs as people meet them: what they were asked and said, runs by the beginning of their ids, and what became of them.
import assert from "node:assert/strict";
import type { Decision } from "../../contracts/decisions.ts";
import type { StandardSchema } from "../../contracts/standard-schema.ts";
import type { Tool } from "../../contracts/tools.ts";
import { present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { agent, cutOff, EffectRecorder, endedOnce, gate, NEEDS, type Nouns } from "./runs-agents.ts";

/** A run that was cut off in a payment, and asks about it. */
async function asking({ runs }: Pick<Nouns, "runs">, session: string, id: string) {
  const held = gate();
  const recorder = new EffectRecorder();
  const pays = agent(async (it) => it.done(await it.tool("pay", session).catch((error) => error.code)), {
    tools: { pay: recorder.tool("pay", () => held.pass().then(() => "paid")) },
  });
  await runs.start(pays, { session, id });
  await cutOff(runs, pays, id, held.reached);
  await runs.resume(pays, id);
  const [decision] = (await runs.pending({ run: id })).items;
  return { pays, held, decision: present(decision).id };
}

const summaryOf = ({ run, answer, step }: Decision) => [run, answer?.verdict, answer?.by, answer?.note, step.status];

/** What tools give that cannot be recorded, though their work is done. */
const LOST_RESULTS: readonly (readonly [string, Partial<Tool>, unknown])[] = [
  ["a value that is no JSON", {}, { at: new Date(0) }],
  ["too many bytes", {}, "x".repeat(70_000_000)],
  ["what the validator refuses", { output: refusing() }, "paid"],
];

function refusing(): StandardSchema {
  return { "~standard": { version: 1, vendor: "test", validate: () => ({ issues: [{ message: "no" }] }) } };
}

const lostResultCases = LOST_RESULTS.map(([what, more, result]) =>
  prove(
    `RU6 a tool has done its work and gives ${what}: a retry asks a person, and does not do it again`,
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const recorder = new EffectRecorder();
      const pays = agent(async (it) => it.done(await it.tool("pay", 7)), {
        tools: { pay: recorder.tool("pay", () => result, more) },
      });
      assert.equal((await runs.execute(pays, { session: "s", id: "r" })).status, "failed");
      const [step] = await runs.steps("r");
      assert.deepEqual([step?.status, step?.effectDone], ["failed", true]);
      const { id } = await runs.retry("r");
      await runs.execute(pays, { session: "s", id: "r" }, { wait: false });
      assert.equal(recorder.count("pay"), 1);
      const [asked] = (await runs.pending({ run: id })).items;
      assert.equal(asked?.reason, "in-doubt");
      assert.equal(asked?.step.idempotencyKey, recorder.effects[0]?.key);
      await runs.answer(present(asked).id, { verdict: "result", result: "receipt 7" });
      const { run, value } = await runs.execute(pays, { session: "s", id: "r" });
      assert.equal(value, "receipt 7");
      assert.equal(recorder.count("pay"), 1);
      await endedOnce(nouns, run);
    },
  ),
);

export const peopleCases: readonly Case[] = [
  ...lostResultCases,
  prove(
    "RU7 a tool that may be repeated and gives what cannot be recorded is done again under the same key",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const recorder = new EffectRecorder();
      let result: unknown = new Date(0);
      const notes = agent(async (it) => it.done(await it.tool("note", 7)), {
        tools: { note: recorder.tool("note", () => result, { effect: "idempotent" }) },
      });
      assert.equal((await runs.execute(notes, { session: "s", id: "r" })).status, "failed");
      await runs.retry("r");
      result = "noted";
      const { run, value } = await runs.execute(notes, { session: "s", id: "r" });
      assert.equal(value, "noted");
      assert.deepEqual(new Set(recorder.effects.map(({ key }) => key)).size, 1);
      await endedOnce(nouns, run);
    },
  ),

  prove("RU6 a lost result, allowed to be done again and left in that try, is in doubt again", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const recorder = new EffectRecorder();
    const held = gate();
    let give: () => unknown = () => new Date(0);
    const pays = agent(async (it) => it.done(await it.tool("pay", 7)), {
      tools: { pay: recorder.tool("pay", () => give()) },
    });
    const work = { session: "s", id: "r" };
    const pending = async (run: string) => present((await runs.pending({ run })).items[0]).id;
    await runs.execute(pays, work);
    const second = (await runs.retry("r")).id;
    await runs.execute(pays, work, { wait: false });
    await runs.answer(await pending(second), { verdict: "retry" });
    give = () => held.pass().then(() => "paid");
    await cutOff(runs, pays, second, held.reached);
    await runs.cancel(second);
    const third = (await runs.retry(second)).id;
    await runs.execute(pays, work, { wait: false });
    assert.equal(recorder.count("pay"), 2);
    await runs.answer(await pending(third), { verdict: "result", result: "receipt" });
    const { run, value } = await runs.execute(pays, work);
    assert.deepEqual([value, recorder.count("pay")], ["receipt", 2]);
    await endedOnce(nouns, run);
  }),

  prove(
    "RU6 the same where the run that was left had done another step since: not its last step, and in doubt all the same",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const recorder = new EffectRecorder();
      const held = gate();
      let give: () => unknown = () => new Date(0);
      let isRetry = false;
      const pays = agent(
        async (it) => {
          const [paid] = await it.parallel(
            (one: typeof it) => one.tool("pay", 7),
            async (one: typeof it) => (isRetry ? one.tool("note", 7) : null),
          );
          return it.done(paid);
        },
        {
          tools: {
            pay: recorder.tool("pay", () => give()),
            note: recorder.tool("note", () => "noted", { effect: "idempotent" }),
          },
        },
      );
      const work = { session: "s", id: "r" };
      const pending = async (run: string) => present((await runs.pending({ run })).items[0]).id;
      assert.equal((await runs.execute(pays, work)).status, "failed");
      const second = (await runs.retry("r")).id;
      isRetry = true;
      await runs.execute(pays, work, { wait: false });
      await runs.answer(await pending(second), { verdict: "retry" });
      give = () => held.pass().then(() => "paid");
      await cutOff(runs, pays, second, held.reached);
      await runs.cancel(second);
      const third = (await runs.retry(second)).id;
      await runs.execute(pays, work, { wait: false });
      await runs.answer(await pending(third), { verdict: "result", result: "receipt" });
      const { run, value } = await runs.execute(pays, work);
      assert.deepEqual([value, recorder.count("pay"), recorder.count("note")], ["receipt", 2, 1]);
      await endedOnce(nouns, run);
    },
  ),

  prove("RU6 questions and answers can be listed afterwards, as the log has them", NEEDS, async (nouns) => {
    const { runs, log } = nouns;
    const answers = {
      r1: { verdict: "result", result: { receipt: 7 }, by: "eve", note: "looked" },
      r2: { verdict: "retry", by: "bob" },
      r3: { verdict: "fail" },
    } as const;
    for (const [id, answer] of Object.entries(answers)) {
      const { pays, held, decision } = await asking(nouns, `s-${id}`, id);
      await runs.answer(decision, answer);
      assert.deepEqual((await runs.pending({ run: id })).items, []);
      held.open();
      await endedOnce(nouns, (await runs.resume(pays, id)).run);
    }
    const open = await asking(nouns, "s-r4", "r4");
    await asking(nouns, "s-r5", "r5");
    await runs.cancel("r5");
    const { items, next } = await runs.decisions({ answered: true, order: "oldest" });
    assert.deepEqual((await runs.decisions({ answered: true })).items, items.toReversed(), "newest first");
    assert.deepEqual(items.map(summaryOf), [
      ["r1", "result", "eve", "looked", "done"],
      ["r2", "retry", "bob", null, "done"],
      ["r3", "fail", null, null, "failed"],
    ]);
    assert.equal(next, null);
    assert.deepEqual(
      items.map(({ answer }) => answer?.result),
      [{ receipt: 7 }, undefined, undefined],
    );
    const [one] = items;
    const events = await log.read("s-r1", { limit: 100 });
    const at = (type: string) => present(events.find((event) => event.type === type)).at;
    assert.deepEqual([one?.askedAt, one?.answer?.at, one?.input], [at("step/asked"), at("run/answered"), "s-r1"]);
    const waiting = await runs.decisions({ answered: false });
    assert.deepEqual(waiting.items, (await runs.pending()).items);
    assert.deepEqual(
      waiting.items.map(({ id, answer, step }) => [id, answer, step.status]),
      [[open.decision, null, "started"]],
    );
    assert.deepEqual((await runs.decisions({ run: "r2" })).items.map(summaryOf), [
      ["r2", "retry", "bob", null, "done"],
    ]);
    assert.deepEqual((await runs.decisions({ run: "r2", answered: false })).items, []);
    for (const order of ["newest", "oldest"] as const) {
      const pages: Decision[] = [];
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page = await runs.decisions({ limit: 2, order, ...(cursor === undefined ? {} : { cursor }) });
        assert.ok(page.items.length <= 2);
        pages.push(...page.items);
        cursor = page.next;
      }
      const asked = ["r1", "r2", "r3", "r4", "r5"];
      assert.deepEqual(
        pages.map(({ run }) => run),
        order === "oldest" ? asked : asked.toReversed(),
        "also what nobody answers any more",
      );
    }
    await refuses("InvalidArgument", () => runs.decisions({ order: "sideways" as never }));
    await refuses("InvalidArgument", () => runs.decisions({ answered: "yes" as never }));
    await refuses("InvalidArgument", () => runs.decisions({ cursor: "nonsense" }));
  }),
  prove("RU6 if a step was asked about twice, both answers are listed", NEEDS, async (nouns) => {
    const { runs } = nouns;
    let held = gate();
    const pays = agent(async (it) => it.done(await it.tool("pay")), {
      tools: { pay: { execute: () => held.pass().then(() => "paid") } },
    });
    await runs.start(pays, { session: "s", id: "r" });
    for (const by of ["eve", "bob"]) {
      await cutOff(runs, pays, "r", held.reached);
      await runs.resume(pays, "r");
      const [decision] = (await runs.pending({ run: "r" })).items;
      await runs.answer(present(decision).id, { verdict: "retry", by });
      held = gate();
    }
    const { items } = await runs.decisions({ run: "r" });
    assert.deepEqual(items.map(summaryOf), [
      ["r", "retry", "bob", null, "started"],
      ["r", "retry", "eve", null, "started"],
    ]);
  }),
  prove(
    "RU1 the beginning of an id that was made up is enough, of one that was chosen it is not",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const ends = agent((it) => it.done(1));
      const { run } = await runs.execute(ends, { session: "s" });
      const some = run.id.slice(0, 12);
      assert.equal((await runs.get(some))?.id, run.id);
      assert.equal((await runs.result(some))?.value, 1);
      assert.deepEqual(await runs.steps(some), []);
      assert.ok((await runs.events(some)).length > 0);
      await refuses("InvalidTransition", () => runs.cancel(some));
      assert.equal(await runs.get(run.id.slice(0, 7)), null, "too little of it");
      assert.equal(await runs.get(`${run.id}0`), null);
      for (const id of ["job-10", "run_12345678"]) await runs.execute(ends, { session: "s", id });
      assert.equal(await runs.get("job-1"), null);
      assert.equal(await runs.get("run_1234567"), null, "whoever chose it names all of it");
      // Looks like one that was made up, twice.
      const twins = ["run_00000000000000000001", "run_00000000000000000002"];
      for (const id of twins) await runs.execute(ends, { session: "s", id });
      const error = await refuses("InvalidArgument", () => runs.get("run_0000"));
      assert.deepEqual(error.details?.runs, twins);
      assert.equal((await runs.get(present(twins[0])))?.id, twins[0]);
      assert.equal(await runs.delete(some), true);
      assert.equal(await runs.get(some), null);
    },
  ),
  prove("RU1 a list says what runs failed of", NEEDS, async ({ runs }) => {
    const fails = agent((it) => it.fail(Object.assign(new Error("no money"), { code: "BROKE" })));
    await runs.execute(fails, { session: "s", id: "bad" });
    await runs.execute(
      agent((it) => it.done()),
      { session: "s", id: "good" },
    );
    await runs.start(fails, { session: "t", id: "gone" });
    await runs.cancel("gone");
    for (const filter of [{}, { agent: "ada" }]) {
      const { items } = await runs.list(filter);
      assert.deepEqual(
        items.map(({ id, error }) => [id, error?.code, error?.message]),
        [
          ["gone", "Aborted", "the run was cancelled"],
          ["good", undefined, undefined],
          ["bad", "BROKE", "no money"],
        ],
      );
      for (const run of items) assert.deepEqual(run, await runs.get(run.id));
    }
  }),
  prove("LG1 a run's own events are read in order, page by page", NEEDS, async ({ runs, log }) => {
    const speaks = agent(async (it) => {
      await it.message({ role: "user", content: "hello" });
      return it.iteration === 3 ? it.done() : it.next(null);
    });
    for (const id of ["r1", "r2"]) await runs.execute(speaks, { session: "s", id });
    const all = (await log.read("s", { limit: 1000 })).filter(({ run }) => run === "r2");
    assert.deepEqual(await runs.events("r2"), all);
    const [first] = await runs.events("r2", { limit: 1 });
    assert.equal(first?.type, "run/created");
    assert.deepEqual(await runs.events("r2", { after: first?.seq ?? 0, limit: 2 }), all.slice(1, 3));
    await refuses("NotFound", () => runs.events("nobody"));
    await refuses("LimitExceeded", () => runs.events("r2", { limit: 1_000_000 }));
  }),
];
