// What others see of runs: the trace of why something happened, and what a worker says of its work.
import assert from "node:assert/strict";
import type { WorkerNote } from "../../contracts/workers.ts";
import { present, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { agent, cutOff, gate, NEEDS, World } from "./runs-agents.ts";

export const watchingCases: readonly Case[] = [
  prove(
    "SE9 the trace of a step that was decided leads by the answer back to the run",
    [...NEEDS, "trace", "causes"],
    async (given) => {
      const { runs, trace, causes, log } = given;
      const world = new World();
      const held = gate();
      const pays = agent(
        async (it) => {
          await it.message({ role: "user", content: "pay" });
          return it.done(await it.tool("pay"));
        },
        { tools: { pay: world.tool("pay", () => held.pass().then(() => "paid")) } },
      );
      const { id } = await runs.start(pays, { session: "s" });
      await cutOff(runs, pays, id, held.reached);
      await runs.resume(pays, id);
      const [decision] = await runs.pending({ run: id });
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
      assert.match(of("run/claimed").summary, /^run taken by a worker, epoch 1$/);
      await runs.delete(id);
      assert.equal((await causes(eventOf("step/again"))).causes.length, 1, "of a deleted run its log is left");
    },
  ),
  prove("RU13 a worker tells what it takes, leaves and cannot go on with", NEEDS, async ({ runs }) => {
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
