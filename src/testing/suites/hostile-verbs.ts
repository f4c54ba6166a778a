// Hostile arguments for every verb of the catalogue, derived from its declarations: each parameter and each field is
// replaced by everything that its schema does not allow. A new verb gets its cases from its declaration.
import type { ErrorCode } from "../../contracts/errors.ts";
import { LIMITS, type LimitName } from "../../contracts/limits.ts";
import type { Schema, Verb } from "../../contracts/verbs/vocabulary.ts";
import { CALLER_MISTAKES } from "../expect.ts";
import {
  agentCode,
  amount,
  binary,
  choice,
  Either,
  flag,
  id,
  int,
  json,
  Leaf,
  limit,
  object,
  plain,
  ref,
  signal,
  text,
  type Variant,
  variants,
  work,
} from "./hostile-values.ts";

/** Values that fit. */
export interface Examples {
  /** By the name of a parameter or field. */
  readonly named: Readonly<Record<string, unknown>>;
  /** Refs, heads, digests, cursors and ids of rows, by the kind of their schema. */
  readonly formed: Readonly<Record<string, string | null>>;
  readonly agent: unknown;
  /** What only an implementation can check, by what it is. */
  readonly checked: Readonly<Record<string, unknown>>;
  /** Fields that do not go with others: `parameter.field`. */
  readonly absent: readonly string[];
}

/** The arguments of a verb as leaves; `plain` gives arguments that the verb accepts. */
export function exampleArguments({ params }: Verb, examples: Examples): readonly unknown[] {
  return params.map(({ name, schema }) => leafOf(schema, name, examples));
}

function leafOf(schema: Schema, name: string, examples: Examples): unknown {
  const also = schema.nullable === true ? ["null"] : [];
  const example = examples.named[name];
  switch (schema.kind) {
    case "id":
      return id(example ?? "x", ...also, ...(schema.orEmpty === true ? ["empty"] : []));
    case "session":
      return id(example ?? "chat", ...also);
    case "text":
      return text(example ?? "some text", ...also);
    case "whole":
      return int(example ?? Math.max(schema.min, Math.min(schema.max, 1)), ...also);
    case "number":
      return amount(example ?? schema.min, ...also);
    case "limit":
      return limit(5, ...also);
    case "boolean":
      return flag(example ?? false, ...also);
    case "choice":
      return choice(schema.of.find((one) => one === example) ?? schema.of[0], ...also);
    case "json":
      return json(example ?? { a: 1 }, ...also);
    case "object":
    case "entries":
      return object(example ?? { a: 1 }, ...also);
    default:
      return compoundLeaf(schema, name, examples, also);
  }
}

function compoundLeaf(schema: Schema, name: string, examples: Examples, also: readonly string[]): unknown {
  switch (schema.kind) {
    case "list":
      return [leafOf(schema.of, name, examples)];
    case "record": {
      const fields = Object.entries(schema.fields).filter(([field]) => !examples.absent.includes(`${name}.${field}`));
      const value = Object.fromEntries(fields.map(([field, inner]) => [field, leafOf(inner, field, examples)]));
      return schema.isOpen === true ? new Either(value, "with a stray field") : value;
    }
    case "signal":
      return signal(AbortSignal.abort());
    case "function":
      return work(() => 1);
    case "bytes":
      return binary(new Uint8Array(3));
    case "agent":
      return agentCode(examples.agent);
    case "checked":
      return checkedLeaf(schema.as, examples);
    default:
      // Refs, heads, digests, cursors and ids of rows have forms of their own: no value of another kind is one.
      return ref(examples.formed[schema.kind], ...also);
  }
}

/** Where only the implementation knows what fits, it must at least refuse what is no data at all. */
function checkedLeaf(as: string, examples: Examples): unknown {
  if (!(as in examples.checked)) throw new Error(`there is no example of ${as}`);
  return new Leaf("checked", examples.checked[as], []);
}

/** Every call that must be refused. */
export function hostileCalls(verb: Verb, examples: Examples): readonly Variant[] {
  const args = exampleArguments(verb, examples);
  const required = verb.params.findLastIndex(({ schema }) => schema.optional !== true) + 1;
  const fitting = args.map(plain);
  const replace = (n: number, value: unknown) => fitting.map((argument, m) => (m === n ? value : argument));
  const beyond = verb.params.flatMap(({ schema, name }, n) =>
    [...tooMuch(schema, fitting[n]), ...traps(schema, fitting[n])].map(
      ({ what, value, codes = CALLER_MISTAKES }): Variant => ({
        name: `${name} ${what}`,
        args: replace(n, value),
        codes,
      }),
    ),
  );
  return [...variants(args, required), ...beyond];
}

interface Wrong {
  readonly what: string;
  readonly value: unknown;
  readonly codes?: readonly ErrorCode[];
}

const MOST_BYTES = 2_000_000;
const MOST_ITEMS = 20_000;

/** Values beyond the limits that the schema names, as far as they can be made in a moment. */
function tooMuch(schema: Schema, fitting: unknown): readonly Wrong[] {
  if (fitting === undefined) return [];
  switch (schema.kind) {
    case "text":
      return LIMITS[schema.limit] > MOST_BYTES ? [] : [over(schema.limit, "x".repeat(LIMITS[schema.limit] + 1))];
    case "list": {
      const items = fitting as readonly unknown[];
      const count = LIMITS[schema.limit] + 1;
      const inside = tooMuch(schema.of, items[0]).map((one) => ({ ...one, value: [one.value] }));
      return count > MOST_ITEMS ? inside : [over(schema.limit, new Array(count).fill(items[0])), ...inside];
    }
    case "entries": {
      const names = Array.from({ length: LIMITS[schema.keys] + 1 }, (_, n) => [`k${n}`, 1]);
      return [over(schema.keys, Object.fromEntries(names))];
    }
    case "whole":
      return [schema.min - 1, schema.max + 1]
        .filter(Number.isSafeInteger)
        .map((value) => ({ what: `is ${value}`, value, codes: ["InvalidArgument"] }));
    case "limit":
      return [
        { what: "is 0", value: 0, codes: ["InvalidArgument"] },
        { what: `is more than ${schema.limit}`, value: LIMITS[schema.limit] + 1, codes: ["LimitExceeded"] },
      ];
    case "number":
      return [
        { what: `is less than ${schema.min}`, value: schema.min - 1, codes: ["InvalidArgument"] },
        ...(schema.max === undefined
          ? []
          : [{ what: `is more than ${schema.max}`, value: schema.max + 1, codes: ["InvalidArgument"] } as const]),
      ];
    case "record":
      return Object.entries(schema.fields).flatMap(([field, inner]) =>
        tooMuch(inner, (fitting as Readonly<Record<string, unknown>>)[field]).map((one) => ({
          ...one,
          what: `with ${field} that ${one.what}`,
          value: { ...(fitting as object), [field]: one.value },
        })),
      );
    default:
      return [];
  }
}

function over(name: LimitName, value: unknown): Wrong {
  return { what: `is more than ${name}`, value, codes: ["LimitExceeded"] };
}

/**
 * Objects that are more than data: fields that reach for a prototype, a getter that throws, a proxy that was revoked.
 */
function traps(schema: Schema, fitting: unknown): readonly Wrong[] {
  if (schema.kind !== "record") return [];
  const [field] = Object.keys(schema.fields);
  const getter = { ...(fitting as object) };
  const throwing = () => {
    throw new TypeError("a getter of the caller's");
  };
  Object.defineProperty(getter, field ?? "x", { get: throwing, enumerable: true });
  const { proxy, revoke } = Proxy.revocable({ ...(fitting as object) }, {});
  revoke();
  const unreadable = [
    { what: "has a getter that throws", value: getter },
    { what: "is a revoked proxy", value: proxy },
  ];
  if (schema.isOpen === true) return unreadable;
  const reaching = ["__proto__", "constructor", "toString"].map((name) => ({
    what: `has a field ${name}`,
    value: Object.defineProperty({ ...(fitting as object) }, name, { value: {}, enumerable: true }),
  }));
  return [...unreadable, ...reaching];
}
