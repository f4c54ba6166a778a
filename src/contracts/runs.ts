// Runs: an agent's loop whose every step is in its session's log before anything relies on it. A run goes on after a crash
// from its last checkpoint; what its cut-off iteration had done already is taken from the log, never done again.

import type { Checkpoint, CheckpointInput } from "./checkpoints.ts";
import type { AnswerInput, Decision, DecisionFilter } from "./decisions.ts";
import type { Json, Page } from "./json.ts";
import type { LogEvent } from "./log.ts";
import type { Message, MessageInput } from "./messages.ts";
import type { MessageOptions, RecordedReply } from "./replies.ts";
import type { Step, StepRange } from "./steps.ts";

export type RunStatus = "running" | "paused" | "waiting" | "recovering" | "completed" | "failed" | "cancelled";

export interface RunLimits {
  readonly iterations?: number;
  /** From its creation on, pauses included. */
  readonly wallMs?: number;
  /** Given and made, of all model calls. */
  readonly tokens?: number;
  readonly costUsd?: number;
}

export type StopReason = "done" | "failed" | "cancelled" | `limit:${keyof RunLimits}`;

/** What a run that is not at work waits for. */
export type Waits =
  | { readonly kind: "signal"; readonly name: string }
  | { readonly kind: "decision"; readonly decision: string }
  | { readonly kind: "run"; readonly run: string };

export interface RunError {
  readonly code: string;
  readonly message: string;
  /** What to do about it, where Holdfast knows. */
  readonly hint?: string;
}

export interface Run {
  readonly id: string;
  readonly session: string;
  readonly agent: string;
  readonly agentVersion: string;
  /** SHA-256 over the names and declarations of its tools, hex. */
  readonly toolset: string;
  /** The run that spawned it. */
  readonly parent: string | null;
  readonly status: RunStatus;
  /** Grows with every change of status and every checkpoint. */
  readonly version: number;
  /** Grows whenever somebody takes the lease. */
  readonly epoch: number;
  /** Who has the lease; null when nobody works on it. */
  readonly owner: string | null;
  /** Iterations completed. */
  readonly iteration: number;
  readonly pausedUntil: number | null;
  /** Any of these wakes it. */
  readonly waitsFor: readonly Waits[];
  /** When it goes on by itself, if it does; of one that is running: when workers try it again after what came to nothing. */
  readonly wakesAt: number | null;
  /**
   * It came with an archive, may still be at work where it came from, and is taken by nobody here until resume() or
   * unpause() says so.
   */
  readonly held: boolean;
  readonly cancelRequested: boolean;
  /** It pauses until then when its iteration ends. */
  readonly pauseRequested: number | null;
  readonly stopReason: StopReason | null;
  /** What it failed of. Of one that is tried again: what its last worker could not go on with. */
  readonly error: RunError | null;
  readonly limits: RunLimits;
  readonly priority: number;
  /** How long its worker may show no sign of life before another takes over. */
  readonly leaseMs: number;
  /** Of its model calls, up to the last checkpoint. */
  readonly tokens: number;
  readonly costUsd: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly endedAt: number | null;
}

export type { Step, StepContent, StepKind, StepRange, StepStatus } from "./steps.ts";

export interface RunFilter {
  readonly session?: string;
  readonly agent?: string;
  readonly status?: RunStatus;
  readonly createdAfter?: number;
  readonly createdBefore?: number;
  readonly limit?: number;
  readonly cursor?: string;
}

/** What a recovery found before it went on. */
export interface Recovery {
  readonly run: Run;
  /** The iteration it goes on with. */
  readonly resumeIteration: number;
  /** Steps of that iteration whose results are known and are used as they are. */
  readonly cached: readonly Step[];
  readonly inDoubt: readonly Step[];
  /** Steps that a person is asked about before their first try. */
  readonly asked: readonly Step[];
  readonly needsPerson: boolean;
}

export type Recovered = Recovery | { readonly run: Run; readonly error: RunError };

export interface RetryPolicy {
  /** Tries in all; 1 is none more. */
  readonly attempts: number;
  /** Before the second try; doubled before each further one. */
  readonly backoffMs?: number;
  readonly maxBackoffMs?: number;
}

/** What a tool or a model is told about the call. */
export interface StepCall {
  readonly run: string;
  readonly session: string;
  readonly iteration: number;
  readonly path: string;
  readonly attempt: number;
  /** Look it up before acting, or upsert under it: the same for as long as nobody knows how an earlier try ended. */
  readonly idempotencyKey: string;
  /** An earlier try under this key may have happened. */
  readonly again: boolean;
  /** Aborted when the run is cancelled or its lease is lost: nothing that happens afterwards counts. */
  readonly signal: AbortSignal;
}

export interface Tool {
  readonly description?: string;
  /** Whether it may run again under the same key after a crash. Not declared: it may not. */
  readonly effect?: "idempotent" | "non-idempotent";
  readonly retry?: RetryPolicy;
  /** Whether a person is asked before the first try: always, or where the function gives true for the input. */
  readonly approve?: boolean | ((input: Json) => boolean);
  execute(input: Json, call: StepCall): unknown;
}

export interface ModelReply {
  readonly output: Json;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cachedTokens?: number;
  /** null: not known. */
  readonly costUsd?: number | null;
}

export interface ModelCall extends StepCall {
  /** Shown to who watches in this process; never stored. */
  token(text: string): void;
}

export interface Model {
  readonly provider?: string;
  readonly model?: string;
  readonly retry?: RetryPolicy;
  call(request: Json, call: ModelCall): Promise<ModelReply> | ModelReply;
}

/** What an iteration ends in. */
export type Verdict =
  | { readonly verdict: "next"; readonly state: unknown }
  | { readonly verdict: "done"; readonly value: unknown }
  | { readonly verdict: "fail"; readonly error: unknown };

/** What an iteration may do. Every call is a step with a place of its own, in the order in which they are made. */
export interface Iteration<State = Json, Input = Json> {
  readonly run: string;
  readonly session: string;
  readonly iteration: number;
  readonly input: Input;
  readonly signal: AbortSignal;
  /** What the tool gave, as JSON keeps it; `Out` is the caller's word for it. */
  tool<Out = Json>(name: string, input?: unknown): Promise<Out>;
  /** One of the agent's models by its name, its only one when none is named, or a model given here; the request is recorded. */
  model(request: unknown, model?: string | Model): Promise<RecordedReply>;
  message(message: MessageInput, options?: MessageOptions): Promise<Message>;
  now(): Promise<number>;
  /** 0 to 1, the same again when the iteration is replayed. */
  random(): number;
  sleep(ms: number): Promise<void>;
  /** 1 to 60 minutes, 2 when not given: the run lets go of its worker meanwhile. */
  pause(minutes?: number): Promise<void>;
  /** The payload of the oldest signal of this name that nobody took; null when the time is over. */
  waitFor<Out = Json>(signal: string, options?: { readonly timeoutMs?: number }): Promise<Out | null>;
  spawn<ChildState, ChildInput>(
    agent: AgentDefinition<ChildState, ChildInput>,
    ...options: MaySpare<SpawnOptions<ChildInput>>
  ): Promise<RunResult>;
  /** Steps of each branch are numbered for themselves, whichever is faster. */
  parallel<T extends readonly unknown[]>(
    ...branches: { readonly [K in keyof T]: (iteration: Iteration<State, Input>) => Promise<T[K]> }
  ): Promise<T>;
  next(state: State): Verdict;
  done(value?: unknown): Verdict;
  fail(error: unknown): Verdict;
}

/** What has nothing that must be said can be left out. */
export type MaySpare<Options> = Record<never, never> extends Options ? [options?: Options] : [options: Options];

export type SpawnOptions<Input = Json> = SpawnSetting & InputOf<Input>;

export interface SpawnSetting {
  readonly session?: string;
  /** Works in this session under its own agent and run; `forget`: its messages are cleared when it ends. */
  readonly sameSession?: boolean;
  readonly forget?: boolean;
  readonly limits?: RunLimits;
}

/**
 * `State` and `Input` are the caller's word for what is kept as JSON: `defineAgent<{ n: number }>({ … })`. Nothing is checked
 * at run time but that it is JSON.
 */
export interface AgentDefinition<State = Json, Input = Json> {
  readonly id: string;
  readonly version: string;
  readonly tools?: Readonly<Record<string, Tool>>;
  readonly models?: Readonly<Record<string, Model>>;
  readonly limits?: RunLimits;
  /** The first state, made of the input; the input itself when not given. */
  initial?(input: Input): State;
  iterate(iteration: Iteration<State, Input>, state: State): Promise<Verdict> | Verdict;
}

/** Whatever its state and its input are. */
export interface AnyAgent extends Omit<AgentDefinition<never, never>, "initial"> {
  initial?(input: never): unknown;
}

export interface RunResult {
  readonly run: Run;
  readonly status: RunStatus;
  /** Of a run that is completed. */
  readonly value: Json;
  readonly error: RunError | null;
}

/** An agent that says nothing of its input takes any. */
export type InputOf<Input> = Json extends Input
  ? { readonly input?: unknown }
  : null extends Input
    ? { readonly input?: Input }
    : { readonly input: Input };

export type RunInput<Input = Json> = RunSetting & InputOf<Input>;

export interface RunSetting {
  readonly session: string;
  readonly id?: string;
  readonly limits?: RunLimits;
  /** Higher goes first. */
  readonly priority?: number;
  /** How long its worker may show no sign of life before another takes over; 30 s. */
  readonly leaseMs?: number;
}

export interface ForkRunInput {
  /** Goes on after this iteration; 0: from its beginning. The last one completed when not given. */
  readonly iteration?: number;
  /** Instead of the state it had there. */
  readonly state?: unknown;
  /** Of the new session; made up when not given. */
  readonly session?: string;
  readonly id?: string;
  readonly limits?: RunLimits;
}

export interface RewindRunInput {
  /** Goes on after this iteration; 0: from before the run began. */
  readonly iteration: number;
  readonly state?: unknown;
  readonly id?: string;
  readonly limits?: RunLimits;
}

export interface RetryInput {
  readonly id?: string;
  /** Instead of those it had, one by one. */
  readonly limits?: RunLimits;
}

export interface WorkerOptions extends ResumeOptions {
  readonly agents: readonly AnyAgent[];
  /** Runs at a time; 16. */
  readonly concurrency?: number;
  /** How often it looks for work when nobody tells it; 1 s. */
  readonly pollMs?: number;
  /** Told of every run it takes, leaves or cannot go on with. */
  readonly watch?: (note: WorkerNote) => void;
}

/**
 * begun: it has the lease (of a run whose worker was gone: `recovering`). left: it has ended, waits, is paused or given back.
 * refused: it cannot go on here, or its work came to nothing and is tried again at `run.wakesAt`.
 */
export type WorkerNote =
  | { readonly kind: "begun" | "left"; readonly run: Run }
  | { readonly kind: "refused"; readonly run: Run; readonly error: RunError };

/** Works on runs of its agents until it is stopped. */
export interface Worker {
  readonly id: string;
  /** Runs it works on right now. */
  readonly working: readonly string[];
  start(): void;
  /** Looks for work once; how many were begun. */
  look(): Promise<number>;
  /** Takes nothing new; those at work get so long to reach the end of their iteration, 10 s, and are given back then. */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

/** What is said of a run while it works; nothing of it is stored. */
export interface Token {
  readonly run: string;
  readonly path: string;
  readonly text: string;
}

export interface ResumeOptions {
  /** Goes on although the agent has another version or other tools than the run began with. */
  readonly allowMismatch?: boolean;
  /** "checkpoint": verifies the log from the last checkpoint on, and the event that began the run. */
  readonly verify?: "whole" | "checkpoint";
}

/** Of an id that was made up here (`run_…`), its beginning is enough, from 4 letters on, while no other begins with it. */
export interface Runs {
  /** Begins a run and works on it here until it ends, or waits or pauses. With a run that waits for input: its signal. */
  execute<State, Input>(agent: AgentDefinition<State, Input>, input: RunInput<Input>): Promise<RunResult>;
  /** Begins a run for a worker to take. */
  start<State, Input>(agent: AgentDefinition<State, Input>, input: RunInput<Input>): Promise<Run>;
  /** Takes the lease of a run nobody works on and goes on with it here. */
  resume(agent: AnyAgent, id: string, options?: ResumeOptions): Promise<RunResult>;
  get(id: string): Promise<Run | null>;
  list(filter?: RunFilter): Promise<Page<Run>>;
  /** In the order in which they began. */
  steps(id: string, range?: StepRange): Promise<readonly Step[]>;
  /** What its session's log has of it, in order; messages that were cleared are left out. 1000 unless said: on with `after`. */
  events(id: string, range?: { readonly after?: number; readonly limit?: number }): Promise<readonly LogEvent[]>;
  result(id: string): Promise<RunResult | null>;
  signal(id: string, name: string, payload?: unknown): Promise<Run>;
  /** With its children. At work: its worker stops it at the next sign of life. */
  cancel(id: string): Promise<Run>;
  /** 1 to 60 minutes, 2 when not given. At work: when its iteration ends. */
  pause(id: string, minutes?: number): Promise<Run>;
  /** Also lets one that is held go on here, with its children. */
  unpause(id: string): Promise<Run>;
  /** A new run in the same session that goes on from the step the run failed at; what it had done is not done again. */
  retry(id: string, input?: RetryInput): Promise<Run>;
  /** A new session and a run in it that goes on after one of the run's iterations. */
  fork(id: string, input?: ForkRunInput): Promise<Run>;
  /** Takes the session back to after one of the run's iterations, or to before the run, and begins a run from there. */
  rewind(id: string, input: RewindRunInput): Promise<Run>;
  /** What it carried goes; that it was stays in the log, and its id is not used again. Of runs that have ended. */
  delete(id: string): Promise<boolean>;
  /** Frees a run whose worker is gone, for the next one to take; tells what was found. Conflict when it is alive. */
  recover(id: string, options?: Pick<ResumeOptions, "verify">): Promise<Recovery>;
  /** Every run whose worker is gone. A run that cannot go on is named, and holds up no other. */
  recoverAll(options?: Pick<ResumeOptions, "verify">): Promise<readonly Recovered[]>;
  createWorker(options: WorkerOptions): Worker;
  /** What models say while they are asked, of this handle's runs; ends when the signal does. */
  tokens(options?: { readonly run?: string; readonly signal?: AbortSignal }): AsyncIterable<Token>;
  /** What people are asked now, in the order of decisions(). */
  pending(filter?: Pick<DecisionFilter, "run" | "limit" | "order">): Promise<readonly Decision[]>;
  /**
   * What they were asked ever, with the answers, as the log has them. The newest session comes first, and of each session
   * its newest question; `order: "oldest"` is the other way round.
   */
  decisions(filter?: DecisionFilter): Promise<Page<Decision>>;
  answer(decision: string, answer: AnswerInput): Promise<Run>;
  /** Where the run stood after an iteration, the last one when none is named; null: before its first. */
  checkpoint(id: string, iteration?: number): Promise<Checkpoint | null>;
  /** Checkpoints of loops that are not ours, by session and agent; the last one counts. */
  saveCheckpoint(checkpoint: CheckpointInput): Promise<Checkpoint>;
  loadCheckpoint(session: string, agent: string): Promise<Checkpoint | null>;
  deleteCheckpoint(session: string, agent: string): Promise<boolean>;
}
