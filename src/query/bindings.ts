// Resolves terms and variables to SQL values while clauses are compiled, and unites several SELECTs.
import type { Clause, Lookup, Term } from "./ast.ts";
import { attributeOf } from "./catalogue.ts";
import { invalidQuery, type SourcePosition } from "./form.ts";
import { KINDS } from "./kinds.ts";
import { bodyText, type Domain, type Scope, unlike } from "./scope.ts";
import { join, raw, sql, unite } from "./sql.ts";
import { columnsAs, columnTypes, constantValue, mergeTypes, type Type, type Value } from "./values.ts";

export function valueIn(scope: Scope, name: string): Value {
  const value = scope.vars.get(name);
  if (value === undefined) throw new Error(`bug: ${name} is not bound`);
  return value;
}

function commonType(values: readonly Value[], name: string, at: SourcePosition | undefined): Type {
  return values.reduce<Type>(
    (type, value) => {
      const merged = mergeTypes(type, value.type);
      if (merged === null) throw unlike({ type, columns: [] }, value, at, name);
      return merged;
    },
    { is: "nothing" },
  );
}

/** Unites several SELECTs of the same names; different types become a type that covers both. */
export function union(branches: readonly Scope[], names: readonly string[], at: SourcePosition | undefined): Domain {
  const values = new Map<string, { type: Type; columns: readonly string[] }>();
  let width = 0;
  for (const name of names) {
    const type = commonType(
      branches.map((branch) => valueIn(branch, name)),
      name,
      at,
    );
    values.set(name, { type, columns: columnTypes(type).map(() => `c${width++}`) });
  }
  const texts = branches.map((branch) => {
    const cells = [...values].flatMap(([name, { type, columns }]) =>
      columnsAs(valueIn(branch, name), type, branch.build.fragments).map(
        (cell, i) => sql`${cell} AS ${raw(columns[i] ?? "")}`,
      ),
    );
    return sql`SELECT DISTINCT ${cells.length === 0 ? raw("1 AS c0") : join(cells, ", ")}${bodyText(branch)}`;
  });
  return { text: unite(texts), values, columns: Array.from({ length: width }, (_, i) => `c${i}`) };
}

/** The value of a term; undefined for `_` and for a variable that is not bound yet. */
export function termValue(term: Term, scope: Scope): Value | undefined {
  switch (term.kind) {
    case "blank":
      return undefined;
    case "variable":
      return scope.vars.get(term.name);
    case "constant":
      return constantValue(term.value, scope.build.fragments);
    case "lookup":
      return lookupValue(term, scope);
  }
}

function lookupValue({ attribute, value, at }: Lookup, scope: Scope): Value {
  const found = attributeOf(attribute);
  const { fragments } = scope.build;
  if (!found.identity) {
    const allowed = "a lookup ref names an entity by its id: [:session/id …]";
    throw invalidQuery(at, `${found.name} does not identify an entity`, allowed);
  }
  const constant = constantValue(value, fragments);
  const type: Type = { is: "entity", kind: found.kind };
  if (constant.type.is !== "text" || value.type === "keyword") {
    throw unlike({ type, columns: [] }, constant, at, `[${found.name} …]`);
  }
  const key = KINDS[found.kind].find(String(value.value), fragments);
  if (key !== null && key !== undefined) return { type, columns: key };
  return { type, columns: columnTypes(type).map((one) => sql`CAST(NULL AS ${raw(fragments[one])})`) };
}

/** The binding clauses that are connected with these variables, directly or through other variables. */
export function connected(clauses: readonly Clause[], names: readonly string[]): readonly Clause[] {
  const binding = clauses.filter((clause) => clause.binds.length > 0);
  const reached = new Set(names);
  const selected = new Set<Clause>();
  for (let grown = true; grown; ) {
    grown = false;
    for (const clause of binding) {
      const mentioned = [...clause.binds, ...clause.needs];
      if (selected.has(clause) || !mentioned.some((name) => reached.has(name))) continue;
      selected.add(clause);
      for (const name of mentioned) reached.add(name);
      grown = true;
    }
  }
  return binding.filter((clause) => selected.has(clause));
}
