// An agent as its author declares it: its iterations, and what they are given. Iterations know the agent's tools and signals in two
// forms: typed by name, when defineAgent() can infer the names, and untyped, for agents declared with `AgentDefinition` alone.

import type { Json } from "./json.ts";
import type { Message, MessageInput } from "./messages.ts";
import type { Model, RecordedReply } from "./models.ts";
import type { RunLimits } from "./run-record.ts";
import type { RunResult } from "./run-results.ts";
import type { SessionSteps } from "./session-steps.ts";
import type { StandardSchema } from "./standard-schema.ts";
import type { AnyTool, Tool, ToolCaller, ToolCallsOf, ToolSpecs, UntypedToolCalls } from "./tools.ts";

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
  message(
    message: MessageInput,
    options?: {
      /** The model call that wrote it: `reply.call`. */
      readonly call?: string;
    },
  ): Promise<Message>;
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

export type SpawnOptions<Input = Json> = {
  readonly session?: string;
  /** Works in this session under its own agent and run; `forget`: its messages are cleared when it ends. */
  readonly sameSession?: boolean;
  readonly forget?: boolean;
  readonly limits?: RunLimits;
} & InputOf<Input>;

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

/** Signals of an agent that does not declare them: any name, any JSON. */
export type UntypedSignals = Readonly<Record<string, Json>>;

/** The value of a run; any JSON where the agent declares no `output`. */
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

/** What defineAgent() takes. */
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
