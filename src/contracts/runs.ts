// Runs: an agent's loop whose every step is in its session's log before anything relies on it. After a crash a run
// resumes from its last checkpoint; what its interrupted iteration had done already is taken from the log, never done
// again.

import type {
  AnyTool,
  SignalSchemas,
  SignalWaiter,
  ToolCaller,
  UntypedSignals,
  UntypedToolCalls,
  ValueArguments,
} from "./agent-types.ts";
import type { Checkpoint, CheckpointInput } from "./checkpoints.ts";
import type { AnswerInput, Decision, DecisionFilter } from "./decisions.ts";
import type { Json, Page } from "./json.ts";
import type { LogEvent } from "./log.ts";
import type { Message, MessageInput } from "./messages.ts";
import type { MessageOptions, RecordedReply } from "./replies.ts";
import type { RunResult } from "./run-results.ts";
import type { ForkRunInput, RetryInput, RewindRunInput } from "./run-travel.ts";
import type { ExecuteOptions, ResumeOptions, RunIdle, RunProcess, Waits } from "./run-waits.ts";
import type { SessionSteps } from "./session-steps.ts";
import type { JsonSchema, StandardSchema } from "./standard-schema.ts";
import type { RetryPolicy, Step, StepCall, StepRange } from "./steps.ts";
import type { Token, Worker, WorkerOptions } from "./workers.ts";

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
  /** Grows with every new lease. */
  readonly epoch: number;
  /** The worker that has the lease; null when none works on it. */
  readonly owner: string | null;
  /** Where that worker runs; null when it has no owner, or the owner's platform does not say. */
  readonly process: RunProcess | null;
  /** Why no worker works on it now; null when one does, or it has ended. */
  readonly idle: RunIdle | null;
  /** Iterations completed. */
  readonly iteration: number;
  readonly pausedUntil: number | null;
  /** Any of these wakes it. */
  readonly waitsFor: readonly Waits[];
  /** When it continues by itself, if it does; for a running one: when workers try it again after a failed try. */
  readonly wakesAt: number | null;
  /**
   * It came with an archive and may still be running where it came from. No worker claims it here until resume() or
   * unpause() is called.
   */
  readonly held: boolean;
  readonly cancelRequested: boolean;
  /** It pauses until then when its iteration ends. */
  readonly pauseRequested: number | null;
  readonly stopReason: StopReason | null;
  /** Why it failed. For a run that is tried again: why its last worker could not continue it. */
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

export interface RunFilter {
  readonly session?: string;
  readonly agent?: string;
  readonly status?: RunStatus;
  readonly createdAfter?: number;
  readonly createdBefore?: number;
  readonly limit?: number;
  readonly cursor?: string;
}

/** What a recovery found before it resumed the run. */
export interface Recovery {
  readonly run: Run;
  /** The iteration it resumes with. */
  readonly resumeIteration: number;
  /** Steps of that iteration whose results are known and are used as they are. */
  readonly cached: readonly Step[];
  readonly inDoubt: readonly Step[];
  /** Steps that wait for a person's approval before their first try. */
  readonly asked: readonly Step[];
  readonly needsPerson: boolean;
}

export type Recovered = Recovery | { readonly run: Run; readonly error: RunError };

/**
 * `Accepted` is what a call must give, `Out` what it gets. They differ from `In`, which execute() is given, and `Returned`, which
 * it returns, only where a validator changes what it validates.
 */
export interface Tool<Accepted = Json, Out = unknown, In = Accepted, Returned = Out> {
  readonly description?: string;
  /** Validates the input before the call is intended. */
  readonly input?: StandardSchema<Accepted, In>;
  /** The input as described to models, where the validator cannot export JSON Schema. */
  readonly inputSchema?: JsonSchema;
  /** Validates what execute() returned; the result is what the validator gives. */
  readonly output?: StandardSchema<Returned, Out>;
  /** Whether it may run again under the same key after a crash. Not declared: it may not. */
  readonly effect?: "idempotent" | "non-idempotent";
  readonly retry?: RetryPolicy;
  /** Whether a person must approve the first try: always, or where the function returns true for the input. */
  readonly approve?: boolean | ApprovalRule<In>["isNeeded"];
  execute(input: In, call: StepCall): Returned | Promise<Returned>;
}

/** A method, so that the compiler takes a tool of any input for a tool. */
interface ApprovalRule<In> {
  isNeeded(input: In): boolean;
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
  /** Shown to watchers in this process; never stored. */
  token(text: string): void;
  /** The bytes of a blob, verified: what an image or a document of a message refers to. */
  readBlob(ref: string): Promise<Uint8Array>;
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
export interface Iteration<
  State = Json,
  Input = Json,
  Output = Json,
  Calls = UntypedToolCalls,
  Signals = UntypedSignals,
  ModelName extends string = string,
> extends SessionSteps {
  readonly run: string;
  readonly session: string;
  readonly iteration: number;
  readonly input: Input;
  readonly signal: AbortSignal;
  /** The agent's tools: `it.tools.refund({ … })` is `it.tool("refund", { … })`. */
  readonly tools: Calls;
  /** Calls one of the agent's tools by its name. */
  readonly tool: ToolCaller<Calls>;
  /** One of the agent's models by its name, its only one when none is named, or a model given here; the request is recorded. */
  model(request: unknown, model?: ModelName | Model): Promise<RecordedReply>;
  message(message: MessageInput, options?: MessageOptions): Promise<Message>;
  now(): Promise<number>;
  /** 0 to 1, the same again when the iteration is replayed. */
  random(): number;
  sleep(ms: number): Promise<void>;
  /** 1 to 60 minutes, 2 when not given: the run frees its worker meanwhile. */
  pause(minutes?: number): Promise<void>;
  /** The payload of the oldest signal of this name that was not received yet; null after the timeout. */
  readonly waitFor: SignalWaiter<Signals>;
  spawn<ChildInput = Json, ChildOutput = Json>(
    agent: RunnableAgent<ChildInput, ChildOutput>,
    ...options: MaySpare<SpawnOptions<ChildInput>>
  ): Promise<RunResult<ChildOutput>>;
  /** Steps of each branch are numbered for themselves, whichever is faster. */
  parallel<T extends readonly unknown[]>(
    ...branches: {
      readonly [K in keyof T]: (iteration: Iteration<State, Input, Output, Calls, Signals, ModelName>) => Promise<T[K]>;
    }
  ): Promise<T>;
  next(state: State): Verdict;
  done(...value: ValueArguments<Output>): Verdict;
  fail(error: unknown): Verdict;
}

/** Arguments without required fields can be left out. */
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
 * `State`, `Input` and `Output` are the types of what is kept as JSON. defineAgent() infers them from validators; without
 * validators they are the caller's word, and nothing is checked at run time but that it is JSON. `Accepted` is what callers give
 * as input, where the validator makes something else of it.
 */
export interface AgentDefinition<
  State = Json,
  Input = Json,
  Output = Json,
  Calls = UntypedToolCalls,
  Signals = UntypedSignals,
  ModelName extends string = string,
  Accepted = Input,
> {
  readonly id: string;
  readonly version: string;
  /** Validates the input when a run begins, and again whenever it is continued. */
  readonly input?: StandardSchema<Accepted, Input>;
  /** Validates what initial() and next() give. It must accept what it gives. */
  readonly state?: StandardSchema<unknown, State>;
  /** Validates the value of done(). It must accept what it gives. */
  readonly output?: StandardSchema<unknown, Output>;
  /** The signals it waits for, and validators of what they carry. */
  readonly signals?: SignalSchemas<Signals>;
  readonly tools?: Readonly<Record<string, Tool>>;
  readonly models?: Readonly<Record<ModelName, Model>>;
  readonly limits?: RunLimits;
  /** The first state, made of the input; the input itself when not given. */
  initial?(input: Input): State;
  iterate(
    iteration: Iteration<State, Input, Output, Calls, Signals, ModelName>,
    state: State,
  ): Promise<Verdict> | Verdict;
}

/** Whatever its state and its input are. */
export interface AnyAgent extends Pick<AgentDefinition, "id" | "version" | "models" | "limits"> {
  readonly tools?: Readonly<Record<string, AnyTool>>;
  readonly input?: StandardSchema;
  readonly state?: StandardSchema;
  readonly output?: StandardSchema;
  readonly signals?: Readonly<Record<string, StandardSchema>>;
  initial?(input: never): unknown;
  iterate(iteration: Iteration<never, never, Json, never, never>, state: never): Promise<Verdict> | Verdict;
}

/** An agent by what its callers need to know: the input it accepts, and the value it gives. */
export interface RunnableAgent<Accepted = Json, Output = Json> extends AnyAgent {
  readonly input?: StandardSchema<Accepted, unknown>;
  readonly output?: StandardSchema<unknown, Output>;
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
  /** How long its worker may show no sign of life before another machine takes over; 10 s. */
  readonly leaseMs?: number;
}

/** Of an id that was made up here (`run_…`), its beginning is enough, from 4 letters on, while no other begins with it. */
export interface Runs {
  /**
   * Begins the run, continues it where it was, or returns its result: call it again with the same id after any crash.
   * The same id with another session, agent or input is a Conflict. Without an id, an interrupted run of the same agent
   * and input in the session is continued; any other unfinished run there is SessionBusy. The call ends when the run
   * has ended (`wait: false`: when it waits). Only signal() and answer() deliver what a run waits for.
   */
  execute<Input = Json, Output = Json>(
    agent: RunnableAgent<Input, Output>,
    input: RunInput<Input>,
    options?: ExecuteOptions,
  ): Promise<RunResult<Output>>;
  /** Begins a run for a worker to take; with the id of a run that is there, of the same agent and input, that run. */
  start<Input = Json>(agent: RunnableAgent<Input, unknown>, input: RunInput<Input>): Promise<Run>;
  /** Claims a run that no living worker has, and continues it here until it ends, waits or is paused. */
  resume<Output = Json>(
    agent: RunnableAgent<unknown, Output>,
    id: string,
    options?: ExecuteOptions,
  ): Promise<RunResult<Output>>;
  get(id: string): Promise<Run | null>;
  list(filter?: RunFilter): Promise<Page<Run>>;
  /** In the order in which they began. */
  steps(id: string, range?: StepRange): Promise<readonly Step[]>;
  /**
   * The run's events in its session's log, in order; cleared messages are left out. 1000 by default: continue with
   * `after`.
   */
  events(id: string, range?: { readonly after?: number; readonly limit?: number }): Promise<readonly LogEvent[]>;
  result(id: string): Promise<RunResult | null>;
  signal(id: string, name: string, payload?: unknown): Promise<Run>;
  /** With its children. At work: its worker stops it at the next sign of life. */
  cancel(id: string): Promise<Run>;
  /** 1 to 60 minutes, 2 when not given. At work: when its iteration ends. */
  pause(id: string, minutes?: number): Promise<Run>;
  /** Also releases a held run, with its children. */
  unpause(id: string): Promise<Run>;
  /**
   * A new run in the same session that continues from the step the run failed at; what it had done is not done again.
   */
  retry(id: string, input?: RetryInput): Promise<Run>;
  /** A new session, and a run in it that continues after one of the run's iterations. */
  fork(id: string, input?: ForkRunInput): Promise<Run>;
  /** Takes the session back to after one of the run's iterations, or to before the run, and begins a run from there. */
  rewind(id: string, input: RewindRunInput): Promise<Run>;
  /** What it carried goes; that it was stays in the log, and its id is not used again. Of runs that have ended. */
  delete(id: string): Promise<boolean>;
  /**
   * Frees a run whose worker is gone, so that another worker can claim it; returns what was found. Conflict when it is
   * alive.
   */
  recover(id: string, options?: Pick<ResumeOptions, "verify">): Promise<Recovery>;
  /** Every run whose worker is gone. A run that cannot be resumed is reported, and does not block the others. */
  recoverAll(options?: Pick<ResumeOptions, "verify">): Promise<readonly Recovered[]>;
  createWorker(options: WorkerOptions): Worker;
  /** Tokens of model calls in progress, of this handle's runs; ends when the signal aborts. */
  tokens(options?: { readonly run?: string; readonly signal?: AbortSignal }): AsyncIterable<Token>;
  /** The open questions, in the order of decisions(). */
  pending(filter?: Pick<DecisionFilter, "run" | "limit" | "order">): Promise<readonly Decision[]>;
  /**
   * All questions with their answers, as the log has them. The newest session comes first, and of each session its
   * newest question; `order: "oldest"` is the other way round.
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
