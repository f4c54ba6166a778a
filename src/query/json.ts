// The JSON form of a query, for HTTP and for programs. Rules for EDN's forms in JSON:
//
//   {"find": […], "with": […], "in": […], "where": […], "rules": […], "orderBy": […], "limit": 10, "offset": 0}
//
// - "?x" is a variable, ":session/id" a keyword, and "_" "$" "%" "." "..." are those symbols. Any other string is a
// string;   one that looks like these is written {"string": "?x"}. {"inst": "2026-01-31"} and {"uuid": "…"} are those
// values. - An array that begins with a name is a call or a rule, EDN's list: ["count", "?m"], ["not", …], ["ancestor",
// "?a", "?b"].   Any other array is a vector: ["?e", ":attr", "?v"]. One whose first item is a string says {"string":
// …} there. - The argument of "ground" is data, so every array in it is a vector. - The pattern of "pull" holds "*",
// ":attr", [":attr", ":limit", 10], ["limit", ":attr", 10] and {":attr": pattern}; a key   with options is written
// {"of": [":attr", ":limit", 10], "pull": pattern}. A depth is a number or "...". - Inputs are plain data: every string
// is a string, and a keyword is {"keyword": ":a"}. The input for % is rules, as above.
import type { Json, JsonObject } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import { isObject } from "../core/check.ts";
import { printInstant } from "../core/instant.ts";
import { readEdn } from "./edn.ts";
import { type Form, invalidQuery, isExact, KEYWORD, overLimit, SYMBOL, shorten } from "./form.ts";

/** Counts the values read, so that an endless value is refused in time. */
interface Budget {
  /** True for inputs, whose strings are never names. */
  readonly literal: boolean;
  forms: number;
  chars: number;
  readonly maxForms: "queryForms" | "queryInputValues";
  readonly maxChars: "queryBytes" | "queryInputChars";
}

const SECTIONS: Readonly<Record<string, string>> = {
  find: ":find",
  with: ":with",
  in: ":in",
  where: ":where",
  rules: ":rules",
  orderBy: ":order-by",
  limit: ":limit",
  offset: ":offset",
};
const SYMBOLS = ["_", "$", "%", ".", "..."];
const TAGS = ["string", "keyword", "inst", "uuid"];
const STRANGE = 'objects are {"string": …}, {"keyword": …}, {"inst": …} and {"uuid": …}';

/** What is being read: a pull's pattern, an item of it, data in which no array is a call, or a query. */
type Mode = "form" | "data" | "pull" | "item";

export function queryForm(value: unknown): Form {
  const record = plainObject(value);
  const allowed = `a query in JSON is an object of ${Object.keys(SECTIONS).join(", ")}`;
  if (record === null) throw invalidQuery(undefined, "the query is neither EDN text nor such an object", allowed);
  const budget = queryBudget();
  const entries = Object.entries(record).filter(([, part]) => part !== undefined);
  const sections = entries.map(([name, part]): readonly [Form, Form] => {
    const section = Object.hasOwn(SECTIONS, name) ? SECTIONS[name] : undefined;
    if (section === undefined) throw invalidQuery({ path: shorten(name) }, "a query has no such part", allowed);
    const at = { path: name };
    // These parts are vectors, whatever their first item is.
    const form = Array.isArray(part) ? vectorOf(part, "form", name, 2, budget) : read(part, "form", name, 2, budget);
    return [{ kind: "keyword", name: section, at }, form];
  });
  return { kind: "map", entries: sections };
}

function queryBudget(): Budget {
  return { forms: 0, chars: 0, maxForms: "queryForms", maxChars: "queryBytes", literal: false };
}

export function checkInputs(count: number): void {
  if (count > LIMITS.queryColumns) throw overLimit({ path: "inputs" }, "queryColumns", "the number of inputs", count);
}

/** The inputs as forms. `rules` is the index of the input for `%`: EDN text, or an array of rules. */
export function inputForms(inputs: readonly unknown[], rules = -1): readonly Form[] {
  const budget: Budget = {
    forms: 0,
    chars: 0,
    maxForms: "queryInputValues",
    maxChars: "queryInputChars",
    literal: true,
  };
  return Array.from(inputs, (input, i) => {
    const path = `inputs[${i}]`;
    if (i !== rules) return read(input, "data", path, 0, budget);
    if (typeof input === "string") return readEdn(input);
    if (Array.isArray(input)) return vectorOf(input, "form", path, 1, queryBudget());
    throw invalidQuery({ path }, "rules are EDN text or an array of rules");
  });
}

function read(value: unknown, mode: Mode, path: string, depth: number, budget: Budget): Form {
  const at = { path };
  spend(budget, path, value);
  if (value === null) return { kind: "nil", at };
  switch (typeof value) {
    case "string":
      return budget.literal ? { kind: "string", value: wellFormed(value, path), at } : readString(value, mode, path);
    case "boolean":
      return { kind: "boolean", value, at };
    case "number":
      if (!isExact(value)) throw invalidQuery(at, `${value} is too large a number to be exact, or none`);
      return { kind: Number.isInteger(value) ? "int" : "float", value: value + 0, at };
    case "object":
      if (depth >= LIMITS.queryDepth) throw overLimit(at, "queryDepth", "the nesting", depth + 1);
      if (Array.isArray(value)) return readArray(value, mode, path, depth + 1, budget);
      return readObject(value, mode, path, depth + 1, budget);
    default:
      throw invalidQuery(at, `${typeof value} is not JSON`);
  }
}

function spend(budget: Budget, path: string, value: unknown): void {
  const at = { path };
  if (++budget.forms > LIMITS[budget.maxForms])
    throw overLimit(at, budget.maxForms, "the number of values", budget.forms);
  budget.chars += typeof value === "string" ? value.length : 0;
  if (budget.chars > LIMITS[budget.maxChars])
    throw overLimit(at, budget.maxChars, "the length of all text", budget.chars);
}

function wellFormed(value: string, path: string): string {
  if (!value.isWellFormed()) throw invalidQuery({ path }, "a string holds a lone surrogate, which is not Unicode");
  return value;
}

function readString(value: string, mode: Mode, path: string): Form {
  const at = { path };
  if (SYMBOLS.includes(value) || (mode === "pull" && value === "*")) return { kind: "symbol", name: value, at };
  if (!/^[?:]/.test(value)) return { kind: "string", value: wellFormed(value, path), at };
  const isKeyword = value.startsWith(":");
  if ((isKeyword ? KEYWORD : SYMBOL).test(value)) return { kind: isKeyword ? "keyword" : "symbol", name: value, at };
  const what = isKeyword ? "keyword" : "variable";
  throw invalidQuery(
    at,
    `${JSON.stringify(shorten(value))} is no ${what}`,
    'a string that begins so is {"string": "…"}',
  );
}

function vectorOf(items: readonly unknown[], mode: Mode, path: string, depth: number, budget: Budget): Form {
  const forms = Array.from(items, (item, i) => {
    const inside = mode === "pull" && Array.isArray(item) ? "item" : mode;
    return read(item, inside, `${path}[${i}]`, depth, budget);
  });
  return { kind: "vector", items: forms, at: { path } };
}

function readArray(items: readonly unknown[], mode: Mode, path: string, depth: number, budget: Budget): Form {
  const [head] = items;
  const isName = typeof head === "string" && !/^[?:]/.test(head) && !SYMBOLS.includes(head);
  const mayCall = mode === "form" || mode === "item";
  if (!isName || !mayCall) return vectorOf(items, mode, path, depth, budget);
  const at = { path };
  if (!SYMBOL.test(head)) {
    const allowed = 'an array begins with a name, a ?variable, a :keyword or {"string": "…"}';
    throw invalidQuery(at, `${JSON.stringify(shorten(head))} is no name to call`, allowed);
  }
  spend(budget, path, head);
  const args = items.slice(1).map((item, i) => {
    const isPattern = head === "pull" && i === items.length - 2;
    const inside: Mode = isPattern ? "pull" : head === "ground" || mode === "item" ? "data" : "form";
    return read(item, inside, `${path}[${i + 1}]`, depth, budget);
  });
  return { kind: "list", items: [{ kind: "symbol", name: head, at: { path: `${path}[0]` } }, ...args], at };
}

function readObject(value: object, mode: Mode, path: string, depth: number, budget: Budget): Form {
  const at = { path };
  const record = plainObject(value);
  const entries = Object.entries(record ?? {});
  if (record === null || entries.length === 0) throw invalidQuery(at, "such an object has no meaning here", STRANGE);
  const [[tag, content] = ["", undefined]] = entries;
  if (entries.length === 1 && TAGS.includes(tag)) return readTagged(tag, content, path);
  if (mode !== "pull")
    throw invalidQuery(at, `the object with ${JSON.stringify(shorten(tag))} has no meaning here`, STRANGE);
  const nested = (part: unknown, name: string, inside: Mode = "pull") =>
    read(part, inside, `${path}.${shorten(name)}`, depth, budget);
  if ("of" in record) {
    if (entries.length !== 2 || !("pull" in record)) {
      throw invalidQuery(
        at,
        '"of" stands beside "pull" and nothing else',
        '{"of": [":attr", ":limit", 10], "pull": […]}',
      );
    }
    return { kind: "map", entries: [[nested(record.of, "of", "item"), nested(record.pull, "pull")]], at };
  }
  return { kind: "map", entries: entries.map(([name, part]) => [readKey(name, path, budget), nested(part, name)]), at };
}

function readKey(name: string, path: string, budget: Budget): Form {
  spend(budget, path, name);
  if (KEYWORD.test(name)) return { kind: "keyword", name, at: { path } };
  throw invalidQuery(
    { path },
    `${JSON.stringify(shorten(name))} is no attribute`,
    "the keys of a pull are like :message/_session",
  );
}

/** Uses the EDN reader for the text, so that only one parser knows keywords and times. */
function readTagged(tag: string, content: unknown, path: string): Form {
  const at = { path: `${path}.${tag}` };
  if (typeof content !== "string") throw invalidQuery(at, `{"${tag}": …} holds a string`);
  if (tag === "string") return { kind: "string", value: wellFormed(content, at.path), at };
  if (tag === "keyword") {
    if (KEYWORD.test(content)) return { kind: "keyword", name: content, at };
    throw invalidQuery(at, `${JSON.stringify(shorten(content))} is no keyword`, "a keyword is like :session/id");
  }
  if (/^[-0-9a-zA-Z:.+]{1,64}$/.test(content)) return { ...readEdn(`#${tag} "${content}"`), at };
  throw invalidQuery(at, `${JSON.stringify(shorten(content))} is no #${tag}`);
}

function plainObject(value: unknown): Readonly<Record<string, unknown>> | null {
  if (!isObject(value)) return null;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? value : null;
}

/** The JSON of a query's form, as `queryForm` reads it. */
export function queryJson(form: Form): JsonObject {
  const names = new Map(Object.entries(SECTIONS).map(([name, section]) => [section, name]));
  const entries = form.kind === "map" ? form.entries : [];
  return Object.fromEntries(
    entries.map(([key, value]) => {
      const name = key.kind === "keyword" ? (names.get(key.name) ?? key.name) : "";
      return [name, value.kind === "vector" ? value.items.map((item) => json(item, false)) : json(value, false)];
    }),
  );
}

/** The JSON of an input, as `inputForm` reads it. */
export function inputJson(form: Form): Json {
  return json(form, true);
}

function json(form: Form, literal: boolean): Json {
  switch (form.kind) {
    case "nil":
      return null;
    case "boolean":
    case "int":
    case "float":
      return form.value;
    case "string":
    case "char":
      return !literal && (/^[?:]/.test(form.value) || SYMBOLS.includes(form.value))
        ? { string: form.value }
        : form.value;
    case "inst":
      return { inst: printInstant(form.value) };
    case "uuid":
      return { uuid: form.value };
    case "keyword":
      return literal ? { keyword: form.name } : form.name;
    case "symbol":
      return form.name;
    case "set":
    case "list":
    case "vector":
      return form.items.map((item, i) => {
        const isNamed = form.kind === "vector" && i === 0 && item.kind === "string" && !literal;
        return isNamed ? { string: item.value } : json(item, literal);
      });
    case "map":
      return mapJson(form.entries, literal);
  }
}

function mapJson(entries: readonly (readonly [Form, Form])[], literal: boolean): Json {
  const [first] = entries;
  if (first !== undefined && first[0].kind !== "keyword")
    return { of: json(first[0], literal), pull: json(first[1], literal) };
  return Object.fromEntries(
    entries.map(([key, value]) => [key.kind === "keyword" ? key.name : "", json(value, literal)] as const),
  );
}
