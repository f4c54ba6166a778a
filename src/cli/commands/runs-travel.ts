// holdfast runs retry, fork, rewind: continues a run where it ended, or from one of its iterations.
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Run } from "../../contracts/run-record.ts";
import type { Runs } from "../../contracts/runs.ts";
import type { Step } from "../../contracts/steps.ts";
import type { Arguments, Command, Context } from "../command-line.ts";
import { confirm, YES_OPTION } from "../confirm.ts";
import { UsageError } from "../failure.ts";
import { readJson, readObject } from "../input.ts";
import type { Output } from "../output.ts";
import { findRepeatedSteps } from "../run-chain.ts";
import { needRun, RUN_HELP, stepName } from "../runs.ts";
import { safe, wrap, wrapWhole } from "../terminal.ts";

const LIMITS_OPTION = {
  limits: {
    type: "text",
    value: "JSON",
    summary: 'new limits, such as \'{"iterations": 100, "costUsd": 5}\'; limits not named stay',
  },
} as const;

const STATE_OPTION = {
  state: { type: "text", value: "JSON", summary: "continue with this state instead of the iteration's own" },
} as const;

function readLimits(args: Arguments): Pick<NonNullable<Parameters<Runs["retry"]>[1]>, "limits"> {
  const limits = args.text("limits");
  return limits === undefined ? {} : { limits: readObject(limits, "--limits") };
}

/** The given state replaces the whole state. */
function readState(args: Arguments): Pick<NonNullable<Parameters<Runs["fork"]>[1]>, "state"> {
  const state = args.text("state");
  return state === undefined ? {} : { state: readJson(state, "--state") };
}

/** A program that is run again executes the old id, and gets the old result. */
const NEXT_OF_NEW_RUN =
  "The new run has an id of its own: holdfast worker --agents FILE continues it, or a program with runs.resume(agent, ID).";

const YES = { yes: YES_OPTION } as const;
const REPEATS = "Non-idempotent tools of later iterations repeat their effects: the command first lists them and asks.";

/** Asks for confirmation if effects would be repeated; returns the repeated steps if the answer is yes. */
async function confirmRepeats(context: Context, holdfast: Holdfast, run: Run, iteration: number) {
  const steps = await findRepeatedSteps(holdfast, run, iteration);
  if (steps.length === 0) return steps;
  const shown = steps.slice(0, MOST_STEPS).map(describeStep);
  const more = steps.length > MOST_STEPS ? [`and ${steps.length - MOST_STEPS} more`] : [];
  const question = `Continuing from there repeats: ${[...shown, ...more].join(", ")}.`;
  if (context.args.flag("yes")) await context.output.note(question);
  await confirm(context, question, "nothing was changed");
  return steps;
}

/** At most so many steps are listed; `runs show` lists all of them. */
const MOST_STEPS = 12;

function describeStep(step: Step): string {
  const doubt = step.status === "started" ? ", which may have happened" : "";
  return safe`${stepName(step)} (${step.iteration}/${step.path}${doubt})`;
}

async function answerWithRun(
  { output }: Context,
  run: Run,
  from: string,
  repeats: readonly Step[],
): Promise<undefined> {
  const start = run.iteration === 0 ? "from the beginning" : `after iteration ${run.iteration}`;
  await output.answer({ ...run, repeats }, () => [
    ...wrap(safe`run ${run.id} in session ${run.session} continues ${from} ${start}`, output.width),
    ...continueLines(run, output),
  ]);
  return undefined;
}

/** Says how to continue the new run by its own id: execute() with the old run's id would return the old result. */
function continueLines({ id }: Run, output: Output): string[] {
  const call = safe`runs.resume(agent, ${JSON.stringify(id)})`;
  return wrapWhole(
    output.withCommands(`continue it in a program with ${call}, or with \`holdfast worker --agents FILE\``),
    output.width,
  );
}

/** Returns the step whose failure ended the run, which retry executes again; null if something else ended the run. */
async function findFailedStep(holdfast: Holdfast, { id, session, iteration, stopReason }: Run): Promise<string | null> {
  if (stopReason !== "failed") return null;
  const steps = await holdfast.runs.steps(id, { iteration: iteration + 1 });
  const at = await findFailurePath(holdfast, session, id);
  const last =
    at === null
      ? steps.toSorted((a, b) => (a.endedAt ?? a.startedAt) - (b.endedAt ?? b.startedAt)).at(-1)
      : steps.findLast(({ path }) => `${iteration + 1}/${path}` === at);
  return last?.status === "failed" ? stepName(last) : null;
}

/** Reads the path of the failed step from the event that ended the run; null if the event names none. */
async function findFailurePath(holdfast: Holdfast, session: string, run: string): Promise<string | null> {
  for (let after = 0; ; ) {
    const ends = await holdfast.log.read(session, { after, types: ["run/failed"] });
    const end = ends.find((event) => event.run === run);
    if (end !== undefined) return typeof end.data.at === "string" ? end.data.at : null;
    const last = ends.at(-1);
    if (last === undefined) return null;
    after = last.seq;
  }
}

export const retry: Command = {
  name: "retry",
  summary: "retry a failed run from the step that failed",
  usage: ["runs retry RUN [--limits JSON]"],
  description:
    "Starts a run in the same session that continues from the failed step; finished steps are not " +
    "repeated. The failed step is executed again at once under a new key, also if it failed because a person denied it. " +
    `A run that stopped at a limit needs a higher limit: --limits. ${RUN_HELP}`,
  options: LIMITS_OPTION,
  operands: [{ name: "RUN", need: "required" }],
  examples: [
    { command: "holdfast runs retry run_qddb5fz3", does: "try again after fixing the cause" },
    {
      command: `holdfast runs retry run_qddb5fz3 --limits '{"iterations": 200}'`,
      does: "try again with a higher limit",
    },
  ],
  next: NEXT_OF_NEW_RUN,
  run: async (context) => {
    const holdfast = await context.open();
    const failed = await needRun(holdfast, context.args.operand(0));
    const run = await holdfast.runs.retry(failed.id, readLimits(context.args));
    const step = await findFailedStep(holdfast, failed);
    const start = `in iteration ${run.iteration + 1}${step === null ? "" : `, at ${step}`}`;
    const text = safe`run ${run.id} in session ${run.session} retries ${failed.id}: it continues ${start}`;
    await context.output.answer(run, () => [
      ...wrap(`${text}; finished steps are not repeated`, context.output.width),
      ...continueLines(run, context.output),
    ]);
    return undefined;
  },
};

export const fork: Command = {
  name: "fork",
  summary: "continue from an iteration of a run, in a new session",
  usage: ["runs fork RUN [--iteration N] [--state JSON] [--session NEW-ID] [--limits JSON] [--yes]"],
  description:
    "Creates a session with everything up to one of the run's iterations, and starts a run in it that continues from there. " +
    `The original run and its session do not change. ${REPEATS} ${RUN_HELP}`,
  options: {
    iteration: {
      type: "number",
      summary: "continue after this iteration; 0 is from the beginning (default: the last complete one)",
    },
    ...STATE_OPTION,
    session: { type: "text", value: "ID", summary: "the new session's id (default: a generated id)" },
    ...LIMITS_OPTION,
    ...YES,
  },
  operands: [{ name: "RUN", need: "required" }],
  examples: [
    { command: "holdfast runs fork run_qddb5fz3 --iteration 4", does: "try another way after the fourth iteration" },
    { command: `holdfast runs fork run_qddb5fz3 --state '{"city": "Porto"}'`, does: "continue with another state" },
  ],
  next: NEXT_OF_NEW_RUN,
  run: async (context) => {
    const { args } = context;
    const holdfast = await context.open();
    const run = await needRun(holdfast, args.operand(0));
    const [iteration, session] = [args.number("iteration"), args.text("session")];
    const repeats = await confirmRepeats(context, holdfast, run, iteration ?? run.iteration);
    const input: NonNullable<Parameters<Runs["fork"]>[1]> = {
      ...readState(args),
      ...readLimits(args),
      ...(iteration === undefined ? {} : { iteration }),
      ...(session === undefined ? {} : { session }),
    };
    return answerWithRun(context, await holdfast.runs.fork(run.id, input), run.id, repeats);
  },
};

export const rewind: Command = {
  name: "rewind",
  summary: "move a session back to an iteration of a run, and continue from there",
  usage: ["runs rewind RUN --iteration N [--state JSON] [--limits JSON] [--yes]"],
  description:
    "Moves the run's session back to its state after one of the run's iterations, or before the run began, and starts a " +
    `run that continues from there. Nothing is deleted: older heads still show later events. rewind ends a waiting run of the session. ` +
    `${REPEATS} ${RUN_HELP}`,
  options: {
    iteration: { type: "number", summary: "continue after this iteration; 0 is before the run began" },
    ...STATE_OPTION,
    ...LIMITS_OPTION,
    ...YES,
  },
  operands: [{ name: "RUN", need: "required" }],
  examples: [
    { command: "holdfast runs rewind run_qddb5fz3 --iteration 4", does: "continue after the fourth iteration" },
    { command: "holdfast runs rewind run_qddb5fz3 --iteration 0", does: "repeat the whole run from its beginning" },
  ],
  next: NEXT_OF_NEW_RUN,
  run: async (context) => {
    const { args } = context;
    const iteration = args.number("iteration");
    if (iteration === undefined) throw new UsageError("name the iteration to go back to with --iteration N");
    const holdfast = await context.open();
    const run = await needRun(holdfast, args.operand(0));
    const repeats = await confirmRepeats(context, holdfast, run, iteration);
    const input: Parameters<Runs["rewind"]>[1] = { iteration, ...readState(args), ...readLimits(args) };
    return answerWithRun(context, await holdfast.runs.rewind(run.id, input), run.id, repeats);
  },
};
