// The errors for an agent's own mistakes, which name what the author of the agent wrote.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AgentDefinition, Iteration, Verdict } from "../contracts/agent-definitions.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { Tool } from "../contracts/tools.ts";
import { isHoldfastError, open } from "../index.ts";

let hf: Holdfast;
beforeEach(async () => {
  hf = await open(":memory:");
});
afterEach(() => hf.close());

const agent = (given: Partial<AgentDefinition>): AgentDefinition => ({
  id: "a",
  version: "1",
  iterate: (it) => it.done(),
  ...given,
});

async function thrown(call: () => Promise<unknown>): Promise<{ message: string; hint: string }> {
  const error = await call().then(
    () => null,
    (error: unknown) => error,
  );
  if (!isHoldfastError(error)) throw new Error("nothing was refused");
  return { message: error.message, hint: error.hint ?? "" };
}

describe("RU8 the error of a failed run names the place of the mistake", () => {
  const models = { m: { call: () => ({ output: 1 }) }, n: { call: () => ({ output: 1 }) } };
  const tools = { send: { execute: () => ({ d: new Date(0) }) }, look: { execute: () => 1 } };
  const odd = new Date(0) as never;
  test.each<[string, Partial<AgentDefinition>, (it: Iteration) => Promise<Verdict>]>([
    ["state.d is not JSON: it is a Date object; give plain objects", {}, async (it) => it.next({ d: odd })],
    ["tool send: result.d is not JSON: it is a Date object; give plain objects", { tools }, (it) => it.tool("send")],
    ["tool send: input is not JSON: it is a function", { tools }, (it) => it.tool("send", () => 1)],
    ["tool send: input.d[1] is not JSON: it is undefined", { tools }, (it) => it.tool("send", { d: [1, undefined] })],
    ["model m: request is not JSON: it is a symbol", { models }, (it) => it.model(Symbol("x"), "m") as never],
    ['the agent has no tool "sned"; did you mean "send"?', { tools }, (it) => it.tool("sned")],
    ['the agent has no tool "pay"; it has send, look', { tools }, (it) => it.tool("pay")],
    ['the agent has no tool "pay"; it has none', {}, (it) => it.tool("pay")],
    ["the agent has no models: give it some, defineAgent({ models: … })", {}, (it) => it.model("hi") as never],
    ["the agent has 2 models: name one of m, n", { models }, (it) => it.model("hi") as never],
  ] as [string, Partial<AgentDefinition>, (it: Iteration) => Promise<Verdict>][])(
    "%s",
    async (message, given, iterate) => {
      const { error } = await hf.runs.execute(agent({ ...given, iterate }), { session: "s" });
      expect(error?.message).toBe(message);
    },
  );
});

test("RU8 other tools: the error names the one change that explains the difference, and never a hash", async () => {
  const did: Tool = { execute: () => 1 };
  const same: Tool = { effect: "idempotent", execute: () => 1 };
  const models = { m: { call: () => ({ output: 1 }) } };
  const waits: AgentDefinition["iterate"] = async (it) => it.done(await it.waitFor("go"));
  const begun = agent({ tools: { send: did, look: same }, iterate: waits });
  const { run } = await hf.runs.execute(begun, { session: "s" }, { wait: false });
  const refused = async (given: Partial<AgentDefinition>) =>
    (await thrown(() => hf.runs.resume({ ...begun, ...given }, run.id))).message.split(" was begun ")[1];
  expect(await refused({ tools: { send: did, look: same, pay: did } })).toBe('without the tool "pay"');
  expect(await refused({ tools: { send: same, look: same } })).toBe(
    'with the tool "send" declared non-idempotent, not idempotent',
  );
  expect(await refused({ models })).toBe('without the model "m"');
  expect(await refused({ tools: { look: same } })).toMatch(/^with other tools or models than the agent has now/);
  const { hint } = await thrown(() => hf.runs.resume({ ...begun, tools: {} }, run.id));
  expect(hint).toContain("allowMismatch: true");
});

test("RU2 the error for a session with an idle run does not say that a worker has it", async () => {
  const waits = agent({ iterate: async (it) => it.done(await it.waitFor("go")) });
  const { run } = await hf.runs.execute(waits, { session: "s" }, { wait: false });
  expect(await thrown(() => hf.runs.start(agent({}), { session: "s" }))).toEqual({
    message: `Session "s" has an unfinished run "${run.id}" (waiting). Run "${run.id}" waits for the signal "go".`,
    hint: `Continue it with runs.resume(agent, "${run.id}"), or end it with runs.cancel("${run.id}").`,
  });
});

test("RU11 the errors of fork and rewind say which iterations can be continued, and why", async () => {
  const twice: AgentDefinition["iterate"] = (it, n) => (n === 1 ? it.done() : it.next(1));
  const { run } = await hf.runs.execute(agent({ iterate: twice }), { session: "s" });
  const two = await thrown(() => hf.runs.fork(run.id, { iteration: 2 }));
  expect(two.message).toContain("not completed an iteration 2");
  expect(two.hint).toContain("The last it has completed is 1");
  expect(two.hint).toContain("the iteration in which a run ends leaves none");
  const once = await hf.runs.execute(agent({}), { session: "t" });
  expect((await thrown(() => hf.runs.fork(once.run.id, { iteration: 1 }))).hint).toContain("with iteration 0");
  expect((await thrown(() => hf.runs.fork(run.id, { session: "t" }))).hint).toMatch(/^Choose another id/);
});
