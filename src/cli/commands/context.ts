// holdfast context: the messages that the next model call would get, with marks where they differ from the store.
import type { ContextMessage, Context as Given } from "../../contracts/context.ts";
import type { Command, Context } from "../command-line.ts";
import { LOCATOR_HELP, locate } from "../locate.ts";
import { safeLine, wrapWords } from "../terminal.ts";
import { contentLines } from "../transcript.ts";
import { formatCount, plural } from "../units.ts";

export const context: Command = {
  name: "context",
  summary: "show the messages that a model call would get",
  usage: ["context SESSION[@HEAD] [--agent A] [--budget N]"],
  description:
    "Prints the messages for the next model call, now or at a head: the summary of the last compaction and the messages since, " +
    "without erased messages. Every tool call is followed by exactly one result; messages that were added or changed for that are " +
    "marked repaired, and the store does not change. With --budget the oldest messages are left out and counted; a " +
    "summary is never cut, so it alone may exceed the budget. Tokens are an estimate: one for every four bytes. " +
    LOCATOR_HELP,
  options: {
    agent: { type: "text", value: "ID", summary: "only this agent's messages, and the summary" },
    budget: { type: "number", min: 0, summary: "the most tokens that all messages may have together" },
  },
  operands: [{ name: "SESSION", need: "required" }],
  examples: [
    { command: "holdfast context chat-1", does: "the messages of the next call" },
    {
      command: "holdfast context chat-1@hd-1a2b3c --budget 4000 --json",
      does: "the messages that fit at that head, as JSON",
    },
  ],
  next: "holdfast messages SESSION shows what is stored; holdfast compact SESSION stores a summary.",
  run: async (context) => {
    const { args, output } = context;
    const holdfast = await context.open();
    const at = await locate(holdfast, args.operand(0));
    const [agent, budget] = [args.text("agent"), args.number("budget")];
    const found = await holdfast.sessions.context(at, {
      ...(agent === undefined ? {} : { agent }),
      ...(budget === undefined ? {} : { budget }),
    });
    await output.answer({ ...at, ...found }, () => lines(found, budget, context));
    return undefined;
  },
};

function lines(
  { messages, leftOut, tokens, compaction }: Given,
  budget: number | undefined,
  { output }: Context,
): string[] {
  const { style } = output;
  const over = budget !== undefined && tokens > budget ? `, over the budget of ${formatCount(budget)}` : "";
  const left = leftOut.messages === 0 ? "" : `; ${plural(leftOut.messages, "older message")} left out`;
  const repaired = messages.filter((message) => message.repaired).length;
  const repairs = repaired === 0 ? "" : `, ${formatCount(repaired)} repaired`;
  const counted = `${plural(messages.length, "message")}${repairs}, about ${plural(tokens, "token")}${over}${left}`;
  return [
    ...messages.flatMap((message) => [
      ...messageLines(message, message.id !== null && message.id === compaction?.summary, output),
      "",
    ]),
    ...wrapWords(counted, output.width).map(over === "" ? style.faint : style.warn),
  ];
}

function messageLines(
  { id, agent, role, content, repaired }: ContextMessage,
  isSummary: boolean,
  output: Context["output"],
): string[] {
  const { style } = output;
  const name = id ?? "(added)";
  const marks = [...(isSummary ? ["summary"] : []), ...(repaired ? ["repaired"] : [])];
  const author = agent === null ? "" : ` ${safeLine(`(${agent})`)}`;
  const mark = marks.length === 0 ? "" : ` ${style.warn(marks.join(", "))}`;
  return [
    `${style.name(safeLine(name))} ${style.strong(safeLine(role))}${author}${mark}`,
    ...contentLines(content, output),
  ];
}
