// Agents for killing: what they do outside is a line in a file that no crash of theirs takes back, under the key they were
// given, and what they were told is done is said before anything else happens.
import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentDefinition, Iteration } from "../../src/contracts/agent-definitions.ts";
import type { Json } from "../../src/contracts/json.ts";
import type { StepCall } from "../../src/contracts/steps.ts";
import type { Tool } from "../../src/contracts/tools.ts";

export const KINDS = ["clerk", "juggler", "waiter", "pauser", "boss", "nester", "carrier", "stubborn"] as const;
export type Kind = (typeof KINDS)[number];

/** What a run of the kind gives in the end, whatever happened on the way. `word` is what it was told, if it asks. */
export function expectedOf(kind: Kind, n: number, word: Json): Json {
  const worked = [n, n + 1, n + 2].map((at) => ({ charged: at, sent: at, put: at, said: at }));
  switch (kind) {
    case "clerk":
      return worked;
    case "juggler":
      return { put: n, charged: n, said: n };
    case "waiter":
      return { sent: word };
    case "pauser":
      return { charged: n + 1 };
    case "boss":
    case "nester":
      return { charged: worked.length };
    case "carrier":
      return { charged: n + 2, length: long(n + 1).length };
    case "stubborn":
      return { tried: n, attempt: 3 };
  }
}

/** The messages its session has in the end, in order. */
export function textsOf(kind: Kind, n: number): readonly string[] {
  if (kind === "clerk") return [n, n + 1, n + 2].flatMap((at) => [`do ${at}`, `did ${at}`]);
  return kind === "carrier" ? [n, n + 1].map(long) : [];
}

function long(n: number): string {
  return `${n} `.repeat(3000);
}

export interface Effect {
  readonly tool: string;
  readonly key: string;
  readonly run: string;
}

export function readEffects(file: string): readonly Effect[] {
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => {
    const [tool = "", key = "", run = ""] = line.split(" ");
    return { tool, key, run };
  });
}

/** In one write to the end of the file, which is there even if the process is killed in the next moment. */
async function happens(file: string, tool: string, { idempotencyKey, run }: StepCall): Promise<void> {
  await sleep(Math.random() * 12);
  appendFileSync(file, `${tool} ${idempotencyKey} ${run}\n`);
  await sleep(Math.random() * 12);
}

/** What a tool gives for its input: also what a person says it gave. */
export function resultOf(tool: string, input: Json): Json {
  const { n } = input as { n: Json };
  return tool === "charge" ? { charged: n } : tool === "send" ? { sent: n } : { put: n };
}

export function agentsOf(file: string, say: (line: string) => void): Readonly<Record<Kind, AgentDefinition>> {
  const acting = (name: string, more: Partial<Tool>): Tool => ({
    ...more,
    execute: async (input, call) => {
      await happens(file, name, call);
      return resultOf(name, input);
    },
  });
  const tools: Readonly<Record<string, Tool>> = {
    put: acting("put", { effect: "idempotent" }),
    charge: acting("charge", { effect: "non-idempotent" }),
    send: acting("send", {}),
    fails: {
      effect: "non-idempotent",
      retry: { attempts: 3, backoffMs: 5 },
      execute: async (input, call) => {
        await happens(file, "fails", call);
        if (call.attempt < 3) throw new Error("not yet");
        return { tried: (input as { n: number }).n, attempt: call.attempt };
      },
    },
  };
  const models = {
    scripted: {
      retry: { attempts: 5, backoffMs: 5 },
      call: async (request: Json) => {
        await sleep(Math.random() * 8);
        return { output: request, inputTokens: 7, outputTokens: 3, costUsd: 0.001 };
      },
    },
  };
  const common = { version: "1", tools, models };
  return make(common, knowing(say));
}

type RunEffect = (it: Iteration, name: string, input: Json) => Promise<Json>;

interface Knowing {
  readonly did: RunEffect;
  readonly said: (it: Iteration, content: string) => Promise<void>;
  readonly asked: (it: Iteration, n: Json) => Promise<Json>;
}

/** Says what was acknowledged, in the moment it was. */
function knowing(say: (line: string) => void): Knowing {
  return {
    did: async (it, name, n) => {
      const value = await it.tool(name, { n });
      say(`did ${it.run} ${it.iteration} ${name}`);
      return value;
    },
    said: async (it, content) => {
      const { seq } = await it.message({ role: "user", content });
      say(`said ${it.session} ${seq}`);
    },
    asked: async (it, n) => {
      const { output } = await it.model(n);
      say(`did ${it.run} ${it.iteration} scripted`);
      return output;
    },
  };
}

function make(
  common: Pick<AgentDefinition, "version" | "tools" | "models">,
  { did, said, asked }: Knowing,
): Readonly<Record<Kind, AgentDefinition>> {
  const numberIn = (input: Json) => (input as { n: number }).n;
  const clerk: AgentDefinition = {
    ...common,
    id: "clerk",
    initial: (input) => ({ n: numberIn(input), done: [] }),
    async iterate(it, state) {
      const { n, done } = state as { n: number; done: readonly Json[] };
      await said(it, `do ${n}`);
      const args = await asked(it, n);
      const parts = [await did(it, "put", n), await did(it, "charge", n), await did(it, "send", n), { said: args }];
      await said(it, `did ${n}`);
      const all = [...done, Object.assign({}, ...parts)];
      return all.length === 3 ? it.done(all) : it.next({ n: n + 1, done: all });
    },
  };
  const spawns = (id: string, sameSession: boolean): AgentDefinition => ({
    ...common,
    id,
    async iterate(it) {
      const input = { n: numberIn(it.input) };
      const child = await it.spawn(clerk, { input, ...(sameSession ? { sameSession, forget: true } : {}) });
      return it.done(await did(it, "charge", (child.value as readonly Json[]).length));
    },
  });
  return {
    clerk,
    boss: spawns("boss", false),
    nester: spawns("nester", true),
    juggler: {
      ...common,
      id: "juggler",
      async iterate(it) {
        const n = numberIn(it.input);
        const [put, charged, args] = await it.parallel<[Json, Json, Json, undefined]>(
          (one) => did(one, "put", n),
          (one) => did(one, "charge", n),
          (one) => asked(one, n),
          async (one) => void (await one.sleep(15)),
        );
        return it.done(Object.assign({ said: args }, put, charged));
      },
    },
    waiter: {
      ...common,
      id: "waiter",
      async iterate(it) {
        await did(it, "put", numberIn(it.input));
        return it.done(await did(it, "send", await it.waitFor("go")));
      },
    },
    pauser: {
      ...common,
      id: "pauser",
      async iterate(it) {
        const n = numberIn(it.input);
        await did(it, "charge", n);
        await it.pause(1);
        return it.done(await did(it, "charge", n + 1));
      },
    },
    carrier: {
      ...common,
      id: "carrier",
      initial: (input) => ({ n: numberIn(input), text: "" }),
      async iterate(it, state) {
        const { n, text } = state as { n: number; text: string };
        const first = numberIn(it.input);
        if (n === first + 2) {
          const charged = (await did(it, "charge", n)) as object;
          return it.done({ ...charged, length: text.length });
        }
        await said(it, long(n));
        await did(it, "put", long(n));
        return it.next({ n: n + 1, text: long(n) });
      },
    },
    stubborn: {
      ...common,
      id: "stubborn",
      iterate: async (it) => it.done(await did(it, "fails", numberIn(it.input))),
    },
  };
}
