// holdfast runs: what agents do, step by step, and what people can do about it.
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Page } from "../../contracts/json.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { Run } from "../../contracts/run-record.ts";
import type { RunFilter } from "../../contracts/runs.ts";
import type { Command, CommandGroup, Context } from "../command.ts";
import { type Placed, paintStatus, placed, RUN_STATUSES, shortNames, statusOf, whyOf } from "../runs.ts";
import { type Column, ID, table } from "../table.ts";
import { formatAge, formatCount, plural } from "../units.ts";
import { approve, deny, pending } from "./runs-people.ts";
import { recover } from "./runs-recover.ts";
import { show } from "./runs-show.ts";
import { start } from "./runs-start.ts";
import { fork, retry, rewind } from "./runs-travel.ts";
import { cancel, pause, rm, signal, unpause } from "./runs-verbs.ts";

const ls: Command = {
  name: "ls",
  aliases: ["list"],
  summary: "list runs, newest first",
  usage: ["runs [ls] [--children] [--status S] [--session S] [--agent A] [--limit N] [--cursor C]"],
  description:
    "Lists runs, newest first, a page at a time. ITER is the iteration a run is in, or ended in; WHY is what it waits " +
    "for, until when it is paused, what it failed of, or the limit it stopped at. Runs that others spawned are left out " +
    "unless --children or --status, --session, --agent asks for them. Of an id that was made up, a terminal is shown as much as " +
    `names the run; --json has all of it. The statuses are ${RUN_STATUSES.join(", ")}.`,
  options: {
    children: { type: "flag", summary: "also runs that others spawned" },
    status: { type: "text", value: "STATUS", summary: "only runs in this status" },
    session: { type: "text", value: "ID", summary: "only runs of this session" },
    agent: { type: "text", value: "ID", summary: "only runs of this agent" },
    limit: { type: "number", min: 1, max: LIMITS.page, summary: "at most so many (default 50)" },
    cursor: { type: "text", summary: "the page that begins here; printed below a page that is not the last" },
  },
  operands: [],
  examples: [
    { command: "holdfast runs", does: "the newest 50" },
    { command: "holdfast runs --status waiting", does: "those that wait for a person, a signal or another run" },
    { command: "holdfast runs --json | jq -r '.items[].id'", does: "ids for a script" },
  ],
  next: "holdfast runs show RUN draws what it did; holdfast runs pending lists what people are asked.",
  run: async (context) => {
    const holdfast = await context.open();
    const { items, next, leftOut } = await listed(holdfast, filterOf(context), context);
    const { output } = context;
    const now = holdfast.clock().now;
    const nameOf = output.interactive ? shortNames(items.flatMap(named)) : (id: string) => id;
    await output.answer({ items, next }, () => {
      return items.length === 0 ? ["no runs"] : table(columns(now, nameOf), items, output.frame);
    });
    if (leftOut > 0) await output.note(`without ${plural(leftOut, "run")} that others spawned; --children lists all`);
    if (next !== null) await output.note(`more: add --cursor '${next}'`);
    return undefined;
  },
};

function named({ id, parent, waitsFor }: Run): readonly string[] {
  const waited = waitsFor.flatMap((wait) => (wait.kind === "run" ? [wait.run] : []));
  return [id, ...(parent === null ? [] : [parent]), ...waited];
}

interface Listed extends Page<Placed> {
  readonly leftOut: number;
}

/** Nobody looks through more pages for one that shows something. */
const MOST_PAGES = 50;

/** Those that were spawned are passed over, unless something in particular is asked for. */
async function listed(holdfast: Holdfast, filter: RunFilter, { args }: Context): Promise<Listed> {
  const all = args.flag("children") || ["status", "session", "agent"].some((name) => args.text(name) !== undefined);
  const most = filter.limit ?? LIMITS.page;
  const found: Run[] = [];
  let leftOut = 0;
  let next = filter.cursor ?? null;
  for (let page = 0; page === 0 || (next !== null && found.length < most && page < MOST_PAGES); page++) {
    const place = next === null ? {} : { cursor: next };
    // No more than are missing: the next page begins behind the last that was read.
    const read = await holdfast.runs.list({ ...filter, ...place, limit: most - found.length });
    const shown = read.items.filter(({ parent }) => all || parent === null);
    found.push(...shown);
    leftOut += read.items.length - shown.length;
    next = read.next;
  }
  const items: Placed[] = [];
  for (const run of found) items.push(await placed(holdfast, run));
  return { items, next, leftOut };
}

function filterOf({ args }: Context): RunFilter {
  const [status, session] = [args.text("status"), args.text("session")];
  const [agent, cursor] = [args.text("agent"), args.text("cursor")];
  return {
    limit: args.number("limit") ?? 50,
    ...(status === undefined ? {} : { status: statusOf(status) }),
    ...(session === undefined ? {} : { session }),
    ...(agent === undefined ? {} : { agent }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

const columns = (now: number, nameOf: (id: string) => string): readonly Column<Placed>[] => [
  { title: "RUN", cell: ({ id }) => nameOf(id), ...ID, colour: (text, _, style) => style.name(text) },
  { title: "STATUS", cell: ({ status }) => status, keep: true, colour: paintStatus },
  // A child without a session of its parent's choice has one of its own, named as it is.
  { title: "SESSION", cell: ({ id, session }) => (session === id ? nameOf(id) : session), shrink: 3 },
  { title: "ITER", align: "right", cell: ({ currentIteration }) => formatCount(currentIteration) },
  { title: "CHANGED", cell: ({ updatedAt }) => formatAge(updatedAt, now) },
  { title: "WHY", cell: (run) => whyOf(run, { nameOf, now }), shrink: 4, min: 18, keep: true },
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
  summary: "list runs, draw their steps, answer questions, go on from one",
  usage: ALL.flatMap(({ usage }) => usage),
  description:
    "A run is one durable execution of an agent in a session: iterations, each ended by a checkpoint, made of steps that " +
    "are in the log before anything relies on them. A run whose worker dies goes on with another, from its last " +
    "checkpoint; what it had done is not done again, and what nobody knows the end of is asked of a person.",
  commands: ALL,
  fallback: "ls",
  examples: [...ls.examples.slice(0, 2), ...show.examples.slice(0, 1), ...pending.examples.slice(0, 1)],
  next: "holdfast worker --agents FILE works on them; holdfast demo shows one that is killed and goes on.",
};
