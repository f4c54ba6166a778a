// holdfast heads: the published points of a session.

import { LIMITS } from "../../contracts/limits.ts";
import type { Head } from "../../contracts/lineage.ts";
import type { Command, CommandGroup } from "../command.ts";
import { LOCATOR_HELP, locate, shortHead } from "../locate.ts";
import { type Column, table } from "../table.ts";
import { quoted } from "../terminal.ts";
import { formatAge, formatCount } from "../units.ts";

const ls: Command = {
  name: "ls",
  aliases: ["list", "show"],
  summary: "list a session's heads, oldest first",
  usage: ["heads [ls] SESSION[@HEAD] [--limit N] [--cursor C]"],
  description:
    "A head is a point of a session that was published: what was there at it can be read for ever. Lists all of them, " +
    "also aborted ones and those of other branches; the current one is marked. At a head, those that lead to it. " +
    LOCATOR_HELP,
  options: {
    limit: { type: "number", min: 1, max: LIMITS.page, summary: "at most so many (default 100)" },
    cursor: { type: "text", summary: "the page that begins here; printed below a page that is not the last" },
  },
  operands: [{ name: "SESSION", need: "one" }],
  examples: [
    { command: "holdfast heads chat-1", does: "its heads" },
    { command: "holdfast heads chat-1 --json | jq -r '.items[-1].id'", does: "the id of the newest, for a script" },
  ],
  next: "holdfast fork, resume and rewind go on from one; holdfast export --markdown SESSION@HEAD prints what was said.",
  run: async (context) => {
    const { args, output } = context;
    const holdfast = await context.open();
    const at = await locate(holdfast, args.operand(0));
    const { session } = at;
    const current = (await holdfast.sessions.get({ session }))?.head ?? null;
    const page = await holdfast.heads.list(at, {
      limit: args.number("limit") ?? 100,
      cursor: args.text("cursor"),
    });
    const now = Date.now();
    await output.answer({ session, current, ...page }, () => {
      if (page.items.length === 0) return ["no heads"];
      return table(columns(current, now, output.interactive), page.items, output.frame);
    });
    if (page.items.length === 0)
      await output.note(`holdfast publish ${quoted(session)} makes one, as the end of a turn does`);
    if (page.next !== null) await output.note(`more: add --cursor '${page.next}'`);
    return undefined;
  },
};

/** On a terminal the beginning of an id is enough; a program or a file gets all of it. */
const columns = (current: string | null, now: number, short: boolean): readonly Column<Head>[] => [
  {
    ...{ title: "HEAD", cell: ({ id }: Head) => (short ? shortHead(id) : id), keep: true as const },
    colour: (text, _, style) => style.name(text),
  },
  { title: "", cell: ({ id }) => (id === current ? "current" : "") },
  { title: "STATUS", cell: ({ status }) => (status === "complete" ? "" : status) },
  { title: "BRANCH", align: "right", cell: ({ branch }) => String(branch) },
  { title: "SEQ", align: "right", cell: ({ seq }) => formatCount(seq) },
  { title: "MESSAGES", align: "right", cell: ({ counts }) => formatCount(counts.messages) },
  { title: "CALLS", align: "right", cell: ({ counts }) => formatCount(counts.calls) },
  { title: "PUBLISHED", cell: ({ at }) => formatAge(at, now) },
  { title: "SUMMARY", cell: ({ finalSummary }) => finalSummary ?? "", shrink: 1, min: 0 },
];

export const heads: CommandGroup = {
  name: "heads",
  summary: "list the published points of a session",
  usage: ls.usage,
  description: ls.description,
  commands: [ls],
  fallback: "ls",
  examples: ls.examples,
  ...(ls.next === undefined ? {} : { next: ls.next }),
};
