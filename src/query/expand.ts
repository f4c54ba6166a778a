// Expands rule calls: a branch gets the call's arguments for its parameters, and fresh names for all other variables.
import type { Argument, Clause, EntityTerm, RuleBranch, RuleCall, Term } from "./ast.ts";
import type { Build } from "./scope.ts";

/** Replaces the call by the rule's only branch, or by an `or` of its branches. */
export function expandRule(call: RuleCall, build: Build): readonly Clause[] {
  const rule = build.rules.get(call.name);
  if (rule === undefined) throw new Error(`bug: there is no rule ${call.name}`);
  const { names, before } = argumentNames(call, build);
  const branches = rule.branches.map((branch) => instantiate(branch, names, build));
  const [only, ...others] = branches;
  if (only !== undefined && others.length === 0) return [...before, ...only];
  const distinct = [...new Set(names)];
  const needs = distinct.filter((name) => rule.needs.some((i) => names[i] === name));
  const binds = distinct.filter((name) => !needs.includes(name));
  return [...before, { kind: "or", join: [...needs, ...binds], branches, needs, binds, at: call.at }];
}

/** Returns a variable for each argument, and clauses that bind the variables of constants and lookups. */
export function argumentNames(call: RuleCall, build: Build): { names: readonly string[]; before: readonly Clause[] } {
  const before: Clause[] = [];
  const names = call.args.map((term) => {
    if (term.kind === "variable") return term.name;
    const name = fresh("?arg", build);
    if (term.kind !== "blank") before.push(binding(name, term));
    return name;
  });
  return { names, before };
}

function binding(name: string, term: Exclude<Term, { kind: "variable" | "blank" }>): Clause {
  const { at } = term;
  const flow = { needs: [], binds: [name], at };
  if (term.kind === "constant") {
    return { kind: "ground", table: { shape: "scalar", columns: [name], rows: [[term.value]], at }, ...flow };
  }
  const entity = { kind: "variable", name, at } as const;
  const value = { kind: "constant", value: term.value, at } as const;
  return { kind: "pattern", entity, attribute: term.attribute, value, ...flow };
}

/** Returns a name that no query can contain. */
export function fresh(name: string, build: Build): string {
  return `${name.split(" ")[0]} ${build.aliases++}`;
}

export function instantiate(branch: RuleBranch, names: readonly string[], build: Build): readonly Clause[] {
  const renamed = new Map<string, string>();
  for (const [i, param] of branch.params.entries()) renamed.set(param, names[i] ?? fresh(param, build));
  const rename = freshening(renamed, build);
  return branch.body.map((clause) => renameClause(clause, rename, build));
}

type Rename = (name: string) => string;

function freshening(renamed: Map<string, string>, build: Build): Rename {
  return (name) => {
    const known = renamed.get(name) ?? fresh(name, build);
    renamed.set(name, known);
    return known;
  };
}

function renameTerm<T extends Term>(term: T, rename: Rename): T {
  return term.kind === "variable" ? { ...term, name: rename(term.name) } : term;
}

function renameNames(names: readonly string[], rename: Rename): readonly string[] {
  return [...new Set(names.map(rename))];
}

function renameClause(clause: Clause, rename: Rename, build: Build): Clause {
  const flow = { needs: renameNames(clause.needs, rename), binds: renameNames(clause.binds, rename) };
  switch (clause.kind) {
    case "pattern":
      return { ...clause, ...flow, entity: renameTerm(clause.entity, rename), value: renameTerm(clause.value, rename) };
    case "predicate":
      return { ...clause, ...flow, args: clause.args.map((arg): Argument => renameTerm(arg, rename)) };
    case "function":
      return {
        ...clause,
        ...flow,
        args: clause.args.map((arg): Argument => renameTerm(arg, rename)),
        to: rename(clause.to),
      };
    case "missing":
      return { ...clause, ...flow, entity: renameTerm(clause.entity, rename) as EntityTerm };
    case "get-else":
      return { ...clause, ...flow, entity: renameTerm(clause.entity, rename) as EntityTerm, to: rename(clause.to) };
    case "ground": {
      const columns = clause.table.columns.map((name) => (name === null ? null : rename(name)));
      return { ...clause, ...flow, table: { ...clause.table, columns } };
    }
    case "rule":
      return { ...clause, ...flow, args: clause.args.map((arg) => renameTerm(arg, rename)) };
    case "not": {
      const inner = scoped(clause.join, rename, build);
      const body = clause.body.map((one) => renameClause(one, inner, build));
      return { ...clause, ...flow, join: renameNames(clause.join, rename), body };
    }
    case "or": {
      const branches = clause.branches.map((branch) => {
        const inner = scoped(clause.join, rename, build);
        return branch.map((one) => renameClause(one, inner, build));
      });
      return { ...clause, ...flow, join: renameNames(clause.join, rename), branches };
    }
  }
}

/** Inside `not` and `or` only the join variables keep the outside's names. */
function scoped(join: readonly string[], rename: Rename, build: Build): Rename {
  return freshening(new Map(join.map((name) => [name, rename(name)])), build);
}
