// holdfast runs recover: frees runs whose worker is gone, and prints where they continue.
import type { Recovery, Runs } from "../../contracts/runs.ts";
import type { Step } from "../../contracts/steps.ts";
import type { Command, Context } from "../command-line.ts";
import { EXIT } from "../exit.ts";
import { UsageError } from "../failure.ts";
import { NEXT_WORKER, needRun, RUN_HELP, shortNames, stepName } from "../runs.ts";
import { type Column, facts, ID, table } from "../table.ts";
import { formatSpan, plural } from "../units.ts";

export const recover: Command = {
  name: "recover",
  summary: "free runs whose worker is gone, and print where they continue",
  usage: ["runs recover RUN", "runs recover --all"],
  description:
    "Watches a run for the length of its lease. If its worker sends no heartbeat, recover verifies the log and frees the run " +
    "for the next worker. It prints the iteration that the run continues with, the steps whose results are reused, the " +
    "steps in doubt, and whether a person must decide about them. Workers do the same without being asked; use this command to " +
    `inspect a run. A run with a live worker is refused (exit 4), and --all skips it; with --all, a run whose log is damaged is ` +
    `reported and does not stop the others (exit 5). ${RUN_HELP}`,
  options: { all: { type: "flag", summary: "every run whose worker is gone" } },
  operands: [{ name: "RUN", need: "optional" }],
  examples: [
    { command: "holdfast runs recover run_qddb5fz3", does: "one run" },
    { command: "holdfast runs recover --all", does: "after a machine died" },
  ],
  next: NEXT_WORKER,
  run: async (context) => {
    const { args, output } = context;
    const [named] = args.operands;
    if ((named === undefined) !== args.flag("all")) throw new UsageError("name a RUN, or pass --all");
    const holdfast = await context.open();
    if (named !== undefined) {
      const run = await needRun(holdfast, named);
      if (run.owner !== null) await output.progress(`watching its lease for ${formatSpan(run.leaseMs)} …`);
      const recovery = await holdfast.runs.recover(run.id);
      await output.clearProgress();
      await output.answer(recovery, () => lines(recovery, context));
      return undefined;
    }
    await output.progress("watching leases …");
    const found = await holdfast.runs.recoverAll();
    await output.clearProgress();
    const nameOf = output.interactive ? shortNames(found.map(({ run }) => run.id)) : (id: string) => id;
    await output.answer({ recovered: found }, () =>
      found.length === 0 ? ["no run whose worker is gone"] : table(columns(nameOf), found, output.frame),
    );
    if (found.some((one) => "needsPerson" in one && one.needsPerson)) {
      await output.note(
        "a worker (`holdfast worker --agents FILE`) will ask a person when it claims such a run; " +
          "`holdfast runs pending` then lists the question",
      );
    }
    return found.some((one) => "error" in one) ? EXIT.damage : undefined;
  },
};

function lines({ run, resumeIteration, cached, inDoubt, asked, needsPerson }: Recovery, { output }: Context): string[] {
  return facts(
    [
      ["run", run.id],
      ["session", run.session],
      ["continues with", `iteration ${resumeIteration}`],
      ["known results", listSteps(cached, "none")],
      ["in doubt", listSteps(inDoubt, "nothing")],
      ["approval", listSteps(asked, "")],
      [
        "a person",
        needsPerson
          ? `is asked when a worker claims the run; ${output.commandLine("runs pending")} then lists the question`
          : "is not needed",
      ],
    ],
    output.frame,
  );
}

/** At most so many steps are listed. */
const MOST = 12;

function listSteps(steps: readonly Step[], none: string): string {
  const more = steps.length > MOST ? [`and ${steps.length - MOST} more`] : [];
  return steps.length === 0 ? none : [...steps.slice(0, MOST).map(nameOf), ...more].join(", ");
}

function nameOf(step: Step): string {
  return `${stepName(step)} (${step.path})`;
}

const columns = (
  nameOf: (id: string) => string,
): readonly Column<Awaited<ReturnType<Runs["recoverAll"]>>[number]>[] => [
  { title: "RUN", cell: ({ run }) => nameOf(run.id), ...ID, colour: (text, _, style) => style.name(text) },
  { title: "SESSION", cell: ({ run }) => run.session, shrink: 2 },
  { title: "CONTINUES", cell: (one) => ("error" in one ? "" : `iteration ${one.resumeIteration}`) },
  { title: "KNOWN", cell: (one) => ("error" in one ? "" : plural(one.cached.length, "step")) },
  {
    title: "IN DOUBT",
    cell: (one) => ("error" in one ? "" : one.inDoubt.map(({ name }) => name).join(" ")),
    shrink: 3,
  },
  { title: "PERSON", cell: (one) => ("error" in one || !one.needsPerson ? "" : "will be asked"), keep: true },
  {
    title: "CANNOT CONTINUE",
    cell: (one) => ("error" in one ? one.error.message : ""),
    keep: true,
    wrap: true,
    shrink: 4,
    min: 16,
    colour: (text, _, style) => style.bad(text),
  },
];
