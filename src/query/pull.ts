// Pull patterns: `[* :session/title {:message/_session [:message/role]} [:session/parent :as "up" :limit 3]]`.
import { LIMITS } from "../contracts/limits.ts";
import type { Constant, PullItem, PullNested, PullPattern } from "./ast.ts";
import { type Form, invalidQuery, isSymbol, overLimit, type Sequence } from "./form.ts";
import { parseConstant, reverseOf } from "./terms.ts";
import { show } from "./write.ts";

const ITEMS =
  "a pattern holds *, :attr, [:attr :as key :limit n :default v], (limit :attr n), (default :attr v) and {:attr pattern}";
const OPTIONS = "options are :as, :limit and :default";

interface Options {
  readonly as?: string;
  readonly limit?: number;
  readonly otherwise?: Constant | null;
}

export function parsePull(form: Form): PullPattern {
  if (form.kind !== "vector") throw invalidQuery(form.at, `a pull pattern is a vector, not ${show(form)}`, ITEMS);
  if (form.items.length === 0) throw invalidQuery(form.at, "a pull pattern is empty", ITEMS);
  const wildcard = form.items.some((item) => isSymbol(item, "*"));
  const items = form.items.filter((item) => !isSymbol(item, "*")).flatMap(parseItems);
  const keys = new Set<string>();
  for (const item of items) {
    if (keys.has(item.key)) {
      throw invalidQuery(item.at, `two items of a pull pattern have the key ${item.key}`, "name one of them with :as");
    }
    keys.add(item.key);
  }
  return { wildcard, items, at: form.at };
}

/** A map has one item for each of its entries; any other form is one item. */
function parseItems(form: Form): readonly PullItem[] {
  if (form.kind !== "map") return [parseItem(form, { kind: "none" })];
  if (form.entries.length === 0) throw invalidQuery(form.at, "a map in a pull pattern is empty", ITEMS);
  return form.entries.map(([key, value]) => parseItem(key, parseNested(value)));
}

function parseNested(form: Form): PullNested {
  if (isSymbol(form, "...")) return { kind: "again", depth: LIMITS.pullDepth };
  if (form.kind === "int" || form.kind === "float") {
    if (form.value > LIMITS.pullDepth) throw overLimit(form.at, "pullDepth", "the depth of a pull", form.value);
    if (Number.isInteger(form.value) && form.value >= 1) return { kind: "again", depth: form.value };
  }
  if (form.kind === "vector") return { kind: "pattern", pattern: parsePull(form) };
  const allowed = `a reference is followed by a pattern [:attr …], or again by ... or a depth of 1 to ${LIMITS.pullDepth}`;
  throw invalidQuery(form.at, `a reference cannot be followed by ${show(form)}`, allowed);
}

function parseItem(form: Form, nested: PullNested): PullItem {
  const { attribute, options } = parseExpression(form);
  if (attribute.kind !== "keyword")
    throw invalidQuery(attribute.at, `${show(form)} is no item of a pull pattern`, ITEMS);
  const forward = reverseOf(attribute.name);
  return {
    attribute: { name: forward ?? attribute.name, at: attribute.at },
    reverse: forward !== null,
    key: options.as ?? attribute.name,
    limit: options.limit ?? LIMITS.page,
    otherwise: options.otherwise,
    nested,
    at: form.at,
  };
}

/** `:attr`, `[:attr :limit 10]`, `(:attr :limit 10)`, `(limit :attr 10)`, `(default :attr 0)`. */
function parseExpression(form: Form): { readonly attribute: Form; readonly options: Options } {
  if (form.kind !== "vector" && form.kind !== "list") return { attribute: form, options: {} };
  const [first, ...rest] = form.items;
  if (form.kind === "list" && (isSymbol(first, "limit") || isSymbol(first, "default"))) {
    const [attribute, value, ...more] = rest;
    if (attribute === undefined || value === undefined || more.length > 0) throw malformed(form);
    const options = isSymbol(first, "limit") ? { limit: parseLimit(value) } : { otherwise: parseDefault(value) };
    return { attribute, options };
  }
  if (first?.kind !== "keyword") throw malformed(form);
  return { attribute: first, options: parseOptions(rest, form) };
}

function malformed(form: Form) {
  return invalidQuery(form.at, `${show(form)} is no item of a pull pattern`, ITEMS);
}

function parseOptions(forms: readonly Form[], item: Sequence): Options {
  let options: Options = {};
  const seen = new Set<string>();
  for (let i = 0; i < forms.length; i += 2) {
    const [name, value] = [forms[i], forms[i + 1]];
    if (name?.kind !== "keyword" || value === undefined)
      throw invalidQuery(item.at, `${show(item)} has an odd option`, OPTIONS);
    if (seen.has(name.name)) throw invalidQuery(name.at, `the option ${name.name} is given twice`);
    seen.add(name.name);
    options = { ...options, ...parseOption(name.name, value, name) };
  }
  return options;
}

function parseOption(name: string, value: Form, at: Form): Options {
  switch (name) {
    case ":as":
      if (value.kind === "string") return { as: value.value };
      if (value.kind === "keyword") return { as: value.name };
      throw invalidQuery(value.at, `:as must be a string or a keyword, not ${show(value)}`);
    case ":limit":
      return { limit: parseLimit(value) };
    case ":default":
      return { otherwise: parseDefault(value) };
    default:
      throw invalidQuery(at.at, `a pull has no option ${name}`, OPTIONS);
  }
}

function parseLimit(form: Form): number {
  if ((form.kind === "int" || form.kind === "float") && Number.isInteger(form.value) && form.value >= 1) {
    if (form.value <= LIMITS.pullValues) return form.value;
    throw overLimit(form.at, "pullValues", "the limit of a pull", form.value);
  }
  throw invalidQuery(form.at, `the limit of a pull must be a whole number from 1, not ${show(form)}`);
}

function parseDefault(form: Form): Constant | null {
  return form.kind === "nil" ? null : parseConstant(form, "the default of a pull");
}
