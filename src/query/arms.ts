// Splits a recursive rule into arms: one for each path through its branches, with at most one call of the rules that
// are recursive together. Rules that do not fit this form are refused, because WITH RECURSIVE cannot express them.
import type { Clause, Component, Rule, RuleBranch, RuleCall } from "./ast.ts";
import { fresh, instantiate } from "./expand.ts";
import { invalidQuery } from "./form.ts";
import type { Build } from "./scope.ts";
import { callSites } from "./strata.ts";

export interface Arm {
  readonly rule: string;
  /** The names of the rule's parameters in the clauses. */
  readonly params: readonly string[];
  readonly clauses: readonly Clause[];
  /** The call of a rule of the same component; not among the clauses. */
  readonly call: RuleCall | null;
}

export function armsOf(component: Component, build: Build): readonly Arm[] {
  return component.rules.flatMap((name) => {
    const rule = build.rules.get(name);
    if (rule === undefined) throw new Error(`bug: there is no rule ${name}`);
    refuseNeeds(rule);
    const params = Array.from({ length: rule.arity }, (_, i) => fresh(`?p${i}`, build));
    const bodies = rule.branches.flatMap((branch) => splitBranch(branch, params, component, build));
    return linearizeArms(rule, params, bodies, component, build);
  });
}

function refuseNeeds(rule: Rule): void {
  if (rule.needs.length === 0) return;
  const allowed =
    "bind it in every branch by a pattern; only rules that do not call themselves can take bound arguments";
  const problem = `the recursive rule ${rule.name} does not bind its parameter ${(rule.needs[0] ?? 0) + 1} by itself`;
  throw invalidQuery(rule.branches[0]?.at, problem, allowed);
}

type Body = readonly Clause[];

function splitBranch(
  branch: RuleBranch,
  params: readonly string[],
  component: Component,
  build: Build,
): readonly Body[] {
  return split(instantiate(branch, params, build), component.rules);
}

/** Splits an `or` that calls the component into one body per branch; names are fresh, so they cannot collide. */
function split(clauses: Body, group: readonly string[]): readonly Body[] {
  return clauses.reduce<readonly Body[]>(
    (bodies, clause) => {
      const ways = alternativesOf(clause, group);
      return bodies.flatMap((body) => ways.map((way) => [...body, ...way]));
    },
    [[]],
  );
}

function alternativesOf(clause: Clause, group: readonly string[]): readonly Body[] {
  if (clause.kind !== "or" || !callSites([clause]).some(({ name }) => group.includes(name))) return [[clause]];
  return clause.branches.flatMap((branch) => split(branch, group));
}

function linearizeArms(
  rule: Rule,
  params: readonly string[],
  bodies: readonly Body[],
  component: Component,
  build: Build,
): readonly Arm[] {
  const calls = (body: Body) =>
    body.filter((clause): clause is RuleCall => clause.kind === "rule" && component.rules.includes(clause.name));
  const base = bodies.filter((body) => calls(body).length === 0);
  return bodies.flatMap((body): readonly Arm[] => {
    const own = calls(body);
    const clauses = body.filter((clause) => !own.some((call) => call === clause));
    const [call, second, ...more] = own;
    if (second === undefined) return [{ rule: rule.name, params, clauses, call: call ?? null }];
    const isOnlyOther = bodies.length === base.length + 1;
    if (call === undefined || more.length > 0 || clauses.length > 0 || !isOnlyOther || component.rules.length > 1) {
      throw nonLinear(rule, body);
    }
    if (!isTransitive(params, call, second)) throw nonLinear(rule, body);
    // (r a b) (r b c) is equivalent to one step and (r b c), where the steps are the branches that do not call r.
    const steps = call.args.map((arg) => (arg.kind === "variable" ? arg.name : ""));
    return rule.branches
      .flatMap((branch) => splitBranch(branch, steps, component, build))
      .filter((step) => calls(step).length === 0)
      .map((step) => ({ rule: rule.name, params, clauses: step, call: second }));
  });
}

function nonLinear(rule: Rule, body: Body): Error {
  const problem = `the rule ${rule.name} calls itself, or rules that call it, twice in one branch`;
  const allowed =
    "WITH RECURSIVE takes one such call in a branch: write [(r ?a ?c) step from ?a to ?b … (r ?b ?c)]; " +
    "only [(r ?a ?c) (r ?a ?b) (r ?b ?c)], with nothing else, is accepted unchanged";
  return invalidQuery(body.find((clause) => clause.kind === "rule")?.at, problem, allowed);
}

/** Whether the calls are (r x y) (r y z), where x and z are the head's parameters and y is not. */
function isTransitive(params: readonly string[], first: RuleCall, second: RuleCall): boolean {
  const name = (call: RuleCall, i: number) => {
    const arg = call.args[i];
    return arg?.kind === "variable" ? arg.name : null;
  };
  const half = params.length / 2;
  if (!Number.isInteger(half)) return false;
  const middles = new Set<string>();
  for (let i = 0; i < half; i++) {
    const middle = name(first, half + i);
    if (name(first, i) !== params[i] || name(second, half + i) !== params[half + i]) return false;
    if (middle === null || middle !== name(second, i) || params.includes(middle) || middles.has(middle)) return false;
    middles.add(middle);
  }
  return true;
}
