// Tools: what an agent's iterations may do to the world, and the types of calling them.
import type { Json, JsonObject } from "./json.ts";
import type { StandardJsonSchema, StandardSchema } from "./standard-schema.ts";
import type { RetryPolicy, StepCall } from "./steps.ts";

/**
 * `Accepted` is what a call must give, `Out` what it gets. They differ from `In`, which execute() is given, and `Returned`, which
 * it returns, only where a validator changes what it validates.
 */
export interface Tool<Accepted = Json, Out = unknown, In = Accepted, Returned = Out> {
  readonly description?: string;
  /** Validates the input before the call is intended. */
  readonly input?: StandardSchema<Accepted, In>;
  /**
   * The input as described to models, where the validator cannot export JSON Schema. A JSON Schema as it is in a request
   * to a model.
   */
  readonly inputSchema?: JsonObject;
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

/** `it.tools` of an agent whose tools the compiler does not know. */
export type UntypedToolCalls = Readonly<Record<string, UntypedToolCall["call"]>>;

interface UntypedToolCall {
  call(input?: unknown): Promise<unknown>;
}

/** A parameter that may be left out where the type allows that, or says nothing. */
export type InputArguments<Input> = Json extends Input
  ? [input?: unknown]
  : undefined extends Input
    ? [input?: Input]
    : null extends Input
      ? [input?: Input]
      : [input: Input];

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

/** Says nothing of any tool. */
export type UntypedTools = Readonly<Record<never, unknown>>;

/** A tool whatever its types are. */
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

/** Tools that can be described to models, where execute() of inline tools is to be typed by their validators. */
export type ToolsWithSchemas<Inputs> = {
  readonly [Name in keyof Inputs]: Tool<unknown, unknown, Inputs[Name], unknown> &
    (
      | { readonly input: StandardJsonSchema }
      | {
          /** A JSON Schema as it is in a request to a model. */ readonly inputSchema: JsonObject;
        }
    );
};

/** What is known of a tool's input, kept by tool() so that a tool without a JSON Schema is refused where one is needed. */
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
