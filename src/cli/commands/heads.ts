// holdfast heads: lists the published points of a session.
import type { Head } from "../../contracts/heads.ts";
import type { Command, CommandGroup } from "../command-line.ts";
import { type HeadMark, marksOf } from "../head-marks.ts";
import { ORDER_OPTION, readOrder } from "../list-order.ts";
import { LOCATOR_HELP, locate, shortHead } from "../locate.ts";
import { pageOptions } from "../option.ts";
import { type Column, table } from "../table.ts";
import { quoted } from "../terminal.ts";
import { formatAge, formatCount } from "../units.ts";

const ls: Command = {
  name: "ls",
  aliases: ["list", "show"],
  summary: "list a session's heads, newest first",
  usage: ["heads [ls] SESSION[@HEAD] [--order ORDER] [--limit N] [--cursor C]"],
  description:
    "A head is a published point of a session: everything up to it can be read for ever. Lists all heads, newest first, " +
    "also aborted ones and those of other branches; marks show the current head, heads with a final value and " +
    "compactions. With @HEAD it lists only the heads that lead to that head. " +
    LOCATOR_HELP,
  options: {
    order: ORDER_OPTION,
    ...pageOptions(100),
  },
  operands: [{ name: "SESSION", need: "required" }],
  examples: [
    { command: "holdfast heads chat-1", does: "its heads" },
    { command: "holdfast heads chat-1 --json | jq -r .current", does: "the id of the current one, for a script" },
  ],
  next: "holdfast fork, resume and rewind continue from a head; holdfast export --markdown SESSION@HEAD prints the messages.",
  run: async (context) => {
    const { args, output } = context;
    const holdfast = await context.open();
    const at = await locate(holdfast, args.operand(0));
    const { session } = at;
    const current = (await holdfast.sessions.get({ session }))?.head ?? null;
    const page = await holdfast.heads.list(at, {
      limit: args.number("limit") ?? 100,
      cursor: args.text("cursor"),
      order: readOrder(args),
    });
    const items = page.items.map((head) => ({ ...head, marks: marksOf(head) }));
    await output.answer({ session, current, ...page, items }, () => {
      if (items.length === 0) return ["no heads"];
      return table(columns(items, current, output.interactive), items, output.frame);
    });
    if (page.items.length === 0)
      await output.note(`\`holdfast publish ${quoted(session)}\` publishes one, as the end of a turn does`);
    await output.noteNextPage(page.next);
    return undefined;
  },
};

type MarkedHead = Head & { readonly marks: readonly HeadMark[] };

/**
 * A terminal shows the beginning of an id; a program or a file gets the whole id. A column with the same value in every
 * line is left out, so that summaries have more room.
 */
function columns(heads: readonly Head[], current: string | null, short: boolean): readonly Column<MarkedHead>[] {
  const now = Date.now();
  const hasBranches = new Set(heads.map(({ branch }) => branch)).size > 1;
  const hasCalls = heads.some(({ counts }) => counts.calls > 0);
  return [
    {
      title: "HEAD",
      cell: ({ id }: MarkedHead) => (short ? shortHead(id) : id),
      keep: true as const,
      colour: (text, _, style) => style.name(text),
    },
    { title: "", cell: ({ id }) => (id === current ? "current" : "") },
    {
      title: "MARK",
      cell: ({ marks }) => marks.join(" "),
      colour: (text, { status }, style) => (status === "aborted" ? style.bad(text) : text),
    },
    { title: "BRANCH", align: "right", cell: ({ branch }) => (hasBranches ? String(branch) : "") },
    { title: "SEQ", align: "right", cell: ({ seq }) => formatCount(seq) },
    { title: "MESSAGES", align: "right", cell: ({ counts }) => formatCount(counts.messages) },
    // Before the columns that a narrow terminal leaves out first.
    { title: "SUMMARY", cell: ({ finalSummary }) => finalSummary ?? "", shrink: 1, min: 16 },
    { title: "CALLS", align: "right", cell: ({ counts }) => (hasCalls ? formatCount(counts.calls) : "") },
    { title: "PUBLISHED", cell: ({ at }) => formatAge(at, now) },
  ];
}

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
