// Parses the small parts of a query: variables, constants, attributes, lookup refs. Each error says what was
// expected.
import { LIMITS } from "../contracts/limits.ts";
import type { Argument, Attribute, Blank, Constant, EntityTerm, Lookup, Term, Variable } from "./ast.ts";
import { type Form, invalidQuery, isSymbol, overLimit, VARIABLE } from "./form.ts";
import { show } from "./write.ts";

export function isVariable(form: Form | undefined): boolean {
  return form?.kind === "symbol" && VARIABLE.test(form.name);
}

export function parseVariable(form: Form, what: string): Variable {
  if (form.kind === "symbol" && VARIABLE.test(form.name)) return { kind: "variable", name: form.name, at: form.at };
  throw invalidQuery(form.at, `${what} must be a variable, not ${show(form)}`, "a variable is a name like ?x");
}

export function parseVariables(forms: readonly Form[], what: string): readonly string[] {
  checkColumns(forms, what);
  const names = forms.map((form) => parseVariable(form, what).name);
  const again = names.findIndex((name, i) => names.indexOf(name) !== i);
  if (again >= 0) throw invalidQuery(forms[again]?.at, `${what} names ${names[again]} twice`);
  return names;
}

export function checkColumns(forms: readonly Form[], what: string): void {
  if (forms.length <= LIMITS.queryColumns) return;
  throw overLimit(forms[0]?.at, "queryColumns", `${what} in elements`, forms.length);
}

/** Returns null if the form is not a constant. */
export function constantOf(form: Form): Constant | null {
  switch (form.kind) {
    case "string":
    case "char":
      if (form.value.includes("\0")) throw invalidQuery(form.at, "a text holds a NUL character, which no fact does");
      return { type: "string", value: form.value };
    case "keyword":
      return { type: "keyword", value: form.name };
    case "uuid":
      return { type: "uuid", value: form.value };
    case "int":
    case "float":
      return { type: "number", value: form.value };
    case "inst":
      return { type: "inst", value: form.value };
    case "boolean":
      return { type: "boolean", value: form.value };
    default:
      return null;
  }
}

export function parseConstant(form: Form, what: string): Constant {
  const constant = constantOf(form);
  if (constant !== null) return constant;
  if (form.kind === "nil") {
    throw invalidQuery(form.at, `${what} is nil, which no fact is`, "ask for what is not there with missing? or not");
  }
  throw invalidQuery(form.at, `${what} must be a constant, not ${show(form)}`, CONSTANTS);
}

const CONSTANTS = "a constant is a string, number, boolean, keyword, #inst or #uuid";

/** Parses the name of an attribute in a clause. */
export function parseAttribute(form: Form, what: string): Attribute {
  if (form.kind !== "keyword") {
    const allowed = "the attribute is always a keyword like :session/id; a variable cannot stand there";
    throw invalidQuery(form.at, `${what} must be an attribute, not ${show(form)}`, allowed);
  }
  const reverse = reverseOf(form.name);
  if (reverse !== null) {
    const allowed = `write it forward, with ${reverse} between the other entity and this one`;
    throw invalidQuery(form.at, `the reverse attribute ${form.name} is only for pull`, allowed);
  }
  return { name: form.name, at: form.at };
}

/** Returns `:message/session` for `:message/_session`; null for a name that is not reverse. */
export function reverseOf(name: string): string | null {
  const start = name.indexOf("/") + 1;
  return start > 0 && name.charAt(start) === "_" && name.length > start + 1
    ? name.slice(0, start) + name.slice(start + 1)
    : null;
}

/** Parses an entity or a value of a pattern, or an argument of a rule. */
export function parseTerm(form: Form, what: string): Term {
  if (isSymbol(form, "_")) return { kind: "blank", at: form.at };
  if (form.kind === "vector") return parseLookup(form, what);
  return parseArgument(form, what);
}

export function parseEntity(form: Form, what: string): Exclude<Term, Blank> {
  if (form.kind === "keyword") {
    const allowed = `name an entity by a lookup ref: [${form.name} "its value"]`;
    throw invalidQuery(form.at, `${what} must be an entity, not the keyword ${form.name}`, allowed);
  }
  return form.kind === "vector" ? parseLookup(form, what) : (parseArgument(form, what) satisfies EntityTerm);
}

export function parseArgument(form: Form, what: string): Argument {
  if (isVariable(form)) return parseVariable(form, what);
  if (form.kind === "list") {
    const allowed = "calls do not nest: bind the inner one first, as in [(+ ?a 1) ?b] [(< ?b ?c)]";
    throw invalidQuery(form.at, `${what} must be a variable or a constant, not the call ${show(form)}`, allowed);
  }
  if (form.kind === "symbol") {
    const allowed = isSymbol(form, "_")
      ? "_ matches anything in a pattern or rule call"
      : "a variable is named like ?x";
    throw invalidQuery(form.at, `${what} must be a variable or a constant, not ${show(form)}`, allowed);
  }
  return { kind: "constant", value: parseConstant(form, what), at: form.at };
}

function parseLookup(form: Form & { kind: "list" | "vector" | "set" }, what: string): Lookup {
  const [attribute, value] = form.items;
  if (form.items.length !== 2 || attribute?.kind !== "keyword" || value === undefined) {
    const allowed = 'a vector there is a lookup ref: [:session/id "x"]';
    throw invalidQuery(form.at, `${what} must not be ${show(form)}`, allowed);
  }
  if (isVariable(value)) {
    const allowed = `use a pattern for it: [?e ${attribute.name} ${show(value)}]`;
    throw invalidQuery(value.at, `a lookup ref holds a constant, not ${show(value)}`, allowed);
  }
  return {
    kind: "lookup",
    attribute: parseAttribute(attribute, "the first of a lookup ref"),
    value: parseConstant(value, "the value of a lookup ref"),
    at: form.at,
  };
}

/** The variables among some terms, each once, in order. */
export function variablesOf(terms: readonly Term[]): readonly string[] {
  return [...new Set(terms.flatMap((term) => (term.kind === "variable" ? [term.name] : [])))];
}
