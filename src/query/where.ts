// Parses the clauses of :where and of rules: patterns, calls, not, or, rule calls. The order of binding is
// resolved afterwards (arrange.ts).
import { checkClauses, type Draft, type DraftOr } from "./arrange.ts";
import { CALL_NAMES, parseCall } from "./calls.ts";
import { type Form, invalidQuery, isSymbol, type Sequence } from "./form.ts";
import {
  checkColumns,
  isVariable,
  parseAttribute,
  parseEntity,
  parseTerm,
  parseVariables,
  variablesOf,
} from "./terms.ts";
import { show } from "./write.ts";

/** The properties of a rule that its calls need. */
export interface Signature {
  readonly arity: number;
  readonly required: number;
}

/** The parsing state that the whole query shares. */
export interface Context {
  readonly signatures: ReadonlyMap<string, Signature>;
  clauses: number;
}

export const CLAUSE_NAMES: readonly string[] = ["and", "or", "not", "not-join", "or-join"];

const CLAUSES =
  "a clause is [?e :attr ?v], [(< ?a ?b)], [(+ ?a ?b) ?c], (not …), (not-join [?x] …), (or …), (or-join [?x] …) or (rule ?x)";

export function parseClauses(forms: readonly Form[], context: Context): readonly Draft[] {
  return forms.flatMap((form) => parseClause(form, context));
}

function parseClause(form: Form, context: Context): readonly Draft[] {
  checkClauses(form.at, ++context.clauses);
  if (form.kind === "vector" && form.items[0]?.kind === "list") return [parseCall(form)];
  if (form.kind === "vector") return [parsePattern(form)];
  if (form.kind === "list") return parseList(form, context);
  throw invalidQuery(form.at, `${show(form)} is no clause`, CLAUSES);
}

function parsePattern(form: Sequence): Draft {
  const items = isSymbol(form.items[0], "$") ? form.items.slice(1) : form.items;
  const [entity, attribute, value, ...more] = items;
  if (entity?.kind === "symbol" && entity.name.startsWith("$")) {
    throw invalidQuery(entity.at, `there is no database ${entity.name}`, "there is one, $, and it may be left out");
  }
  if (entity === undefined || attribute === undefined) {
    throw invalidQuery(form.at, `the pattern ${show(form)} names no attribute`, CLAUSES);
  }
  if (more.length > 0) {
    const allowed = "a pattern is [?e :attr ?v]; facts have no transaction";
    throw invalidQuery(more[0]?.at, `the pattern ${show(form)} has ${items.length} places`, allowed);
  }
  const terms = {
    entity: isSymbol(entity, "_") ? parseTerm(entity, "") : parseEntity(entity, "the first of a pattern"),
    value: value === undefined ? ({ kind: "blank", at: form.at } as const) : parseTerm(value, "the third of a pattern"),
  };
  const name = parseAttribute(attribute, "the second of a pattern");
  const binds = variablesOf([terms.entity, terms.value]);
  return { kind: "pattern", ...terms, attribute: name, needs: [], binds, at: form.at };
}

function parseList(form: Sequence, context: Context): readonly Draft[] {
  const [head, ...rest] = form.items;
  if (head?.kind !== "symbol" || isVariable(head)) throw invalidQuery(form.at, `${show(form)} is no clause`, CLAUSES);
  switch (head.name) {
    case "and":
      return parseBody(rest, form, context);
    case "not":
      return [{ kind: "not", join: null, body: parseBody(rest, form, context), at: form.at }];
    case "not-join": {
      const join = parseVariables(joinItems(rest[0], form), "the vector of not-join");
      return [{ kind: "not", join, body: parseBody(rest.slice(1), form, context), at: form.at }];
    }
    case "or":
      return [{ kind: "or", join: null, branches: parseBranches(rest, form, context), at: form.at }];
    case "or-join": {
      const join = parseHead(joinItems(rest[0], form), "the vector of or-join");
      return [{ kind: "or", join, branches: parseBranches(rest.slice(1), form, context), at: form.at }];
    }
    default:
      return [parseRuleCall(form, head.name, rest, context)];
  }
}

function parseBody(forms: readonly Form[], clause: Form, context: Context): readonly Draft[] {
  if (forms.length === 0) throw invalidQuery(clause.at, `${show(clause)} holds no clause`, CLAUSES);
  return parseClauses(forms, context);
}

/** Parses a branch; only `(and …)` has several clauses. */
function parseBranches(forms: readonly Form[], clause: Form, context: Context): DraftOr["branches"] {
  if (forms.length === 0) throw invalidQuery(clause.at, `${show(clause)} holds no branch`, CLAUSES);
  return forms.map((form) => parseClause(form, context));
}

function joinItems(form: Form | undefined, clause: Form): readonly Form[] {
  if (form?.kind === "vector" && form.items.length > 0) return form.items;
  const allowed = "it begins with the variables that leave it: (or-join [?x ?y] clause …)";
  throw invalidQuery(form?.at ?? clause.at, `${show(clause)} has no vector of variables`, allowed);
}

/** Parses `[[?required] ?free]` of an or-join, and the parameters in the head of a rule. */
export function parseHead(
  items: readonly Form[],
  what: string,
): { readonly required: readonly string[]; readonly free: readonly string[] } {
  const [first, ...rest] = items;
  if (first?.kind !== "vector") return { required: [], free: parseVariables(items, what) };
  if (first.items.length === 0) throw invalidQuery(first.at, `${what} requires no variable`, "leave the [] out");
  const names = parseVariables([...first.items, ...rest], what);
  return { required: names.slice(0, first.items.length), free: names.slice(first.items.length) };
}

function parseRuleCall(form: Form, name: string, args: readonly Form[], context: Context): Draft {
  const signature = context.signatures.get(name);
  if (signature === undefined) throw unknownRule(form, name, context);
  checkColumns(args, `the call of ${name}`);
  if (args.length !== signature.arity) {
    throw invalidQuery(form.at, `the rule ${name} takes ${signature.arity} arguments, not ${args.length}`);
  }
  const terms = args.map((arg) => parseTerm(arg, `an argument of ${name}`));
  const blank = terms.slice(0, signature.required).find((term) => term.kind === "blank");
  if (blank !== undefined) throw invalidQuery(blank.at, `the rule ${name} requires a value where _ stands`);
  const needs = variablesOf(terms.slice(0, signature.required));
  const binds = variablesOf(terms.slice(signature.required)).filter((one) => !needs.includes(one));
  return { kind: "rule", name, args: terms, needs, binds, at: form.at };
}

function unknownRule(form: Form, name: string, context: Context) {
  if (CALL_NAMES.includes(name)) {
    return invalidQuery(form.at, `${show(form)} is no clause`, `a call stands in a vector: [${show(form)}]`);
  }
  if (name.startsWith("$")) {
    return invalidQuery(form.at, `${show(form)} is no clause`, "there is one database, and clauses do not name it");
  }
  const names = [...context.signatures.keys()].slice(0, 20).join(" ");
  const allowed =
    names === "" ? "the query has no rules: give them as :rules, or as the input %" : `rules are ${names}`;
  return invalidQuery(form.at, `there is no rule ${name}`, allowed);
}
