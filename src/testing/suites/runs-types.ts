// Validators of agents and tools: what they refuse, when, and what a replay is told of it.
import assert from "node:assert/strict";
import type { AgentDefinition } from "../../contracts/agent-definitions.ts";
import type { Json } from "../../contracts/json.ts";
import type { StandardSchema, ValidationResult } from "../../contracts/standard-schema.ts";
import type { Tool } from "../../contracts/tools.ts";
import { refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { agent, cutOff, EffectRecorder, endedOnce, gate, NEEDS } from "./runs-agents.ts";

interface Order {
  readonly order: string;
  readonly amount: number;
}

/** A validator as libraries make them; `times` counts how often it was asked. */
class Validator<Out> implements StandardSchema<unknown, Out> {
  times = 0;
  readonly "~standard": StandardSchema<unknown, Out>["~standard"];

  constructor(validate: (value: unknown) => ValidationResult<Out> | Promise<ValidationResult<Out>>) {
    const counted = (value: unknown) => {
      this.times++;
      return validate(value);
    };
    this["~standard"] = { version: 1, vendor: "test", validate: counted };
  }
}

/** An amount that is left out is 1. */
function orders(): Validator<Order> {
  return new Validator((value) => {
    const { order, amount = 1 } = (value ?? {}) as Partial<Order>;
    if (typeof order === "string") return { value: { order, amount } };
    return { issues: [{ message: "expected a string", path: ["order"] }, { message: "expected an order" }] };
  });
}

/** Accepts what `accepts` does, after a turn of the event loop. */
function slowly<Out>(accepts: (value: unknown) => value is Out): Validator<Out> {
  return new Validator(async (value) => {
    await Promise.resolve();
    return accepts(value) ? { value } : { issues: [{ message: `not ${JSON.stringify(value)}` }] };
  });
}

const isText = (value: unknown): value is string => typeof value === "string";
const isNumber = (value: unknown): value is number => typeof value === "number";

/** Suites know their agents as AgentDefinition, whose tools take JSON. */
function tool(definition: Tool<unknown, unknown, Order, unknown>): Tool {
  return definition as Tool<unknown, unknown, unknown, unknown> as Tool;
}

const coded = (error: unknown) => {
  const { code, message } = error as { readonly code: string; readonly message: string };
  return { code, message };
};

export const typesCases: readonly Case[] = [
  prove(
    "RU15 an input that its validator refuses begins nothing; what is given is kept, what the validator gives is used",
    NEEDS,
    async (nouns) => {
      const { runs, sessions } = nouns;
      const validator = orders();
      const held = gate();
      const takes = agent(
        async (it) => {
          await it.tool("hold");
          return it.done({ input: it.input });
        },
        {
          input: validator as unknown as StandardSchema<Json, Json>,
          initial: (input) => input,
          tools: { hold: { effect: "idempotent", execute: () => held.pass().then(() => null) } },
        },
      );
      const wrong = await refuses("InvalidArgument", () => runs.execute(takes, { session: "s", input: { order: 7 } }));
      assert.equal(wrong.message, "input of the agent ada: order: expected a string; expected an order");
      await refuses("InvalidArgument", () => runs.start(takes, { session: "s", id: "r" }));
      assert.equal(await sessions.get("s"), null, "nothing was written");
      assert.equal(await runs.get("r"), null);
      const { id } = await runs.start(takes, { session: "s", id: "r", input: { order: "7" } });
      await cutOff(runs, takes, id, held.reached);
      held.open();
      const before = validator.times;
      const { value, run } = await runs.resume(takes, id);
      assert.deepEqual(value, { input: { order: "7", amount: 1 } });
      assert.equal(validator.times, before + 1, "validated again by who continues it");
      await endedOnce(nouns, run);
    },
  ),
  prove(
    "RU15 a refused tool input is a failed step without an intent or an effect, and a replay gets the same error",
    NEEDS,
    async (nouns) => {
      const { runs, log } = nouns;
      const recorder = new EffectRecorder();
      const held = gate();
      const made = (input: StandardSchema<unknown, Order>) =>
        agent(
          async (it) => {
            const told = await it.tool("refund", { order: 7 }).catch(coded);
            await it.tool("hold");
            return it.done(told as Json);
          },
          {
            tools: {
              refund: tool({
                input,
                execute: (order, call) => {
                  recorder.record("refund", { ...order }, call);
                  return null;
                },
              }),
              hold: { effect: "idempotent", execute: () => held.pass().then(() => null) },
            },
          },
        );
      const told = {
        code: "InvalidInput",
        message: "input of the tool refund: order: expected a string; expected an order",
      };
      const { id } = await runs.start(made(orders()), { session: "s" });
      await cutOff(runs, made(orders()), id, held.reached);
      const [refused] = await runs.steps(id);
      assert.deepEqual([refused?.name, refused?.status, refused?.error], ["refund", "failed", told]);
      const types = (await log.read("s", { limit: 100 })).map(({ type }) => type);
      assert.deepEqual(types.filter((type) => type.startsWith("step/")).slice(0, 2), ["step/failed", "step/started"]);
      held.open();
      // Another validator would accept it now: what was told once is told again.
      const lenient = new Validator(() => ({ value: { order: "any", amount: 0 } }));
      const { value, run } = await runs.resume(made(lenient), id);
      assert.deepEqual([value, recorder.count("refund"), lenient.times], [told, 0, 0]);
      await endedOnce(nouns, run);
    },
  ),
  prove(
    "RU15 a tool gets what the validator gives, at every try a value of its own; its step keeps what was given",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const inputs: Order[] = [];
      const held = gate();
      const refund = tool({
        input: orders(),
        effect: "idempotent",
        retry: { attempts: 2, backoffMs: 0 },
        execute: async (order) => {
          inputs.push({ ...order });
          (order as { amount: number }).amount = 99;
          if (inputs.length === 1) throw new Error("not now");
          if (inputs.length === 2) await held.pass();
          return { paid: inputs.length };
        },
      });
      const pays = agent(async (it) => it.done(await it.tools.refund?.({ order: "7" })), { tools: { refund } });
      const { id } = await runs.start(pays, { session: "s" });
      await cutOff(runs, pays, id, held.reached);
      held.open();
      const { value, run } = await runs.resume(pays, id);
      assert.deepEqual(value, { paid: 3 });
      assert.deepEqual(inputs, Array(3).fill({ order: "7", amount: 1 }), "first try, retry, and again in doubt");
      await endedOnce(nouns, run);
      const cut = gate();
      const risky = tool({ input: orders(), execute: () => cut.pass().then(() => null) });
      const asks = agent(async (it) => it.done(await it.tool("risky", { order: "8" })), { tools: { risky } });
      const doubtful = await runs.start(asks, { session: "t" });
      await cutOff(runs, asks, doubtful.id, cut.reached);
      await runs.resume(asks, doubtful.id);
      assert.deepEqual((await runs.pending({ run: doubtful.id })).items[0]?.input, { order: "8" });
    },
  ),
  prove(
    "RU15 a result that is refused fails its step for good; what the validator gives is the result",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const recorder = new EffectRecorder();
      const rounded = new Validator((value) =>
        isNumber(value) ? { value: Math.round(value) } : { issues: [{ message: "expected a number" }] },
      );
      const measures = agent(
        async (it) => {
          const told = await it.tool("measure", "text").catch(coded);
          return it.done([told as Json, await it.tool("measure", 1.4)]);
        },
        {
          tools: {
            measure: { ...recorder.tool("measure"), output: rounded, retry: { attempts: 3, backoffMs: 0 } },
          },
        },
      );
      const { value, run } = await runs.execute(measures, { session: "s" });
      const told = { code: "InvalidOutput", message: "result of the tool measure: expected a number" };
      assert.deepEqual([value, recorder.count("measure")], [[told, 1], 2]);
      const [failed, done] = await runs.steps(run.id);
      assert.deepEqual([failed?.status, failed?.attempt, done?.status], ["failed", 1, "done"]);
      await endedOnce(nouns, run);
    },
  ),
  prove("RU15 states are validated when they are made, and the value when the run is done", NEEDS, async (nouns) => {
    const { runs } = nouns;
    const counts = (more: Partial<AgentDefinition>) =>
      agent((it, n: number) => (n < 3 ? it.next(n === 2 ? "three" : n + 1) : it.done("end")), {
        state: slowly(isNumber),
        initial: () => 1,
        ...more,
      });
    const next = await runs.execute(counts({}), { session: "next" });
    assert.deepEqual([next.status, next.error?.code, next.run.iteration], ["failed", "InvalidState", 1]);
    assert.match(next.error?.message ?? "", /state: not "three"/);
    const first = await runs.execute(counts({ initial: () => "one" }), { session: "initial" });
    assert.deepEqual([first.error?.code, first.run.iteration], ["InvalidState", 0]);
    const ends = (value: Json) =>
      agent((it) => it.done(value), {
        output: new Validator((one) => (isText(one) ? { value: `${one}!` } : { issues: [{ message: "no text" }] })),
      });
    const wrong = await runs.execute(ends(5), { session: "wrong" });
    assert.deepEqual([wrong.status, wrong.error?.code, wrong.value], ["failed", "InvalidOutput", null]);
    assert.equal(wrong.error?.message, "value of done(): no text");
    const right = await runs.execute(ends("yes"), { session: "right" });
    assert.deepEqual([right.value, (await runs.result(right.run.id))?.value], ["yes!", "yes!"]);
    await endedOnce(nouns, right.run);
  }),
  prove(
    "RU15 a signal that is refused is taken and fails its step; a run that takes this one up waits for another",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const waits = agent(async (it) => it.done({ answer: await it.waitFor<string>("answer") }), {
        signals: { answer: slowly(isText) },
      });
      const { id } = await runs.start(waits, { session: "s" });
      await runs.resume(waits, id);
      await runs.signal(id, "answer", 5);
      const { status, error } = await runs.resume(waits, id);
      assert.deepEqual([status, error?.code, error?.message], ["failed", "InvalidSignal", "signal answer: not 5"]);
      const again = await runs.retry(id);
      assert.equal((await runs.resume(waits, again.id)).status, "waiting");
      await runs.signal(again.id, "answer", "yes");
      const { value, run } = await runs.resume(waits, again.id);
      assert.deepEqual(value, { answer: "yes" });
      const waited = (await runs.steps(again.id)).map(({ name, status }) => [name, status]);
      assert.deepEqual(waited, [["answer", "done"]], "a step of its own");
      await endedOnce(nouns, run);
      const other = agent(async (it) => it.done(await it.waitFor("other")), { signals: { answer: slowly(isText) } });
      const unknown = await runs.execute(other, { session: "t" });
      assert.equal(unknown.error?.code, "NotFound");
    },
  ),
  prove(
    "RU15 a replay gets the same error for a refused signal, and null for one that timed out",
    NEEDS,
    async (nouns) => {
      const { runs } = nouns;
      const held = gate();
      const made = (answer: StandardSchema) =>
        agent(
          async (it) => {
            const told = await it.waitFor("answer").catch(coded);
            const late = await it.waitFor("answer", { timeoutMs: 0 });
            await it.tool("hold");
            return it.done([told as Json, late]);
          },
          {
            signals: { answer: answer as StandardSchema<unknown, Json> },
            tools: { hold: { effect: "idempotent", execute: () => held.pass().then(() => null) } },
          },
        );
      const { id } = await runs.start(made(slowly(isText)), { session: "s" });
      await runs.signal(id, "answer", null);
      await cutOff(runs, made(slowly(isText)), id, held.reached);
      held.open();
      const { value, run } = await runs.resume(made(new Validator(() => ({ value: "fine" }))), id);
      assert.deepEqual(value, [{ code: "InvalidSignal", message: "signal answer: not null" }, null]);
      await endedOnce(nouns, run);
    },
  ),
  prove(
    "RU15 a validator that throws has refused the value; a child's input is validated before it begins",
    NEEDS,
    async (nouns) => {
      const { runs, sessions } = nouns;
      const breaks = new Validator<Order>(() => {
        throw new Error("out of order");
      });
      const child = {
        ...agent((it) => it.done(1), { input: orders() as unknown as StandardSchema<Json, Json> }),
        id: "kid",
      };
      const parent = agent(
        async (it) => {
          const told = await it.tool("broken", 1).catch(coded);
          const refused = await it.spawn(child, { input: 5, session: "kid" }).catch(coded);
          return it.done([told as Json, (refused as { code: string }).code]);
        },
        { tools: { broken: tool({ input: breaks, execute: () => null }) } },
      );
      const { value, run } = await runs.execute(parent, { session: "s" });
      const message = "input of the tool broken: the validator threw out of order";
      assert.deepEqual(value, [{ code: "InvalidInput", message }, "InvalidArgument"]);
      assert.equal(await sessions.get("kid"), null);
      await endedOnce(nouns, run);
    },
  ),
  prove("RU15 with validators or without, the tools a run is pinned to are the same", NEEDS, async ({ runs }) => {
    const pays = (more: Partial<Tool>, rest: Partial<AgentDefinition> = {}) =>
      agent((it) => it.done(1), { ...rest, tools: { pay: { execute: () => 1, ...more } } });
    const plain = await runs.execute(pays({}), { session: "plain" });
    const checked = pays(
      { input: shapes, output: shapes, inputSchema: { type: "object" } },
      { state: shapes, output: shapes },
    );
    const typed = await runs.execute(checked, { session: "typed" });
    assert.equal(typed.run.toolset, plain.run.toolset);
  }),
];

const shapes = new Validator((value): ValidationResult<Json> => ({ value: value as Json })) as StandardSchema<
  Json,
  Json
>;
