// Tools: the effects that an agent's iterations may have, and the types of their calls.
import type { Json, JsonObject } from "./json.ts";
import type { StandardJsonSchema, StandardSchema } from "./standard-schema.ts";
import type { RetryPolicy, StepCall } from "./steps.ts";

/**
 * `Accepted` is the argument of a call, `Out` its result. They differ from `In`, the argument of execute(), and
 * `Returned`, the result of execute(), only if a validator converts values.
 */
export interface Tool<Accepted = Json, Out = unknown, In = Accepted, Returned = Out> {
  /** An agent's tools are named by their keys; a tool that has a name must have its key as the name. */
  readonly name?: string;
  readonly description?: string;
  /** Validates the input before the call is intended. */
  readonly input?: StandardSchema<Accepted, In>;
  /** The input's JSON Schema for requests to models, if the validator cannot export one. */
  readonly inputSchema?: JsonObject;
  /** Validates the result of execute(); the step's result is the validator's output. */
  readonly output?: StandardSchema<Returned, Out>;
  /** Whether the tool may run again with the same key after a crash. Default: it may not. */
  readonly effect?: "idempotent" | "non-idempotent";
  readonly retry?: RetryPolicy;
  /** Whether a person must approve the first try: always, or where the function returns true for the input. */
  readonly approve?: boolean | ApprovalRule<In>["isNeeded"];
  execute(input: In, call: StepCall): Returned | Promise<Returned>;
}

/** A method, so that the compiler accepts a tool of any input as a `Tool`. */
interface ApprovalRule<In> {
  isNeeded(input: In): boolean;
}

/** The type of `it.tools` if the compiler does not know the agent's tools. */
export type UntypedToolCalls = Readonly<Record<string, UntypedToolCall["call"]>>;

interface UntypedToolCall {
  call(input?: unknown): Promise<unknown>;
}

/** The parameters of a tool call: the input may be left out if its type allows undefined or is unknown. */
export type InputArguments<Input> = Json extends Input
  ? [input?: unknown]
  : undefined extends Input
    ? [input?: Input]
    : null extends Input
      ? [input?: Input]
      : [input: Input];

export type ToolCall<Input, Output> = (...input: InputArguments<Input>) => Promise<Output>;

/**
 * The type of `it.tools`, from four types that are inferred for each tool: the input validator's input and output, the
 * output validator's output, and the result of execute(). A tool without a validator is typed by its execute().
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
 * The type of `it.tool`. The signatures are methods, and the untyped one has two, so that the compiler accepts a typed
 * iteration as an `Iteration`.
 */
export type ToolCaller<Calls> = string extends keyof Calls ? UntypedToolCaller["call"] : TypedToolCaller<Calls>["call"];

interface UntypedToolCaller {
  /** The tool's result, after a round trip through JSON. `Out` is not checked. */
  call<Out = Json>(name: string, input?: unknown): Promise<Out>;
  call<Out>(name: string, input?: unknown): Promise<Out>;
}

interface TypedToolCaller<Calls> {
  call<Name extends keyof Calls & string>(
    name: Name,
    ...input: Calls[Name] extends (...input: infer Arguments) => unknown ? Arguments : never
  ): Promise<Calls[Name] extends (...input: never) => Promise<infer Out> ? Out : never>;
}

/** The type of tools about which nothing is known. */
export type UntypedTools = Readonly<Record<never, unknown>>;

/** A tool with any types. */
export type AnyTool = Tool<unknown, unknown, unknown, unknown>;

/**
 * A tool that can be described to models: its validator exports its input as JSON Schema, or it has an `inputSchema`.
 */
export type ToolWithSchema = AnyTool &
  (
    | { readonly input: StandardJsonSchema }
    | {
        /** A JSON Schema as it is in a request to a model. */ readonly inputSchema: JsonObject;
      }
  );

/** Tools that can be described to models; the validators of inline tools type their execute(). */
export type ToolsWithSchemas<Inputs> = {
  readonly [Name in keyof Inputs]: Tool<unknown, unknown, Inputs[Name], unknown> &
    (
      | { readonly input: StandardJsonSchema }
      | {
          /** A JSON Schema as it is in a request to a model. */ readonly inputSchema: JsonObject;
        }
    );
};

/**
 * What the compiler knows about a tool's input. tool() keeps it, so that a tool without a JSON Schema does not compile
 * where one is needed.
 */
export type KnownInput<Vendor, Converter, Schema> = Schema extends JsonObject
  ? {
      /** A JSON Schema as it is in a request to a model. */ readonly inputSchema: JsonObject;
    } & KnownValidator<Vendor, Converter>
  : KnownValidator<Vendor, Converter>;

type KnownValidator<Vendor, Converter> = Converter extends object
  ? { readonly input: StandardJsonSchema }
  : Vendor extends string
    ? { readonly input: StandardSchema }
    : unknown;

/** The fields from which tool() infers it. */
export interface InputSource<Vendor, Converter, Schema> {
  readonly input?: { readonly "~standard": { readonly vendor: Vendor; readonly jsonSchema?: Converter } };
  readonly inputSchema?: Schema;
}

/** The tools in the argument of defineAgent(): each of the four types is inferred for each tool separately. */
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
