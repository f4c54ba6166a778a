// How the types of an agent's tools and signals reach the code of its iterations. There are two forms: typed by name, when
// defineAgent() can infer the names, and untyped, for agents that are declared with `AgentDefinition` alone.
import type { Json } from "./json.ts";
import type { AgentDefinition, Iteration, Model, Tool, Verdict } from "./runs.ts";
import type { JsonSchema, StandardJsonSchema, StandardSchema } from "./standard-schema.ts";
import type { StepCall } from "./steps.ts";

/** `it.tools` of an agent whose tools the compiler does not know. */
export type UntypedToolCalls = Readonly<Record<string, UntypedToolCall["call"]>>;

interface UntypedToolCall {
  call(input?: unknown): Promise<unknown>;
}

/** Signals of an agent that does not declare them: any name, any JSON. */
export type UntypedSignals = Readonly<Record<string, Json>>;

/** A parameter that may be left out where the type allows that, or says nothing. */
export type InputArguments<Input> = Json extends Input
  ? [input?: unknown]
  : undefined extends Input
    ? [input?: Input]
    : null extends Input
      ? [input?: Input]
      : [input: Input];

/** The value of a run; any JSON where the agent declares no `output`. */
export type ValueArguments<Output> = Json extends Output
  ? [value?: unknown]
  : null extends Output
    ? [value?: Output]
    : [value: Output];

export type ToolCall<Input, Output> = (...input: InputArguments<Input>) => Promise<Output>;

/**
 * `it.tools`, from four types that are inferred tool by tool: what the input's validator accepts and gives, what the output's
 * validator gives, and what execute() returns. A tool without a validator is typed by its execute().
 */
export type ToolCallsOf<Accepted, Inputs, Outputs, Returned> = {
  readonly [Name in keyof Inputs]: ToolCall<
    KnownType<TypeAt<Accepted, Name>, Inputs[Name]>,
    KnownType<TypeAt<Outputs, Name>, KnownType<TypeAt<Returned, Name>, Json>>
  >;
} & {};

type TypeAt<Types, Name> = Name extends keyof Types ? Types[Name] : unknown;

type KnownType<Type, Otherwise> = unknown extends Type ? Otherwise : Type;

/**
 * `it.tool`. The signatures are methods, and the untyped one has two, because then the compiler lets an iteration that knows its
 * tools be passed on as an `Iteration`.
 */
export type ToolCaller<Calls> = string extends keyof Calls ? UntypedToolCaller["call"] : TypedToolCaller<Calls>["call"];

interface UntypedToolCaller {
  /** What the tool returned, as JSON keeps it; `Out` is the caller's word for it. */
  call<Out = Json>(name: string, input?: unknown): Promise<Out>;
  call<Out>(name: string, input?: unknown): Promise<Out>;
}

interface TypedToolCaller<Calls> {
  call<Name extends keyof Calls & string>(
    name: Name,
    ...input: Calls[Name] extends (...input: infer Arguments) => unknown ? Arguments : never
  ): Promise<Calls[Name] extends (...input: never) => Promise<infer Out> ? Out : never>;
}

/** `it.waitFor`. */
export type SignalWaiter<Signals> = string extends keyof Signals
  ? UntypedSignalWaiter["wait"]
  : TypedSignalWaiter<Signals>["wait"];

export interface WaitOptions {
  readonly timeoutMs?: number;
}

interface UntypedSignalWaiter {
  wait<Out = Json>(signal: string, options?: WaitOptions): Promise<Out | null>;
  wait<Out>(signal: string, options?: WaitOptions): Promise<Out | null>;
}

interface TypedSignalWaiter<Signals> {
  wait<Name extends keyof Signals & string>(signal: Name, options?: WaitOptions): Promise<Signals[Name] | null>;
}

export type SignalSchemas<Signals> = { readonly [Name in keyof Signals]: StandardSchema<unknown, Signals[Name]> };

/** Says nothing of any tool. */
export type UntypedTools = Readonly<Record<never, unknown>>;

/** A tool whatever its types are. */
export type AnyTool = Tool<unknown, unknown, unknown, unknown>;

/**
 * A tool that can be described to models: its validator exports its input as JSON Schema, or it has an `inputSchema`.
 */
export type ToolWithSchema = AnyTool & DescribedInput;

export type DescribedInput = { readonly input: StandardJsonSchema } | { readonly inputSchema: JsonSchema };

/** Tools that can be described to models, where execute() of inline tools is to be typed by their validators. */
export type ToolsWithSchemas<Inputs> = {
  readonly [Name in keyof Inputs]: Tool<unknown, unknown, Inputs[Name], unknown> & DescribedInput;
};

/** What is known of a tool's input, kept by tool() so that a tool without a JSON Schema is refused where one is needed. */
export type KnownInput<Vendor, Converter, Schema> = Schema extends JsonSchema
  ? { readonly inputSchema: JsonSchema } & KnownValidator<Vendor, Converter>
  : KnownValidator<Vendor, Converter>;

type KnownValidator<Vendor, Converter> = Converter extends object
  ? { readonly input: StandardJsonSchema }
  : Vendor extends string
    ? { readonly input: StandardSchema }
    : unknown;

/** Where tool() looks for that. */
export interface InputSource<Vendor, Converter, Schema> {
  readonly input?: { readonly "~standard": { readonly vendor: Vendor; readonly jsonSchema?: Converter } };
  readonly inputSchema?: Schema;
}

/** Tools as defineAgent() takes them: each of the four types is inferred from every tool for itself. */
export type ToolSpecs<Accepted, Inputs, Outputs, Returned> = {
  readonly [Name in keyof Inputs]: Tool<unknown, unknown, Inputs[Name], unknown>;
} & {
  readonly [Name in keyof Accepted]: { readonly input?: StandardSchema<Accepted[Name], unknown> };
} & {
  readonly [Name in keyof Outputs]: { readonly output?: StandardSchema<unknown, Outputs[Name]> };
} & {
  readonly [Name in keyof Returned]: {
    readonly output?: StandardSchema<Returned[Name], unknown>;
    execute(input: never, call: StepCall): Returned[Name] | Promise<Returned[Name]>;
  };
};

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
> extends Pick<AgentDefinition, "id" | "version" | "limits"> {
  readonly input?: StandardSchema<Accepted, Input>;
  readonly state?: StandardSchema<unknown, State>;
  readonly output?: StandardSchema<unknown, Output>;
  readonly signals?: SignalSchemas<Signals>;
  readonly tools?: ToolSpecs<ToolAccepted, ToolIn, ToolOut, ToolReturned>;
  readonly models?: Readonly<Record<ModelName, Model>>;
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
