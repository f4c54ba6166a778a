// holdfast cost: what calls to models took and cost.

import { addSpending } from "../../archive/spending.ts";
import { isObject } from "../../coding/conversation/content.ts";
import type { CostReport, Spending } from "../../contracts/archive.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Locator } from "../../contracts/locators.ts";
import { addUsd } from "../../core/money.ts";
import type { Command, Context } from "../command.ts";
import { UsageError } from "../failure.ts";
import { familyOf } from "../family.ts";
import { LOCATOR_HELP, locate } from "../locate.ts";
import { formatCost, formatTokenCount, formatTokens, formatUsd } from "../spending.ts";
import { type Column, facts, ID, table } from "../table.ts";
import { safe } from "../terminal.ts";
import { formatCount, plural } from "../units.ts";

/** Sessions that are looked up at the same time. */
const AT_ONCE = 32;

type ModelRow = {
  readonly session: string;
  readonly provider: string | null;
  readonly model: string | null;
} & Spending;

export const cost: Command = {
  name: "cost",
  summary: "tell tokens and cost, per model and per session",
  usage: ["cost [SESSION[@HEAD]]", "cost SESSION --children"],
  description:
    "Adds up the calls that sessions recorded, on all their branches: of one session, or of all. A fork does not pay " +
    "again for what it inherits. A call that did not say what it cost is counted as unknown, never as free. At a head: the " +
    "calls that can be seen there, each under the session that made it. What a coding agent itself reports for a session is told " +
    "beside it, and is no part of the sum. Where two captures of a coding agent's session are kept beside each other, calls that " +
    `both hold are counted in each; the output says so. ${LOCATOR_HELP}`,
  options: { children: { type: "flag", summary: "also the sessions it invoked, and those they did" } },
  operands: [{ name: "SESSION", need: "optional" }],
  examples: [
    { command: "holdfast cost", does: "of every session" },
    {
      command: "holdfast cost chat-1 --json | jq .total.costUsd",
      does: "one number for a script; see unknownCosts too",
    },
  ],
  next: "holdfast diff A B tells what two sessions spent apart from each other.",
  run: async (context) => {
    const holdfast = await context.open();
    const [name] = context.args.operands;
    const at = name === undefined ? undefined : await locate(holdfast, name);
    const report = context.args.flag("children") ? await costOfFamily(holdfast, at) : await holdfast.sessions.cost(at);
    const reported = await reportedBy(holdfast, report);
    const beside = sessionsBeside(report);
    await context.output.answer({ ...report, reported, beside }, () => lines(report, reported, context));
    if (beside.length > 0) await context.output.note(besideWords(beside));
    return undefined;
  },
};

interface Reported {
  readonly session: string;
  readonly costUsd: number;
}

/** Claude Code says what a session cost, not what a call did: it cannot be added up with those whose cost is known. */
async function reportedBy({ sessions }: Holdfast, report: CostReport): Promise<readonly Reported[]> {
  const unknown = report.sessions.filter(({ total }) => total.unknownCosts > 0);
  const found: Reported[] = [];
  for (let i = 0; i < unknown.length; i += AT_ONCE) {
    const some = unknown.slice(i, i + AT_ONCE).map(({ session }) => sessions.get({ session }));
    for (const session of await Promise.all(some)) {
      const coding = session?.metadata.coding;
      const cost = isObject(coding) ? coding.reportedCostUsd : null;
      if (session !== null && typeof cost === "number") found.push({ session: session.id, costUsd: cost });
    }
  }
  return found;
}

/** What a capture that is kept beside the newest said, in a session of its own: its name, and a number behind it. */
const BESIDE = /^((?:claude-code|opencode)\/[^/~]+)~\d+$/;

/** Those of the report whose calls another session of the report may hold as well. */
function sessionsBeside({ sessions }: CostReport): readonly string[] {
  const ids = sessions.map(({ session }) => session);
  return ids.filter((id) => {
    const newest = BESIDE.exec(id)?.[1];
    return (
      newest !== undefined &&
      ids.some((other) => other !== id && (other === newest || BESIDE.exec(other)?.[1] === newest))
    );
  });
}

function besideWords(beside: readonly string[]): string {
  const is = beside.length === 1 ? "is" : "are";
  return (
    safe`${beside.join(", ")} ${is} kept beside another capture of the same session: ` +
    "calls that both hold are counted in each, so more than once in the sum"
  );
}

function formatReported(reported: readonly Reported[]): string {
  const sum = formatUsd(reported.reduce((all, { costUsd }) => addUsd(all, costUsd), 0));
  return `${sum} for ${plural(reported.length, "session")}, as the agent itself says; not part of the cost`;
}

/** Of a session and all that it invoked, each once. */
async function costOfFamily(holdfast: Holdfast, at: Locator | undefined): Promise<CostReport> {
  if (at === undefined) throw new UsageError("--children goes with a SESSION; without one all are told");
  if (at.head !== undefined) throw new UsageError("--children goes with a session as it stands, not with a head");
  const reports: CostReport[] = [];
  for (const session of await familyOf(holdfast, at.session)) reports.push(await holdfast.sessions.cost({ session }));
  return {
    total: reports.map(({ total }) => total).reduce(addSpending),
    sessions: reports.flatMap(({ sessions }) => sessions),
  };
}

/** Room for what was spent comes before an id on the same line with it. */
const COLUMNS: readonly Column<ModelRow>[] = [
  { title: "SESSION", cell: ({ session }) => session, ...ID, min: 8, colour: (text, _, style) => style.name(text) },
  {
    title: "MODEL",
    cell: ({ provider, model }) => [provider, model ?? "?"].filter(Boolean).join("/"),
    shrink: 2,
    keep: true,
    // Models differ in how their names end.
    wrap: true,
  },
  { title: "CALLS", align: "right", cell: ({ calls }) => formatCount(calls) },
  { title: "IN", align: "right", cell: (row) => formatTokenCount(row.inputTokens, row) },
  { title: "OUT", align: "right", cell: (row) => formatTokenCount(row.outputTokens, row) },
  {
    title: "CACHED",
    align: "right",
    cell: ({ cachedTokens }) => (cachedTokens === 0 ? "" : formatCount(cachedTokens)),
  },
  {
    title: "COST",
    align: "right",
    keep: true,
    cell: (row) => (row.unknownCosts === row.calls ? "?" : formatUsd(row.costUsd)),
  },
  {
    title: "UNKNOWN",
    align: "right",
    keep: true,
    cell: ({ unknownCosts }) => (unknownCosts === 0 ? "" : formatCount(unknownCosts)),
  },
];

function lines({ total, sessions }: CostReport, reported: readonly Reported[], { output }: Context): string[] {
  const rows = sessions.flatMap(({ session, models }) => models.map((model): ModelRow => ({ session, ...model })));
  if (rows.length === 0) return ["no calls"];
  return [
    ...table(COLUMNS, rows, output.frame),
    "",
    ...facts(
      [
        ["calls", formatCount(total.calls)],
        ["tokens", formatTokens(total)],
        ["cost", formatCost(total)],
        ...(reported.length === 0 ? [] : [["reported", formatReported(reported)] as const]),
      ],
      output.frame,
    ),
  ];
}
