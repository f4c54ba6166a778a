// Executes a query: reads it, compiles it, runs it and shapes the answer as :find requires.
import { HoldfastError } from "../contracts/errors.ts";
import type { Json } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Querying } from "../contracts/query.ts";
import type { InspectLimits, InspectRow, Storage } from "../contracts/storage/storage.ts";
import { QUERY_VERBS } from "../contracts/verbs/store.ts";
import type { ValuesOf } from "../contracts/verbs/vocabulary.ts";
import { roundUsd } from "../core/money.ts";
import { bindVerbs } from "../core/verbs.ts";
import type { Find } from "./ast.ts";
import { factNames } from "./catalogue.ts";
import type { Output } from "./compile.ts";
import { explain } from "./explain.ts";
import { PreparedQueries, type PreparedQuery } from "./prepared.ts";
import { pullAll } from "./pulling.ts";
import { listOf } from "./query.ts";
import { cell } from "./values.ts";

export function createQuerying(storage: Storage): Querying {
  const prepared = new PreparedQueries(storage.fragments);
  const prepare = (...[query, inputs = [], options]: ValuesOf<typeof QUERY_VERBS.query>) => {
    const { limit = null, timeoutMs, maxRows } = options;
    return [prepared.prepare(query, listOf(inputs), limit, maxRows), { timeoutMs, maxRows }] as const;
  };
  return bindVerbs(QUERY_VERBS, null, {
    query: (...asked) => run(storage, ...prepare(...asked)),
    explain: (...asked) => explain(storage, ...prepare(...asked)),
    facts: async () => factNames(),
  });
}

async function run(storage: Storage, compiled: PreparedQuery, limits: InspectLimits): Promise<Json> {
  const started = storage.environment.monotonic();
  const rows = await storage.inspect(compiled.sql, compiled.params, { ...limits, maxRows: limits.maxRows + 1 });
  if (rows.length > limits.maxRows) throw tooManyRows(limits.maxRows);
  const left = () => {
    const used = storage.environment.monotonic() - started;
    // The caller's limit applies to rows of the answer; pulled values have their own limit.
    return { maxRows: LIMITS.queryRows, timeoutMs: Math.max(1, Math.ceil(limits.timeoutMs - used)) };
  };
  const columns = await Promise.all(columnsOf(rows, compiled.outputs, storage, left));
  return shape(
    compiled.query.find,
    rows.map((_, i) => columns.map((column) => column[i] ?? null)),
  );
}

function tooManyRows(maxRows: number): HoldfastError {
  return new HoldfastError("LimitExceeded", `the query gives more than ${maxRows} rows`, {
    details: { limit: "queryRows", max: maxRows, most: LIMITS.queryRows },
    hint: "Give it a :limit, or aggregate; maxRows says how many are too many.",
  });
}

function columnsOf(
  rows: readonly InspectRow[],
  outputs: readonly Output[],
  storage: Storage,
  limits: () => InspectLimits,
): readonly (readonly Json[] | Promise<readonly Json[]>)[] {
  let at = 0;
  return outputs.map((output) => {
    const first = at;
    at += output.kind === "pull" ? output.width : 1;
    if (output.kind === "value") {
      const cells = rows.map((row) => cell(row[`c${first}`], output.boolean));
      return output.isUsd === true ? cells.map(roundCost) : cells;
    }
    const keys = rows.map((row) => Array.from({ length: output.width }, (_, i) => key(row[`c${first + i}`])));
    return pullAll({ storage, limits, values: 0 }, output.of, keys, output.pattern);
  });
}

function roundCost(value: Json): Json {
  return typeof value === "number" ? roundUsd(value) : value;
}

function key(value: unknown): number | string {
  return typeof value === "number" ? value : typeof value === "bigint" ? Number(value) : String(value);
}

function shape({ shape: wanted }: Find, rows: readonly (readonly Json[])[]): Json {
  switch (wanted) {
    case "relation":
      return rows.map((row) => [...row]);
    case "collection":
      return rows.map(([first]) => first ?? null);
    case "tuple":
      return rows[0] === undefined ? null : [...rows[0]];
    case "scalar":
      return rows[0]?.[0] ?? null;
  }
}
