// holdfast runs signal, pause, unpause, cancel, rm: what people tell a run.
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Run } from "../../contracts/run-record.ts";
import type { Command, Context, Options } from "../command.ts";
import { confirm, YES_OPTION } from "../confirm.ts";
import { readJson, readTextOperand } from "../input.ts";
import { GOES_ON, NEXT_WORKER, needRun, RUN_HELP, whyOf } from "../runs.ts";
import { quoted, safe, wrap } from "../terminal.ts";
import { formatTime } from "../units.ts";

interface Verb {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly does: string;
  readonly options?: Options;
  readonly next?: string;
  tell(runs: Holdfast["runs"], run: Run, context: Context): Promise<Run>;
  /** In the words of who asked for it. */
  say(run: Run, before: Run): string;
}

function verb({ name, summary, description, does, options = {}, next, tell, say }: Verb): Command {
  const flags = Object.entries(options).map(([option, { value }]) => ` [--${option} ${value ?? "N"}]`);
  return {
    name,
    summary,
    usage: [`runs ${name} RUN${flags.join("")}`],
    description: `${description} ${RUN_HELP}`,
    options,
    operands: [{ name: "RUN", need: "one" }],
    examples: [{ command: `holdfast runs ${name} run_qddb5fz3`, does }],
    ...(next === undefined ? {} : { next }),
    run: async (context) => {
      const holdfast = await context.open();
      const before = await needRun(holdfast, context.args.operand(0));
      const run = await tell(holdfast.runs, before, context);
      await context.output.answer(run, () => wrap(safe`run ${run.id} ${say(run, before)}`, context.output.width));
      return undefined;
    },
  };
}

export const cancel = verb({
  name: "cancel",
  summary: "end a run",
  description:
    "Ends a run. One that nobody works on ends at once; of one at work its worker is told, at its next sign of life: a " +
    "tool that listens to its signal stops then. What was done stays done.",
  does: "it does nothing more",
  tell: (runs, { id }) => runs.cancel(id),
  say: ({ status }) => (status === "cancelled" ? "is cancelled" : "is told to end; its worker does so"),
  next: "holdfast runs retry RUN takes it up again; holdfast runs fork RUN goes on from one of its iterations.",
});

export const pause = verb({
  name: "pause",
  summary: "let a run rest for some minutes",
  description: "Lets a run rest. One at work pauses when its iteration ends; a pause survives every crash.",
  does: "for two minutes",
  options: { minutes: { type: "number", min: 1, max: 60, summary: "for so long (default 2)" } },
  tell: (runs, { id }, { args }) => runs.pause(id, args.number("minutes")),
  say: ({ status, pausedUntil, pauseRequested }) => {
    if (status === "paused") return `is paused until ${formatTime(pausedUntil ?? 0)}`;
    return `pauses when its iteration ends, until ${formatTime(pauseRequested ?? 0)}`;
  },
  next: "holdfast runs unpause RUN wakes it before its time.",
});

export const unpause = verb({
  name: "unpause",
  summary: "wake a run that is paused or held",
  description:
    "Ends a pause before its time, also a sleep of the agent's own. A run that came with an archive is held, because it may " +
    "still be at work where it came from: this lets it go on here, with its children.",
  does: "it goes on",
  tell: (runs, { id }) => runs.unpause(id),
  say: (run, { held }) => (run.owner === null || held ? GOES_ON : "does not pause"),
  next: NEXT_WORKER,
});

export const signal: Command = {
  name: "signal",
  summary: "hand a run what it waits for",
  usage: ["runs signal RUN NAME [JSON]"],
  description:
    "Hands a signal to a run: what its waitFor(NAME) gives. One that comes before the run waits for it is kept, and each " +
    `is taken once. JSON is what it carries (null when not given); - reads it from standard input. ${RUN_HELP}`,
  options: {},
  operands: [
    { name: "RUN", need: "one" },
    { name: "NAME", need: "one" },
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
    const now = woken ? GOES_ON : `keeps ${quoted(args.operand(1))}: ${whileOf(run)}`;
    await output.answer(run, () => wrap(safe`run ${run.id} ${now}`, output.width));
    return undefined;
  },
};

/** Why it does not take the signal yet. */
function whileOf(run: Run): string {
  const why = whyOf(run);
  if (run.status === "waiting") return `it waits for ${why}`;
  return `it is ${run.status}${why === "" ? "" : ` (${why})`}`;
}

export const rm: Command = {
  name: "rm",
  aliases: ["delete"],
  summary: "erase what a run carried",
  usage: ["runs rm RUN [--yes]"],
  description:
    "Erases a run that has ended: its input, results, states and signals, for good. Its messages stay in the session, " +
    `and that it was stays in the log. It asks first. ${RUN_HELP}`,
  options: { yes: YES_OPTION },
  operands: [{ name: "RUN", need: "one" }],
  examples: [
    { command: "holdfast runs rm run_qddb5fz3", does: "asks, then erases" },
    { command: "holdfast runs rm run_qddb5fz3 --yes", does: "for scripts" },
  ],
  run: async (context) => {
    const holdfast = await context.open();
    const { id, session } = await needRun(holdfast, context.args.operand(0));
    await confirm(context, `This erases what run ${id} of session ${session} carried, for good.`);
    if (!(await holdfast.runs.delete(id))) {
      throw new HoldfastError("NotFound", `run "${id}" was erased by someone else meanwhile`);
    }
    await context.output.answer({ run: id, session, erased: true }, () => [safe`erased run ${id}`]);
    return undefined;
  },
};
