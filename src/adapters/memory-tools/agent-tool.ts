// A tool for agents, of no framework: a name, a description, a JSON Schema and a function. Its declaration of the input makes the
// schema and checks what a model gives. A field that the declaration does not have is ignored: models add fields that they were
// trained with.
import type { JsonObject } from "../../contracts/json.ts";
import type { LimitName } from "../../contracts/limits.ts";
import type { StepCall } from "../../contracts/steps.ts";
import { checkArray, checkInt, checkOneOf, checkSome, checkText, invalid } from "../../core/check.ts";

/** What a tool needs of the call of a run's step. */
export type ToolCallInfo = Pick<StepCall, "again">;

export interface AgentTool {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of an object. */
  readonly inputSchema: JsonObject & { readonly type: "object" };
  /** A run may call the tool again if it does not know the outcome of the first call. */
  readonly effect: "idempotent";
  /** The text that answers the model. A mistake of the model is an error whose message says what to do. */
  execute(input: unknown, call?: ToolCallInfo): Promise<string>;
}

interface FieldBase {
  readonly description: string;
  readonly optional?: true;
  /** Other names by which models give the field. */
  readonly aliases?: readonly string[];
}

export type Field = FieldBase &
  (
    | { readonly type: "string"; readonly limit: LimitName; readonly of?: readonly string[] }
    | { readonly type: "integer"; readonly min: number; readonly max: number }
    | { readonly type: "integers" }
    | { readonly type: "texts"; readonly limit: LimitName; readonly of?: readonly string[] }
  );

export type ToolFields = Readonly<Record<string, Field>>;

interface FieldValues {
  readonly string: string;
  readonly integer: number;
  readonly integers: readonly number[];
  readonly texts: readonly string[];
}

type FieldValue<F extends Field> = FieldValues[F["type"]];

type ToolInput<F extends ToolFields> = {
  readonly [Name in keyof F]: F[Name] extends { readonly optional: true }
    ? FieldValue<F[Name]> | undefined
    : FieldValue<F[Name]>;
};

export interface ToolDeclaration<F extends ToolFields> {
  readonly name: string;
  readonly description: string;
  readonly fields: F;
  run(input: ToolInput<F>, isAgain: boolean): Promise<string>;
}

export function declareTool<const F extends ToolFields>(declaration: ToolDeclaration<F>): AgentTool {
  const { name, description, fields, run } = declaration;
  return {
    name,
    description,
    inputSchema: inputSchema(fields),
    effect: "idempotent",
    execute: async (input, call) => run(readInput(fields, input), call?.again === true),
  };
}

export function inputSchema(fields: ToolFields): AgentTool["inputSchema"] {
  const required = Object.keys(fields).filter((name) => fields[name]?.optional !== true);
  const properties = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, describeField(field)]));
  return { type: "object", properties, required };
}

function describeField(field: Field): JsonObject {
  const { description } = field;
  if (field.type === "integer") return { type: "integer", description };
  if (field.type === "integers") return { type: "array", items: { type: "integer" }, description };
  const one = { type: "string", ...(field.of === undefined ? {} : { enum: [...field.of] }) };
  return field.type === "string" ? { ...one, description } : { type: "array", items: one, description };
}

function readInput<F extends ToolFields>(fields: F, input: unknown): ToolInput<F> {
  const names = Object.entries(fields).flatMap(([name, { aliases = [] }]) => [name, ...aliases]);
  const given = checkSome(input ?? {}, "the input", names);
  const read = Object.entries(fields).map(([name, field]): [string, unknown] => {
    const from = [name, ...(field.aliases ?? [])].find((one) => given[one] !== undefined) ?? name;
    return [name, readField(field, given[from], name)];
  });
  return Object.fromEntries(read) as ToolInput<F>;
}

/** null stands for a field that is not given: some models name every field. */
function readField(field: Field, value: unknown, name: string): unknown {
  if (value === undefined || value === null) {
    if (field.optional === true) return undefined;
    throw invalid(name, "given", value);
  }
  if (field.type === "integer") return checkInt(value, name, field.min, field.max);
  if (field.type === "integers") {
    return checkArray(value, name, "tags").map((one) => checkInt(one, name, -1, Number.MAX_SAFE_INTEGER));
  }
  const readText = (text: unknown, what: string) =>
    field.of === undefined ? checkText(text, what, field.limit) : checkOneOf(text, what, field.of);
  if (field.type === "string") return readText(value, name);
  return checkArray(value, name, "tags").map((one, i) => readText(one, `${name}[${i}]`));
}
