// Compiles clauses to SQL: a pattern is a row of a table, a negation NOT EXISTS, alternatives a UNION or, when they
// bind nothing new, a condition.
import { LIMITS } from "../contracts/limits.ts";
import type { Clause, EntityTerm, GetElse, Not, Or, Pattern, Term } from "./ast.ts";
import { connected, termValue, union } from "./bindings.ts";
import { attributeOf } from "./catalogue.ts";
import { compileFunction, compileGround, compilePredicate } from "./compile-calls.ts";
import { compileRuleCall } from "./compile-rules.ts";
import { expandRule } from "./expand.ts";
import { type Attribute, NO_FRAGMENTS } from "./facts.ts";
import { invalidQuery, overLimit, type SourcePosition } from "./form.ts";
import {
  addItem,
  type Build,
  bind,
  bodyText,
  type Domain,
  equate,
  exists,
  insideCondition,
  insideFrom,
  newScope,
  type Scope,
  unlike,
} from "./scope.ts";
import { or, raw, type Sql, sql } from "./sql.ts";
import { attributeValue, columnsAs, constantValue, mergeTypes, textOf, type Value, valueFrom } from "./values.ts";

/** Clauses that bind come before those that test, and clauses that read most come last. */
const RANK: Readonly<Record<Clause["kind"], number>> = {
  ground: 0,
  pattern: 1,
  function: 2,
  "get-else": 2,
  predicate: 2,
  missing: 3,
  or: 4,
  rule: 5,
  not: 6,
};

/** Adds all clauses to the SELECT, each when its needed variables are bound. */
export function compileBody(clauses: readonly Clause[], scope: Scope): void {
  let waiting = clauses.flatMap((clause) => expand(clause, scope.build));
  while (waiting.length > 0) {
    const ready = waiting.filter((clause) => clause.needs.every((name) => scope.vars.has(name)));
    const [first, ...others] = ready;
    if (first === undefined) throw new Error("bug: clauses need variables that nothing binds");
    const next = others.reduce((best, one) => (RANK[one.kind] < RANK[best.kind] ? one : best), first);
    compileClause(next, scope);
    checkJoins(next, scope);
    scope.done.push(next);
    waiting = waiting.filter((clause) => clause !== next);
  }
}

/** Engines limit the number of joined tables, and one engine reports that only when the query runs. */
function checkJoins({ at }: Clause, { items }: Scope): void {
  if (items.length <= LIMITS.queryJoins) return;
  throw overLimit(at, "queryJoins", "the number of tables that are joined", items.length);
}

/** Replaces calls of non-recursive rules by the rules' clauses. */
function expand(clause: Clause, build: Build): readonly Clause[] {
  if (++build.clauses > LIMITS.queryClauses * 10) {
    throw overLimit(clause.at, "queryClauses", "the number of clauses with all rules written out", build.clauses);
  }
  if (clause.kind !== "rule" || build.components.get(clause.name)?.recursive) return [clause];
  return expandRule(clause, build).flatMap((one) => expand(one, build));
}

function compileClause(clause: Clause, scope: Scope): void {
  switch (clause.kind) {
    case "pattern":
      compilePattern(clause, scope);
      break;
    case "predicate":
      compilePredicate(clause, scope);
      break;
    case "function":
      compileFunction(clause, scope);
      break;
    case "ground":
      compileGround(clause.table, scope);
      break;
    case "missing": {
      const { entity, attribute, at } = clause;
      const value = { kind: "blank", at } as const;
      const pattern: Pattern = { kind: "pattern", entity, attribute, value, needs: [], binds: [], at };
      compileNot({ kind: "not", join: clause.needs, body: [pattern], needs: clause.needs, binds: [], at }, scope);
      break;
    }
    case "get-else":
      compileGetElse(clause, scope);
      break;
    case "not":
      compileNot(clause, scope);
      break;
    case "or":
      compileOr(clause, scope);
      break;
    case "rule":
      compileRuleCall(clause, scope);
      break;
  }
}

function compilePattern(clause: Pattern, scope: Scope): void {
  const attribute = attributeOf(clause.attribute);
  const { fragments } = scope.build;
  const alias = rowOf(attribute, clause.entity, scope);
  const value = attributeValue(attribute, alias, fragments);
  const given = termValue(clause.value, scope);
  if (given !== undefined) {
    equate(scope, given, value, clause.value.at ?? clause.at, describe(clause.value));
    return;
  }
  for (const column of attribute.absent(alias, fragments)) addOnce(scope, raw(`${column} IS NOT NULL`));
  if (clause.value.kind === "variable") bind(scope, clause.value.name, value, clause.at);
}

function addOnce(scope: Scope, condition: Sql): void {
  if (!scope.where.some((one) => one.text === condition.text)) scope.where.push(condition);
}

/** The alias of the row with the entity's attribute: an existing one if each entity has a single row. */
function rowOf(attribute: Attribute, term: Term, scope: Scope): string {
  const { source, kind } = attribute;
  const given = termValue(term, scope);
  const single = source.unique?.every((name) => source.entity.includes(name)) ?? false;
  if (given !== undefined && single) {
    const key = rowKey(source.table, source.where, given);
    const known = scope.rows.get(key) ?? scope.outerRows.get(key);
    if (known !== undefined) {
      checkKind(attribute, given, term);
      return known;
    }
  }
  const alias = addItem(scope, raw(source.table), "t", source.unique);
  if (source.where !== undefined) scope.where.push(raw(source.where(alias, scope.build.fragments)));
  const entity = valueFrom(
    { is: "entity", kind },
    source.entity.map((name) => `${alias}.${name}`),
  );
  if (given === undefined) {
    if (term.kind === "variable") bind(scope, term.name, entity, term.at);
  } else equate(scope, given, entity, term.at, describe(term));
  if (single) {
    for (const value of given === undefined ? [entity] : [given, entity]) {
      scope.rows.set(rowKey(source.table, source.where, value), alias);
    }
  }
  return alias;
}

function rowKey(table: string, where: Attribute["source"]["where"], { columns }: Value): string {
  return JSON.stringify([
    table,
    where?.("a", NO_FRAGMENTS) ?? "",
    columns.map(({ text, params }) => [text, ...params]),
  ]);
}

function checkKind({ kind, name }: Attribute, value: Value, term: Term): void {
  if (value.type.is !== "entity" || value.type.kind === kind) return;
  const problem = `${describe(term)} is a ${value.type.kind}, and ${name} is a fact of a ${kind}`;
  throw invalidQuery(term.at, problem, "use another variable for it");
}

function describe(term: Term): string {
  return term.kind === "variable" ? term.name : term.kind === "constant" ? "a constant" : "a lookup ref";
}

function compileNot(clause: Not, scope: Scope): void {
  const inside = insideCondition(scope, clause.join);
  compileBody(clause.body, inside);
  scope.where.push(sql`NOT (${exists(inside)})`);
}

function compileGetElse(clause: GetElse, scope: Scope): void {
  const attribute = attributeOf(clause.attribute);
  const { fragments } = scope.build;
  if (attribute.many) {
    throw invalidQuery(clause.at, `${attribute.name} can have several values, so that get-else cannot give one`);
  }
  const inside = insideCondition(scope, clause.needs);
  const name = "?value";
  const to = { kind: "variable", name, at: clause.at } as const;
  compilePattern({ ...clause, kind: "pattern", entity: clause.entity as EntityTerm, value: to, binds: [name] }, inside);
  const value = inside.vars.get(name);
  if (value === undefined) throw new Error("bug: a pattern binds its value");
  const otherwise = constantValue(clause.otherwise, fragments);
  const plain: Value =
    value.type.is === "entity" || value.type.is === "ref"
      ? { type: { is: "text" }, columns: [textOf(value, fragments)] }
      : value;
  const type = mergeTypes(plain.type, otherwise.type);
  if (type === null) throw unlike(plain, otherwise, clause.at, clause.to);
  const [own, other] = [plain, otherwise].map((one) => columnsAs(one, type, fragments)[0] ?? raw("NULL"));
  const found = sql`(SELECT ${own ?? raw("NULL")}${bodyText(inside)})`;
  const column = sql`COALESCE(${found}, ${other ?? raw("NULL")})`;
  bind(scope, clause.to, { type, columns: [column], ...(plain.keyword ? { keyword: true } : {}) }, clause.at);
}

function compileOr(clause: Or, scope: Scope): void {
  if (clause.binds.every((name) => scope.vars.has(name))) {
    const conditions = clause.branches.map((branch) => {
      const inside = insideCondition(scope, clause.join);
      compileBody(branch, inside);
      return exists(inside);
    });
    scope.where.push(or(conditions));
    return;
  }
  const branches = clause.branches.map((branch) => {
    const inside = insideFrom(scope, clause.join);
    const needed = clause.needs.filter((name) => !inside.vars.has(name));
    if (needed.length > 0) addDomain(scope, inside, needed, clause.at);
    compileBody(branch, inside);
    return inside;
  });
  const names = clause.join.filter((name) => scope.local.has(name) || !scope.vars.has(name));
  const { text, values, columns } = union(branches, names, clause.at);
  const alias = addItem(scope, sql`(${text})`, "o", columns);
  for (const [name, { type, columns: own }] of values) {
    const value = valueFrom(
      type,
      own.map((column) => `${alias}.${column}`),
    );
    bind(scope, name, value, clause.at);
  }
}

/**
 * A query inside FROM cannot see the other rows of the SELECT. It computes the values that it needs of them again: all
 * values that the clauses compiled so far allow. The join with the rows themselves then keeps the right ones.
 */
function addDomain(scope: Scope, inside: Scope, needed: readonly string[], at: SourcePosition | undefined): void {
  const around = insideFrom(scope, [...scope.vars.keys()]);
  const domain = newScope(scope.build, { vars: around.vars, outerRows: around.outerRows });
  const clauses = connected(scope.done, needed);
  const mentioned = new Set([...needed, ...clauses.flatMap((clause) => [...clause.needs, ...clause.binds])]);
  for (const one of scope.domains)
    if ([...one.values.keys()].some((name) => mentioned.has(name))) addDomainItem(domain, one, at);
  compileBody(clauses, domain);
  addDomainItem(inside, union([domain], needed, at), at);
}

/** Adds a domain that no clause of the SELECT binds. A query inside it that needs the domain adds it again. */
function addDomainItem(scope: Scope, domain: Domain, at: SourcePosition | undefined): void {
  scope.domains.push(domain);
  const alias = addItem(scope, sql`(${domain.text})`, "n", domain.columns);
  for (const [name, { type, columns }] of domain.values) {
    const value = valueFrom(
      type,
      columns.map((column) => `${alias}.${column}`),
    );
    bind(scope, name, value, at);
  }
}
