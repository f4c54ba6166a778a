// Compile-time checks of agents with typed state and input. The suites test their behaviour.
import { expect, expectTypeOf, test } from "vitest";
import type { Json } from "../contracts/json.ts";
import { defineAgent, open } from "../index.ts";

interface State {
  readonly n: number;
  readonly seen: readonly string[];
}

interface Input {
  readonly most: number;
}

const counter = defineAgent<State, Input>({
  id: "counter",
  version: "1",
  tools: { double: { execute: (n) => Number(n) * 2 } },
  initial: ({ most }) => ({ n: most, seen: [] }),
  async iterate(it, state) {
    expectTypeOf(state).toEqualTypeOf<State>();
    expectTypeOf(it.input).toEqualTypeOf<Input>();
    const twice = await it.tool<number>("double", state.n);
    expectTypeOf(twice).toEqualTypeOf<number>();
    const [again] = await it.parallel<[number]>((one) => one.tool<number>("double", one.input.most));
    // @ts-expect-error a state of another shape
    const wrong = () => it.next({ n: "one" });
    expectTypeOf(wrong).toBeFunction();
    return state.seen.length === 1
      ? it.done({ twice, again })
      : it.next({ n: state.n + 1, seen: [...state.seen, `${twice}`] });
  },
});

const plain0 = defineAgent({ id: "plain0", version: "1", iterate: (it) => it.done() });

const plain = defineAgent({
  id: "plain",
  version: "1",
  async iterate(it, state) {
    expectTypeOf(state).toEqualTypeOf<Json>();
    expectTypeOf(it.input).toEqualTypeOf<Json>();
    const tool = () => it.tool("any");
    const signal = () => it.waitFor("any");
    expectTypeOf(tool).returns.resolves.toEqualTypeOf<Json>();
    expectTypeOf(signal).returns.resolves.toEqualTypeOf<Json>();
    const child = await it.spawn(counter, { input: { most: 3 } });
    // @ts-expect-error a child needs an input of its type
    const wrong = () => it.spawn(counter, { input: { moost: 3 } });
    // @ts-expect-error a child that declares an input needs one
    const none = () => it.spawn(counter);
    const any = () => it.spawn(plain0);
    expectTypeOf([wrong, none, any]).toBeArray();
    return it.done(child.value);
  },
});

// @ts-expect-error the first state must have the type of the state
defineAgent<State>({ id: "wrong", version: "1", initial: () => ({ n: 1 }), iterate: (it) => it.done() });

test("RU8 an agent gets its state and its input with their declared types", async () => {
  const hf = await open(":memory:");
  const { value } = await hf.runs.execute(counter, { session: "s", input: { most: 3 } });
  expect(value).toEqual({ twice: 8, again: 6 });
  const worker = hf.runs.createWorker({ agents: [counter, plain] });
  const { id } = await hf.runs.start(plain, { session: "t" });
  await worker.look();
  await worker.stop();
  expect((await hf.runs.result(id))?.value).toEqual({ twice: 8, again: 6 });
  await hf.close();
});
