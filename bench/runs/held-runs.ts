// Runs that wait in the middle of an iteration, so that the bench can execute their steps one by one.
import type { AgentDefinition, Iteration } from "../../src/contracts/agent-definitions.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { messageSource } from "../foundation/messages.ts";

export interface HeldRun {
  readonly run: string;
  /** Executes one step: intent, effect, result. */
  step(): Promise<unknown>;
  end(): Promise<void>;
}

const next = messageSource();

export function textOf(length: number): string {
  return String(next().content).slice(0, length);
}

/** The input and the result of a step: 100 and 400 letters. */
export const ACT: Pick<AgentDefinition, "version" | "tools"> = {
  version: "1",
  tools: { act: { execute: () => ({ answer: textOf(400) }) } },
};

export function act(it: Iteration): Promise<unknown> {
  return it.tool("act", { ask: textOf(100) });
}

export async function hold(hf: Holdfast, session: string): Promise<HeldRun> {
  const reached = Promise.withResolvers<Iteration>();
  const over = Promise.withResolvers<void>();
  const agent: AgentDefinition = {
    ...ACT,
    id: "bench",
    async iterate(it) {
      reached.resolve(it);
      await over.promise;
      return it.done();
    },
  };
  const working = hf.runs.execute(agent, { session });
  working.catch(reached.reject);
  const it = await reached.promise;
  return {
    run: it.run,
    step: () => act(it),
    end: async () => {
      over.resolve();
      await working;
    },
  };
}

export async function holdMany(hf: Holdfast, count: number): Promise<readonly HeldRun[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => hold(hf, `run-${i}`)));
}

export interface Rate {
  /** Steps per second of all runs together. */
  readonly rate: number;
  /** The milliseconds of each step. */
  readonly samples: readonly number[];
}

/** All runs at once; each run executes one step after the other. */
export async function stepAtOnce(all: readonly HeldRun[], forMs: number): Promise<Rate> {
  const samples: number[] = [];
  const start = performance.now();
  const deadline = start + forMs;
  await Promise.all(
    all.map(async (held) => {
      while (performance.now() < deadline) {
        const began = performance.now();
        await held.step();
        samples.push(performance.now() - began);
      }
    }),
  );
  return { rate: (samples.length / (performance.now() - start)) * 1000, samples };
}
