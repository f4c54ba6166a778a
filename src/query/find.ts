// Parses the answer of a query: the elements of :find with their shape, and the order of the rows.
import type { AggregateName, Find, FindElement, Order } from "./ast.ts";
import { type Form, invalidQuery, isSymbol, type Sequence } from "./form.ts";
import { parsePull } from "./pull.ts";
import { checkColumns, isVariable, parseVariable } from "./terms.ts";
import { show, writeEdn } from "./write.ts";

const AGGREGATES: readonly AggregateName[] = ["count", "count-distinct", "sum", "min", "max", "avg"];

const SHAPES = ":find is ?x ?y (rows), [?x ...] (a list), [?x ?y] (one row) or ?x . (one value)";
const ELEMENTS = `an element is ?x, (pull ?x pattern), or an aggregate (count ?x): ${AGGREGATES.join(" ")}`;

export function parseFind(forms: readonly Form[], at: Form["at"]): Find {
  const [first, second, ...more] = forms;
  if (first === undefined) throw invalidQuery(at, ":find is empty", SHAPES);
  if (first.kind === "vector") {
    if (second !== undefined) throw invalidQuery(second.at, `:find holds ${show(second)} beside a vector`, SHAPES);
    return parseVectorFind(first);
  }
  if (isSymbol(second, ".") && more.length === 0) return { shape: "scalar", elements: [parseElement(first)] };
  return { shape: "relation", elements: parseElements(forms) };
}

function parseVectorFind(form: Sequence): Find {
  const [first, second, ...more] = form.items;
  if (first === undefined) throw invalidQuery(form.at, ":find is empty", SHAPES);
  if (isSymbol(second, "...") && more.length === 0) return { shape: "collection", elements: [parseElement(first)] };
  return { shape: "tuple", elements: parseElements(form.items) };
}

function parseElements(forms: readonly Form[]): readonly FindElement[] {
  checkColumns(forms, ":find");
  return forms.map(parseElement);
}

function parseElement(form: Form): FindElement {
  if (isVariable(form)) return parseVariable(form, "an element of :find");
  if (form.kind !== "list") {
    const allowed = isSymbol(form, ".") || isSymbol(form, "...") ? SHAPES : ELEMENTS;
    throw invalidQuery(form.at, `:find cannot hold ${show(form)}`, allowed);
  }
  const [head, ...args] = form.items;
  if (isSymbol(head, "pull")) return parsePullElement(form, args);
  const name = AGGREGATES.find((one) => isSymbol(head, one));
  if (name === undefined) throw invalidQuery(form.at, `:find cannot hold ${show(form)}`, ELEMENTS);
  const [of, ...more] = args;
  if (of === undefined || more.length > 0) throw invalidQuery(form.at, `${name} takes one variable`, ELEMENTS);
  return { kind: "aggregate", name, of: parseVariable(of, `what ${name} takes`).name, at: form.at };
}

function parsePullElement(form: Form, args: readonly Form[]): FindElement {
  const [of, pattern, ...more] = isSymbol(args[0], "$") ? args.slice(1) : args;
  if (of === undefined || pattern === undefined || more.length > 0) {
    throw invalidQuery(form.at, `${show(form)} is no pull`, "it is written (pull ?e [:attr …])");
  }
  return { kind: "pull", of: parseVariable(of, "what pull takes").name, pattern: parsePull(pattern), at: form.at };
}

/** The variables a query must bind to give its answer. */
export function elementVariable(element: FindElement): string {
  return element.kind === "variable" ? element.name : element.of;
}

const ORDER = ":order-by is [?x [?y :desc] [(count ?z) :asc]]";

/** Rows are a set of the variables in :find and :with, so only these can order them. */
export function parseOrderBy(forms: readonly Form[], find: Find, withs: readonly string[]): readonly Order[] {
  checkColumns(forms, ":order-by");
  const grouped = find.elements.some((element) => element.kind === "aggregate");
  return forms.map((form) => {
    const [key, direction] = parseKey(form);
    const index = find.elements.findIndex((element) => isSame(element, key));
    if (index >= 0) return { by: { find: index }, direction, at: form.at };
    const inWith = key.kind === "symbol" && withs.includes(key.name);
    if (key.kind === "symbol" && inWith && !grouped) return { by: { with: key.name }, direction, at: form.at };
    const why = inWith ? "is in :with, which the aggregates sum up" : "is not in :find";
    const allowed = `order by what :find holds${grouped ? "" : ", or by a variable of :with"}; ${ORDER}`;
    throw invalidQuery(key.at, `${show(key)} ${why}, and so cannot order the rows`, allowed);
  });
}

function parseKey(form: Form): readonly [key: Form, direction: "asc" | "desc"] {
  const [key, direction, ...more] = form.kind === "vector" ? form.items : [form];
  const word =
    direction?.kind === "keyword" ? direction.name.slice(1) : direction?.kind === "string" ? direction.value : "";
  const isKey = key !== undefined && (isVariable(key) || key.kind === "list");
  if (isKey && more.length === 0) {
    if (direction === undefined) return [key, "asc"];
    if (word === "asc" || word === "desc") return [key, word];
  }
  throw invalidQuery(form.at, `${show(form)} is no order`, ORDER);
}

/** Rows can be ordered by a pulled entity only if its variable is in :find or :with by itself. */
function isSame(element: FindElement, key: Form): boolean {
  if (element.kind === "variable") return key.kind === "symbol" && key.name === element.name;
  return element.kind === "aggregate" && writeEdn(key) === `(${element.name} ${element.of})`;
}
