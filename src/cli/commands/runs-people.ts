// holdfast runs pending, approve, deny: lists the questions of runs to people, and answers them.
import type { AnswerInput, Decision } from "../../contracts/decisions.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { Run } from "../../contracts/run-record.ts";
import { parseRowId } from "../../core/row-id.ts";
import type { Command, Context } from "../command-line.ts";
import { UsageError } from "../failure.ts";
import { readJson, readTextOperand } from "../input.ts";
import { ORDER_OPTION, readOrder } from "../list-order.ts";
import { pageOptions } from "../option.ts";
import { findInterruptedRuns, type InterruptedRun } from "../run-chain.ts";
import { NEXT_EXECUTION, NEXT_WORKER, needDecision, needRun, RUN_HELP, stepName } from "../runs.ts";
import { type Column, facts, ID, table } from "../table.ts";
import { jsonLine, quoted, safe, truncate, wrap } from "../terminal.ts";
import { describeVerdict } from "../timeline.ts";
import { formatAge, formatTime, plural } from "../units.ts";

const ANSWERS =
  "There are three answers. For a step that waits for approval, `approve` means: execute it; `approve --result JSON`: do not execute it, " +
  "and use this as its result; `deny`: refuse it. For a step in doubt, `approve --retry` means: execute it again under the same key; " +
  "`approve --result JSON`: it happened, with this result; `deny`: it did not happen and must not. " +
  "After `deny` the agent sees the step fail.";

const DECISION_HELP = `DECISION is the id that holdfast runs pending prints (chat-1#33), or a run with only one question. ${RUN_HELP}`;

export const pending: Command = {
  name: "pending",
  summary: "list the questions to people",
  usage: ["runs pending [RUN] [--order ORDER] [--limit N]", "runs pending [RUN] --answered [--limit N] [--cursor C]"],
  description:
    "Lists two kinds of questions. Approval: a tool needs approval before its first attempt; nothing has happened yet. In doubt: " +
    "a worker died between executing a step and recording it, and the tool is not declared safe to repeat: find out whether it " +
    `happened (its key may help), then answer. The worker that continues the run asks the question; until then the run is ` +
    `listed as interrupted, with the steps in doubt. ${ANSWERS} With --answered: ` +
    "the earlier decisions from the log, with the person and the time. The newest session comes first, " +
    "and in each session the newest question.",
  options: {
    answered: { type: "flag", summary: "list answered questions instead of open ones" },
    order: ORDER_OPTION,
    ...pageOptions(100),
  },
  operands: [{ name: "RUN", need: "optional" }],
  examples: [
    { command: "holdfast runs pending", does: "the questions of all runs" },
    { command: "holdfast runs pending --answered", does: "the decisions, with the person and the time" },
    { command: "holdfast runs pending --json | jq '.decisions | length'", does: "how many, for a monitor" },
  ],
  next: "holdfast runs approve DECISION, or holdfast runs deny DECISION.",
  run: async (context) => {
    const holdfast = await context.open();
    const [named] = context.args.operands;
    const only = named === undefined ? undefined : await needRun(holdfast, named);
    const run = only?.id;
    const cursor = context.args.text("cursor");
    const answered = context.args.flag("answered");
    const limit = context.args.number("limit") ?? 100;
    const { items: decisions, next } = await holdfast.runs.decisions({
      answered,
      limit,
      order: readOrder(context.args),
      ...(run === undefined ? {} : { run }),
      ...(cursor === undefined ? {} : { cursor }),
    });
    const interrupted = answered ? [] : await findInterruptedRuns(holdfast, only, limit);
    const page = next === null ? { decisions } : { decisions, next };
    await context.output.answer(answered ? page : { ...page, interrupted }, () => {
      if (answered) {
        return decisions.length === 0 ? ["no decisions"] : table(ANSWERED, decisions, context.output.frame);
      }
      const shown = [
        ...decisions.map((one) => decisionLines(one, context)),
        ...interrupted.map((one) => interruptedLines(one, context)),
      ];
      if (shown.length === 0) return ["nothing to decide"];
      return shown.flatMap((lines, i) => [...(i === 0 ? [] : [""]), ...lines]);
    });
    await context.output.noteNextPage(next);
    return undefined;
  },
};

const ANSWERED: readonly Column<Decision>[] = [
  { title: "DECISION", cell: ({ id }) => id, ...ID, colour: (text, _, style) => style.name(text) },
  { title: "STEP", cell: ({ step }) => step.name, shrink: 2 },
  { title: "ANSWERED", cell: ({ answer }) => formatTime(answer?.at ?? 0), keep: true },
  { title: "BY", cell: ({ answer }) => answer?.by ?? "", shrink: 1 },
  {
    title: "SAID",
    cell: ({ answer, reason }) => describeVerdict(answer?.verdict, reason),
    keep: true,
    wrap: true,
    shrink: 3,
    min: 12,
  },
  { title: "NOTE", cell: ({ answer }) => answer?.note ?? "", wrap: true, shrink: 4, min: 0 },
  { title: "RUN", cell: ({ run }) => run, shrink: 5, min: 0 },
];

/** About the width of the labels before the values. */
const NAMES = 10;

/** A terminal cuts longer inputs; --json prints all of them. */
const INPUT_CHARS = 600;

interface Wording {
  readonly question: (tool: string) => string;
  readonly begun: (at: number) => string;
  readonly retry: string;
  readonly result: string;
  readonly fail: string;
}

/** The texts of each kind of question, and of its answers. */
const WORDING: Readonly<Record<Decision["reason"], Wording>> = {
  "in-doubt": {
    question: (tool) => `did ${tool} happen?`,
    begun: (at) => `${formatTime(at)}, by a worker that died before it recorded the result`,
    retry: "execute it again",
    result: "it happened, with this result",
    fail: "it did not happen and must not",
  },
  approval: {
    question: (tool) => `may ${tool} go ahead?`,
    begun: () => "",
    retry: "go ahead",
    result: "use this result instead",
    fail: "refuse",
  },
};

function decisionLines(decision: Decision, { output }: Context): string[] {
  const { id, reason, step, input, run, session, askedAt } = decision;
  const words = WORDING[reason];
  const { style, frame } = output;
  const text = jsonLine(input, output.width - NAMES);
  const tries = step.attempt === 1 ? "" : `, try ${step.attempt}`;
  const answers: readonly (readonly [string, string])[] = [
    [`runs approve ${quoted(id)}${reason === "in-doubt" ? " --retry" : ""}`, words.retry],
    [`runs approve ${quoted(id)} --result JSON`, words.result],
    [`runs deny ${quoted(id)}`, words.fail],
  ];
  const lines = answers.map(([command, does]) => [output.commandLine(command), does] as const);
  const column = Math.max(...lines.map(([command]) => command.length)) + 2;
  const width = 4 + column + Math.max(...lines.map(([, does]) => does.length));
  return [
    ...wrap(safe`${id}  ${words.question(step.name)}`, frame.width).map((line) => style.strong(line)),
    ...facts(
      [
        ["reason", reason],
        ["input", output.interactive ? truncate(text, INPUT_CHARS) : text],
        ["place", `session ${session}, iteration ${step.iteration}, step ${step.path}${tries}`],
        ["begun", words.begun(step.startedAt)],
        ["asked", formatAge(askedAt, Date.now())],
        ["key", step.idempotencyKey],
        ["run", run],
      ],
      { ...frame, indent: 2 },
    ),
    ...lines.flatMap(([command, does]) => {
      if (width <= frame.width) return [`    ${command.padEnd(column)}${style.faint(does)}`];
      return [`    ${style.faint(`${does}:`)}`, `      ${command}`];
    }),
  ];
}

/** An interrupted run has no question yet: the worker that continues the run asks it. */
function interruptedLines({ run, steps }: InterruptedRun, { output }: Context): string[] {
  const { style, frame } = output;
  const names = steps.map((step) => `${stepName(step)} (${step.iteration}/${step.path})`).join(", ");
  return [
    ...wrap(safe`run ${run.id} was interrupted, and no worker has it`, frame.width).map((line) => style.strong(line)),
    ...facts(
      [
        ["in doubt", names],
        ["session", run.session],
        ["agent", `${run.agent} ${run.agentVersion}`],
        [
          "next",
          `run its program again, or ${output.commandLine("worker --agents FILE")}: it asks about the steps in doubt`,
        ],
      ],
      { ...frame, indent: 2 },
    ),
  ];
}

const ANSWER_OPTIONS = {
  by: { type: "text", value: "NAME", summary: "the person who answers, for the log (default $USER)" },
  note: { type: "text", summary: "why, for the log" },
} as const;

export const approve: Command = {
  name: "approve",
  summary: 'answer "go ahead", "execute it again", or "it happened, with this result"',
  usage: ["runs approve DECISION [--retry] [--by NAME] [--note TEXT]", "runs approve DECISION --result JSON"],
  description: `Answers a question of a run. ${ANSWERS} The log keeps the answer and the person who gave it. ${DECISION_HELP}`,
  options: {
    retry: {
      type: "flag",
      summary: "for a step in doubt: it did not happen; execute it again under the same key",
    },
    result: { type: "text", value: "JSON", summary: "use this as the step's result; - reads it from standard input" },
    ...ANSWER_OPTIONS,
  },
  operands: [{ name: "DECISION", need: "required" }],
  examples: [
    { command: "holdfast runs approve chat-1#21", does: "a tool asked for approval: go ahead" },
    { command: "holdfast runs approve chat-1#33 --retry", does: "the payment did not arrive: pay" },
    {
      command: `holdfast runs approve chat-1#33 --result '{"receipt": 7}'`,
      does: "it did arrive: continue with this receipt",
    },
  ],
  next: NEXT_WORKER,
  run: async (context) => {
    const result = context.args.text("result");
    if (result !== undefined && context.args.flag("retry")) {
      throw new UsageError("--retry means that it did not happen, --result that it did: give one of them");
    }
    if (result === undefined) return answer(context, { verdict: "retry" });
    const value = readJson(await readTextOperand(result, context.io), "--result");
    return answer(context, { verdict: "result", result: value });
  },
};

export const deny: Command = {
  name: "deny",
  summary: 'answer "refuse", or "it did not happen and must not"',
  usage: ["runs deny DECISION [--by NAME] [--note TEXT]"],
  description:
    "Answers a question of a run: the step fails, and the agent continues with that failure. If the run fails because of it, " +
    "`holdfast runs retry` executes the denied step again under a new key; a tool that needs approval then asks again, any other " +
    "does not. " +
    `${ANSWERS} ${DECISION_HELP}`,
  options: ANSWER_OPTIONS,
  operands: [{ name: "DECISION", need: "required" }],
  examples: [{ command: "holdfast runs deny chat-1#33 --note 'no longer wanted'", does: "refuse the step" }],
  next: NEXT_WORKER,
  run: (context) => answer(context, { verdict: "fail" }),
};

interface OpenQuestion {
  readonly reason: Decision["reason"];
  /** Whether a person approved the step before it became in doubt. */
  readonly wasApproved: boolean;
}

/** Returns null if the step's run has no such open question; `runs.answer` then says why. */
async function findQuestion(holdfast: Holdfast, decision: string): Promise<OpenQuestion | null> {
  const { session, seq } = parseRowId(decision, "decision");
  const [intent] = await holdfast.log.read(session, { after: seq - 1, limit: 1 }).catch(() => []);
  if (intent?.seq !== seq || typeof intent.run !== "string") return null;
  const filter = { run: intent.run, limit: LIMITS.page };
  const open = await holdfast.runs.pending(filter).catch(() => null);
  const reason = open?.items.find(({ id }) => id === decision)?.reason;
  if (reason === undefined) return null;
  return { reason, wasApproved: reason === "in-doubt" && intent.data.approval === true };
}

async function answer(context: Context, given: AnswerInput): Promise<undefined> {
  const { args, io, output } = context;
  const holdfast = await context.open();
  const decision = await needDecision(holdfast, args.operand(0));
  const by = args.text("by") ?? (io.env.USER || io.env.LOGNAME || undefined);
  const note = args.text("note");
  const question = await findQuestion(holdfast, decision);
  // "Approve" may mean "yes, it happened" as well as "do it".
  if (question?.reason === "in-doubt" && given.verdict === "retry" && !args.flag("retry")) {
    const before = question.wasApproved ? "was approved and began, but its worker died" : "began, but its worker died";
    throw new UsageError(
      `${decision} ${before}: it may have happened. Give --retry to do it again, or --result JSON if it happened`,
    );
  }
  const reason = question?.reason ?? "in-doubt";
  const run = await holdfast.runs.answer(decision, {
    ...given,
    ...(question === null ? {} : { reason }),
    ...(by === undefined ? {} : { by }),
    ...(note === undefined ? {} : { note }),
  });
  await output.answer({ decision, verdict: given.verdict, by: by ?? null, run }, () => [
    safe`${decision}: ${describeVerdict(given.verdict, reason)}${by === undefined ? "" : `, by ${by}`}`,
    ...wrap(safe`run ${run.id} ${describeNext(run)}`, output.width),
  ]);
  return undefined;
}

function describeNext({ status, waitsFor }: Run): string {
  if (status === "waiting")
    return `still waits for ${plural(waitsFor.length, "answer or signal", "answers or signals")}`;
  return NEXT_EXECUTION;
}
