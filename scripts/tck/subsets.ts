// The subsets of the TCK that are scored. What is outside of both needs procedures or temporal values.
import type { Case } from "./gherkin.ts";
import type { Verdict } from "./run-case.ts";

export const SUBSETS = ["core", "extended", "outside"] as const;
export type Subset = (typeof SUBSETS)[number];

interface CaseResult {
  readonly case: Case;
  readonly verdict: Verdict;
}

/** UNION, comprehensions and quantifiers; extended also contains all of core. */
const EXTENDED = ["clauses/union/", "expressions/quantifier/", "expressions/list/List12", "expressions/pattern/Pattern2"];
const OUTSIDE = ["clauses/call/", "expressions/temporal/"];

export function subsetOf({ feature }: Case): Subset {
  const isIn = (list: readonly string[]) => list.some((name) => feature.startsWith(name));
  return isIn(OUTSIDE) ? "outside" : isIn(EXTENDED) ? "extended" : "core";
}

export interface Score {
  readonly passed: number;
  readonly failed: number;
  readonly unsupported: number;
  readonly total: number;
}

export function scoreOf(results: readonly CaseResult[]): Readonly<Record<string, Score>> {
  const score = (chosen: readonly CaseResult[]): Score => {
    const count = (kind: Verdict["kind"]) => chosen.filter(({ verdict }) => verdict.kind === kind).length;
    return { passed: count("passed"), failed: count("failed"), unsupported: count("unsupported"), total: chosen.length };
  };
  const inSubset = (...subsets: readonly Subset[]) => results.filter((one) => subsets.includes(subsetOf(one.case)));
  return { core: score(inSubset("core")), extended: score(inSubset("core", "extended")), all: score(results) };
}

export function describeScores(results: readonly CaseResult[]): string {
  const reasons = new Map<string, number>();
  for (const { verdict } of results) {
    if (verdict.kind === "unsupported") reasons.set(verdict.why, (reasons.get(verdict.why) ?? 0) + 1);
  }
  const lines = Object.entries(scoreOf(results)).map(
    ([name, { passed, failed, unsupported, total }]) =>
      `${name}: ${passed} of ${total} passed, ${failed} failed, ${unsupported} unsupported`,
  );
  const sorted = [...reasons].toSorted(([, a], [, b]) => b - a);
  return [...sorted.map(([why, count]) => `unsupported: ${why}: ${count}`), ...lines].join("\n");
}
