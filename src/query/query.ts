// The entry of Datalog: reads a query as EDN text or JSON, with its inputs, to the tree that is compiled.
import { HoldfastError } from "../contracts/errors.ts";
import { invalid, isList } from "../core/check.ts";
import type { Query } from "./ast.ts";
import { readEdn } from "./edn.ts";
import { invalidQuery } from "./form.ts";
import { checkInputs, inputForms, queryForm } from "./json.ts";
import { parseQuery, rulesPosition } from "./parse.ts";

/**
 * `inputs` are the values for :in without `$`, as plain data (json.ts says how keywords and times are written); rules,
 * for
 * `%`, are EDN text or an array. Throws InvalidQuery or LimitExceeded.
 */
export function readQuery(query: unknown, inputs: readonly unknown[] = []): Query {
  const given = listOf(inputs);
  if (typeof query === "string" && SQL.test(query)) throw notSql();
  const form = typeof query === "string" ? readEdn(query) : reading("the query", () => queryForm(query));
  const forms = reading("an input of the query", () => inputForms(given, rulesPosition(form)));
  return parseQuery(form, forms);
}

/** Copies the inputs once, because a proxy may return something else the next time. */
export function listOf(inputs: unknown): readonly unknown[] {
  if (!isList(inputs)) throw invalid("inputs", "an array", inputs);
  return reading("the list of inputs", () => {
    const { length } = inputs;
    checkInputs(length);
    return Array.from({ length }, (_, i) => inputs[i]);
  });
}

/** Reading a caller's value may run a getter or a proxy; if that throws, the error is the caller's. */
function reading<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof HoldfastError) throw cause;
    throw new HoldfastError("InvalidQuery", `${what} cannot be read`, { details: {}, cause });
  }
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
