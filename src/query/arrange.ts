// Orders the clauses of a body so that each finds its variables bound, and resolves the
// scopes of `not` and `or`. The written order of clauses does not change the meaning of a query.
import { LIMITS } from "../contracts/limits.ts";
import type { Clause, Not, Or } from "./ast.ts";
import { invalidQuery, overLimit, type SourcePosition, shorten } from "./form.ts";

/** A clause as written. The variables that a `not` or an `or` shares with the outside are resolved later. */
export type Draft = Exclude<Clause, Not | Or> | DraftNot | DraftOr;

interface DraftNot {
  readonly kind: "not";
  readonly at: SourcePosition | undefined;
  /** The variables that `not-join` names; null for `not`, which joins on all shared variables. */
  readonly join: readonly string[] | null;
  readonly body: readonly Draft[];
}

export interface DraftOr {
  readonly kind: "or";
  readonly at: SourcePosition | undefined;
  readonly join: { readonly required: readonly string[]; readonly free: readonly string[] } | null;
  readonly branches: readonly (readonly Draft[])[];
}

export interface ArrangedClauses {
  readonly clauses: readonly Clause[];
  /** The variables of `outer` that the body takes from outside. */
  readonly needs: ReadonlySet<string>;
  readonly binds: ReadonlySet<string>;
}

/**
 * `bound` variables are bound before the body; `outer` ones can be taken from outside if the body does not bind them.
 * Greedy: the first ready clause comes next, so a body that is in order keeps its order.
 */
export function arrangeClauses(
  drafts: readonly Draft[],
  bound: Iterable<string>,
  outer: ReadonlySet<string>,
): ArrangedClauses {
  const have = new Set(bound);
  const binders = countBinders(drafts);
  const offers = new Set([...have, ...outer, ...binders.keys()]);
  let waiting = drafts.map((draft) => {
    if (draft.kind === "not") return resolveNot(draft, offers);
    if (draft.kind !== "or") return draft;
    const own = countBinders([draft]);
    const isOwn = (name: string) => !have.has(name) && !outer.has(name) && own.get(name) === binders.get(name);
    const others = new Set([...offers].filter((name) => !isOwn(name)));
    return draft.join === null ? resolveOr(draft, others) : resolveOrJoin(draft, draft.join, others);
  });
  const clauses: Clause[] = [];
  const needs = new Set<string>();
  const binds = new Set<string>();
  const missing = (clause: Clause) => clause.needs.filter((name) => !have.has(name));
  while (waiting.length > 0) {
    const ready = waiting.find((clause) => clause.needs.every((name) => have.has(name)));
    const next = ready ?? waiting.find((clause) => missing(clause).every((name) => outer.has(name)));
    if (next === undefined) throw unbound(waiting, missing, have);
    for (const name of missing(next)) {
      needs.add(name);
      have.add(name);
    }
    for (const name of next.binds) {
      have.add(name);
      binds.add(name);
    }
    clauses.push(next);
    waiting = waiting.filter((clause) => clause !== next);
  }
  return { clauses, needs, binds };
}

export function checkClauses(at: SourcePosition | undefined, count: number): void {
  if (count > LIMITS.queryClauses) throw overLimit(at, "queryClauses", "the number of clauses", count);
}

function unbound(
  waiting: readonly Clause[],
  missing: (clause: Clause) => readonly string[],
  have: ReadonlySet<string>,
): Error {
  const coming = new Set(waiting.flatMap((clause) => clause.binds));
  const lost = waiting.find((clause) => missing(clause).some((name) => !coming.has(name)));
  const clause = lost ?? waiting[0];
  if (clause === undefined) return new Error("bug: nothing waits and nothing is ready");
  const names = missing(clause).filter((name) => lost === undefined || !coming.has(name));
  const what = `${shorten(names.join(" and "))} in ${describe(clause)}`;
  const problem =
    lost === undefined
      ? `${what} would be bound only by clauses that wait for each other`
      : `${what} ${names.length === 1 ? "is" : "are"} not bound`;
  return invalidQuery(clause.at, problem, `${BINDERS}; ${boundText(have)}`);
}

const BINDERS = "a pattern, a function's result, an input, a rule, or a rule's required parameter can bind it";

export function boundText(have: ReadonlySet<string>): string {
  return have.size === 0
    ? "nothing is bound here"
    : `bound here: ${[...have].slice(0, 20).join(" ")}${have.size > 20 ? " …" : ""}`;
}

function describe(clause: Clause): string {
  switch (clause.kind) {
    case "missing":
      return "missing?";
    case "predicate":
    case "function":
      return `(${clause.name} …)`;
    case "rule":
      return `the call of ${clause.name}`;
    default:
      return clause.kind;
  }
}

/** The variables that a clause can bind for its sibling clauses. */
function bindable(draft: Draft): readonly string[] {
  if (draft.kind === "not") return [];
  if (draft.kind !== "or") return draft.binds;
  return draft.join === null ? draft.branches.flat().flatMap(bindable) : draft.join.free;
}

/** Every variable of a clause that its sibling clauses can see. */
function mentions(draft: Draft): readonly string[] {
  if (draft.kind === "not") return draft.join ?? draft.body.flatMap(mentions);
  if (draft.kind !== "or") return [...draft.needs, ...draft.binds];
  return draft.join === null ? draft.branches.flat().flatMap(mentions) : [...draft.join.required, ...draft.join.free];
}

/** Counts the clauses that can bind each name. */
function countBinders(drafts: readonly Draft[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const draft of drafts)
    for (const name of new Set(bindable(draft))) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function resolveNot(draft: DraftNot, offers: ReadonlySet<string>): Clause {
  const mentioned = [...new Set(draft.body.flatMap(mentions))];
  const join = draft.join ?? mentioned.filter((name) => offers.has(name));
  if (join.length === 0) {
    const seen = mentioned.length === 0 ? "it names no variable" : `it names only ${shorten(mentioned.join(" "))}`;
    throw invalidQuery(draft.at, `not shares no variable with the other clauses: ${seen}`, boundText(offers));
  }
  const body = arrangeClauses(draft.body, join, new Set());
  return { kind: "not", join, body: body.clauses, needs: join, binds: [], at: draft.at };
}

/** Every branch of an `or` must use the same variables, because each becomes a row of the same UNION. */
function resolveOr(draft: DraftOr, offers: ReadonlySet<string>): Clause {
  const branches = draft.branches.map((branch) => arrangeClauses(branch, [], offers));
  const uses = (branch: ArrangedClauses, name: string) => branch.binds.has(name) || branch.needs.has(name);
  const mentioned = [...new Set(draft.branches.flat().flatMap(mentions))];
  const join = mentioned.filter((name) => branches.some((branch) => uses(branch, name)));
  for (const [i, branch] of branches.entries()) {
    const absent = join.filter((name) => !uses(branch, name));
    if (absent.length === 0) continue;
    const allowed = "every branch uses the same variables; or-join names those that the outside sees";
    throw invalidQuery(draft.at, `branch ${i + 1} of or does not use ${shorten(absent.join(" and "))}`, allowed);
  }
  return orClause(draft, join, branches, []);
}

function resolveOrJoin(
  draft: DraftOr,
  { required, free }: { readonly required: readonly string[]; readonly free: readonly string[] },
  offers: ReadonlySet<string>,
): Clause {
  const outer = new Set(free.filter((name) => offers.has(name)));
  const branches = draft.branches.map((branch) => arrangeClauses(branch, required, outer));
  for (const [i, branch] of branches.entries()) {
    const absent = free.filter((name) => !branch.binds.has(name) && !branch.needs.has(name));
    if (absent.length === 0) continue;
    const allowed = `use it there, or write (or-join [[${shorten(absent.join(" "))}] …] …) if it is bound outside`;
    throw invalidQuery(draft.at, `branch ${i + 1} of or-join does not bind ${shorten(absent.join(" and "))}`, allowed);
  }
  return orClause(draft, [...required, ...free], branches, required);
}

function orClause(
  draft: DraftOr,
  names: readonly string[],
  branches: readonly ArrangedClauses[],
  required: readonly string[],
): Or {
  const isNeeded = (name: string) => required.includes(name) || branches.some((branch) => branch.needs.has(name));
  const needs = names.filter(isNeeded);
  const binds = names.filter((name) => !isNeeded(name));
  const bodies = branches.map((branch) => branch.clauses);
  return { kind: "or", join: [...needs, ...binds], branches: bodies, needs, binds, at: draft.at };
}
