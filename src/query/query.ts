// The door of Datalog: a query as EDN text or in its JSON form, with its inputs, to the tree that is compiled.
import { invalid, isList } from "../core/check.ts";
import type { Query } from "./ast.ts";
import { readEdn } from "./edn.ts";
import { invalidQuery } from "./form.ts";
import { inputForms, queryForm } from "./json.ts";
import { parseQuery, rulesPosition } from "./parse.ts";

/**
 * `inputs` are the values for :in without `$`, as plain data (json.ts says how keywords and times are written); rules, for
 * `%`, are EDN text or an array. Throws InvalidQuery or LimitExceeded.
 */
export function readQuery(query: unknown, inputs: readonly unknown[] = []): Query {
  if (!isList(inputs)) throw invalid("inputs", "an array", inputs);
  if (typeof query === "string" && SQL.test(query)) throw notSql();
  const form = typeof query === "string" ? readEdn(query) : queryForm(query);
  return parseQuery(form, inputForms(inputs, rulesPosition(form)));
}

const SQL = /^\s*(select|with|insert|update|delete|explain)\s/i;

function notSql(): Error {
  const example = "[:find ?id :where [?s :session/id ?id] [?s :session/status :open]]";
  return invalidQuery(
    undefined,
    "this looks like SQL, and a query is Datalog, written in EDN",
    `write it like ${example}`,
  );
}
