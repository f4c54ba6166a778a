// holdfast query: answers Datalog queries over all facts of the store, as a table or as JSON, and explains their SQL.
import type { Json } from "../../contracts/json.ts";
import type { Explanation, Querying } from "../../contracts/query.ts";
import { QUERY_VERBS } from "../../contracts/verbs/store.ts";
import type { Find, FindElement } from "../../query/ast.ts";
import { elementVariable } from "../../query/find.ts";
import { readQuery } from "../../query/query.ts";
import type { Command, Context } from "../command-line.ts";
import { UsageError } from "../failure.ts";
import { readTextOperand } from "../input.ts";
import { type Column, table } from "../table.ts";
import { safeJson, safeText } from "../terminal.ts";
import { formatCount } from "../units.ts";

/** At most so many rows are printed as a table; --json prints all. */
const SHOWN = 1000;
const { limit: LIMIT, timeoutMs: TIMEOUT_MS } = QUERY_VERBS.query.params[2].schema.fields;

export const query: Command = {
  name: "query",
  summary: "query all facts of the store with Datalog",
  usage: ["query 'QUERY' [--input VALUE]… [--limit N] [--timeout SECONDS] [--explain]", "query --facts"],
  description:
    "Answers a query in the syntax of Datomic and DataScript: patterns [?entity :attribute ?value] that share " +
    "variables, with predicates, negation, rules, aggregates and pull. It reads the store directly, so it is never " +
    "stale, cannot write, and stops at its timeout. Payloads are refs (sha256:…); read them with holdfast blobs. " +
    "It queries rows: a session's rows are those of its own log, on all branches, without what a fork inherits; holdfast " +
    "messages and holdfast sessions show print what a session shows now.",
  options: {
    input: {
      type: "list",
      value: "VALUE",
      summary: "a value for each name of :in, in order: JSON, or plain text; rules as EDN",
    },
    limit: {
      type: "number",
      min: 1,
      max: LIMIT.max,
      summary: `show at most N rows (default ${SHOWN}; all with --json)`,
    },
    timeout: {
      type: "number",
      min: 1,
      max: TIMEOUT_MS.max / 1000,
      summary: `seconds it may take (default ${TIMEOUT_MS.fallback / 1000})`,
    },
    explain: { type: "flag", summary: "show the SQL and the engine's plan instead of the answer" },
    facts: { type: "flag", summary: "list every attribute there is" },
  },
  operands: [{ name: "QUERY", need: "optional" }],
  examples: [
    {
      command: "holdfast query '[:find ?id (count ?m) :where [?m :message/session ?s] [?s :session/id ?id]]'",
      does: "messages of each session",
    },
    {
      command:
        "holdfast query '[:find ?c ?m :in $ ?id :where [?c :call/session ?s] [?s :session/id ?id] [?c :call/model ?m]]' --input chat-1",
      does: "the calls of one session",
    },
    { command: "holdfast query --facts", does: "list all attributes" },
  ],
  next: "docs/datalog.md teaches the syntax; --explain shows what a slow query does.",
  run: async (context) => {
    const { args, output } = context;
    if (args.flag("facts")) return await listFacts(context);
    const [given] = args.operands;
    if (given === undefined) throw new UsageError("a query is missing; see `holdfast query --help`");
    const text = await readTextOperand(given, context.io);
    const parsed = text.trimStart().startsWith("{") && isJson(text) ? JSON.parse(text) : text;
    const inputs = args.list("input").map(inputValue);
    const { find } = readQuery(parsed, inputs);
    const limit = args.number("limit") ?? (output.json ? undefined : SHOWN);
    const seconds = args.number("timeout");
    const options = {
      ...(limit === undefined ? {} : { limit }),
      ...(seconds === undefined ? {} : { timeoutMs: seconds * 1000 }),
    };
    const holdfast = await context.open();
    if (args.flag("explain")) {
      const explanation = await holdfast.explain(parsed, inputs, options);
      await output.answer(explanation, () => explanationLines(explanation, context));
      return undefined;
    }
    const answer = await holdfast.query(parsed, inputs, options);
    await output.answer({ answer }, () => answerLines(answer, find, context));
    if (limit !== undefined && Array.isArray(answer) && find.shape !== "tuple" && answer.length === limit) {
      await output.note(`only the first ${formatCount(limit)} rows are shown; --limit shows more`);
    }
    return undefined;
  },
};

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** A value that is not JSON is plain text, so that ids need no quotes within quotes. */
function inputValue(text: string): unknown {
  return isJson(text) ? JSON.parse(text) : text;
}

function titleOf(element: FindElement): string {
  const name = elementVariable(element);
  return element.kind === "variable" ? name : `(${element.kind === "pull" ? "pull" : element.name} ${name})`;
}

function answerLines(answer: Json, { shape, elements }: Find, { output }: Context): string[] {
  if (answer === null) return ["nothing"];
  const rows: readonly Json[][] =
    shape === "relation"
      ? (answer as Json[][])
      : shape === "collection"
        ? (answer as Json[]).map((one) => [one])
        : [shape === "tuple" ? (answer as Json[]) : [answer]];
  if (rows.length === 0) return ["nothing"];
  const [single] = rows.length === 1 && elements.length === 1 ? (rows[0] ?? []) : [];
  // A single nested answer, as from a pull, is printed as JSON: a table would print it in one cell.
  if (typeof single === "object" && single !== null) return safeText(JSON.stringify(single, null, 2)).split("\n");
  const columns = elements.map((element, i): Column<Json[]> => {
    const isNumber = rows.every((row) => typeof row[i] === "number");
    return {
      title: titleOf(element),
      cell: (row) => cellText(row[i]),
      shrink: 1,
      ...(isNumber ? { align: "right" } : {}),
    };
  });
  return table(columns, rows, output.frame);
}

function cellText(value: Json | undefined): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

function explanationLines({ sql, params, plan }: Explanation, { output: { style } }: Context): string[] {
  return [
    style.faint("SQL"),
    sql,
    "",
    ...(params.length === 0
      ? []
      : [style.faint("PARAMETERS"), ...params.map((one, i) => `${i + 1}  ${safeJson(one)}`), ""]),
    style.faint("PLAN"),
    ...plan,
  ];
}

async function listFacts(context: Context): Promise<undefined> {
  const { output } = context;
  const holdfast = await context.open();
  const facts = await holdfast.facts();
  const columns: readonly Column<Awaited<ReturnType<Querying["facts"]>>[number]>[] = [
    { title: "ATTRIBUTE", cell: ({ name }) => name, colour: (text, _, style) => style.name(text) },
    { title: "VALUE", cell: ({ type, many }) => (many ? `${type}, many` : type) },
    { title: "OF", cell: ({ of }) => of },
  ];
  await output.answer({ facts }, () => table(columns, facts, output.frame));
  return undefined;
}
