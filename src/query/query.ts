// The door of Datalog: a query as EDN text or in its JSON form, with its inputs, to the tree that is compiled.
import { invalid } from "../core/check.ts";
import type { Query } from "./ast.ts";
import { readEdn } from "./edn.ts";
import { inputForms, queryForm } from "./json.ts";
import { parseQuery, rulesPosition } from "./parse.ts";

/**
 * `inputs` are the values for :in without `$`, as plain data (json.ts says how keywords and times are written); rules, for
 * `%`, are EDN text or an array. Throws InvalidQuery or LimitExceeded.
 */
export function readQuery(query: unknown, inputs: readonly unknown[] = []): Query {
  if (!Array.isArray(inputs)) throw invalid("inputs", "an array", inputs);
  const form = typeof query === "string" ? readEdn(query) : queryForm(query);
  return parseQuery(form, inputForms(inputs, rulesPosition(form)));
}
