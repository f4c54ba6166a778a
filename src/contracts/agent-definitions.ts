// An agent as its author declares it: its iterations, and what they can call. The types of an iteration come in two
// forms: with the names of the agent's tools and signals, if defineAgent() can infer them, and untyped, for agents
// declared with `AgentDefinition` alone.
import type { Json } from "./json.ts";
import type { Message, MessageInput } from "./messages.ts";
import type { Model, RecordedReply } from "./models.ts";
import type { RunLimits } from "./run-record.ts";
import type { RunResult } from "./run-results.ts";
import type { SessionSteps } from "./session-steps.ts";
import type { StandardSchema } from "./standard-schema.ts";
import type { AnyTool, Tool, ToolCaller, ToolCallsOf, ToolSpecs, UntypedToolCalls } from "./tools.ts";

/** The result of an iteration: another iteration, or the end of the run. */
export type Verdict =
  | { readonly verdict: "next"; readonly state: unknown }
  | { readonly verdict: "done"; readonly value: unknown }
  | { readonly verdict: "fail"; readonly error: unknown };

/** What an iteration may call. Every call is a step with its own position, in the order of the calls. */
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
  /**
   * Calls a model: one of the agent's by its name, its only one if no name is given, or the model given here. The
   * request is recorded.
   */
  model(request: unknown, model?: ModelName | Model): Promise<RecordedReply>;
  message(
    message: MessageInput,
    options?: {
      /** The model call that wrote the message: `reply.call`. */
      readonly call?: string;
    },
  ): Promise<Message>;
  now(): Promise<number>;
  /** A number from 0 to 1. A replay of the iteration returns the same number. */
  random(): number;
  sleep(ms: number): Promise<void>;
  /** Pauses the run for 1 to 60 minutes, 2 by default. Its worker is free meanwhile. */
  pause(minutes?: number): Promise<void>;
  /**
   * Waits for a signal and returns its payload: the oldest signal of this name that the run has not received yet. null
   * after the timeout.
   */
  readonly waitFor: SignalWaiter<Signals>;
  spawn<ChildInput = Json, ChildOutput = Json>(
    agent: RunnableAgent<ChildInput, ChildOutput>,
    ...options: MaySpare<SpawnOptions<ChildInput>>
  ): Promise<RunResult<ChildOutput>>;
  /**
   * Runs branches concurrently. The steps of each branch are numbered separately, so that their order does not matter.
   */
  parallel<T extends readonly unknown[]>(
    ...branches: {
      readonly [K in keyof T]: (iteration: Iteration<State, Input, Output, Calls, Signals, ModelName>) => Promise<T[K]>;
    }
  ): Promise<T>;
  next(state: State): Verdict;
  done(...value: ValueArguments<Output>): Verdict;
  fail(error: unknown): Verdict;
}

/** The last argument may be left out if all its fields are optional. */
export type MaySpare<Options> = Record<never, never> extends Options ? [options?: Options] : [options: Options];

export type SpawnOptions<Input = Json> = {
  readonly session?: string;
  /** The child works in this session under its own agent and run. `forget`: its messages are cleared when it ends. */
  readonly sameSession?: boolean;
  readonly forget?: boolean;
  readonly limits?: RunLimits;
} & InputOf<Input>;

/**
 * `State`, `Input` and `Output` are the types of values that are stored as JSON. defineAgent() infers them from
 * validators. Without validators they are not checked at run time, except that the values must be JSON. `Accepted` is
 * the type of input that callers pass, if the validator converts it.
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
  /** Validates the results of initial() and next(). It must accept its own output. */
  readonly state?: StandardSchema<unknown, State>;
  /** Validates the value of done(). It must accept its own output. */
  readonly output?: StandardSchema<unknown, Output>;
  /** The signals that the agent waits for, and validators of their payloads. */
  readonly signals?: SignalSchemas<Signals>;
  readonly tools?: Readonly<Record<string, Tool>>;
  readonly models?: Readonly<Record<ModelName, Model>>;
  readonly limits?: RunLimits;
  /** Makes the first state from the input. Without it, the input is the first state. */
  initial?(input: Input): State;
  iterate(
    iteration: Iteration<State, Input, Output, Calls, Signals, ModelName>,
    state: State,
  ): Promise<Verdict> | Verdict;
}

/** An agent with any types of state and input. */
export interface AnyAgent extends Pick<AgentDefinition, "id" | "version" | "models" | "limits"> {
  readonly tools?: Readonly<Record<string, AnyTool>>;
  readonly input?: StandardSchema;
  readonly state?: StandardSchema;
  readonly output?: StandardSchema;
  readonly signals?: Readonly<Record<string, StandardSchema>>;
  initial?(input: never): unknown;
  iterate(iteration: Iteration<never, never, Json, never, never>, state: never): Promise<Verdict> | Verdict;
}

/** The part of an agent's type that its callers need: the input it accepts, and the value it returns. */
export interface RunnableAgent<Accepted = Json, Output = Json> extends AnyAgent {
  readonly input?: StandardSchema<Accepted, unknown>;
  readonly output?: StandardSchema<unknown, Output>;
}

/** An agent that does not declare its input accepts any. */
export type InputOf<Input> = Json extends Input
  ? { readonly input?: unknown }
  : null extends Input
    ? { readonly input?: Input }
    : { readonly input: Input };

/** Signals of an agent that does not declare any: every name and every JSON is allowed. */
export type UntypedSignals = Readonly<Record<string, Json>>;

/** The value of a run: any JSON if the agent declares no `output`. */
export type ValueArguments<Output> = Json extends Output
  ? [value?: unknown]
  : null extends Output
    ? [value?: Output]
    : [value: Output];

/** `it.waitFor`. */
export type SignalWaiter<Signals> = string extends keyof Signals
  ? UntypedSignalWaiter["wait"]
  : TypedSignalWaiter<Signals>["wait"];

interface UntypedSignalWaiter {
  wait<Out = Json>(
    signal: string,
    options?: {
      readonly timeoutMs?: number;
    },
  ): Promise<Out | null>;
  wait<Out>(
    signal: string,
    options?: {
      readonly timeoutMs?: number;
    },
  ): Promise<Out | null>;
}

interface TypedSignalWaiter<Signals> {
  wait<Name extends keyof Signals & string>(
    signal: Name,
    options?: {
      readonly timeoutMs?: number;
    },
  ): Promise<Signals[Name] | null>;
}

export type SignalSchemas<Signals> = { readonly [Name in keyof Signals]: StandardSchema<unknown, Signals[Name]> };

/** The argument of defineAgent(). */
export interface AgentSpec<
  State,
  Input,
  Output,
  Accepted,
  Signals,
  ModelName extends string,
  ToolAccepted,
  ToolIn,
  ToolOut,
  ToolReturned,
> extends Pick<
    AgentDefinition<State, Input, Output, never, Signals, ModelName, Accepted>,
    "id" | "version" | "limits" | "input" | "state" | "output" | "signals" | "models"
  > {
  readonly tools?: ToolSpecs<ToolAccepted, ToolIn, ToolOut, ToolReturned>;
  initial?(input: NoInfer<Input>): NoInfer<State>;
  iterate(
    iteration: Iteration<
      NoInfer<State>,
      NoInfer<Input>,
      NoInfer<Output>,
      ToolCallsOf<ToolAccepted, ToolIn, ToolOut, ToolReturned>,
      NoInfer<Signals>,
      NoInfer<ModelName>
    >,
    state: NoInfer<State>,
  ): Promise<Verdict> | Verdict;
}
