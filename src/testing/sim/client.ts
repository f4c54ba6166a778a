// The client of a scenario: its own store, agents whose effects are counted, and calls that retry while a store
// fails, as any client must.
import type { AgentDefinition } from "../../contracts/agent-definitions.ts";
import type { AnswerInput } from "../../contracts/decisions.ts";
import type { Environment } from "../../contracts/environment.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Run } from "../../contracts/run-record.ts";
import type { RunResult } from "../../contracts/run-results.ts";
import type { RunInput } from "../../contracts/runs.ts";
import type { ExternalEffects, ObservedEffects } from "./external-effects.ts";
import type { Faults } from "./faults.ts";
import { never, type Process } from "./scheduler.ts";

export interface ClientOptions {
  readonly process: Process;
  readonly store: Holdfast;
  readonly agents: readonly AgentDefinition[];
  /** Of runs it starts. */
  readonly leaseMs: number;
  readonly faults: Faults;
  readonly external: ExternalEffects;
  /** Another process with a store of its own. */
  readonly open: (name: string) => Promise<{ readonly store: Holdfast; readonly kill: () => void }>;
}

const MOST_TRIES = 500;
/** The error codes of a call whose effect had happened already. */
const AGAIN = ["AlreadyExists", "SessionBusy", "Conflict", "InvalidTransition"];
/** The error codes of a call that is not allowed now. */
const REFUSALS = [...AGAIN, "NotFound"];
const FEW_TRIES = 6;
/** A condition that a scenario waits for. */
const LOOK_MS = 8000;

/** The client that a scenario gets. */
export interface SimulationClient {
  readonly store: Holdfast;
  readonly world: ObservedEffects;
  /** Another process with a store of its own. */
  open(name: string): Promise<{ readonly store: Holdfast; readonly kill: () => void }>;
  readonly now: number;
  sleep(ms: number): Promise<void>;
  /** This process's agent with the id. */
  agent(id: string): AgentDefinition;
  /** Calls `act` again while its error says that a retry may succeed. */
  patiently<T>(call: () => Promise<T>): Promise<T>;
  /** Starts the run with this id for a worker to claim; it may have been started before. */
  start(agent: string, input: RunInput & { readonly id: string }): Promise<void>;
  signal(run: string, name: string, payload?: unknown): Promise<void>;
  answer(decision: string, answer: AnswerInput): Promise<void>;
  /** Makes the call and retries a few times while the store fails; a refusal counts as an answer. */
  attempt(call: () => Promise<unknown>): Promise<void>;
  /** Waits until the run has ended. */
  ended(run: string): Promise<RunResult>;
  /** Waits until the run fulfils the condition. */
  until(run: string, isSo: (run: Run) => boolean): Promise<Run>;
  /**
   * Returns the call's answer, with retries while the store says that a retry may succeed. Ends the scenario if that
   * takes longer, by the clock of the simulation. A frozen client would be late, so faults should spare it.
   */
  within<T>(ms: number, what: string, call: () => Promise<T>): Promise<T>;
  expect(holds: boolean, what: string): void;
}

export class Client implements SimulationClient {
  readonly store: Holdfast;
  readonly world: ExternalEffects;
  readonly open: ClientOptions["open"];
  readonly #setting: ClientOptions;

  constructor(setting: ClientOptions) {
    this.store = setting.store;
    this.world = setting.external;
    this.open = setting.open;
    this.#setting = setting;
  }

  get now(): number {
    return this.#setting.process.environment.now();
  }

  sleep(ms: number): Promise<void> {
    return this.#setting.process.environment.sleep(ms);
  }

  /** This process's agent with the id. */
  agent(id: string): AgentDefinition {
    const found = this.#setting.agents.find((agent) => agent.id === id);
    if (found === undefined) throw new Error(`the simulation has no agent ${id}`);
    return found;
  }

  /** Calls `act` again while its error says that a retry may succeed. */
  patiently<T>(call: () => Promise<T>): Promise<T> {
    return retryWithDeadline(this.#setting.process.environment, call);
  }

  /** Starts the run with this id for a worker to claim; it may have been started before. */
  start(agent: string, input: RunInput & { readonly id: string }): Promise<void> {
    const { leaseMs } = this.#setting;
    return this.#twice("start", () => this.store.runs.start(this.agent(agent), { leaseMs, ...input }));
  }

  signal(run: string, name: string, payload?: unknown): Promise<void> {
    return this.#twice("signal", () => this.store.runs.signal(run, name, payload));
  }

  answer(decision: string, answer: AnswerInput): Promise<void> {
    // The run may have been deleted meanwhile.
    return this.#twice("answer", () => this.store.runs.answer(decision, answer), REFUSALS);
  }

  /** Delivers the call, and sometimes twice, which must have no second effect. */
  async #twice(name: string, call: () => Promise<unknown>, refusals: readonly string[] = AGAIN): Promise<void> {
    const { process, faults } = this.#setting;
    await this.#deliver(call, refusals);
    const at = { process: process.name, what: "call", names: [name] };
    if (faults.strike(["duplicate"], at) !== null) await this.#deliver(call, refusals);
  }

  async #deliver(call: () => Promise<unknown>, refusals: readonly string[]): Promise<void> {
    try {
      await this.patiently(call);
    } catch (error) {
      if (!(error instanceof HoldfastError) || !refusals.includes(error.code)) throw error;
    }
  }

  /** Makes the call and retries a few times while the store fails; a refusal counts as an answer. */
  async attempt(call: () => Promise<unknown>): Promise<void> {
    for (let tries = 1; tries <= FEW_TRIES; tries++) {
      try {
        await call();
        return;
      } catch (error) {
        if (!(error instanceof HoldfastError)) throw error;
        if (!error.retryable && !REFUSALS.includes(error.code)) throw error;
        if (!error.retryable) return;
      }
      await this.sleep(200);
    }
  }

  /** Waits until the run has ended. */
  async ended(run: string): Promise<RunResult> {
    await this.until(run, ({ endedAt }) => endedAt !== null);
    const result = await this.patiently(() => this.store.runs.result(run));
    if (result === null) throw new Error(`the run ${run} is gone`);
    return result;
  }

  /** Waits until the run fulfils the condition. */
  async until(run: string, isSo: (run: Run) => boolean): Promise<Run> {
    for (;;) {
      const found = await this.patiently(() => this.store.runs.get(run));
      if (found !== null && isSo(found)) return found;
      await this.sleep(LOOK_MS);
    }
  }

  /**
   * Returns the call's answer, with retries while the store says that a retry may succeed. Ends the scenario if that
   * takes longer, by the clock of the simulation. A frozen client would be late, so faults should spare it.
   */
  async within<T>(ms: number, what: string, call: () => Promise<T>): Promise<T> {
    const over = new AbortController();
    const { sleep } = this.#setting.process.environment;
    const late = sleep(ms, over.signal).then((): Promise<never> => {
      if (over.signal.aborted) return never();
      throw new ExpectationFailed(`${what} took longer than ${ms} ms`);
    });
    const done = this.patiently(call);
    done.catch(() => {});
    try {
      return await Promise.race([done, late]);
    } finally {
      over.abort();
    }
  }

  /** Ends the scenario with this failure if the condition does not hold. */
  expect(holds: boolean, what: string): void {
    if (!holds) throw new ExpectationFailed(what);
  }
}

export async function retryWithDeadline<T>(environment: Environment, call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof HoldfastError) || !error.retryable || tries >= MOST_TRIES) throw error;
    }
    await environment.sleep(20);
  }
}

class ExpectationFailed extends Error {
  constructor(what: string) {
    super(what);
    this.name = "Expected";
  }
}
