// Decides in which order the step-by-step matcher assigns the parts of a plan: it begins where the fewest candidates are, and goes
// along relationships, so that a scan of all nodes comes last.
import type { PatternPlan } from "./pattern-plan.ts";

export type MatchStep =
  /** A bound node must pass the filters of the pattern. */
  | { readonly kind: "checkNode"; readonly node: number }
  | { readonly kind: "scanNodes"; readonly node: number }
  /** A bound relationship gives its nodes. */
  | { readonly kind: "bindRelationship"; readonly relationship: number }
  /** From an assigned node; the other one may be assigned too. */
  | { readonly kind: "expand" | "expandPath"; readonly relationship: number; readonly isReversed: boolean }
  /** Both nodes are assigned. */
  | { readonly kind: "shortest"; readonly relationship: number };

export function orderSteps(plan: PatternPlan): readonly MatchStep[] {
  const steps: MatchStep[] = [];
  const assigned = new Set<number>();
  const open = new Set(plan.relationships.keys());
  for (const [node, { isBound, labels, filters }] of plan.nodes.entries()) {
    if (!isBound) continue;
    assigned.add(node);
    if (labels.length + filters.length > 0) steps.push({ kind: "checkNode", node });
  }
  for (;;) {
    const next = nextRelationship(plan, open, assigned);
    if (next !== undefined) {
      const relationship = relationshipNumber(next);
      open.delete(relationship);
      const ends = plan.relationships[relationship];
      for (const node of ends === undefined ? [] : [ends.from, ends.to]) assigned.add(node);
      steps.push(next);
      continue;
    }
    const node = cheapestNode(plan, assigned);
    if (node === undefined) return steps;
    assigned.add(node);
    steps.push({ kind: "scanNodes", node });
  }
}

function relationshipNumber(step: MatchStep): number {
  if (!("relationship" in step)) throw new Error("bug: a step without a relationship");
  return step.relationship;
}

/** Bound relationships first, then what only connects assigned nodes, then single ones, then paths. */
function nextRelationship(
  plan: PatternPlan,
  open: ReadonlySet<number>,
  assigned: ReadonlySet<number>,
): MatchStep | undefined {
  let best: { readonly step: MatchStep; readonly cost: number } | undefined;
  for (const relationship of open) {
    const one = plan.relationships[relationship];
    if (one === undefined) continue;
    const { from, to, isBound, length, shortest } = one;
    const ends = Number(assigned.has(from)) + Number(assigned.has(to));
    const isPath = length !== undefined;
    if (shortest !== undefined ? ends < 2 : ends === 0 && !(isBound && !isPath)) continue;
    const cost = (isBound ? 0 : 10) + (2 - ends) + (isPath ? 5 : 0) + (shortest === undefined ? 0 : 50);
    if (best !== undefined && best.cost <= cost) continue;
    const isReversed = !assigned.has(from);
    const step: MatchStep =
      shortest !== undefined
        ? { kind: "shortest", relationship }
        : isBound && !isPath
          ? { kind: "bindRelationship", relationship }
          : { kind: isPath ? "expandPath" : "expand", relationship, isReversed };
    best = { step, cost };
  }
  return best?.step;
}

/** Filters find fewer nodes than labels do. */
function cheapestNode(plan: PatternPlan, assigned: ReadonlySet<number>): number | undefined {
  let best: { readonly node: number; readonly score: number } | undefined;
  for (const [node, { labels, filters, id }] of plan.nodes.entries()) {
    if (assigned.has(node)) continue;
    const equal = filters.filter(({ operator }) => operator === "=").length;
    const score = (id === undefined ? 0 : 1_000_000) + equal * 100 + filters.length * 10 + labels.length;
    if (best === undefined || score > best.score) best = { node, score };
  }
  return best?.node;
}
