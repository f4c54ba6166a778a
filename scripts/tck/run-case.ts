// Runs one case: prepares its graph, executes its queries, and compares rows, side effects and errors.
import { isHoldfastError } from "../../src/contracts/errors.ts";
import type { CypherResult } from "../../src/query/cypher/execute/run-query.ts";
import type { CypherValue } from "../../src/query/cypher/values/value.ts";
import type { Case, Step } from "./gherkin.ts";
import { createGraph, type TestGraph } from "./graph.ts";
import { countEffects, type GraphContents, readContents } from "./side-effects.ts";
import { printValue, readValue } from "./values.ts";

export type Verdict =
  | { readonly kind: "passed" }
  | { readonly kind: "failed"; readonly why: string }
  /** The query uses a part of Cypher that is left out; `why` names it. */
  | { readonly kind: "unsupported"; readonly why: string };

/** Texts of named graphs: the queries that make them. */
export type NamedGraphs = ReadonlyMap<string, string>;

class CaseFailure extends Error {}

class UnsupportedCase extends Error {}

interface CaseState {
  readonly graph: TestGraph;
  readonly named: NamedGraphs;
  parameters: ReadonlyMap<string, CypherValue>;
  result: CypherResult | undefined;
  error: unknown;
  before: GraphContents | undefined;
}

export async function runCase(one: Case, named: NamedGraphs): Promise<Verdict> {
  const graph = createGraph();
  const state: CaseState = {
    graph,
    named,
    parameters: new Map(),
    result: undefined,
    error: undefined,
    before: undefined,
  };
  try {
    for (const step of one.steps) await runStep(step, state);
    if (state.error !== undefined) throw new CaseFailure(`an error was not expected: ${describeError(state.error)}`);
    return { kind: "passed" };
  } catch (error) {
    if (error instanceof UnsupportedCase) return { kind: "unsupported", why: error.message };
    const why = error instanceof CaseFailure ? error.message : describeError(error);
    return { kind: "failed", why };
  }
}

function describeError(error: unknown): string {
  if (!isHoldfastError(error)) return error instanceof Error ? (error.stack ?? error.message) : String(error);
  const { kind, phase, detail } = error.details;
  return `${kind} at ${phase}, ${detail}: ${error.message}`;
}

async function runStep(step: Step, state: CaseState): Promise<void> {
  const { text, block = "", table } = step;
  const graphName = /^the (\S+) graph$/.exec(text)?.[1];
  if (graphName !== undefined) {
    const query = state.named.get(graphName);
    if (query === undefined) throw new CaseFailure(`there is no graph ${graphName}`);
    await state.graph.run(query, new Map());
  } else if (text === "an empty graph" || text === "any graph") {
    return;
  } else if (text === "having executed") {
    await prepare(block, state);
  } else if (text === "parameters are") {
    state.parameters = new Map(table.map(([name = "", value = "null"]) => [name, readValue(value)]));
  } else if (text === "executing query" || text === "executing control query") {
    await execute(block, state);
  } else if (text.startsWith("the result should be")) {
    checkRows(text, table, state);
  } else if (text === "no side effects" || text === "the side effects should be") {
    await checkEffects(table, state);
  } else if (text.includes("should be raised at")) {
    checkError(text, state);
  } else if (text.startsWith("there exists a procedure")) {
    throw new UnsupportedCase("procedures");
  } else throw new CaseFailure(`this step is not known: ${text}`);
}

async function prepare(query: string, { graph }: CaseState): Promise<void> {
  try {
    await graph.run(query, new Map());
  } catch (error) {
    throw isUnsupported(error) ?? error;
  }
}

function isUnsupported(error: unknown): UnsupportedCase | undefined {
  if (!isHoldfastError(error) || error.details.kind !== "Unsupported") return undefined;
  return new UnsupportedCase(String(error.details.part));
}

async function execute(query: string, state: CaseState): Promise<void> {
  state.before = await readContents(state.graph);
  state.result = undefined;
  try {
    state.result = await state.graph.run(query, state.parameters);
  } catch (error) {
    const unsupported = isUnsupported(error);
    if (unsupported !== undefined) throw unsupported;
    state.error = error;
  }
}

function checkRows(text: string, table: Step["table"], state: CaseState): void {
  const { result, error } = state;
  if (result === undefined) throw new CaseFailure(`there is no result: ${describeError(error)}`);
  const ignoresOrder = text.includes("ignoring element order");
  const [columns = [], ...rows] = text === "the result should be empty" ? [[]] : table;
  if (text === "the result should be empty") {
    if (result.rows.length > 0) throw new CaseFailure(`${result.rows.length} rows, and none were expected`);
    return;
  }
  if (columns.join("|") !== result.columns.join("|")) {
    throw new CaseFailure(`columns ${result.columns.join(" | ")}, expected ${columns.join(" | ")}`);
  }
  const expected = rows.map((row) => row.map((cell) => printValue(readValue(cell), ignoresOrder)).join(" | "));
  const actual = result.rows.map((row) => row.map((cell) => printValue(cell, ignoresOrder)).join(" | "));
  const isOrdered = text.includes("in order");
  const lines = (all: readonly string[]) => (isOrdered ? all : all.toSorted()).join("\n");
  if (lines(expected) === lines(actual)) return;
  throw new CaseFailure(`rows:\n${lines(actual)}\nexpected:\n${lines(expected)}`);
}

async function checkEffects(table: Step["table"], { graph, before }: CaseState): Promise<void> {
  if (before === undefined) throw new CaseFailure("no query was executed");
  const actual = countEffects(before, await readContents(graph))
    .toSorted()
    .join(", ");
  const expected = table
    .map((row) => row.join(" "))
    .toSorted()
    .join(", ");
  if (actual !== expected) throw new CaseFailure(`side effects ${actual || "none"}, expected ${expected || "none"}`);
}

function checkError(text: string, state: CaseState): void {
  const match = /^an? (\w+) should be raised at (.+?): (\S+)$/.exec(text);
  const [, kind = "", phase = "", detail = ""] = match ?? [];
  const { error } = state;
  if (error === undefined) throw new CaseFailure(`no error; expected ${kind} at ${phase}, ${detail}`);
  if (!isHoldfastError(error)) throw error;
  const { details } = error;
  const isPhase = phase === "any time" || details.phase === phase;
  const isDetail = detail === "*" || details.detail === detail;
  if (details.kind !== kind || !isPhase || !isDetail) {
    throw new CaseFailure(`${describeError(error)}; expected ${kind} at ${phase}, ${detail}`);
  }
  state.error = undefined;
}
