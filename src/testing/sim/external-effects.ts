// The effects outside the store, by tools and models of agents: counts what was really done under each key,
// and makes calls fail.
import type { AgentDefinition, AnyAgent, Iteration, SpawnOptions } from "../../contracts/agent-definitions.ts";
import type { Json } from "../../contracts/json.ts";
import type { Model, ModelReply } from "../../contracts/models.ts";
import type { RunResult } from "../../contracts/run-results.ts";
import type { StepCall } from "../../contracts/steps.ts";
import type { Tool } from "../../contracts/tools.ts";
import type { FaultKind, Faults } from "./faults.ts";
import type { Process } from "./scheduler.ts";

/** The effects under one idempotency key. */
export interface Effect {
  readonly key: string;
  readonly tool: string;
  readonly run: string;
  readonly iteration: number;
  readonly path: string;
  readonly input: Json;
  readonly mayRepeat: boolean;
  readonly times: number;
  /** The result of the newest effect. */
  readonly result: Json;
}

const MODEL_FAULTS: readonly FaultKind[] = ["modelTimeout", "modelRateLimit", "modelGarbage"];

/** The real effects of a simulation's tools and models. */
export interface ObservedEffects {
  /** Answers of models, including those that were never recorded. */
  readonly modelCalls: number;
  effects(): readonly Effect[];
  effect(key: string): Effect | undefined;
  /** How many effects a tool really had. */
  times(tool: string, run?: string): number;
}

export class ExternalEffects implements ObservedEffects {
  readonly #effects = new Map<string, Effect>();
  readonly #faults: Faults;
  /** The process that ended each run. */
  readonly #ended = new Map<string, Process>();
  readonly #afterEnd: string[] = [];
  /** Answers of models, including those that were never recorded. */
  modelCalls = 0;

  constructor(faults: Faults) {
    this.#faults = faults;
  }

  effects(): readonly Effect[] {
    return [...this.#effects.values()];
  }

  effect(key: string): Effect | undefined {
    return this.#effects.get(key);
  }

  /**
   * Effects that a process began for a run after the same process had ended the run. It may not know yet that another
   * process ended it.
   */
  effectsAfterEnd(): readonly string[] {
    return this.#afterEnd;
  }

  ended(run: string, by: Process): void {
    this.#ended.set(run, by);
  }

  /** How many effects a tool really had. */
  times(tool: string, run?: string): number {
    const of = this.effects().filter((one) => one.tool === tool && (run === undefined || one.run === run));
    return of.reduce((sum, { times }) => sum + times, 0);
  }

  /** Wraps an agent for a process: counts its effects, and stops them when the process is dead. */
  agentIn(process: Process, given: AnyAgent): AgentDefinition {
    const agent = given as AgentDefinition;
    const tools = Object.entries(agent.tools ?? {}).map(([name, tool]) => [name, this.#tool(process, name, tool)]);
    const models = Object.entries(agent.models ?? {}).map(([name, model]) => [name, this.#model(process, name, model)]);
    return {
      ...agent,
      ...(agent.tools === undefined ? {} : { tools: Object.fromEntries(tools) as Record<string, Tool> }),
      ...(agent.models === undefined ? {} : { models: Object.fromEntries(models) as Record<string, Model> }),
      iterate: (iteration, state) => agent.iterate(this.#seen(process, iteration), state),
    };
  }

  /** Also wraps the agents that it spawns, and models that it passes with a request. */
  #seen(process: Process, iteration: Iteration): Iteration {
    return {
      ...iteration,
      model: (request, given) =>
        iteration.model(
          request,
          typeof given === "object" ? this.#model(process, given.model ?? "model", given) : given,
        ),
      spawn: (child, ...[options]: readonly [options?: SpawnOptions]) =>
        iteration.spawn(this.agentIn(process, child), options) as Promise<RunResult<never>>,
      parallel: <T extends readonly unknown[]>(
        ...branches: { readonly [K in keyof T]: (iteration: Iteration) => Promise<T[K]> }
      ) => {
        const seen = branches.map((branch) => (inner: Iteration) => branch(this.#seen(process, inner)));
        return iteration.parallel<T>(...(seen as unknown as typeof branches));
      },
    };
  }

  #tool(process: Process, name: string, tool: Tool): Tool {
    return {
      ...tool,
      execute: async (input, call) => {
        this.#begins(process, name, call);
        await this.#late(process, "tool", name);
        const at = { process: process.name, what: "tool", names: [name] };
        if (this.#faults.strike(["toolFail"], at) !== null) throw new ToolFailed(name);
        const result = await tool.execute(input, call);
        this.#done(name, tool, input, call, result);
        await this.#late(process, "tool", name);
        return result;
      },
    };
  }

  #begins(process: Process, name: string, { run, iteration, path }: StepCall): void {
    if (this.#ended.get(run) !== process) return;
    this.#afterEnd.push(`${process.name} began ${name} at ${iteration}/${path} of ${run}, which it had ended`);
  }

  #done(tool: string, { effect }: Tool, input: Json, call: StepCall, given: unknown): void {
    const { idempotencyKey: key, run, iteration, path } = call;
    const times = (this.#effects.get(key)?.times ?? 0) + 1;
    const result = (given === undefined ? null : given) as Json;
    const mayRepeat = effect === "idempotent";
    this.#effects.set(key, { key, tool, run, iteration, path, input, mayRepeat, times, result });
  }

  #model(process: Process, name: string, model: Model): Model {
    return {
      ...model,
      call: async (request, call) => {
        this.#begins(process, name, call);
        await this.#late(process, "model", name);
        const struck = this.#faults.strike(MODEL_FAULTS, { process: process.name, what: "model", names: [name] });
        if (struck?.kind === "modelTimeout") {
          await process.environment.sleep(60_000);
          throw new ModelFailed("Timeout", "simulated: the model did not answer in time");
        }
        if (struck?.kind === "modelRateLimit") throw new ModelFailed("RateLimited", "simulated: too many requests");
        if (struck !== null) return { answer: "simulated garbage" } as unknown as ModelReply;
        this.modelCalls++;
        const reply = await model.call(request, call);
        await this.#late(process, "model", name);
        return reply;
      },
    };
  }

  async #late(process: Process, what: string, name: string): Promise<void> {
    await process.schedule(what);
    const delay = this.#faults.strike(["latency"], { process: process.name, what, names: [name] });
    if (delay !== null) await process.environment.sleep(this.#faults.length(delay));
  }
}

class ToolFailed extends Error {
  readonly code = "ToolFailed";

  constructor(tool: string) {
    super(`simulated: ${tool} failed before it did anything`);
  }
}

class ModelFailed extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
