// holdfast runs signal, pause, unpause, cancel, rm: commands that act on one run.
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Run } from "../../contracts/run-record.ts";
import { RUN_VERBS } from "../../contracts/verbs/runs.ts";
import type { Command, Context } from "../command-line.ts";
import { confirm, YES_OPTION } from "../confirm.ts";
import { readJson, readTextOperand } from "../input.ts";
import { numberOption, type Options } from "../option.ts";
import { describeReason, NEXT_EXECUTION, NEXT_WORKER, needRun, RUN_HELP } from "../runs.ts";
import { quoted, safe, wrap } from "../terminal.ts";
import { formatTime } from "../units.ts";

interface RunVerb {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly does: string;
  readonly options?: Options;
  readonly next?: string;
  call(runs: Holdfast["runs"], run: Run, context: Context): Promise<Run>;
  /** Says what happened, for the user. */
  describe(run: Run, before: Run): string;
}

function runCommand({ name, summary, description, does, options = {}, next, call, describe }: RunVerb): Command {
  const flags = Object.entries(options).map(([option, { value }]) => ` [--${option} ${value ?? "N"}]`);
  return {
    name,
    summary,
    usage: [`runs ${name} RUN${flags.join("")}`],
    description: `${description} ${RUN_HELP}`,
    options,
    operands: [{ name: "RUN", need: "required" }],
    examples: [{ command: `holdfast runs ${name} run_qddb5fz3`, does }],
    ...(next === undefined ? {} : { next }),
    run: async (context) => {
      const holdfast = await context.open();
      const before = await needRun(holdfast, context.args.operand(0));
      const run = await call(holdfast.runs, before, context);
      await context.output.answer(run, () => wrap(safe`run ${run.id} ${describe(run, before)}`, context.output.width));
      return undefined;
    },
  };
}

export const cancel = runCommand({
  name: "cancel",
  summary: "end a run",
  description:
    "Ends a run. A run without a worker ends at once; otherwise the worker sees the request at its next heartbeat, and a " +
    "tool that listens to its signal stops then. Effects that happened stay.",
  does: "end the run",
  call: (runs, { id }) => runs.cancel(id),
  describe: ({ status }) =>
    status === "cancelled" ? "is cancelled" : "will end: its worker sees the request at its next heartbeat",
  next: "holdfast runs retry RUN retries it; holdfast runs fork RUN continues from one of its iterations.",
});

const MINUTES = RUN_VERBS.pause.params[1].schema;

export const pause = runCommand({
  name: "pause",
  summary: "pause a run for some minutes",
  description: "Pauses a run. A run that is executing pauses when its iteration ends; a pause survives every crash.",
  does: "pause the run for the default time",
  options: { minutes: { ...numberOption(MINUTES), summary: `how many minutes (default ${MINUTES.fallback})` } },
  call: (runs, { id }, { args }) => runs.pause(id, args.number("minutes")),
  describe: ({ status, pausedUntil, pauseRequested }) => {
    if (status === "paused") return `is paused until ${formatTime(pausedUntil ?? 0)}`;
    return `pauses when its iteration ends, until ${formatTime(pauseRequested ?? 0)}`;
  },
  next: "holdfast runs unpause RUN continues it earlier.",
});

export const unpause = runCommand({
  name: "unpause",
  summary: "continue a run that is paused or held",
  description:
    "Ends a pause early, also a sleep of the agent. An imported run is held, because it may " +
    "still be executed in the store it came from: unpause lets it continue here, with its children.",
  does: "continue the run",
  call: (runs, { id }) => runs.unpause(id),
  describe: (run, { held }) => (run.owner === null || held ? NEXT_EXECUTION : "does not pause"),
  next: NEXT_WORKER,
});

export const signal: Command = {
  name: "signal",
  summary: "deliver a signal to a run",
  usage: ["runs signal RUN NAME [JSON]"],
  description:
    "Delivers a signal to a run: the result of its waitFor(NAME). A signal that comes before the run waits for it is kept. Each signal " +
    `is used once. JSON is the payload (null if not given); - reads it from standard input. ${RUN_HELP}`,
  options: {},
  operands: [
    { name: "RUN", need: "required" },
    { name: "NAME", need: "required" },
    { name: "JSON", need: "optional" },
  ],
  examples: [{ command: `holdfast runs signal run_qddb5fz3 reply '{"text": "yes"}'`, does: "the answer it waits for" }],
  next: NEXT_WORKER,
  run: async (context) => {
    const { args, io, output } = context;
    const [, , text] = args.operands;
    const payload = text === undefined ? null : readJson(await readTextOperand(text, io), "the signal");
    const holdfast = await context.open();
    const before = await needRun(holdfast, args.operand(0));
    const run = await holdfast.runs.signal(before.id, args.operand(1), payload);
    const woken = before.status === "waiting" && run.status === "running";
    const now = woken ? NEXT_EXECUTION : `keeps ${quoted(args.operand(1))}: ${whySignalWaits(run)}`;
    await output.answer(run, () => wrap(safe`run ${run.id} ${now}`, output.width));
    return undefined;
  },
};

/** Why the run does not use the signal yet. */
function whySignalWaits(run: Run): string {
  const why = describeReason(run);
  if (run.status === "waiting") return `it waits for ${why}`;
  return `it is ${run.status}${why === "" ? "" : ` (${why})`}`;
}

export const rm: Command = {
  name: "rm",
  aliases: ["delete"],
  summary: "erase the payloads of a run",
  usage: ["runs rm RUN [--yes]"],
  description:
    "Erases the input, results, states and signals of an ended run, for good. Its messages stay in the session, " +
    `and the log still shows that the run existed. The command asks first. ${RUN_HELP}`,
  options: { yes: YES_OPTION },
  operands: [{ name: "RUN", need: "required" }],
  examples: [
    { command: "holdfast runs rm run_qddb5fz3", does: "asks, then erases" },
    { command: "holdfast runs rm run_qddb5fz3 --yes", does: "for scripts" },
  ],
  run: async (context) => {
    const holdfast = await context.open();
    const { id, session } = await needRun(holdfast, context.args.operand(0));
    await confirm(context, `This erases the payloads of run ${id} of session ${session} for good.`);
    if (!(await holdfast.runs.delete(id))) {
      throw new HoldfastError("NotFound", `run "${id}" was erased by another process meanwhile`);
    }
    await context.output.answer({ run: id, session, erased: true }, () => [safe`erased run ${id}`]);
    return undefined;
  },
};
