// holdfast publish and compact: publish a head, from which fork, resume and rewind can continue.
import type { Head, HeadInput } from "../../contracts/heads.ts";
import type { Command, Context } from "../command-line.ts";
import { UsageError } from "../failure.ts";
import { shortHead } from "../locate.ts";
import { type HeadAdvice, needSession } from "../sessions.ts";
import { quoted, safe, wrapWords } from "../terminal.ts";
import { plural } from "../units.ts";

export const publish: Command = {
  name: "publish",
  summary: "publish a head at a session's latest state",
  usage: ["publish SESSION [--final TEXT] [--summary TEXT]"],
  description:
    "Publishes a head: a point that you can read, fork and rewind to for ever. It becomes the session's current head. " +
    "SESSION is an id or alias.",
  options: {
    final: { type: "text", value: "TEXT", summary: "the final result of the work" },
    summary: { type: "text", value: "TEXT", summary: "one line that summarises what came before" },
  },
  operands: [{ name: "SESSION", need: "required" }],
  examples: [
    { command: "holdfast publish chat-1", does: "publish a head" },
    {
      command: "holdfast publish chat-1 --summary 'before the rewrite'",
      does: "publish a head that lists show with a summary",
    },
  ],
  next: "holdfast heads SESSION lists the heads; holdfast fork, resume and rewind continue from one.",
  run: async (context) => {
    const { args } = context;
    const holdfast = await context.open();
    const { id } = await needSession(holdfast, args.operand(0), CONTINUE_ADVICE);
    const [final, finalSummary] = [args.text("final"), args.text("summary")];
    const input: HeadInput = {
      ...(final === undefined ? {} : { final }),
      ...(finalSummary === undefined ? {} : { finalSummary }),
    };
    return await answerWithHead(await holdfast.heads.publish({ session: id }, input), "published", context);
  },
};

const CONTINUE_ADVICE: HeadAdvice = (named) =>
  `a head is published at the latest state of a session; \`holdfast resume ${named}\` continues from that head, ` +
  `\`holdfast fork ${named} NEW-ID\` in a new session`;

export const compact: Command = {
  name: "compact",
  summary: "store a summary from which contexts begin",
  usage: ["compact SESSION [--agent A] --summary TEXT [--up-to MESSAGE | --keep-last N]"],
  description:
    "Appends a summary that replaces all earlier messages, all up to MESSAGE, or all but the last N, and publishes a head. A " +
    "context for a model begins with the summary from then on. If other writers use the session, name the last message that " +
    "the summary covers, so that later messages stay. Nothing is deleted: older heads still show everything. SESSION is an id or alias.",
  options: {
    agent: { type: "text", value: "ID", summary: "the agent that writes the summary (default: the session's agent)" },
    summary: { type: "text", value: "TEXT", summary: "one line that summarises what came before" },
    "up-to": { type: "text", value: "MESSAGE", summary: "the last message that the summary covers, as SESSION#SEQ" },
    "keep-last": { type: "number", min: 0, summary: "keep so many of the last messages as they are (default 0)" },
  },
  operands: [{ name: "SESSION", need: "required" }],
  examples: [
    {
      command: "holdfast compact chat-1 --summary 'They agreed on Lisbon.' --keep-last 4",
      does: "all but the last four messages in one sentence",
    },
    {
      command: "holdfast compact chat-1 --summary 'They agreed on Lisbon.' --up-to chat-1#7",
      does: "all messages up to that one, without later ones",
    },
  ],
  next: "holdfast messages SESSION still shows all messages.",
  run: async (context) => {
    const { args } = context;
    const [summary, keep, upTo] = [args.text("summary"), args.number("keep-last"), args.text("up-to")];
    if (keep !== undefined && upTo !== undefined) throw new UsageError("give --up-to or --keep-last, not both");
    if (summary === undefined || summary.trim() === "")
      throw new UsageError("give the text of the summary: --summary TEXT");
    const holdfast = await context.open();
    const session = await needSession(holdfast, args.operand(0), CONTINUE_ADVICE);
    const agent = args.text("agent") ?? session.agent;
    if (agent === null) throw new UsageError("name the agent that writes the summary: --agent ID");
    const input = { agent, summary, ...(keep === undefined ? {} : { keep }), ...(upTo === undefined ? {} : { upTo }) };
    return await answerWithHead(
      await holdfast.heads.compact({ session: session.id }, input),
      "compacted into",
      context,
    );
  },
};

async function answerWithHead(head: Head, verb: string, { output }: Context): Promise<undefined> {
  const { id, session, counts } = head;
  const shown = output.interactive ? shortHead(id) : id;
  await output.answer(head, () =>
    wrapWords(safe`${verb} head ${shown} of ${session} (${plural(counts.messages, "message")})`, output.width),
  );
  await output.note(
    `next: \`holdfast fork ${quoted(`${session}@${id.slice(0, 11)}`)}\` continues from it in a new session`,
  );
  return undefined;
}
