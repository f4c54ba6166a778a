// What others see of runs: the trace of why something happened, and what a worker says of its work.
import assert from "node:assert/strict";
import { HoldfastError } from "../../contracts/errors.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { Step } from "../../contracts/steps.ts";
import type { WorkerNote } from "../../contracts/workers.ts";
import { present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { agent, cutOff, EffectRecorder, gate, NEEDS } from "./runs-agents.ts";

export const watchingCases: readonly Case[] = [
  prove(
    "RU20 steps show what they were given and gave, and name by its ref what is large",
    [...NEEDS, "blobs"],
    async (nouns) => {
      const { runs, blobs } = nouns;
      const large = "x".repeat(LIMITS.stepContentBytes);
      const fails = () => Promise.reject(new HoldfastError("Conflict", "not today"));
      const works = agent(
        async (it) => {
          await it.message({ role: "user", content: "hello" });
          await it.now();
          await it.tool("add", { a: 1 });
          await it.tool("fails", 7).catch(() => null);
          await it.tool("large", large);
          await it.model({ prompt: "p" });
          return it.done(await it.waitFor("go"));
        },
        {
          tools: { add: { execute: () => 2 }, fails: { execute: fails }, large: { execute: () => large } },
          models: { m: { call: () => ({ output: "said" }) } },
        },
      );
      const { run } = await runs.execute(works, { session: "s" }, { wait: false });
      const plain = await runs.steps(run.id);
      assert.ok(
        plain.every((step) => !("input" in step) && !("result" in step)),
        "only when asked for",
      );
      const steps = await runs.steps(run.id, { io: true });
      const shown = (content: NonNullable<Step["input"]> | undefined) =>
        content === undefined ? "none" : (content.value ?? "left out");
      assert.deepEqual(
        steps.map(({ kind, name, input, result }) => [kind, name, shown(input), shown(result)]),
        [
          ["message", "message", { content: [{ type: "text", text: "hello" }] }, "none"],
          ["now", "now", "none", present(present(steps[1]).result).value],
          ["tool", "add", { a: 1 }, 2],
          ["tool", "fails", 7, "none"],
          ["tool", "large", "left out", "left out"],
          ["model", "m", { prompt: "p" }, { output: "said" }],
          ["wait", "go", "none", "none"],
        ],
      );
      assert.deepEqual(
        steps.map(({ input: _input, result: _result, ...rest }) => rest),
        plain,
      );
      const { input, result } = present(steps[4]);
      assert.deepEqual([present(input).size, present(result).ref], [large.length + 2, present(input).ref]);
      assert.equal(await blobs.resolveJson(present(result).ref), large);
      assert.equal(await blobs.resolveJson(present(present(steps[2]).result).ref), 2, "also what stands in the row");
      assert.deepEqual(await runs.steps(run.id, { io: true, iteration: 2 }), []);
      await refuses("InvalidArgument", () => runs.steps(run.id, { io: "yes" as never }));
    },
  ),
  prove("QU1 steps are facts, equal to those of runs.steps", [...NEEDS, "query"], async (nouns) => {
    const { runs, query } = nouns;
    const held = gate();
    const nul = "a NUL \u0000 in an error";
    const works = agent(
      async (it, n: number) => {
        await it.message({ role: "user", content: "hello" });
        await it.now();
        await it.tool("add", { a: n });
        await it.tool("fails", 7).catch(() => null);
        if (n === 1) return it.next(2);
        await it.tool("large", "x".repeat(100_000));
        return it.done(await it.tool("held", nul));
      },
      {
        initial: () => 1,
        tools: {
          add: { execute: () => "2" },
          fails: { execute: () => Promise.reject(new HoldfastError("Conflict", "no")) },
          large: { execute: (input) => input },
          held: { execute: () => held.pass() },
        },
      },
    );
    const { id } = await runs.start(works, { session: "s" });
    await cutOff(runs, works, id, held.reached);
    const steps = await runs.steps(id, { io: true });
    assert.equal(steps.at(-1)?.status, "started");
    const pulled = (await query(`[:find [(pull ?s [*]) ...] :in $ ?run :where [?s :step/run ?run]]`, [
      id,
    ])) as unknown as readonly Readonly<Record<string, unknown>>[];
    const defined = (facts: Readonly<Record<string, unknown>>) =>
      Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== null && value !== undefined));
    const told = new Map(pulled.map((facts) => [facts[":step/id"], facts]));
    assert.deepEqual(
      steps.map((step) => told.get(step.id)),
      steps.map((step) =>
        defined({
          ":step/id": step.id,
          ":step/event": step.id,
          ":step/run": id,
          ":step/session": "s",
          ":step/iteration": step.iteration,
          ":step/path": step.path,
          ":step/kind": step.kind,
          ":step/name": step.name,
          ":step/attempt": step.attempt,
          ":step/idempotency-key": step.idempotencyKey,
          ":step/status": step.status,
          ":step/started-at": step.startedAt,
          ":step/ended-at": step.endedAt,
          ":step/error-code": step.error?.code,
          ":step/input-ref": step.input?.ref,
          ":step/input-size": step.input?.size,
          ":step/result-ref": step.result?.ref,
          ":step/result-size": step.result?.size,
        }),
      ),
    );
    assert.equal(told.size, steps.length, "and nothing else is a step");
    const asks = agent(async (it) => it.done(await it.tool("t")), {
      tools: { t: { approve: true, execute: () => 1 } },
    });
    await runs.execute(asks, { session: "asks", id: "asks" }, { wait: false });
    const STATUS = `[:find ?status . :where [?s :step/run "asks"] [?s :step/status ?status]]`;
    assert.deepEqual([(await runs.steps("asks"))[0]?.status, await query(STATUS)], ["asked", "asked"]);
    await runs.answer(present((await runs.pending({ run: "asks" })).items[0]).id, { verdict: "retry" });
    await runs.resume(asks, "asks");
    assert.deepEqual([(await runs.steps("asks"))[0]?.status, await query(STATUS)], ["done", "done"]);
    const failed = await query(
      `[:find ?name (count ?s) :where [?s :step/status :failed] [?s :step/error-code "Conflict"] [?s :step/name ?name]]`,
    );
    assert.deepEqual(failed, [["fails", 2]]);
    assert.deepEqual(
      await query(`[:find [?i ...] :where [?s :step/result-size ?n] [(> ?n 65536)] [?s :step/iteration ?i]]`),
      [2],
    );
  }),
  prove(
    "SE9 the trace of a step that was decided leads by the answer back to the run",
    [...NEEDS, "trace", "causes"],
    async (nouns) => {
      const { runs, trace, causes, log } = nouns;
      const recorder = new EffectRecorder();
      const held = gate();
      const pays = agent(
        async (it) => {
          await it.message({ role: "user", content: "pay" });
          return it.done(await it.tool("pay"));
        },
        { tools: { pay: recorder.tool("pay", () => held.pass().then(() => "paid")) } },
      );
      const { id } = await runs.start(pays, { session: "s" });
      await cutOff(runs, pays, id, held.reached);
      await runs.resume(pays, id);
      const [decision] = (await runs.pending({ run: id })).items;
      await runs.answer(present(decision).id, { verdict: "retry", by: "eve" });
      held.open();
      await runs.resume(pays, id);
      const events = await log.read("s", { limit: 100 });
      const eventOf = (type: string) => `s#${present(events.find((event) => event.type === type)).seq}`;
      const why = await causes(eventOf("step/again"));
      assert.deepEqual(
        why.causes.map(({ type }) => type),
        ["step/started", "run/answered", "run/created", "step/asked"],
      );
      assert.match(present(why.causes[1]).summary, /: retry, by eve$/);
      assert.deepEqual([why.event.row?.kind, why.event.row?.id], ["step", present(decision).id]);
      const traced = await trace("s");
      const of = (type: string) => present(traced.find((event) => event.type === type));
      assert.deepEqual(of("message/added").causes, [{ kind: "run", id }]);
      assert.deepEqual(of("run/completed").causes[0], { kind: "run", id });
      assert.equal(of("run/waiting").summary, `run waits for decision ${present(decision).id}`);
      assert.match(of("run/claimed").summary, /^run claimed by a worker, epoch 1$/);
      await runs.delete(id);
      assert.equal((await causes(eventOf("step/again"))).causes.length, 1, "of a deleted run its log is left");
    },
  ),
  prove("RU13 a worker reports the runs that it claims, releases and cannot continue", NEEDS, async ({ runs }) => {
    const works = agent(async (it) =>
      it.input === "bad" ? it.fail(new Error("no")) : it.done(await it.waitFor("go")),
    );
    const { id: waits } = await runs.start(works, { session: "a" });
    const { id: fails } = await runs.start(works, { session: "b", input: "bad" });
    const { id: other } = await runs.start({ ...works, version: "2" }, { session: "c" });
    const notes: WorkerNote[] = [];
    const worker = runs.createWorker({
      agents: [works],
      watch: (note) => {
        notes.push(note);
        throw new Error("whoever listens badly disturbs nobody");
      },
    });
    assert.equal(await worker.look(), 2);
    while (worker.working.length > 0) await new Promise((resolve) => setTimeout(resolve, 2));
    const of = (run: string) =>
      notes
        .filter((note) => note.run.id === run)
        .map((note) => [note.kind, note.run.status, note.kind === "refused" ? note.error.code : note.run.error?.code]);
    assert.deepEqual(of(waits), [
      ["begun", "running", undefined],
      ["left", "waiting", undefined],
    ]);
    assert.deepEqual(of(fails), [
      ["begun", "running", undefined],
      ["left", "failed", "Error"],
    ]);
    assert.deepEqual(of(other), [["refused", "running", "AgentMismatch"]]);
    await worker.stop();
    await refuses("InvalidArgument", () =>
      Promise.resolve().then(() => runs.createWorker({ agents: [works], watch: 1 as never })),
    );
  }),
];
