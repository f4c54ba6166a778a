// Agents that are typed by validators of common libraries: what the compiler infers, and that they run.
import { type } from "arktype";
import * as v from "valibot";
import { afterEach, beforeEach, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { defineAgent, type Holdfast, type Iteration, type Json, open, shape, type Tool, tool } from "../index.ts";

interface Receipt {
  readonly id: string;
}

const refund = tool({
  input: z.object({ order: z.string(), amount: z.coerce.number().default(1) }),
  output: v.object({ id: v.string() }),
  execute: async (input, { idempotencyKey }) => {
    expectTypeOf(input).toEqualTypeOf<{ order: string; amount: number }>();
    return { id: `${input.order}-${input.amount}-${idempotencyKey.length}` };
  },
});

const clerk = defineAgent({
  id: "clerk",
  version: "1",
  input: z.object({ order: z.string(), urgent: z.boolean().default(false) }),
  state: shape<{ readonly n: number }>(),
  output: type({ id: "string" }),
  signals: { approval: z.object({ ok: z.boolean() }), note: v.string() },
  models: { small: { call: () => ({ output: "yes" }) } },
  tools: {
    refund,
    length: { input: type({ text: "string" }), execute: (input) => input.text.length },
    annotated: { execute: async (input: Receipt): Promise<Receipt> => input },
    bare: { execute: () => 5 },
  },
  initial: (input) => {
    expectTypeOf(input).toEqualTypeOf<{ order: string; urgent: boolean }>();
    return { n: 1 };
  },
  async iterate(it, state) {
    expectTypeOf(state).toEqualTypeOf<{ readonly n: number }>();
    expectTypeOf(it.input.urgent).toEqualTypeOf<boolean>();
    const receipt = await it.tools.refund({ order: it.input.order });
    expectTypeOf(receipt).toEqualTypeOf<{ id: string }>();
    const again = await it.tool("refund", { order: it.input.order, amount: 2 });
    expectTypeOf(again).toEqualTypeOf<{ id: string }>();
    expectTypeOf(it.tools.length).returns.resolves.toEqualTypeOf<number>();
    expectTypeOf(it.tools.annotated).returns.resolves.toEqualTypeOf<Receipt>();
    expectTypeOf(it.tools.bare).returns.resolves.toEqualTypeOf<number>();
    const approval = () => it.waitFor("approval", { timeoutMs: 10 });
    expectTypeOf(approval).returns.resolves.toEqualTypeOf<{ ok: boolean } | null>();
    await useUntyped(it);
    const [length] = await it.parallel((one) => one.tools.length({ text: receipt.id }));
    expectTypeOf(length).toEqualTypeOf<number>();
    const wrong = [
      // @ts-expect-error: no tool of this name
      () => it.tools.refnd({ order: "7" }),
      // @ts-expect-error: no tool of this name
      () => it.tool("refnd", { order: "7" }),
      // @ts-expect-error: an order is a text
      () => it.tools.refund({ order: 7 }),
      // @ts-expect-error: an order is a text
      () => it.tool("refund", { order: 7 }),
      // @ts-expect-error: it needs an input
      () => it.tool("refund"),
      // @ts-expect-error: a receipt has no total
      () => receipt.total,
      // @ts-expect-error: no signal of this name
      () => it.waitFor("aproval"),
      // @ts-expect-error: no model of this name
      () => it.model("hi", "large"),
      // @ts-expect-error: a state of another shape
      () => it.next({ n: "one" }),
      // @ts-expect-error: a value of another shape
      () => it.done({ id: 7 }),
      // @ts-expect-error: it has a value
      () => it.done(),
    ];
    expect(wrong.length).toBe(11);
    return state.n < 2 ? it.next({ n: state.n + 1 }) : it.done({ id: again.id });
  },
});

/** A helper function takes any iteration, without the types of its tools. */
async function useUntyped(it: Iteration<{ readonly n: number }, { order: string; urgent: boolean }, Receipt>) {
  expect(await it.tool<number>("bare")).toBe(5);
}

let hf: Holdfast;
beforeEach(async () => {
  hf = await open(":memory:");
});
afterEach(() => hf.close());

test("RU15 an agent is typed by its validators, and uses their output", async () => {
  const result = await hf.runs.execute(clerk, { session: "s", input: { order: "7" } });
  expect([result.status, result.value]).toEqual(["completed", { id: "7-2-32" }]);
  if (result.status === "completed") expectTypeOf(result.value).toEqualTypeOf<{ id: string }>();
  else expectTypeOf(result.value).toEqualTypeOf<null>();
  const [first] = await hf.runs.steps(result.run.id);
  expect(first?.status).toBe("done");
  // @ts-expect-error: it needs an input
  const none = () => hf.runs.execute(clerk, { session: "t" });
  await expect(none()).rejects.toThrow(/input of the agent clerk: .*expected object/);
  // @ts-expect-error: an order is a text
  const wrong = () => hf.runs.start(clerk, { session: "t", input: { order: 7 } });
  await expect(wrong()).rejects.toThrow(/order: .*expected string/);
});

test("RU15 the value of a child has the type of its agent", async () => {
  const parent = defineAgent({
    id: "parent",
    version: "1",
    async iterate(it) {
      const child = await it.spawn(clerk, { input: { order: "9" } });
      if (child.status !== "completed") return it.fail(child.error);
      expectTypeOf(child.value).toEqualTypeOf<{ id: string }>();
      return it.done(child.value.id);
    },
  });
  const { value } = await hf.runs.execute(parent, { session: "s" });
  expectTypeOf(value).toEqualTypeOf<Json>();
  expect(value).toBe("9-2-32");
});

test("RU15 agents with explicit types accept any tools, untyped", async () => {
  const tools: Readonly<Record<string, Tool>> = { pay: { execute: (input) => input } };
  const named = defineAgent<{ readonly n: number }, string>({
    id: "named",
    version: "1",
    tools: { refund: tool({ input: z.object({ order: z.string() }), execute: ({ order }) => order }), ...tools },
    initial: () => ({ n: 1 }),
    iterate: async (it, { n }) => it.done([n, await it.tool<string>("refund", { order: it.input })]),
  });
  const { value } = await hf.runs.execute(named, { session: "s", input: "7" });
  expect(value).toEqual([1, "7"]);
  const unlisted = defineAgent({
    id: "any",
    version: "1",
    tools,
    iterate: async (it) => it.done(await it.tool("pay", 3)),
  });
  expect((await hf.runs.execute(unlisted, { session: "t" })).value).toBe(3);
});

test("RU15 a value that is no validator is refused when the agent is defined", () => {
  const iterate = () => ({ verdict: "done", value: null }) as const;
  const define = (more: object) => () => defineAgent({ id: "a", version: "1", iterate, ...more });
  expect(define({ input: {} })).toThrow(/agent.input must be a validator with Standard Schema/);
  expect(define({ signals: { go: 5 } })).toThrow(/agent.signals.go must be a validator/);
  expect(define({ tools: { t: { output: "text", execute: () => 1 } } })).toThrow(
    /agent.tools.t.output must be a valid/,
  );
  expect(define({ tools: { t: { inputSchema: 5, execute: () => 1 } } })).toThrow(/agent.tools.t.inputSchema must be/);
  expect(define({ input: type("string"), state: z.string(), output: v.string() })).not.toThrow();
});

test("RU15 a tool may have any name, and it.tools has no others", async () => {
  const agent = defineAgent({
    id: "js",
    version: "1",
    tools: { constructor: { execute: () => "mine" } },
    iterate: async (it) => it.done([await it.tools.constructor(), typeof Reflect.get(it.tools, "toString")]),
  });
  expect((await hf.runs.execute(agent, { session: "s" })).value).toEqual(["mine", "undefined"]);
});
