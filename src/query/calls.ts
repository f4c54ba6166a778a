// Parses predicates `[(< ?a ?b)]` and functions `[(+ ?a ?b) ?c]`, and checks their arguments.
import { LIMITS } from "../contracts/limits.ts";
import type { Clause, FunctionName, PredicateName, Variable } from "./ast.ts";
import { type Form, invalidQuery, isSymbol, type Sequence } from "./form.ts";
import { bindRows, columnNames, parseBinding } from "./rows.ts";
import { parseArgument, parseAttribute, parseConstant, parseEntity, parseVariable, variablesOf } from "./terms.ts";
import { show } from "./write.ts";

type Arity = readonly [least: number, most: number];
const MANY = LIMITS.queryColumns;

const PREDICATES: Readonly<Record<PredicateName, Arity>> = {
  "<": [2, MANY],
  "<=": [2, MANY],
  ">": [2, MANY],
  ">=": [2, MANY],
  "=": [2, MANY],
  "not=": [2, MANY],
  "starts-with?": [2, 2],
  "ends-with?": [2, 2],
  "includes?": [2, 2],
};

const FUNCTIONS: Readonly<Record<FunctionName, Arity>> = {
  "+": [2, MANY],
  "-": [1, MANY],
  "*": [2, MANY],
  "/": [2, MANY],
  mod: [2, 2],
  str: [1, MANY],
  subs: [2, 3],
  count: [1, 1],
  "lower-case": [1, 1],
  "upper-case": [1, 1],
};

/** Calls with special arguments. */
const SPECIAL = ["missing?", "get-else", "ground"];

export const CALL_NAMES: readonly string[] = [...Object.keys(PREDICATES), "!=", ...Object.keys(FUNCTIONS), ...SPECIAL];

export type CallClause = Extract<Clause, { kind: "predicate" | "missing" | "function" | "get-else" | "ground" }>;

/** Parses a vector that begins with a list. */
export function parseCall(clause: Sequence): CallClause {
  const [call, ...outputs] = clause.items;
  const head = call?.kind === "list" ? call.items[0] : undefined;
  if (call?.kind !== "list" || head?.kind !== "symbol") {
    throw invalidQuery(
      call?.at ?? clause.at,
      `${show(clause)} calls nothing`,
      "a call begins with a name: [(< ?a ?b)]",
    );
  }
  const name = plainName(head.name);
  const args = call.items.slice(1);
  if (outputs.length > 1) throw invalidQuery(outputs[1]?.at, `${show(clause)} has ${outputs.length} bindings`, ONE);
  const [output] = outputs;
  if (isKey(PREDICATES, name)) return predicate(name, args, output, clause);
  if (isKey(FUNCTIONS, name)) return functionCall(name, args, output, clause);
  if (name === "missing?") return missing(args, output, clause);
  if (name === "get-else") return getElse(args, output, clause);
  if (name === "ground") return ground(args, output, clause);
  throw unknownCall(head, name);
}

const ONE = "a function has one binding: [(+ ?a ?b) ?c]";

function isKey<K extends string>(table: Readonly<Record<K, unknown>>, name: string): name is K {
  return Object.hasOwn(table, name);
}

/** Accepts Clojure's own names for the same functions. */
function plainName(name: string): string {
  const plain = name.replace(/^clojure\.(?:string|core)\//, "");
  return plain === "!=" ? "not=" : plain;
}

function unknownCall(head: Form, name: string) {
  if (name.startsWith("re-")) {
    const allowed = "use starts-with?, ends-with? or includes?";
    return invalidQuery(head.at, `${name} is refused: a regular expression can take forever`, allowed);
  }
  const allowed = `known are ${CALL_NAMES.join(" ")}; a rule is called without the vector around it`;
  return invalidQuery(head.at, `there is no function ${show(head)}`, allowed);
}

function checkArity(name: string, args: readonly Form[], [least, most]: Arity, clause: Form): void {
  if (args.length >= least && args.length <= most) return;
  const wanted = least === most ? `${least}` : most === MANY ? `${least} or more` : `${least} to ${most}`;
  const limit = args.length > MANY ? ` (the limit queryColumns is ${MANY})` : "";
  throw invalidQuery(clause.at, `${name} takes ${wanted} arguments${limit}, not ${args.length}`);
}

function refuseOutput(name: string, output: Form | undefined): void {
  if (output === undefined) return;
  throw invalidQuery(output.at, `the predicate ${name} returns no value to bind to ${show(output)}`);
}

function scalarOutput(name: string, output: Form | undefined, clause: Form): Variable {
  if (output === undefined) throw invalidQuery(clause.at, `the value of ${name} is not bound`, ONE);
  return parseVariable(output, `what ${name} is bound to`);
}

function predicate(name: PredicateName, args: readonly Form[], output: Form | undefined, clause: Form): CallClause {
  checkArity(name, args, PREDICATES[name], clause);
  refuseOutput(name, output);
  const parsed = args.map((arg) => parseArgument(arg, `an argument of ${name}`));
  return { kind: "predicate", name, args: parsed, needs: variablesOf(parsed), binds: [], at: clause.at };
}

function functionCall(name: FunctionName, args: readonly Form[], output: Form | undefined, clause: Form): CallClause {
  checkArity(name, args, FUNCTIONS[name], clause);
  const to = scalarOutput(name, output, clause).name;
  const parsed = args.map((arg) => parseArgument(arg, `an argument of ${name}`));
  return { kind: "function", name, args: parsed, to, needs: variablesOf(parsed), binds: [to], at: clause.at };
}

/** `$` is optional, because there is only one database. */
function withoutSource(args: readonly Form[]): readonly Form[] {
  return isSymbol(args[0], "$") ? args.slice(1) : args;
}

function missing(args: readonly Form[], output: Form | undefined, clause: Form): CallClause {
  refuseOutput("missing?", output);
  const [entity, attribute, ...more] = withoutSource(args);
  if (entity === undefined || attribute === undefined || more.length > 0) {
    throw invalidQuery(clause.at, `missing? does not fit ${show(clause)}`, "it is written [(missing? $ ?e :attr)]");
  }
  const term = parseEntity(entity, "the first argument of missing?");
  const name = parseAttribute(attribute, "the second argument of missing?");
  return { kind: "missing", entity: term, attribute: name, needs: variablesOf([term]), binds: [], at: clause.at };
}

function getElse(args: readonly Form[], output: Form | undefined, clause: Form): CallClause {
  const [entity, attribute, otherwise, ...more] = withoutSource(args);
  if (entity === undefined || attribute === undefined || otherwise === undefined || more.length > 0) {
    const allowed = 'it is written [(get-else $ ?e :attr "default") ?v]';
    throw invalidQuery(clause.at, `get-else does not fit ${show(clause)}`, allowed);
  }
  const term = parseEntity(entity, "the first argument of get-else");
  const to = scalarOutput("get-else", output, clause).name;
  return {
    kind: "get-else",
    entity: term,
    attribute: parseAttribute(attribute, "the second argument of get-else"),
    otherwise: parseConstant(otherwise, "the default of get-else"),
    to,
    needs: variablesOf([term]),
    binds: [to],
    at: clause.at,
  };
}

function ground(args: readonly Form[], output: Form | undefined, clause: Form): CallClause {
  const [value, ...more] = args;
  if (value === undefined || more.length > 0) throw invalidQuery(clause.at, "ground takes 1 argument");
  if (output === undefined) throw invalidQuery(clause.at, "the value of ground is not bound", ONE);
  const binding = parseBinding(output, "what ground is bound to");
  const binds = columnNames(binding);
  if (binds.length === 0) throw invalidQuery(output.at, "ground binds no variable");
  const table = bindRows(binding, value, "the argument of ground");
  return { kind: "ground", table, needs: [], binds, at: clause.at };
}
