// holdfast cost: what calls to models took and cost.
import { addSpending } from "../../archive/spending.ts";
import type { CostReport, Spending } from "../../contracts/archive.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Locator } from "../../contracts/locators.ts";
import { isObject } from "../../core/check.ts";
import { addUsd } from "../../core/money.ts";
import type { Command, Context } from "../command-line.ts";
import { UsageError } from "../failure.ts";
import { LOCATOR_HELP, locate } from "../locate.ts";
import { listWithInvoked } from "../session-walk.ts";
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
  summary: "print tokens and cost, per model and per session",
  usage: ["cost [SESSION[@HEAD]]", "cost SESSION --children"],
  description:
    "Adds up the calls that sessions recorded, on all their branches: of one session, or of all. Calls that a fork inherits " +
    "are counted once, in the session that made them. A call that did not say what it cost is counted as unknown, never as " +
    "free. At a head: the calls that can be seen there, each under the session that made it. The cost that a coding agent " +
    "reports for a session is printed beside it and is not part of the sum. Where two captures of a coding agent's session " +
    `are kept beside each other, calls that both hold are counted in each; the output says so. ${LOCATOR_HELP}`,
  options: {
    children: { type: "flag", summary: "also count the sessions that it invoked, directly or through others" },
  },
  operands: [{ name: "SESSION", need: "optional" }],
  examples: [
    { command: "holdfast cost", does: "of every session" },
    {
      command: "holdfast cost chat-1 --json | jq .total.costUsd",
      does: "one number for a script; see unknownCosts too",
    },
  ],
  next: "holdfast diff A B shows what each of two sessions spent alone.",
  run: async (context) => {
    const holdfast = await context.open();
    const [name] = context.args.operands;
    const at = name === undefined ? undefined : await locate(holdfast, name);
    const report = context.args.flag("children")
      ? await sumWithInvoked(holdfast, at)
      : await holdfast.sessions.cost(at);
    const reported = await findReportedCosts(holdfast, report);
    const beside = findSessionsKeptBeside(report);
    await context.output.answer({ ...report, reported, beside }, () => lines(report, reported, context));
    if (beside.length > 0) await context.output.note(describeBeside(beside));
    return undefined;
  },
};

interface ReportedCost {
  readonly session: string;
  readonly costUsd: number;
}

/** Claude Code reports the cost of a session, not of a call, so it cannot be added to the known costs of calls. */
async function findReportedCosts({ sessions }: Holdfast, report: CostReport): Promise<readonly ReportedCost[]> {
  const unknown = report.sessions.filter(({ total }) => total.unknownCosts > 0);
  const found: ReportedCost[] = [];
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

/** The session of a capture that is kept beside the newest one: its name ends with a number. */
const BESIDE = /^((?:claude-code|opencode)\/[^/~]+)~\d+$/;

/** Sessions of the report that may count the same calls as another session of the report. */
function findSessionsKeptBeside({ sessions }: CostReport): readonly string[] {
  const ids = sessions.map(({ session }) => session);
  return ids.filter((id) => {
    const newest = BESIDE.exec(id)?.[1];
    return (
      newest !== undefined &&
      ids.some((other) => other !== id && (other === newest || BESIDE.exec(other)?.[1] === newest))
    );
  });
}

function describeBeside(beside: readonly string[]): string {
  const is = beside.length === 1 ? "is" : "are";
  return (
    safe`${beside.join(", ")} ${is} kept beside another capture of the same session: ` +
    "calls that both hold are counted in each, so more than once in the sum"
  );
}

function formatReported(reported: readonly ReportedCost[]): string {
  const sum = formatUsd(reported.reduce((all, { costUsd }) => addUsd(all, costUsd), 0));
  return `${sum} for ${plural(reported.length, "session")}, as the agent itself reports; not part of the cost`;
}

/** The cost of a session and of all that it invoked, each counted once. */
async function sumWithInvoked(holdfast: Holdfast, at: Locator | undefined): Promise<CostReport> {
  if (at === undefined)
    throw new UsageError("--children needs a SESSION; without one the command adds up all sessions");
  if (at.head !== undefined) throw new UsageError("--children needs a session without a head");
  const reports: CostReport[] = [];
  for (const session of await listWithInvoked(holdfast, at.session))
    reports.push(await holdfast.sessions.cost({ session }));
  return {
    total: reports.map(({ total }) => total).reduce(addSpending),
    sessions: reports.flatMap(({ sessions }) => sessions),
  };
}

/** The id's column may get narrow so that the amounts have room; a long id then gets its own line. */
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

function lines({ total, sessions }: CostReport, reported: readonly ReportedCost[], { output }: Context): string[] {
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
