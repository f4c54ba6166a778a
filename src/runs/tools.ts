// Helpers for definitions: they return what they are given, and carry its types.
import type { KnownSchema, SchemaSource } from "../contracts/agent-types.ts";
import type { Json } from "../contracts/json.ts";
import type { Tool } from "../contracts/runs.ts";
import type { StandardSchema } from "../contracts/standard-schema.ts";

/** A tool whose types are inferred: its input from `input`, or from the parameter of execute(); its result from `output`, or from
 * what execute() returns. */
export function tool<
  In = Json,
  Returned = Json,
  Accepted = In,
  Out = Returned,
  Converter = undefined,
  Schema = undefined,
>(
  definition: Tool<Accepted, Out, In, Returned> & SchemaSource<Converter, Schema>,
): Tool<Accepted, Out, In, Returned> & KnownSchema<Converter, Schema> {
  return definition as Tool<Accepted, Out, In, Returned> & KnownSchema<Converter, Schema>;
}

/** A validator that names a type and accepts everything: `state: shape<{ n: number }>()`. */
export function shape<Type>(): StandardSchema<Type, Type> {
  return { "~standard": { version: 1, vendor: "holdfast", validate: (value) => ({ value: value as Type }) } };
}
