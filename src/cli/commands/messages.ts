// holdfast messages: the transcript of a session, read or added to.
import type { Holdfast } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { Locator, MessageAt } from "../../contracts/lineage.ts";
import type { Message, MessageInput, Role } from "../../contracts/messages.ts";
import type { Session } from "../../contracts/sessions.ts";
import type { Command, CommandGroup, Context } from "../command.ts";
import { UsageError } from "../failure.ts";
import { readTextOperand } from "../input.ts";
import { LOCATOR_HELP, locate } from "../locate.ts";
import { follow, noteRest, type Range, rangeOptions, readRange } from "../range.ts";
import { readUpToDamage as read } from "../reading.ts";
import { findSession, needSession } from "../store.ts";
import { quoted, safe } from "../terminal.ts";
import { messageLines } from "../transcript.ts";

const ROLES: readonly Role[] = ["user", "assistant", "system", "tool", "developer"];

const show: Command = {
  name: "show",
  aliases: ["list", "ls"],
  summary: "read a session's messages, oldest first",
  usage: [
    "messages [show] SESSION [--agent A] [--last N | --after SEQ] [--follow]",
    "messages [show] SESSION [--agent A] [--after SEQ] --limit N",
    "messages [show] SESSION@HEAD [--agent A] [--last N]",
  ],
  description:
    "Prints messages oldest first: the last 50 unless you say otherwise. What models and tools wrote is made safe " +
    "for the terminal; --json gives it exactly as stored. Bytes such as images are shown by their ref. At a head it is what " +
    `was there then; what was erased since shows that it was there. ${LOCATOR_HELP}`,
  options: {
    agent: { type: "text", value: "ID", summary: "only this agent's messages" },
    ...rangeOptions("messages", LIMITS.historyPage),
  },
  operands: [{ name: "SESSION", need: "one" }],
  examples: [
    { command: "holdfast messages chat-1 --last 10", does: "the last ten" },
    { command: "holdfast messages chat-1 --agent helper --after 0", does: "all of one agent's" },
    { command: "holdfast messages chat-1 --follow", does: "watch the conversation" },
    { command: "holdfast messages chat-1@hd-1a2b3c", does: "what was said up to a head" },
  ],
  next: "holdfast log SESSION shows everything else that happened; holdfast blobs get REF fetches an attachment.",
  run: async (context) => {
    const { args, output } = context;
    const range = readRange(args);
    const agent = args.text("agent");
    const holdfast = await context.open();
    const at = await locate(holdfast, args.operand(0));
    if (at.head !== undefined) return await showAt(holdfast, at, range, context);
    const session = await needSession(holdfast, at.session);
    const { messages, damage, total } = await read(holdfast, session, agent, range);
    if (args.flag("follow")) return await watch(holdfast, session, messages, damage, context);
    const damagedSeq = damage === undefined ? {} : { damagedSeq: damage.details.seq };
    await output.answer({ session: session.id, total, messages, ...damagedSeq }, () => {
      if (messages.length > 0) return transcript(messages, session.id, context);
      return damage === undefined ? ["no messages"] : [];
    });
    if (damage !== undefined) throw damage;
    await noteRest(output, range, messages.length, total);
    return undefined;
  },
};

/** What was there at a head: its end, or all of it. */
async function showAt(holdfast: Holdfast, at: Locator, range: Range, context: Context): Promise<undefined> {
  const { args, output } = context;
  if (args.flag("follow")) throw new UsageError("a head is an end: --follow goes with a session as it stands");
  if (range.last === undefined) throw notAfter(args.operand(0));
  const view = await holdfast.sessions.at(at);
  const agent = args.text("agent");
  const all = agent === undefined ? null : (await view.messages()).filter((message) => message.agent === agent);
  const total = all === null ? (await view.counts()).messages : all.length;
  const messages =
    all === null ? await view.messages({ last: range.last }) : range.last === 0 ? [] : all.slice(-range.last);
  await output.answer({ session: at.session, head: at.head, total, messages }, () => {
    if (messages.length === 0) return ["no messages"];
    return transcript(messages, at.session, context);
  });
  await noteRest(output, range, messages.length, total, `--last ${total}`);
  return undefined;
}

/** A line may lead through several sessions, each with seqs of its own. */
function notAfter(named: string): UsageError {
  return new UsageError(
    "at a head messages are counted from its end: use --last N; to read from a seq on, fork it there, which copies " +
      `nothing: \`holdfast fork ${quoted(named)} NEW-ID\`, then \`holdfast messages NEW-ID --after SEQ\``,
  );
}

function transcript(messages: readonly MessageAt[], session: string, { output }: Context): string[] {
  const now = Date.now();
  return messages.flatMap((message, i) => [...(i === 0 ? [] : [""]), ...messageLines(message, session, now, output)]);
}

async function watch(
  holdfast: Holdfast,
  session: Session,
  past: readonly Message[],
  damage: Error | undefined,
  context: Context,
): Promise<number> {
  const { args, output, io } = context;
  const agent = args.text("agent");
  const print = async (message: Message) => {
    if (agent !== undefined && message.agent !== agent) return;
    if (output.json) await output.record(message);
    else await output.lines([...messageLines(message, session.id, Date.now(), output), ""]);
  };
  for (const message of past) await print(message);
  if (damage !== undefined) throw damage;
  const after = Math.max(session.seq, past.at(-1)?.seq ?? 0);
  return await follow(holdfast, session.id, { after, types: ["message/added"] }, io, async ({ seq }) => {
    // Read by seq: what was cleared meanwhile is not there to print.
    const [message] = await holdfast.history.session(session.id, { after: seq - 1, limit: 1 });
    if (message?.seq === seq) await print(message);
  });
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
    const session = await findSession(holdfast, named);
    const agent = args.text("agent") ?? session?.agent;
    if (agent === undefined || agent === null) throw new UsageError("say whose conversation it is: --agent ID");
    const [key, run] = [args.text("key"), args.text("run")];
    const content = await readTextOperand(args.operand(1), context.io);
    const input: MessageInput = { role, content, ...(key === undefined ? {} : { key }) };
    const scope = { session: session?.id ?? named, agent };
    const message = await holdfast.history.append(scope, input, run === undefined ? {} : { run });
    const added = session === null || message.seq > session.seq;
    await context.output.answer({ ...message, added }, () => [
      added
        ? safe`added ${message.id}${session === null ? " (a new session)" : ""}`
        : safe`already there: ${message.id} has the key ${key ?? ""}`,
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
  examples: [...show.examples.slice(0, 1), ...show.examples.slice(2, 3), ...add.examples.slice(0, 1)],
  ...(show.next === undefined ? {} : { next: show.next }),
};
