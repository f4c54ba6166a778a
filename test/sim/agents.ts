// Agents for simulations. What they do outside is counted by the simulated world, so their tools need do nothing but answer.
import type { AgentDefinition } from "../../src/contracts/agent-definitions.ts";
import type { Json } from "../../src/contracts/json.ts";
import type { Tool } from "../../src/contracts/tools.ts";

const PATIENT = { attempts: 12, backoffMs: 100, maxBackoffMs: 1000 };

/** Charging twice would be noticed; noting twice would not. */
const tools: Readonly<Record<string, Tool>> = {
  charge: { effect: "non-idempotent", retry: PATIENT, execute: (input) => ({ charged: input }) },
  send: { retry: PATIENT, execute: (input) => ({ sent: input }) },
  note: { effect: "idempotent", retry: PATIENT, execute: (input) => ({ noted: input }) },
};

const models = {
  scripted: {
    retry: PATIENT,
    call: (request: Json) => ({ output: { about: request }, inputTokens: 10, outputTokens: 5, costUsd: 0.001 }),
  },
};

/** So many iterations: a message, a model call, one tool that must not be repeated and one that may. */
export const clerk: AgentDefinition = {
  id: "clerk",
  version: "1",
  tools,
  models,
  initial: (input) => ({ left: (input as { iterations: number }).iterations, charged: 0 }),
  async iterate(iteration, state) {
    const { left, charged } = state as { left: number; charged: number };
    if (left === 0) return iteration.done({ charged });
    await iteration.message({ role: "user", content: `do ${left}` });
    await iteration.model({ left });
    await iteration.tool("charge", { left });
    await iteration.tool("note", { left });
    await iteration.message({ role: "assistant", content: `did ${left}` });
    return iteration.next({ left: left - 1, charged: charged + 1 });
  },
};

/** Does something, waits for a word, does something else. */
export const waiter: AgentDefinition = {
  id: "waiter",
  version: "1",
  tools,
  async iterate(iteration) {
    await iteration.tool("note", "before");
    const word = await iteration.waitFor("go");
    await iteration.tool("send", word);
    return iteration.done(word);
  },
};

const careful: Readonly<Record<string, Tool>> = {
  refund: { approve: true, retry: PATIENT, execute: (input) => ({ refunded: input }) },
  mail: {
    approve: (input) => input === "large",
    retry: PATIENT,
    effect: "idempotent",
    execute: (input) => ({ mailed: input }),
  },
  note: { effect: "idempotent", retry: PATIENT, execute: (input) => ({ noted: input }) },
};

/** Asks for approval: once alone, then twice beside other work. */
export const petitioner: AgentDefinition = {
  id: "petitioner",
  version: "1",
  tools: careful,
  models,
  initial: () => ({ n: 0 }),
  async iterate(iteration, state) {
    const { n } = state as { n: number };
    const { call } = await iteration.model({ n });
    await iteration.message({ role: "assistant", content: `asks ${n}` }, { call });
    if (n === 0) return iteration.next({ n: 1, first: await iteration.tool("refund", "first") });
    const done = await iteration.parallel(
      (one) => one.tool("refund", "second"),
      (two) => two.tool("mail", "large"),
      (three) => three.tool("mail", "small"),
      (four) => four.tool("note", "beside"),
    );
    return iteration.done(done.length);
  },
};

/** Pauses between two things. */
export const sleeper: AgentDefinition = {
  id: "sleeper",
  version: "1",
  tools,
  async iterate(iteration) {
    await iteration.tool("charge", "before");
    await iteration.pause(2);
    await iteration.sleep(1000);
    await iteration.tool("send", "after");
    return iteration.done("rested");
  },
};

/** Does two things at once. */
export const juggler: AgentDefinition = {
  id: "juggler",
  version: "1",
  tools,
  async iterate(iteration) {
    const [a, b] = await iteration.parallel<[Json, Json]>(
      (left) => left.tool("note", "left"),
      (right) => right.tool("note", "right"),
    );
    return iteration.done({ a, b });
  },
};

/** Has others do it. */
export const boss: AgentDefinition = {
  id: "boss",
  version: "1",
  tools,
  async iterate(iteration) {
    const { value } = await iteration.spawn(clerk, { input: { iterations: 1 } });
    await iteration.tool("charge", value);
    return iteration.done(value);
  },
};

/** Carries more than fits into a row. */
export const carrier: AgentDefinition = {
  id: "carrier",
  version: "1",
  tools,
  initial: () => ({ n: 0 }),
  async iterate(iteration, state) {
    const { n } = state as { n: number };
    if (n === 1) return iteration.done(n);
    await iteration.message({ role: "user", content: `${n} `.repeat(2000) });
    await iteration.tool("charge", { n, text: `${n} `.repeat(2000) });
    return iteration.next({ n: n + 1, text: `${n} `.repeat(2000) });
  },
};

const taker: AgentDefinition = {
  id: "taker",
  version: "1",
  iterate: (iteration) => iteration.done(iteration.input),
};

/** The loop that reads what it said itself: the context for its model, the history for its tools, in branches too. */
export const reader: AgentDefinition = {
  id: "reader",
  version: "1",
  tools,
  models,
  initial: () => 1,
  async iterate(iteration, state) {
    const { messages } = await iteration.context({ budget: 1000 });
    await iteration.model(messages.map(({ id, content }) => ({ id, content })));
    const said = await iteration.message({ role: "assistant", content: `${messages.length} so far` });
    const counts = await iteration.parallel(
      async (one) => one.tool("charge", (await one.history()).length),
      async (two) => two.spawn(taker, { input: (await two.history({ last: 1 })).map(({ id }) => id) }),
    );
    await iteration.message({ role: "user", content: JSON.stringify(counts[0]) });
    if (state === 1) await iteration.compact({ summary: "it began", upTo: said.id });
    await iteration.state();
    const after = await iteration.context();
    if (state === 2) return iteration.done(after.messages.map(({ content }) => content));
    await iteration.tool("note", after.messages.length);
    return iteration.next(2);
  },
};
