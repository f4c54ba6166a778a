// holdfast context: the messages that the next model call would get, with marks where they differ from the store.
import type { ContextMessage, Context as Given } from "../../contracts/context.ts";
import type { Command, Context } from "../command.ts";
import { LOCATOR_HELP, locate } from "../locate.ts";
import { safeLine, wrapWords } from "../terminal.ts";
import { contentLines } from "../transcript.ts";
import { formatCount, plural } from "../units.ts";

export const context: Command = {
  name: "context",
  summary: "show the messages that a model call would get",
  usage: ["context SESSION[@HEAD] [--agent A] [--budget N]"],
  description:
    "Prints the messages for the next model call, now or at a head: from the last compaction on, its summary first, " +
    "without what was erased. Every tool call is followed by its one result; what was put in or changed for that is " +
    "marked repaired, and nothing is changed in the store. With --budget the oldest are left out and counted; a " +
    "summary is never cut, so that it alone may exceed the budget. Tokens are an estimate, a token for every four bytes. " +
    LOCATOR_HELP,
  options: {
    agent: { type: "text", value: "ID", summary: "only this agent's messages, and the summary" },
    budget: { type: "number", min: 0, summary: "the most tokens the messages may have together" },
  },
  operands: [{ name: "SESSION", need: "one" }],
  examples: [
    { command: "holdfast context chat-1", does: "the messages of the next call" },
    { command: "holdfast context chat-1@hd-1a2b3c --budget 4000 --json", does: "what fitted then, for a program" },
  ],
  next: "holdfast messages SESSION shows what is stored; holdfast compact SESSION stores a summary.",
  run: async (context) => {
    const { args, output } = context;
    const holdfast = await context.open();
    const at = await locate(holdfast, args.operand(0));
    const [agent, budget] = [args.text("agent"), args.number("budget")];
    const given = await holdfast.sessions.context(at, {
      ...(agent === undefined ? {} : { agent }),
      ...(budget === undefined ? {} : { budget }),
    });
    await output.answer({ ...at, ...given }, () => lines(given, budget, context));
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
  const mended = repaired === 0 ? "" : `, ${formatCount(repaired)} repaired`;
  const counted = `${plural(messages.length, "message")}${mended}, about ${plural(tokens, "token")}${over}${left}`;
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
  const name = id ?? "(put in)";
  const marks = [...(isSummary ? ["summary"] : []), ...(repaired ? ["repaired"] : [])];
  const who = agent === null ? "" : ` ${safeLine(`(${agent})`)}`;
  const mark = marks.length === 0 ? "" : ` ${style.warn(marks.join(", "))}`;
  return [
    `${style.name(safeLine(name))} ${style.strong(safeLine(role))}${who}${mark}`,
    ...contentLines(content, output),
  ];
}
