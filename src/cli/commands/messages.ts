// holdfast messages: the transcript of a session, read or added to.
import type { Holdfast } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { Message, MessageInput, Role } from "../../contracts/messages.ts";
import type { Session } from "../../contracts/sessions.ts";
import type { Command, CommandGroup, Context } from "../command.ts";
import { UsageError } from "../failure.ts";
import { readTextOperand } from "../input.ts";
import { interruption } from "../io.ts";
import { needSession } from "../store.ts";
import { safe } from "../terminal.ts";
import { messageLines } from "../transcript.ts";
import { formatCount } from "../units.ts";

const ROLES: readonly Role[] = ["user", "assistant", "system", "tool", "developer"];
const DEFAULT_LAST = 50;

const show: Command = {
  name: "show",
  aliases: ["list", "ls"],
  summary: "read a session's messages, oldest first",
  usage: [
    "messages [show] SESSION [--agent A] [--last N | --after SEQ] [--follow]",
    "messages [show] SESSION [--agent A] [--after SEQ] --limit N",
  ],
  description:
    "Prints messages oldest first: the last 50 unless you say otherwise. What models and tools wrote is made safe " +
    "for the terminal; --json gives it exactly as stored. Bytes such as images are shown by their ref.",
  options: {
    agent: { type: "text", value: "ID", summary: "only this agent's messages" },
    last: { type: "number", summary: `the last N (default ${DEFAULT_LAST})` },
    after: { type: "number", value: "SEQ", summary: "only messages behind this seq; 0 is from the start" },
    limit: { type: "number", max: LIMITS.historyPage, summary: "at most N, counted from the start" },
    follow: { type: "flag", short: "f", summary: "go on with new messages until Ctrl-C (--json: one document a line)" },
  },
  operands: [{ name: "SESSION", need: "one" }],
  examples: [
    { command: "holdfast messages chat-1 --last 10", does: "the last ten" },
    { command: "holdfast messages chat-1 --agent helper --after 0", does: "all of one agent's" },
    { command: "holdfast messages chat-1 --follow", does: "watch the conversation" },
  ],
  next: "holdfast log SESSION shows everything else that happened; holdfast blobs get REF fetches an attachment.",
  run: async (context) => {
    const { args, output } = context;
    if (args.flag("last") && (args.flag("after") || args.flag("limit"))) {
      throw new UsageError("--last goes without --after and --limit");
    }
    if (args.flag("follow") && args.flag("limit")) throw new UsageError("--follow goes without --limit: it has no end");
    const holdfast = await context.open();
    const session = await needSession(holdfast, args.operand(0));
    const messages = await read(holdfast, session, context);
    if (args.flag("follow")) return await follow(holdfast, session, messages, context);
    await output.answer({ session: session.id, total: session.messages, messages }, () => {
      if (messages.length === 0) return ["no messages"];
      return transcript(messages, context);
    });
    const agent = args.text("agent");
    if (agent === undefined && !args.flag("after") && !args.flag("limit") && messages.length < session.messages) {
      await output.note(`the last ${messages.length} of ${formatCount(session.messages)}; --after 0 shows all`);
    }
    return undefined;
  },
};

async function read(holdfast: Holdfast, session: Session, { args }: Context): Promise<readonly Message[]> {
  const [agent, after, limit] = [args.text("agent"), args.number("after"), args.number("limit")];
  const forward = { ...(after === undefined ? {} : { after }), ...(limit === undefined ? {} : { limit }) };
  const isForward = after !== undefined || limit !== undefined;
  const range = isForward ? forward : { last: args.number("last") ?? DEFAULT_LAST };
  if (agent === undefined) return await holdfast.history.session(session.id, range);
  return await holdfast.history.get({ session: session.id, agent }, range);
}

function transcript(messages: readonly Message[], { output }: Context): string[] {
  const now = Date.now();
  return messages.flatMap((message, i) => [...(i === 0 ? [] : [""]), ...messageLines(message, now, output)]);
}

async function follow(
  holdfast: Holdfast,
  session: Session,
  past: readonly Message[],
  context: Context,
): Promise<number> {
  const { args, output, io } = context;
  const agent = args.text("agent");
  const print = async (message: Message) => {
    if (agent !== undefined && message.agent !== agent) return;
    if (output.json) await output.record(message);
    else await output.lines([...messageLines(message, Date.now(), output), ""]);
  };
  for (const message of past) await print(message);
  const after = Math.max(session.seq, past.at(-1)?.seq ?? 0);
  const { signal, release } = interruption(io);
  try {
    for await (const event of holdfast.log.tail(session.id, { after, types: ["message/added"], signal })) {
      // Read by seq: what was cleared meanwhile is not there to print.
      const [message] = await holdfast.history.session(session.id, { after: event.seq - 1, limit: 1 });
      if (message?.seq === event.seq) await print(message);
    }
  } finally {
    release();
  }
  return 0;
}

const add: Command = {
  name: "add",
  summary: "append one message",
  usage: ["messages add SESSION [--agent A] [--role ROLE] [--key K] [--run R] TEXT|-"],
  description:
    "Appends a message and prints its id once it is durable. A missing session is created. With - the text is read " +
    "from standard input. With --key, appending the same key again answers with the message already there.",
  options: {
    agent: { type: "text", value: "ID", summary: "who speaks, or is spoken to (default: the session's agent)" },
    role: { type: "text", value: "ROLE", summary: `${ROLES.join(", ")} (default user)` },
    key: { type: "text", summary: "your own id for the message, so that a repeated call adds it once" },
    run: { type: "text", value: "ID", summary: "the run it belongs to" },
  },
  operands: [
    { name: "SESSION", need: "one" },
    { name: "TEXT", need: "one" },
  ],
  examples: [
    { command: "holdfast messages add chat-1 --agent helper 'hello'", does: "a user's message to the agent helper" },
    { command: "cat notes.md | holdfast messages add chat-1 --role system -", does: "a long one, from a file" },
  ],
  next: "holdfast messages SESSION reads it back.",
  run: async (context) => {
    const { args } = context;
    const role = ROLES.find((one) => one === (args.text("role") ?? "user"));
    if (role === undefined) throw new UsageError(`--role is one of ${ROLES.join(", ")}, not "${args.text("role")}"`);
    const holdfast = await context.open();
    const named = args.operand(0);
    const session = await holdfast.sessions.get(named);
    const agent = args.text("agent") ?? session?.agent;
    if (agent === undefined || agent === null) throw new UsageError("say whose conversation it is: --agent ID");
    const [key, run] = [args.text("key"), args.text("run")];
    const content = await readTextOperand(args.operand(1), context.io);
    const input: MessageInput = { role, content, ...(key === undefined ? {} : { key }) };
    const scope = { session: session?.id ?? named, agent };
    const message = await holdfast.history.append(scope, input, run === undefined ? {} : { run });
    await context.output.answer(message, () => [
      safe`added ${message.id}${session === null ? " (a new session)" : ""}`,
    ]);
    return undefined;
  },
};

export const messages: CommandGroup = {
  name: "messages",
  summary: "read a session's messages, or add one",
  usage: [...show.usage, ...add.usage],
  description: `${show.description} A session called "add" or "list" is read with: holdfast messages show add.`,
  commands: [show, add],
  fallback: "show",
  examples: [...show.examples.slice(0, 1), ...show.examples.slice(2), ...add.examples.slice(0, 1)],
  ...(show.next === undefined ? {} : { next: show.next }),
};
