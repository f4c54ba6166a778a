// Functions for definitions: they return their argument, and infer its types.
import type { Json } from "../contracts/json.ts";
import type { StandardSchema } from "../contracts/standard-schema.ts";
import type { InputSource, KnownInput, Tool } from "../contracts/tools.ts";

/**
 * A tool whose types are inferred: its input from `input`, or from the parameter of execute(); its result from
 * `output`, or from the result of execute().
 */
export function tool<
  In = Json,
  Returned = Json,
  Accepted = In,
  Out = Returned,
  Vendor = undefined,
  Converter = undefined,
  Schema = undefined,
>(
  definition: Tool<Accepted, Out, In, Returned> & InputSource<Vendor, Converter, Schema>,
): Tool<Accepted, Out, In, Returned> & KnownInput<Vendor, Converter, Schema> {
  return definition as Tool<Accepted, Out, In, Returned> & KnownInput<Vendor, Converter, Schema>;
}

/** A validator that names a type and accepts everything: `state: shape<{ n: number }>()`. */
export function shape<Type>(): StandardSchema<Type, Type> {
  return { "~standard": { version: 1, vendor: "holdfast", validate: (value) => ({ value: value as Type }) } };
}
