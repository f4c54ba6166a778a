// holdfast runs: what agents do, step by step, and what people can do about it.
import { LIMITS } from "../../contracts/limits.ts";
import type { Run, RunFilter } from "../../contracts/runs.ts";
import type { Command, CommandGroup, Context } from "../command.ts";
import { paintStatus, RUN_STATUSES, statusOf, whyOf } from "../runs.ts";
import { type Column, ID, table } from "../table.ts";
import { formatAge, formatCount } from "../units.ts";
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
  usage: ["runs [ls] [--status S] [--session S] [--agent A] [--limit N] [--cursor C]"],
  description:
    "Lists runs, newest first, a page at a time. ITER is how many iterations are complete; WHY is what a run waits for, " +
    `until when it is paused, what it failed of, or the limit it stopped at. The statuses are ${RUN_STATUSES.join(", ")}.`,
  options: {
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
    const page = await holdfast.runs.list(filterOf(context));
    const now = Date.now();
    await context.output.answer(page, () => {
      return page.items.length === 0 ? ["no runs"] : table(columns(now), page.items, context.output.frame);
    });
    if (page.next !== null) await context.output.note(`more: add --cursor '${page.next}'`);
    return undefined;
  },
};

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

const columns = (now: number): readonly Column<Run>[] => [
  { title: "RUN", cell: ({ id }) => id, ...ID, colour: (text, _, style) => style.name(text) },
  { title: "STATUS", cell: ({ status }) => status, keep: true, colour: paintStatus },
  { title: "SESSION", cell: ({ session }) => session, shrink: 2 },
  { title: "ITER", align: "right", cell: ({ iteration }) => formatCount(iteration) },
  { title: "CHANGED", cell: ({ updatedAt }) => formatAge(updatedAt, now) },
  { title: "WHY", cell: whyOf, shrink: 3, min: 12 },
  { title: "AGENT", cell: ({ agent }) => agent, shrink: 4, min: 0 },
];

const ALL: readonly Command[] = [
  ...[ls, start, show, pending, approve, deny, signal, pause, unpause, cancel],
  ...[retry, fork, rewind, recover, rm],
];

export const runs: CommandGroup = {
  name: "runs",
  summary: "list runs, draw their steps, answer their questions, go on from one",
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
