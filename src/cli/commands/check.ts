// holdfast check: compares rows, logs and blobs of the store. It names every kind of damage and exits with 5 if there
// is any.
import type { CheckIssue, CheckProgress, CheckReport } from "../../contracts/check.ts";
import type { Command, Context } from "../command-line.ts";
import { EXIT } from "../exit.ts";
import { UsageError } from "../failure.ts";
import { type HeadAdvice, needSession } from "../sessions.ts";
import { type Column, table } from "../table.ts";
import { displayWidth, safeLine, wrap } from "../terminal.ts";
import { formatBytes, formatCount, formatCounts, plural } from "../units.ts";

/** At most so many issues of one kind are printed; --json prints all issues of the report. */
const LISTED_MAX = 10;

export const check: Command = {
  name: "check",
  summary: "check that rows, log and blobs agree",
  usage: ["check [SESSION | --session SESSION] [--quick]"],
  description:
    "Compares everything in the store: rows with each other and with the events that wrote them, hash chains, heads " +
    "derived again, counters, and every blob with its hash. It only reads, while writers run, and checks twice before " +
    "it reports an issue. --quick checks only the structure and reads neither logs nor the bytes of blobs. " +
    "With SESSION (an id or alias) it checks only that session and the blobs it names.\n\n" +
    "Issues are listed with their kind, their rows and what to do, and the exit code is 5.",
  options: {
    quick: { type: "flag", summary: "structure only: no logs, no bytes of blobs" },
    session: {
      type: "text",
      value: "SESSION",
      summary: "the same as SESSION: only this session, with the blobs it names",
    },
  },
  warnsOfExposedFiles: true,
  operands: [{ name: "SESSION", need: "optional" }],
  examples: [
    { command: "holdfast check", does: "everything" },
    { command: "holdfast check --quick", does: "only the structure, for a frequent check" },
    { command: "holdfast check chat-1 --json", does: "one session, for a program" },
  ],
  next: "docs/checker.md lists every kind; holdfast verify --anchor finds edits whose hashes were recomputed too.",
  run: async (context) => {
    const { args, output } = context;
    const [operand] = args.operands;
    const option = args.text("session");
    if (operand !== undefined && option !== undefined)
      throw new UsageError("name the SESSION once, as an operand or with --session");
    const named = operand ?? option;
    const holdfast = await context.open();
    const session = named === undefined ? undefined : (await needSession(holdfast, named, VERIFY)).id;
    let telling: Promise<void> = Promise.resolve();
    const report = await holdfast.check({
      mode: args.flag("quick") ? "quick" : "deep",
      ...(session === undefined ? {} : { session }),
      onProgress: (progress) => {
        telling = telling.then(() => output.progress(progressLine(progress)));
      },
    });
    await telling;
    await output.clearProgress();
    await output.answer(report, () => lines(report, context));
    return report.status === "ok" ? EXIT.ok : EXIT.damage;
  },
};

const VERIFY: HeadAdvice = (named) =>
  `\`holdfast verify ${named} --blobs\` checks that everything the head commits to is there`;

/** The counts and the rate of the whole check so far, because a single step may take no time. */
function progressLine({ at, counts, bytes, elapsedMs, issueCount }: CheckProgress): string {
  const looked = `${plural(counts.sessions ?? 0, "session")}, ${plural(counts.events ?? 0, "event")}`;
  const found = issueCount === 0 ? "" : `, ${plural(issueCount, "issue")}`;
  return `checking ${at}: ${looked}, ${plural(counts.blobs ?? 0, "blob")}${rateText(counts, bytes, elapsedMs)}${found} …`;
}

/** A rate over less time means nothing. */
const RATE_MS = 500;

function rateText({ events = 0 }: CheckProgress["counts"], bytes: number, elapsedMs: number): string {
  if (elapsedMs < RATE_MS) return "";
  const perSecond = (n: number) => Math.round((n * 1000) / elapsedMs);
  const read = bytes === 0 ? "" : `, ${formatBytes(perSecond(bytes))}/s`;
  return ` (${formatCount(perSecond(events))} events/s${read})`;
}

/** The least width of the details column. */
const DETAILS_MIN = 24;

/** Users cannot copy an id that is split over lines: if ids leave no room for columns, each id gets its own line. */
function issueLines(issues: readonly CheckIssue[], { output }: Context): string[] {
  const { width, style } = output;
  const widest = (texts: readonly string[]) => Math.max(0, ...texts.map((text) => displayWidth(safeLine(text))));
  const id = widest(issues.flatMap(({ rows }) => rows));
  if (widest(issues.map(({ kind }) => kind)) + id + DETAILS_MIN + 4 <= width) {
    return table(columns(id), issues, output.frame);
  }
  return issues.flatMap(({ kind, rows, details }) => [
    style.bad(kind),
    ...rows.map((row) => `  ${style.name(safeLine(row))}`),
    ...wrap(safeLine(detailsText(details)), width - 2).map((line) => `  ${line}`),
  ]);
}

/** JSON with spaces, where lines may be broken. */
function detailsText(details: CheckIssue["details"]): string {
  const pairs = Object.entries(details).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  return `{${pairs.join(", ")}}`;
}

function columns(id: number): readonly Column<CheckIssue>[] {
  return [
    { title: "KIND", keep: true, cell: ({ kind }) => kind, colour: (text, _, style) => style.bad(text) },
    {
      title: "ROWS",
      shrink: 2,
      min: Math.max(id, 16),
      wrap: true,
      keep: true,
      cell: ({ rows }) => rows.join(" "),
      colour: (text, _, style) => style.name(text),
    },
    {
      title: "DETAILS",
      shrink: 1,
      min: DETAILS_MIN,
      wrap: true,
      keep: true,
      cell: ({ details }) => detailsText(details),
    },
  ];
}

function lines({ mode, counts, engine, issueCount, issues }: CheckReport, context: Context): string[] {
  const { output } = context;
  const { style } = output;
  const { orphanBlobs: orphans = 0, ...checked } = counts;
  const looked = formatCounts(checked);
  const notRun =
    engine?.notRun == null ? [] : wrap(`the server's own check was not run: ${engine.notRun}`, output.width);
  const rest = [
    ...notRun.map(style.faint),
    ...(orphans === 0
      ? []
      : [style.faint(`${plural(orphans, "blob")} that nothing refers to; ${output.commandLine("gc")} frees them`)]),
  ];
  const counted = looked === "" ? "nothing to check" : `${mode} check of ${looked}`;
  if (issueCount === 0) return [...wrap(`all good: ${counted}`, output.width).map(style.good), ...rest];
  const kinds = [...new Set(issues.map(({ kind }) => kind))];
  const byKind = kinds.map((kind) => issues.filter((issue) => issue.kind === kind));
  const shown = byKind.flatMap((some) => some.slice(0, LISTED_MAX));
  const folded = byKind.flatMap((some, i) =>
    some.length <= LISTED_MAX
      ? []
      : `… and ${formatCount(some.length - LISTED_MAX)} more ${kinds[i]}; --json lists all`,
  );
  const more = issueCount - issues.length;
  const byHint = Map.groupBy(kinds, (kind) => issues.find((issue) => issue.kind === kind)?.hint ?? "");
  const hints = [...byHint].map(([hint, same]) => `${same.join(", ")}: ${output.withCommands(hint)}`);
  const lines = (text: string) => wrap(safeLine(text), output.width);
  return [
    ...issueLines(shown, context),
    ...folded.map(style.faint),
    ...(more === 0 ? [] : [style.faint(`… and ${formatCount(more)} more that the report does not list`)]),
    "",
    ...hints.flatMap(lines),
    "",
    ...lines(`${plural(issueCount, "issue")} found: ${counted}`).map(style.bad),
    ...rest,
  ];
}
