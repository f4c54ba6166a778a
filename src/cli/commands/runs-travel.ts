// holdfast runs retry, fork, rewind: continue a run where it ended, or from one of its iterations.

import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Run } from "../../contracts/run-record.ts";
import type { Runs } from "../../contracts/runs.ts";

import type { Step } from "../../contracts/steps.ts";
import type { Arguments, Command, Context } from "../command.ts";
import { confirm, YES_OPTION } from "../confirm.ts";
import { UsageError } from "../failure.ts";
import { readJson, readObject } from "../input.ts";
import type { Output } from "../output.ts";
import { findRepeatedSteps } from "../run-chain.ts";
import { NEXT_WORKER, needRun, RUN_HELP, stepName } from "../runs.ts";
import { safe, wrap, wrapWhole } from "../terminal.ts";

const LIMITS_OPTION = {
  limits: {
    type: "text",
    value: "JSON",
    summary: 'other limits, such as \'{"iterations": 100, "costUsd": 5}\'; those not named stay',
  },
} as const;

const STATE_OPTION = {
  state: { type: "text", value: "JSON", summary: "continue with this state instead of the one it had there" },
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

const YES = { yes: YES_OPTION } as const;
const REPEATS =
  "Tools of later iterations that are not idempotent repeat their effects: the command lists them first, and asks.";

/** Asks before effects are repeated; returns the steps if the answer is yes. */
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

/** More of them say no more: `runs show` has all. */
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
  const place = run.iteration === 0 ? "from the beginning" : `after iteration ${run.iteration}`;
  await output.answer({ ...run, repeats }, () => [
    ...wrap(safe`run ${run.id} in session ${run.session} continues ${from} ${place}`, output.width),
    ...continueLines(run, output),
  ]);
  return undefined;
}

/** execute() with the id of a completed run returns its result: the new run is continued by its own id. */
function continueLines({ id }: Run, output: Output): string[] {
  const call = safe`runs.resume(agent, ${JSON.stringify(id)})`;
  return wrapWhole(
    output.withCommands(`continue it in a program with ${call}, or with \`holdfast worker --agents FILE\``),
    output.width,
  );
}

/** The step whose failure ended the run, and that is tried again; null: something else ended it. */
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

/** The path of the failed step in the event that ended the run; null: the event names none, and the last step counts. */
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
  summary: "retry a run that failed, from the step it failed at",
  usage: ["runs retry RUN [--limits JSON]"],
  description:
    "Begins a new run in the same session that continues from the step the run failed at; steps that are done are not " +
    "repeated. The failed step is executed again under a new key, at once, also if it failed because a person denied it. " +
    `A run that stopped at a limit needs a higher limit: --limits. ${RUN_HELP}`,
  options: LIMITS_OPTION,
  operands: [{ name: "RUN", need: "one" }],
  examples: [
    { command: "holdfast runs retry run_qddb5fz3", does: "what made it fail is mended: try again" },
    { command: `holdfast runs retry run_qddb5fz3 --limits '{"iterations": 200}'`, does: "it may take longer" },
  ],
  next: NEXT_WORKER,
  run: async (context) => {
    const holdfast = await context.open();
    const failed = await needRun(holdfast, context.args.operand(0));
    const run = await holdfast.runs.retry(failed.id, readLimits(context.args));
    const step = await findFailedStep(holdfast, failed);
    const place = `in iteration ${run.iteration + 1}${step === null ? "" : `, at ${step}`}`;
    const text = safe`run ${run.id} in session ${run.session} retries ${failed.id}: it continues ${place}`;
    await context.output.answer(run, () => [
      ...wrap(`${text}; steps that are done are not repeated`, context.output.width),
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
    "Makes a new session that has everything up to one of the run's iterations, and a run in it that continues from there. " +
    `The run and its session stay as they are. ${REPEATS} ${RUN_HELP}`,
  options: {
    iteration: {
      type: "number",
      summary: "continue after this one; 0 is from the beginning (default: the last complete)",
    },
    ...STATE_OPTION,
    session: { type: "text", value: "ID", summary: "the new session's id (default: one is made up)" },
    ...LIMITS_OPTION,
    ...YES,
  },
  operands: [{ name: "RUN", need: "one" }],
  examples: [
    { command: "holdfast runs fork run_qddb5fz3 --iteration 4", does: "what if, after the fourth iteration?" },
    { command: `holdfast runs fork run_qddb5fz3 --state '{"city": "Porto"}'`, does: "with another state" },
  ],
  next: NEXT_WORKER,
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
  summary: "take a session back to an iteration of a run, and continue from there",
  usage: ["runs rewind RUN --iteration N [--state JSON] [--limits JSON] [--yes]"],
  description:
    "Takes the run's session back to where it was after one of the run's iterations, or before the run began, and begins a " +
    `run that continues from there. Nothing is deleted: older heads still show what came later. A waiting run of the session is ended. ` +
    `${REPEATS} ${RUN_HELP}`,
  options: {
    iteration: { type: "number", summary: "continue after this one; 0 is from before the run began" },
    ...STATE_OPTION,
    ...LIMITS_OPTION,
    ...YES,
  },
  operands: [{ name: "RUN", need: "one" }],
  examples: [
    { command: "holdfast runs rewind run_qddb5fz3 --iteration 4", does: "as if nothing came after it" },
    { command: "holdfast runs rewind run_qddb5fz3 --iteration 0", does: "the whole run again, from its beginning" },
  ],
  next: NEXT_WORKER,
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
