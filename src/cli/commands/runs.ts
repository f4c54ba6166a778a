// holdfast runs: the group of all commands about runs, and the list of runs.
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Page } from "../../contracts/json.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { Run } from "../../contracts/run-record.ts";
import type { RunFilter } from "../../contracts/runs.ts";
import { RUN_VERBS } from "../../contracts/verbs/runs.ts";
import type { Command, CommandGroup, Context } from "../command-line.ts";
import { choiceOption, pageOptions } from "../option.ts";
import { describeReason, paintStatus, type RunWithIteration, shortNames, withCurrentIteration } from "../runs.ts";
import { type Column, ID, table } from "../table.ts";
import { formatAge, formatCount, plural } from "../units.ts";
import { approve, deny, pending } from "./runs-people.ts";
import { recover } from "./runs-recover.ts";
import { show } from "./runs-show.ts";
import { start } from "./runs-start.ts";
import { fork, retry, rewind } from "./runs-travel.ts";
import { cancel, pause, rm, signal, unpause } from "./runs-verbs.ts";

const STATUS = RUN_VERBS.list.params[0].schema.fields.status;

const ls: Command = {
  name: "ls",
  aliases: ["list"],
  summary: "list runs, newest first",
  usage: ["runs [ls] [--children] [--status S] [--session S] [--agent A] [--limit N] [--cursor C]"],
  description:
    "Lists runs, newest first, a page at a time. ITER is the iteration that a run is in, or ended in; WHY is what it waits " +
    "for, when its pause ends, why it failed, or the limit it stopped at. Spawned runs are left out " +
    "unless you pass --children, --status, --session or --agent. A terminal shows only the beginning of generated ids, which is " +
    `enough to name the run; --json has whole ids. The statuses are ${STATUS.of.join(", ")}.`,
  options: {
    children: { type: "flag", summary: "also list spawned runs" },
    status: { ...choiceOption(STATUS), value: "STATUS", summary: "only runs in this status" },
    session: { type: "text", value: "ID", summary: "only runs of this session" },
    agent: { type: "text", value: "ID", summary: "only runs of this agent" },
    ...pageOptions(50),
  },
  operands: [],
  examples: [
    { command: "holdfast runs", does: "the newest 50" },
    { command: "holdfast runs --status waiting", does: "runs that wait for a person, a signal or another run" },
    { command: "holdfast runs --json | jq -r '.items[].id'", does: "ids for a script" },
  ],
  next: "holdfast runs show RUN draws its steps; holdfast runs pending lists the questions to people.",
  run: async (context) => {
    const holdfast = await context.open();
    const { items, next, leftOut } = await listRuns(holdfast, readFilter(context), context);
    const { output } = context;
    const now = holdfast.clock().now;
    const nameOf = output.interactive ? shortNames(items.flatMap(namesIn)) : (id: string) => id;
    await output.answer({ items, next }, () => {
      return items.length === 0 ? ["no runs"] : table(columns(now, nameOf), items, output.frame);
    });
    if (leftOut > 0) await output.note(`${plural(leftOut, "spawned run")} left out; --children lists all`);
    await output.noteNextPage(next);
    return undefined;
  },
};

function namesIn({ id, parent, waitsFor }: Run): readonly string[] {
  const waited = waitsFor.flatMap((wait) => (wait.kind === "run" ? [wait.run] : []));
  return [id, ...(parent === null ? [] : [parent]), ...waited];
}

interface RunPage extends Page<RunWithIteration> {
  readonly leftOut: number;
}

/** At most so many pages are read to fill one page of the answer. */
const MOST_PAGES = 50;

/** Leaves out spawned runs unless an option includes them. */
async function listRuns(holdfast: Holdfast, filter: RunFilter, { args }: Context): Promise<RunPage> {
  const all = args.flag("children") || ["status", "session", "agent"].some((name) => args.text(name) !== undefined);
  const most = filter.limit ?? LIMITS.page;
  const found: Run[] = [];
  let leftOut = 0;
  let next = filter.cursor ?? null;
  for (let page = 0; page === 0 || (next !== null && found.length < most && page < MOST_PAGES); page++) {
    const position = next === null ? {} : { cursor: next };
    // Read only as many as are missing, because the next page begins after the last run that was read.
    const read = await holdfast.runs.list({ ...filter, ...position, limit: most - found.length });
    const shown = read.items.filter(({ parent }) => all || parent === null);
    found.push(...shown);
    leftOut += read.items.length - shown.length;
    next = read.next;
  }
  const items: RunWithIteration[] = [];
  for (const run of found) items.push(await withCurrentIteration(holdfast, run));
  return { items, next, leftOut };
}

function readFilter({ args }: Context): RunFilter {
  const [status, session] = [args.choice("status", STATUS.of), args.text("session")];
  const [agent, cursor] = [args.text("agent"), args.text("cursor")];
  return {
    limit: args.number("limit") ?? 50,
    ...(status === undefined ? {} : { status }),
    ...(session === undefined ? {} : { session }),
    ...(agent === undefined ? {} : { agent }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

const columns = (now: number, nameOf: (id: string) => string): readonly Column<RunWithIteration>[] => [
  { title: "RUN", cell: ({ id }) => nameOf(id), ...ID, colour: (text, _, style) => style.name(text) },
  { title: "STATUS", cell: ({ status }) => status, keep: true, colour: paintStatus },
  // A spawned run for which the parent chose no session has its own, with the run's id.
  { title: "SESSION", cell: ({ id, session }) => (session === id ? nameOf(id) : session), shrink: 3 },
  { title: "ITER", align: "right", cell: ({ currentIteration }) => formatCount(currentIteration) },
  { title: "CHANGED", cell: ({ updatedAt }) => formatAge(updatedAt, now) },
  { title: "WHY", cell: (run) => describeReason(run, { nameOf, now }), shrink: 4, min: 18, keep: true },
  { title: "AGENT", cell: ({ agent }) => agent, shrink: 2 },
  { title: "CHILD OF", cell: ({ parent }) => (parent === null ? "" : nameOf(parent)) },
];

const ALL: readonly Command[] = [
  ls,
  start,
  show,
  pending,
  approve,
  deny,
  signal,
  pause,
  unpause,
  cancel,
  retry,
  fork,
  rewind,
  recover,
  rm,
];

export const runs: CommandGroup = {
  name: "runs",
  summary: "list runs, draw their steps, answer questions, continue them",
  usage: ALL.flatMap(({ usage }) => usage),
  description:
    "A run is one durable execution of an agent in a session. It has iterations, each of which ends with a checkpoint, and steps, which " +
    "the log records before anything relies on them. If its worker dies, another worker continues it from its last " +
    "checkpoint; finished steps are not repeated, and if the outcome of a step is unknown, a person decides.",
  commands: ALL,
  fallback: "ls",
  examples: [...ls.examples.slice(0, 2), ...show.examples.slice(0, 1), ...pending.examples.slice(0, 1)],
  next: "holdfast worker --agents FILE executes runs; holdfast demo kills a run and lets it continue.",
};
