// The subsets of the TCK that are scored, told apart by what their queries use: core is MATCH, WITH, RETURN, writes and expressions;
// extended adds UNION, list comprehensions and quantifiers; whole adds subqueries and pattern comprehensions. Temporal values and
// procedures are outside.
import type { Case } from "./gherkin.ts";
import type { Verdict } from "./run-case.ts";

export type Subset = "core" | "extended" | "whole" | "outside";

export interface CaseResult {
  readonly case: Case;
  readonly verdict: Verdict;
}

const TEMPORAL = /\b(date|datetime|localdatetime|time|localtime|duration)\(/;
const EXTENDED = /\bUNION\b|\b(all|any|none|single|reduce)\s*\(|\[\s*\w+\s+IN\b/i;
const WHOLE = /\bexists\s*\{|\[\s*(\w+\s*=\s*)?\(\w*[:)]/i;

export function subsetOf({ feature, steps }: Case): Subset {
  const queries = steps.map(({ block }) => block ?? "").join("\n");
  const isProcedure = feature.startsWith("clauses/call/") || steps.some(({ text }) => text.includes("a procedure"));
  if (isProcedure || feature.includes("/temporal/") || TEMPORAL.test(queries)) return "outside";
  if (WHOLE.test(queries)) return "whole";
  return EXTENDED.test(queries) ? "extended" : "core";
}

export interface Score {
  readonly passed: number;
  readonly failed: number;
  readonly unsupported: number;
  readonly total: number;
}

/** Each subset contains those before it. */
export function scoreOf(results: readonly CaseResult[]): Readonly<Record<string, Score>> {
  const score = (chosen: readonly CaseResult[]): Score => {
    const count = (kind: Verdict["kind"]) => chosen.filter(({ verdict }) => verdict.kind === kind).length;
    return {
      passed: count("passed"),
      failed: count("failed"),
      unsupported: count("unsupported"),
      total: chosen.length,
    };
  };
  const inSubset = (...subsets: readonly Subset[]) => results.filter((one) => subsets.includes(subsetOf(one.case)));
  return {
    core: score(inSubset("core")),
    extended: score(inSubset("core", "extended")),
    whole: score(inSubset("core", "extended", "whole")),
    all: score(results),
  };
}

export function countReasons(results: readonly CaseResult[]): readonly (readonly [reason: string, count: number])[] {
  const reasons = new Map<string, number>();
  for (const { verdict } of results) {
    if (verdict.kind === "unsupported") reasons.set(verdict.why, (reasons.get(verdict.why) ?? 0) + 1);
  }
  return [...reasons].toSorted(([, a], [, b]) => b - a);
}

export function describeScores(results: readonly CaseResult[]): string {
  const lines = Object.entries(scoreOf(results)).map(
    ([name, { passed, failed, unsupported, total }]) =>
      `${name}: ${passed} of ${total} passed, ${failed} failed, ${unsupported} unsupported`,
  );
  return [...countReasons(results).map(([why, count]) => `unsupported: ${why}: ${count}`), ...lines].join("\n");
}
