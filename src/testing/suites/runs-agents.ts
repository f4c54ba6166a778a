// Agents for the suites of runs: small loops whose effects on the world are counted.
import assert from "node:assert/strict";
import type { AgentDefinition, Iteration, Verdict } from "../../contracts/agent-definitions.ts";
import type { Json } from "../../contracts/json.ts";
import type { Run } from "../../contracts/run-record.ts";
import type { Runs } from "../../contracts/runs.ts";
import type { StepCall } from "../../contracts/steps.ts";
import type { Tool } from "../../contracts/tools.ts";
import type { CaseContext } from "../suite.ts";

export const NEEDS = ["runs", "sessions", "history", "log", "lineage", "check"] as const;
export type Nouns = Pick<CaseContext, (typeof NEEDS)[number]>;

/** What tools did, by the key they were given. */
export class EffectRecorder {
  readonly effects: { readonly tool: string; readonly input: Json; readonly key: string; readonly again: boolean }[] =
    [];

  record(tool: string, input: Json, call: StepCall): void {
    this.effects.push({ tool, input, key: call.idempotencyKey, again: call.again });
  }

  count(tool: string): number {
    return this.effects.filter((one) => one.tool === tool).length;
  }

  tool(
    name: string,
    give: (input: Json, call: StepCall) => unknown = (input) => input,
    more: Partial<Tool> = {},
  ): Tool {
    return {
      ...more,
      execute: async (input, call) => {
        this.record(name, input, call);
        return give(input, call);
      },
    };
  }
}

export function agent(
  iterate: (iteration: Iteration, state: never) => Promise<Verdict> | Verdict,
  more: Partial<AgentDefinition> = {},
): AgentDefinition {
  return { id: "ada", version: "1", ...more, iterate: iterate as AgentDefinition["iterate"] };
}

/** Holds every caller until it is opened. */
export interface Gate {
  readonly reached: Promise<void>;
  pass(): Promise<void>;
  open(): void;
}

export function gate(): Gate {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    pass: () => {
      reached.resolve();
      return opened.promise;
    },
    open: () => opened.resolve(),
  };
}

/** An agent of one iteration, which stands at the gate and then ends with the result. */
export function gatedAgent(result: string | number) {
  const held = gate();
  const works = agent(async (it) => {
    await held.pass();
    return it.done(result);
  });
  return { held, works };
}

export async function texts({ history }: Pick<Nouns, "history">, session: string): Promise<readonly string[]> {
  const messages = await history.session(session);
  return messages.map(({ content: [block] }) => (block?.type === "text" ? block.text : "?"));
}

const TERMINAL = ["run/completed", "run/failed", "run/cancelled"];

/** The log is whole, the run has ended once, and the store agrees with itself. */
export async function endedOnce({ log, check }: Pick<Nouns, "log" | "check">, run: Run): Promise<void> {
  const events = await log.read(run.session, { limit: 1000 });
  const ends = events.filter((event) => TERMINAL.includes(event.type) && event.run === run.id);
  assert.equal(ends.length, 1, "exactly one terminal event");
  assert.equal((await log.verify(run.session)).ok, true);
  const { status, issues } = await check();
  assert.deepEqual([status, issues], ["ok", []]);
}

/** Works on a run until a tool is reached, and is cut off there. */
export async function cutOff(
  runs: Runs,
  definition: AgentDefinition,
  id: string,
  reached: Promise<void>,
): Promise<void> {
  const worker = runs.createWorker({ agents: [definition], pollMs: 10 });
  assert.equal(await worker.look(), 1, `the worker takes ${id}`);
  await reached;
  await worker.stop({ graceMs: 0 });
}
