// What plain JavaScript callers may hand in, by the kind of value that belongs there. A call of the table is made of
// these leaves, so that every parameter and every field can be replaced by everything it must not be.
import type { ErrorCode } from "../../contracts/errors.ts";
import { CALLER_MISTAKES } from "../expect.ts";

export type Kind =
  | "id"
  | "text"
  | "speech"
  | "word"
  | "choice"
  | "int"
  | "amount"
  | "limit"
  | "flag"
  | "json"
  | "object"
  | "ref"
  | "bytes"
  | "binary"
  | "signal"
  | "work"
  | "agent"
  | "checked";

export class Leaf {
  readonly kind: Kind;
  readonly value: unknown;
  /** Wrong things that are fine here all the same, by their names in WRONG. */
  readonly also: readonly string[];

  constructor(kind: Kind, value: unknown, also: readonly string[]) {
    this.kind = kind;
    this.value = value;
    this.also = also;
  }
}

/** A list or record in whose place other types are fine too. */
export class Either {
  readonly also: readonly string[];
  readonly value: object;

  constructor(value: object, ...also: readonly string[]) {
    this.value = value;
    this.also = also;
  }
}

type Make = (value: unknown, ...also: readonly string[]) => Leaf;

const leaf =
  (kind: Kind): Make =>
  (value, ...also) =>
    new Leaf(kind, value, also);

export const id = leaf("id");
/** Text people read. */
export const text = leaf("text");
/** Text of a message, where half a character is kept or refused. */
export const speech = leaf("speech");
/** A string that is neither an id nor a text: nothing but its type is checked. */
export const word = leaf("word");
export const choice = leaf("choice");
export const int = leaf("int");
export const amount = leaf("amount");
export const limit = leaf("limit");
export const flag = leaf("flag");
/** Any JSON, and JSON that must be an object. */
export const json = leaf("json");
export const object = leaf("object");
export const ref = leaf("ref");
/** What a blob can be made of, and bytes alone. */
export const bytes = leaf("bytes");
export const binary = leaf("binary");
export const signal = leaf("signal");
export const work = leaf("work");
/** The code of an agent. */
export const agentCode = leaf("agent");

/** A value that must be refused, its name, and the codes it may be refused with. */
interface Wrong {
  readonly name: string;
  readonly value: unknown;
  readonly codes: readonly ErrorCode[];
}

const TYPES: Readonly<Record<string, unknown>> = {
  null: null,
  boolean: true,
  number: 7,
  string: "x",
  object: {},
  "object without prototype": Object.create(null),
  array: [],
  function: () => "x",
  symbol: Symbol("x"),
  bigint: 7n,
};

/** What has the right type for a kind, so that it is not wrong by its type. */
const FITTING: Readonly<Record<Kind, readonly string[]>> = {
  id: ["string"],
  text: ["string"],
  speech: ["string"],
  word: ["string"],
  choice: [],
  int: ["number"],
  amount: ["number"],
  limit: ["number"],
  flag: ["boolean"],
  json: ["null", "boolean", "number", "string", "object", "object without prototype", "array"],
  object: ["object", "object without prototype"],
  ref: [],
  bytes: ["string", "array"],
  binary: [],
  signal: [],
  work: ["function"],
  agent: [],
  // Only what can never be data.
  checked: ["null", "boolean", "number", "string", "object", "object without prototype", "array", "function"],
};

const LONE = "lone surrogate \ud800";

const BAD_IDS: Readonly<Record<string, string>> = {
  empty: "",
  NUL: "\0",
  "NUL inside": "a\0b",
  "513 bytes": "x".repeat(513),
  "10 kB": "x".repeat(10_000),
  "513 bytes of two each": `${"é".repeat(256)}x`,
  "high surrogate": "a\ud83d",
  "low surrogate": "\ude00a",
};

const BAD_NUMBERS: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  infinity: Number.POSITIVE_INFINITY,
  fraction: 1.5,
  "2 ** 53": 2 ** 53,
  "1e308": 1e308,
};

/** Everything that must be refused in place of this leaf. */
function wrongFor({ kind, also }: Leaf): readonly Wrong[] {
  const codes = CALLER_MISTAKES;
  const types = Object.entries(TYPES)
    .filter(([name]) => !FITTING[kind].includes(name))
    .map(([name, value]) => ({ name, value, codes }));
  return [...types, ...wrongOfKind(kind)].filter(({ name }) => !also.includes(name));
}

function wrongOfKind(kind: Kind): readonly Wrong[] {
  const all = (values: Readonly<Record<string, unknown>>, codes: readonly ErrorCode[]) =>
    Object.entries(values).map(([name, value]) => ({ name, value, codes }));
  switch (kind) {
    case "id":
      return all(BAD_IDS, ["InvalidId"]);
    case "text":
      return all({ "lone surrogate": LONE }, ["InvalidText"]);
    case "int":
      return all(BAD_NUMBERS, ["InvalidArgument"]);
    case "amount":
      return all({ NaN: Number.NaN, infinity: Number.POSITIVE_INFINITY }, ["InvalidArgument"]);
    case "limit":
      return [
        ...all({ ...BAD_NUMBERS, negative: -1 }, ["InvalidArgument"]),
        ...all({ huge: Number.MAX_SAFE_INTEGER }, ["LimitExceeded"]),
      ];
    case "json":
    case "object":
      return all(badJson(), ["InvalidJson", "InvalidArgument"]);
    default:
      return [];
  }
}

class Point {
  readonly x = 1;
}

/** Objects that JSON cannot say, or says differently. All are objects, so that they stand where an object belongs. */
function badJson(): Readonly<Record<string, unknown>> {
  const cycle: Record<string, unknown> = {};
  cycle.inside = { list: [cycle] };
  const sparse: unknown[] = [];
  sparse[3] = 1;
  let deepList: unknown = [];
  let deepObject: unknown = {};
  for (let depth = 0; depth < 100_000; depth++) {
    deepList = [deepList];
    deepObject = { a: deepObject };
  }
  return {
    cycle,
    "list 100,000 deep": { deep: deepList },
    "object 100,000 deep": { deep: deepObject },
    "bigint inside": { n: 7n },
    "Date inside": { at: new Date(0) },
    "NaN inside": { n: Number.NaN },
    "infinity inside": { n: [Number.NEGATIVE_INFINITY] },
    "function inside": { run: () => 1 },
    "symbol inside": { s: Symbol("x") },
    "undefined in a list": { list: [1, undefined] },
    "sparse list": { sparse },
    "Map inside": { map: new Map([[1, 2]]) },
    "Set inside": { set: new Set([1]) },
    "bytes inside": { bytes: new Uint8Array(3) },
    "class inside": { point: new Point() },
    "toJSON inside": { odd: { toJSON: () => "surprise" } },
    "boxed number inside": { n: Object(7) },
    Date: new Date(0),
    Map: new Map(),
  };
}

/** The value itself: leaves are replaced by what they hold. */
export function plain(value: unknown): unknown {
  if (value instanceof Leaf) return value.value;
  if (value instanceof Either) return plain(value.value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}

export interface Variant {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly codes: readonly ErrorCode[];
}

/** The arguments once for every wrong thing in every place. Lists and records are places themselves. */
export function variants(args: readonly unknown[], required: number): readonly Variant[] {
  const missing = args.slice(0, required).map((_, n): Variant => {
    return {
      name: `argument ${n} is undefined`,
      args: args.map((arg, m) => (m === n ? undefined : plain(arg))),
      codes: CALLER_MISTAKES,
    };
  });
  const replaced = replacements(args).filter(({ path }) => path.length > 0);
  return [
    ...missing,
    ...replaced.map(({ path, wrong }) => ({
      name: `${path.join(".")} is ${wrong.name}`,
      args: put(args, path, wrong.value) as unknown[],
      codes: wrong.codes,
    })),
  ];
}

interface Replacement {
  readonly path: readonly (string | number)[];
  readonly wrong: Wrong;
}

function replacements(value: unknown, path: readonly (string | number)[] = []): readonly Replacement[] {
  if (value instanceof Leaf) return wrongFor(value).map((wrong) => ({ path, wrong }));
  if (value instanceof Either) {
    return replacements(value.value, path).filter((one) => one.path !== path || !value.also.includes(one.wrong.name));
  }
  if (typeof value !== "object" || value === null) return [];
  const isList = Array.isArray(value);
  const fitting = isList ? ["array"] : ["object", "object without prototype"];
  const own = Object.entries(TYPES)
    .filter(([name]) => !fitting.includes(name))
    .map(([name, wrong]) => ({ path, wrong: { name, value: wrong, codes: CALLER_MISTAKES } }));
  const inside = Object.entries(value).flatMap(([key, item]) =>
    replacements(item, [...path, isList ? Number(key) : key]),
  );
  return [...own, ...stray(value, path), ...inside];
}

/** An argument with an unknown field, such as a misspelt one. */
function stray(value: object, path: readonly (string | number)[]): readonly Replacement[] {
  if (Array.isArray(value) || path.length !== 1) return [];
  const wrong = { ...(plain(value) as object), "no such field": 1 };
  return [{ path, wrong: { name: "with a stray field", value: wrong, codes: CALLER_MISTAKES } }];
}

function put(value: unknown, [key, ...rest]: readonly (string | number)[], wrong: unknown): unknown {
  if (key === undefined) return wrong;
  if (value instanceof Either) return put(value.value, [key, ...rest], wrong);
  if (Array.isArray(value)) return value.map((item, n) => (n === key ? put(item, rest, wrong) : plain(item)));
  const entries = Object.entries(value as object);
  return Object.fromEntries(entries.map(([name, item]) => [name, name === key ? put(item, rest, wrong) : plain(item)]));
}
