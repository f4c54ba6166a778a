// holdfast runs show: shows one run with the timeline of its iterations and steps.
import type { Decision } from "../../contracts/decisions.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { LogEvent } from "../../contracts/log.ts";
import type { Run } from "../../contracts/run-record.ts";
import type { RunResult } from "../../contracts/run-results.ts";
import type { Step } from "../../contracts/steps.ts";
import type { Command, Context } from "../command-line.ts";
import { UsageError } from "../failure.ts";
import type { Output } from "../output.ts";
import { findPredecessor, findSuccessors, type LaterRun, type RunLink } from "../run-chain.ts";
import {
  describeIteration,
  describeReason,
  needRun,
  RUN_HELP,
  type RunWithIteration,
  stepName,
  withCurrentIteration,
} from "../runs.ts";
import { formatUsd } from "../spending.ts";
import { facts } from "../table.ts";
import { jsonLine, safe, truncate } from "../terminal.ts";
import { buildTimeline, describeVerdict, lastIterations, type Moment, timelineLines } from "../timeline.ts";
import { formatBytes, formatCount, formatSpan, formatTime } from "../units.ts";

const DEFAULT_LAST = 20;

export const show: Command = {
  name: "show",
  summary: "draw a run: its iterations, its steps and their outcomes",
  usage: ["runs show RUN [--iteration N] [--last N] [--io]"],
  description:
    "Shows a run, its result, and the timeline: each iteration with its steps, their durations and attempts, " +
    "which worker took the run over, what the run waited for, and what people decided; " +
    "also the run that it continues (by retry, rewind or fork), and the runs that continue it. Steps in " +
    "parallel branches show their path (2.1.3). With --io it also prints the input and result of each step; long ones are cut on a " +
    `terminal, and above ${formatBytes(LIMITS.stepContentBytes)} only their ref is printed: holdfast blobs get REF reads it. ${RUN_HELP}`,
  options: {
    io: { type: "flag", summary: "also print the inputs and results of steps" },
    iteration: { type: "number", min: 1, summary: "only this iteration" },
    last: { type: "number", min: 1, summary: `the last N iterations (default ${DEFAULT_LAST})` },
  },
  operands: [{ name: "RUN", need: "required" }],
  examples: [
    { command: "holdfast runs show run_qddb5fz3", does: "the beginning of the id is enough" },
    { command: "holdfast runs show run_qddb5fz3 --io", does: "with the input and result of each step" },
    { command: "holdfast runs show run_qddb5fz3 --iteration 7 --json", does: "one iteration, for a program" },
  ],
  next: "holdfast trace --causes SESSION#SEQ walks back from one of its events; holdfast cost SESSION prints its cost.",
  run: async (context) => {
    const { args, output } = context;
    const [only, last] = [args.number("iteration"), args.number("last")];
    if (only !== undefined && last !== undefined) throw new UsageError("--iteration cannot be combined with --last");
    const holdfast = await context.open();
    const run = await withCurrentIteration(holdfast, await needRun(holdfast, args.operand(0)));
    const result = await holdfast.runs.result(run.id);
    const all = buildTimeline(await readEvents(holdfast, run));
    const moments =
      only === undefined
        ? lastIterations(all, last ?? DEFAULT_LAST)
        : all.filter(({ iteration }) => iteration === only);
    const io = args.flag("io");
    const steps = await holdfast.runs.steps(run.id, { io, ...(only === undefined ? {} : { iteration: only }) });
    const { items: decisions } = await holdfast.runs.decisions({
      run: run.id,
      limit: LIMITS.page,
      order: "oldest",
    });
    const links = { continues: await findPredecessor(holdfast, run), continuedBy: await findSuccessors(holdfast, run) };
    await output.answer({ run, ...links, value: result?.value ?? null, steps, decisions, timeline: moments }, () => [
      ...describe(run, links, result, decisions, context),
      "",
      ...(moments.length === 0 ? ["nothing happened yet"] : timelineLines(moments, run.createdAt, output.frame)),
      ...(io ? contentLines(steps, moments, context) : []),
    ]);
    const shown = new Set(moments.map(({ iteration }) => iteration)).size;
    const total = all.at(-1)?.iteration ?? 0;
    if (only === undefined && shown < total) {
      await output.note(`the last ${shown} of ${formatCount(total)} iterations; --last ${total} shows all`);
    }
    return undefined;
  },
};

/** The inputs and results of the steps that the timeline shows. */
function contentLines(steps: readonly Step[], moments: readonly Moment[], { output }: Context): string[] {
  const shown = new Set(moments.map(({ iteration }) => iteration));
  return steps
    .filter(({ iteration, input, result }) => shown.has(iteration) && (input ?? result) !== undefined)
    .flatMap((step) => [
      "",
      output.style.strong(safe`${step.id}  ${stepName(step)} (${step.iteration}/${step.path})`),
      ...facts(
        [
          ["input", contentText(step.input, output)],
          ["result", contentText(step.result, output)],
          ["error", step.error === null ? "" : `${step.error.code}: ${step.error.message}`],
        ],
        { ...output.frame, indent: 2 },
      ),
    ]);
}

function contentText(content: NonNullable<Step["input"]> | undefined, output: Output): string {
  if (content === undefined) return "";
  if (content.value === undefined) return `${formatBytes(content.size)}, ${content.ref}`;
  const text = jsonLine(content.value, output.width - NAMES);
  return output.interactive ? truncate(text, VALUE_CHARS) : text;
}

async function readEvents(holdfast: Holdfast, { id }: Run): Promise<readonly LogEvent[]> {
  const events: LogEvent[] = [];
  for (let after = 0; ; ) {
    const page = await holdfast.runs.events(id, { after, limit: LIMITS.eventsPage });
    events.push(...page);
    after = page.at(-1)?.seq ?? after;
    if (page.length < LIMITS.eventsPage) return events;
  }
}

/** A terminal cuts longer values; --json prints all of them. */
const VALUE_CHARS = 400;

/** About the width of the labels before the values. */
const NAMES = 12;

/** At most so many decisions are listed; --json prints all of them. */
const MOST_DECISIONS = 10;

interface RunLinks {
  readonly continues: RunLink | null;
  readonly continuedBy: readonly LaterRun[];
}

/** For example "run_1 (retry)" or "run_1 after iteration 2 (fork in session b)". */
function describeLink({ run, session, how, iteration }: RunLink, own: string): string {
  const start = how === "retry" ? "" : iteration === 0 ? " from its beginning" : ` after iteration ${iteration}`;
  return `${run}${start} (${how}${session === own ? "" : `, session ${session}`})`;
}

function describe(
  run: RunWithIteration,
  { continues, continuedBy }: RunLinks,
  result: RunResult | null,
  decisions: readonly Decision[],
  { output }: Context,
): string[] {
  // A program or a file gets the whole value on one line.
  const value = result?.status === "completed" ? jsonLine(result.value, output.width - NAMES) : "";
  const why = describeReason(run);
  const limits = Object.entries(run.limits).map(([name, most]) => `${name} ${formatCount(Number(most))}`);
  return facts(
    [
      ["run", run.id],
      ["session", run.session],
      ["agent", `${run.agent} ${run.agentVersion}`],
      ["parent", run.parent ?? ""],
      ["continues", continues === null ? "" : describeLink(continues, run.session)],
      ...continuedBy.map((link) => ["continued by", `${describeLink(link, run.session)}, ${link.status}`] as const),
      ["status", why === "" ? run.status : `${run.status}: ${why}`],
      ["hint", run.error?.hint ?? ""],
      ["result", output.interactive ? truncate(value, VALUE_CHARS) : value],
      ["worker", describeWorker(run)],
      ["iteration", describeIteration(run)],
      ["tokens", run.tokens === 0 ? "" : formatCount(run.tokens)],
      ["cost", run.costUsd === null ? "" : formatUsd(run.costUsd)],
      ["limits", limits.join(", ")],
      ["begun", formatTime(run.createdAt)],
      ["took", run.endedAt === null ? "" : formatSpan(run.endedAt - run.createdAt)],
      ...decisions.slice(-MOST_DECISIONS).map((one) => ["decision", describeDecision(one)] as const),
    ],
    output.frame,
  );
}

/** The step, the verdict, the person and the time. */
function describeDecision({ id, step, reason, askedAt, answer }: Decision): string {
  const about = `${step.name} (${id})`;
  if (answer === null) return `on ${about}: asked ${formatTime(askedAt)}, not answered`;
  const note = answer.note === null ? "" : `, "${answer.note}"`;
  return `on ${about}: ${describeVerdict(answer.verdict, reason)}, by ${answer.by ?? "a person"}, ${formatTime(answer.at)}${note}`;
}

function describeWorker({ owner, process }: Run): string {
  if (owner === null) return "";
  return process === null ? owner : `${owner} (process ${process.pid} on ${process.host})`;
}
