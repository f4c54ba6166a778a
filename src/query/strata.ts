// The call graph of rules: finds its strongly connected components, callees first, and refuses recursion
// through a negation, which has no unique answer.
import type { Clause, Component, Rule } from "./ast.ts";
import { invalidQuery, type SourcePosition } from "./form.ts";

/** A call of a rule in a body. */
export interface CallSite {
  readonly name: string;
  readonly negated: boolean;
  readonly at: SourcePosition | undefined;
}

export function callSites(clauses: readonly Clause[], negated = false): readonly CallSite[] {
  return clauses.flatMap((clause) => {
    switch (clause.kind) {
      case "rule":
        return [{ name: clause.name, negated, at: clause.at }];
      case "not":
        return callSites(clause.body, true);
      case "or":
        return clause.branches.flatMap((branch) => callSites(branch, negated));
      default:
        return [];
    }
  });
}

/**
 * The components of the rules that `roots` reach. Refuses recursion through negation among all of them, reached or not.
 */
export function stratify(rules: readonly Rule[], roots: readonly string[]): readonly Component[] {
  const byName = new Map(rules.map((rule) => [rule.name, rule]));
  const groups = components(rules, byName);
  const groupOf = new Map(groups.flatMap((group, i) => group.map((name) => [name, i] as const)));
  for (const rule of rules) refuseNegation(rule, groupOf);
  const reached = reachable(byName, roots);
  return groups.filter((group) => group.some((name) => reached.has(name))).map((group) => component(group, byName));
}

function refuseNegation(rule: Rule, groupOf: ReadonlyMap<string, number>): void {
  for (const branch of rule.branches) {
    const site = callSites(branch.body).find((one) => one.negated && groupOf.get(one.name) === groupOf.get(rule.name));
    if (site === undefined) continue;
    const allowed = "a rule may negate only rules that do not lead back to it";
    throw invalidQuery(site.at, `the rule ${rule.name} depends on its own negation through ${site.name}`, allowed);
  }
}

function component(group: readonly string[], byName: ReadonlyMap<string, Rule>): Component {
  const rules = group.flatMap((name) => byName.get(name) ?? []);
  const recursive = rules.some((rule) => rule.calls.some((call) => group.includes(call.name)));
  const linear = rules.every((rule) => rule.branches.every((branch) => callsOnAPath(branch.body, group) <= 1));
  return { rules: group, recursive, linear };
}

/** The most calls of the group on one path through a body: a conjunction adds up, an `or` takes one of its branches. */
function callsOnAPath(clauses: readonly Clause[], group: readonly string[]): number {
  const counts = clauses.map((clause) => {
    if (clause.kind === "rule") return group.includes(clause.name) ? 1 : 0;
    return clause.kind === "or" ? Math.max(...clause.branches.map((branch) => callsOnAPath(branch, group))) : 0;
  });
  return counts.reduce((sum, count) => sum + count, 0);
}

function reachable(byName: ReadonlyMap<string, Rule>, roots: readonly string[]): ReadonlySet<string> {
  const seen = new Set(roots);
  // Iterating a set includes members that are added during the iteration.
  for (const name of seen) for (const call of byName.get(name)?.calls ?? []) seen.add(call.name);
  return seen;
}

/** Tarjan's algorithm, whose order is callees first. It recurs once for each rule at most: queryClauses bounds them. */
function components(rules: readonly Rule[], byName: ReadonlyMap<string, Rule>): readonly (readonly string[])[] {
  const groups: string[][] = [];
  const order = new Map<string, number>();
  const stack: string[] = [];
  const onStack = new Set<string>();
  const visit = (name: string): number => {
    const index = order.size;
    order.set(name, index);
    stack.push(name);
    onStack.add(name);
    let lowest = index;
    for (const call of byName.get(name)?.calls ?? []) {
      if (!order.has(call.name)) lowest = Math.min(lowest, visit(call.name));
      else if (onStack.has(call.name)) lowest = Math.min(lowest, order.get(call.name) ?? lowest);
    }
    if (lowest === index) {
      const group = stack.splice(stack.indexOf(name));
      for (const member of group) onStack.delete(member);
      groups.push(group);
    }
    return lowest;
  };
  for (const rule of rules) if (!order.has(rule.name)) visit(rule.name);
  return groups;
}
