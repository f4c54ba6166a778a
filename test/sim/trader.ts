// An agent that does everything an iteration can, one kind of thing after the other as its input says. Its effects name
// their purpose, so that a repetition is counted, whichever way and whichever run causes it.
import type { AgentDefinition, Iteration } from "../../src/contracts/agent-definitions.ts";
import type { Tool } from "../../src/contracts/tools.ts";

const PATIENT = { attempts: 12, backoffMs: 100, maxBackoffMs: 1000 };

/** Only `card` gives up at once, only `polite` minds the signal; `slow` is made slow by a fault. */
const tools: Readonly<Record<string, Tool>> = {
  card: { effect: "non-idempotent", execute: () => "by card" },
  bank: { effect: "non-idempotent", retry: PATIENT, execute: () => "by bank" },
  slow: { effect: "non-idempotent", retry: PATIENT, execute: () => "at last" },
  ship: { retry: { attempts: 4, backoffMs: 100 }, execute: () => "shipped" },
  polite: {
    effect: "non-idempotent",
    retry: PATIENT,
    execute: (_, { signal }) => {
      signal.throwIfAborted();
      return "pleased";
    },
  },
  note: { effect: "idempotent", retry: PATIENT, execute: () => "noted" },
};

const models = {
  scripted: { retry: PATIENT, call: () => ({ output: "yes", inputTokens: 10, outputTokens: 5, costUsd: 0.001 }) },
};

/** Two things that take their time. */
export const helper: AgentDefinition = {
  id: "helper",
  version: "1",
  tools,
  async iterate(iteration) {
    const what = String(iteration.input);
    await iteration.message({ role: "user", content: what });
    await iteration.tool("slow", { for: `${what} helped` });
    await iteration.tool("ship", { for: `${what} sent` });
    return iteration.done(what);
  },
};

const KINDS: Readonly<Record<string, (iteration: Iteration, what: string) => Promise<unknown>>> = {
  async pay(iteration, what) {
    const pay = { for: `${what} paid` };
    const way = await iteration.tool("card", pay).catch(() => iteration.tool("bank", pay));
    await iteration.message({ role: "assistant", content: String(way) });
    await iteration.tool("slow", { for: `${what} packed` });
    await iteration.tool("ship", { for: `${what} shipped` });
  },
  meet: (iteration, what) =>
    iteration.parallel(
      async (one) => {
        await one.tool("slow", { for: `${what} held` });
        await one.tool("polite", { for: `${what} thanked` });
      },
      async (two) => {
        await two.waitFor("go", { timeoutMs: 15_000 });
        await two.tool("note");
        await two.tool("ship", { for: `${what} met` });
      },
      async (three) => {
        await three.tool("bank", { for: `${what} put by` });
        await three.sleep(8000);
        await three.tool("note");
      },
    ),
  async rest(iteration, what) {
    await iteration.tool("ship", { for: `${what} begun` });
    await iteration.sleep(2000);
    await iteration.pause(1);
    await iteration.now();
    await iteration.tool("slow", { for: `${what} rested` });
  },
  async help(iteration, what) {
    const { status } = await iteration.spawn(helper, { input: what });
    if (status !== "completed") throw new Error(`the helper is ${status}`);
    await iteration.tool("ship", { for: `${what} was helped` });
  },
  async nest(iteration, what) {
    await iteration.spawn(helper, { input: what, sameSession: true, forget: what.length % 2 === 0 });
    await iteration.tool("polite", { for: `${what} was nested` });
  },
  async ask(iteration, what) {
    await iteration.model(what);
    await iteration.tool("card", { for: `${what} asked` });
    const word = await iteration.waitFor("go");
    await iteration.tool("slow", { for: `${what} told ${word}` });
  },
};

export const KIND_NAMES = Object.keys(KINDS);

export const trader: AgentDefinition = {
  id: "trader",
  version: "1",
  tools,
  models,
  initial: () => ({ n: 0 }),
  async iterate(iteration, state) {
    const { n } = state as { n: number };
    const kinds = iteration.input as readonly string[];
    const kind = KINDS[kinds[n] ?? ""];
    if (kind === undefined) return iteration.done(n);
    await kind(iteration, `${kinds[n]} ${n}`);
    return iteration.next({ n: n + 1 });
  },
};
