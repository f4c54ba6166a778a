// holdfast diff: shows what two heads or sessions have in common, and how they differ.
import type { Diff, DiffSide } from "../../contracts/archive.ts";
import type { MessageAt } from "../../contracts/lineage.ts";
import { rowId } from "../../core/row-id.ts";
import type { Command, Context } from "../command-line.ts";
import { LOCATOR_HELP, locate, shortHead } from "../locate.ts";
import { formatCost, formatTokens } from "../spending.ts";
import { facts } from "../table.ts";
import { displayWidth, safe, safeLine, truncate } from "../terminal.ts";
import { blockText } from "../transcript.ts";
import { formatCount, plural } from "../units.ts";

export const diff: Command = {
  name: "diff",
  summary: "compare two heads or sessions",
  usage: ["diff A B [--limit N]"],
  description:
    "Shows the last point that A and B have in common, the messages that only one of them has, the state that differs (from A to " +
    "B), and the tokens and cost of calls that only one side has. Messages are the same when they are the same row: a fork " +
    `shares them. A and B are each SESSION or SESSION@HEAD. ${LOCATOR_HELP}`,
  options: {
    limit: { type: "number", min: 0, summary: "show at most N messages of each side (default 20; --json has all)" },
  },
  operands: [
    { name: "A", need: "required" },
    { name: "B", need: "required" },
  ],
  examples: [
    { command: "holdfast diff chat-1 other-answer", does: "a session and its fork" },
    { command: "holdfast diff chat-1@hd-1a2b3c chat-1", does: "what came after a head" },
  ],
  next: "holdfast sessions tree A shows how they are related.",
  run: async (context) => {
    const holdfast = await context.open();
    const [a, b] = [await locate(holdfast, context.args.operand(0)), await locate(holdfast, context.args.operand(1))];
    const found = await holdfast.sessions.diff(a, b);
    await context.output.answer(found, () => lines(found, context.args.number("limit") ?? 20, context));
    return undefined;
  },
};

function lines(found: Diff, limit: number, context: Context): string[] {
  const { ancestor, common, state, a, b } = found;
  const { frame, style } = context.output;
  const point =
    ancestor === null
      ? "nothing: they share no event"
      : `${plural(common, "message")}, up to ${rowId(ancestor.session, ancestor.seq)}` +
        (ancestor.head === null ? "" : ` (head ${shortHead(ancestor.head)})`);
  return [
    ...facts(
      [
        ["a", nameOf(a)],
        ["b", nameOf(b)],
        ["in common", point],
      ],
      frame,
    ),
    ...sideLines("only in a", "-", a, limit, context),
    ...sideLines("only in b", "+", b, limit, context),
    "",
    style.heading("state, from a to b"),
    ...stateLines(state, context),
  ];
}

/** One line per key: its old and its new value. */
function stateLines({ added, removed, changed, values }: Diff["state"], { output }: Context): string[] {
  const { frame, style } = output;
  const shown = (mark: string, key: string) => {
    // A long key is cut, so that its value has room.
    const name = safe`  ${mark} ${truncate(safeLine(key), Math.max(8, Math.floor(frame.width / 3)))}: `;
    const texts = Object.values(values[key] ?? {}).map((value) => safeLine(JSON.stringify(value)));
    return name + changeText(texts, frame.width - displayWidth(name));
  };
  const lines = [
    ...removed.map((key) => style.bad(shown("-", key))),
    ...changed.map((key) => shown("~", key)),
    ...added.map((key) => style.good(shown("+", key))),
  ];
  return lines.length === 0 ? ["  the same"] : lines;
}

const ARROW = " → ";

/** "old → new" in `width` columns; values that do not fit are cut so that their first difference stays visible. */
function changeText([first = "", second]: readonly string[], width: number): string {
  if (second === undefined) return truncate(first, width);
  const room = width - ARROW.length;
  if (displayWidth(first) + displayWidth(second) <= room) return first + ARROW + second;
  const half = Math.floor(room / 2);
  const same = commonLength(first, second);
  // Never begin with half of a surrogate pair.
  const from = (text: string) => text.slice(same - Math.floor(half / 4)).replace(/^[\udc00-\udfff]/, "");
  const cut = (text: string) => (same > half / 2 ? `…${from(text)}` : text);
  const [old, now] = [cut(first), cut(second)];
  const left = Math.max(half, room - displayWidth(now));
  const shortened = truncate(old, left);
  return shortened + ARROW + truncate(now, room - displayWidth(shortened));
}

function commonLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

function nameOf({ session, head, seq }: DiffSide): string {
  return head === null
    ? `${session} at its latest state, ${rowId(session, seq)}`
    : `${session} at head ${shortHead(head.id)}`;
}

function sideLines(title: string, mark: string, side: DiffSide, limit: number, context: Context): string[] {
  const { style, frame } = context.output;
  const { messages, spent } = side;
  const paint = mark === "+" ? style.good : style.bad;
  const shown = messages
    .slice(0, limit)
    .map((message) => paint(truncate(safe`  ${mark} ${textOf(message)}`, frame.width)));
  const rest = messages.length - shown.length;
  return [
    "",
    style.heading(`${title}: ${plural(messages.length, "message")}`),
    ...shown,
    ...(rest === 0 ? [] : [style.faint(`  … and ${formatCount(rest)} more (--limit)`)]),
    ...(spent.calls === 0
      ? []
      : facts(
          [
            ["calls", formatCount(spent.calls)],
            ["tokens", formatTokens(spent)],
            ["cost", formatCost(spent)],
          ],
          { ...frame, indent: 2 },
        )),
  ];
}

function textOf(message: MessageAt): string {
  const label = `${message.id} ${message.role}: `;
  if ("erased" in message) return `${label}(erased)`;
  return safeLine(label + message.content.map(blockText).join(" ").replaceAll(/\s+/g, " "));
}
