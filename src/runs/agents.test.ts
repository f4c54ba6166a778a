// Agents whose state and input have types: what the compiler says of them. The rest is in the suites.
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
    // @ts-expect-error a state of another shape is none of its own
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
    // @ts-expect-error a child is given what it says it takes
    const wrong = () => it.spawn(counter, { input: { moost: 3 } });
    // @ts-expect-error and something, when it takes something
    const none = () => it.spawn(counter);
    const any = () => it.spawn(plain0);
    expectTypeOf([wrong, none, any]).toBeArray();
    return it.done(child.value);
  },
});

// @ts-expect-error the first state is one of its states
defineAgent<State>({ id: "wrong", version: "1", initial: () => ({ n: 1 }), iterate: (it) => it.done() });

test("RU8 an agent sees its state and its input as the types it names", async () => {
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
