// holdfast messages: prints the messages of a session, or appends one.
import { AS_CONTENT } from "../../coding/conversation/sdk-mirror.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { MessageAt } from "../../contracts/lineage.ts";
import type { Locator } from "../../contracts/locators.ts";
import type { Message, MessageInput } from "../../contracts/messages.ts";
import type { Session } from "../../contracts/session.ts";
import { ROLES } from "../../history/append.ts";
import type { Command, CommandGroup, Context } from "../command-line.ts";
import { UsageError } from "../failure.ts";
import { follow } from "../follow.ts";
import { headLine } from "../head-marks.ts";
import { readTextOperand } from "../input.ts";
import { LOCATOR_HELP, locate } from "../locate.ts";
import { findMessageCalls, type MessageCalls, withCalls } from "../message-calls.ts";
import { noteRest, type Range, rangeOptions, readMessageRange } from "../range.ts";
import { readUpToDamage as read, readAtUpToDamage as readAt } from "../readable-messages.ts";
import { findSession, needSession } from "../sessions.ts";
import { quoted, safe } from "../terminal.ts";
import { messageLines } from "../transcript.ts";
import {
  type EventPosition,
  findTranscriptHeads,
  type ShownMessages,
  type TranscriptHead,
} from "../transcript-heads.ts";
import { plural } from "../units.ts";

type MessageRange = Range<number | string>;

const show: Command = {
  name: "show",
  aliases: ["list", "ls"],
  summary: "read a session's messages, oldest first",
  usage: [
    "messages [show] SESSION [--agent A] [--all] [--calls] [--last N | --after SEQ] [--follow]",
    "messages [show] SESSION [--agent A] [--all] [--after SEQ] --limit N",
    "messages [show] SESSION@HEAD [--agent A] [--all] [--last N | [--after SEQ] [--limit N]]",
  ],
  description:
    "Prints messages oldest first: by default the last 50. Control characters in texts are escaped " +
    "for the terminal; --json prints them exactly as stored. Attachments such as images are shown by their ref. A line with ● is a head " +
    "that was published there, ○ an aborted head; the line says whether the head has a final value or is a compaction. Entries that the " +
    "Claude Agent SDK mirrored and that are not messages are only counted; --all and --json show them. At a head the command prints " +
    `the messages as they were then, and marks those that were erased since. ${LOCATOR_HELP}`,
  options: {
    agent: { type: "text", value: "ID", summary: "only this agent's messages" },
    all: { type: "flag", summary: "also print entries of a mirrored transcript that are not messages" },
    calls: {
      type: "flag",
      summary: "also print the model call that wrote a message, if a run recorded it; not with --follow",
    },
    ...rangeOptions("messages", LIMITS.historyPage),
    after: {
      type: "text",
      value: "SEQ",
      summary: "only messages after this seq, or after the message with this id (chat-1#7); 0 is from the start",
    },
  },
  operands: [{ name: "SESSION", need: "required" }],
  examples: [
    { command: "holdfast messages chat-1 --last 10", does: "the last ten" },
    { command: "holdfast messages chat-1 --agent helper --after 0", does: "all of one agent's" },
    { command: "holdfast messages chat-1 --calls", does: "the model call that wrote each message, with its cost" },
    { command: "holdfast messages chat-1 --follow", does: "watch the conversation" },
    { command: "holdfast messages chat-1@hd-1a2b3c", does: "the messages up to a head" },
    {
      command: "holdfast messages chat-1@hd-1a2b3c --after 0 --limit 5",
      does: "the first five messages up to that head",
    },
  ],
  next: "holdfast log SESSION shows everything else that happened; holdfast blobs get REF fetches an attachment.",
  run: async (context) => {
    const { args, output } = context;
    const range = readMessageRange(args);
    const agent = args.text("agent");
    const holdfast = await context.open();
    const at = await locate(holdfast, args.operand(0));
    if (at.head !== undefined) return await showAt(holdfast, at, range, context);
    const session = await needSession(holdfast, at.session);
    const isFollowing = args.flag("follow");
    if (isFollowing && args.flag("calls")) throw new UsageError("--calls cannot be combined with --follow");
    const { messages, damage, total } = await read(holdfast, session, agent, range);
    const heads = await findTranscriptHeads(
      holdfast,
      at,
      describeShown(messages, range, session.id, damage !== undefined),
      output,
    );
    if (isFollowing) return await watch(holdfast, session, messages, heads, damage, context);
    const damagedSeq = damage === undefined ? {} : { damagedSeq: damage.details.seq };
    const calls = args.flag("calls") ? await findMessageCalls(holdfast, messages) : null;
    await output.answer({ session: session.id, total, ...withCalls(messages, calls), heads, ...damagedSeq }, () => {
      if (messages.length > 0) return transcriptLines(messages, heads, session.id, context, calls);
      return damage === undefined ? ["no messages"] : [];
    });
    if (damage !== undefined) throw damage;
    await noteRest(output, range, messages.length, total);
    await noteCut(output, range, messages, async (more) => (await read(holdfast, session, agent, more)).messages);
    return undefined;
  },
};

/** The messages as they were at a head. */
async function showAt(holdfast: Holdfast, at: Locator, range: MessageRange, context: Context): Promise<undefined> {
  const { args, output } = context;
  if (args.flag("follow")) throw new UsageError("--follow needs a session without a head: nothing is added at a head");
  const { messages, damage, total } = await readAt(holdfast, at, args.text("agent"), range);
  const heads = await findTranscriptHeads(
    holdfast,
    at,
    describeShown(messages, range, at.session, damage !== undefined),
    output,
  );
  const damagedSeq = damage === undefined ? {} : { damagedSeq: damage.details.seq };
  const calls = args.flag("calls") ? await findMessageCalls(holdfast, messages) : null;
  const shown = withCalls(messages, calls);
  await output.answer({ session: at.session, head: at.head, total, ...shown, heads, ...damagedSeq }, () => {
    if (messages.length > 0) return transcriptLines(messages, heads, at.session, context, calls);
    return damage === undefined ? ["no messages"] : [];
  });
  if (damage !== undefined) throw damage;
  await noteRest(output, range, messages.length, total);
  await noteCut(
    output,
    range,
    messages,
    async (more) => (await readAt(holdfast, at, args.text("agent"), more)).messages,
  );
  return undefined;
}

/** Notes that --limit left messages out, and how to read on. */
async function noteCut(
  output: Context["output"],
  { limit }: MessageRange,
  shown: readonly MessageAt[],
  readMore: (range: MessageRange) => Promise<readonly MessageAt[]>,
): Promise<void> {
  const last = shown.at(-1);
  if (limit === undefined || last === undefined || shown.length < limit) return;
  if ((await readMore({ after: last.id, limit: 1 })).length === 0) return;
  await output.note(`there are more; --after ${quoted(last.id)} goes on`);
}

function parsePosition(after: number | string, session: string): EventPosition {
  if (typeof after === "number") return { session, seq: after };
  const end = after.lastIndexOf("#");
  return { session: after.slice(0, end), seq: Number(after.slice(end + 1)) };
}

function describeShown(
  messages: readonly MessageAt[],
  range: MessageRange,
  session: string,
  damaged = false,
): ShownMessages {
  const { last, after = 0, limit } = range;
  const startsAfter = last !== undefined ? "first" : after === 0 ? "start" : parsePosition(after, session);
  return { messages, startsAfter, isCut: damaged || messages.length === limit };
}

/** Messages with the heads between them. */
function transcriptLines(
  messages: readonly MessageAt[],
  heads: readonly TranscriptHead[],
  session: string,
  { output, args }: Context,
  calls: MessageCalls | null = null,
): string[] {
  const now = Date.now();
  const headsAfter = Map.groupBy(heads, ({ after }) => after);
  const among = (after: string | null) =>
    (headsAfter.get(after) ?? []).map((head) => [headLine(head, head.current, session, output)]);
  const isHidden = (message: MessageAt) => !args.flag("all") && isBookkeeping(message);
  const hidden = messages.filter(isHidden).length;
  const blocks = [
    ...among(null),
    ...messages.flatMap((message) => [
      ...(isHidden(message) ? [] : [messageLines(message, now, output, calls?.get(message.id))]),
      ...among(message.id),
    ]),
    ...(hidden === 0
      ? []
      : [[output.style.faint(`${plural(hidden, "entry", "entries")} that are not messages; --all shows them`)]]),
  ];
  return blocks.flatMap((block, i) => [...(i === 0 ? [] : [""]), ...block]);
}

/** An entry of a mirrored transcript that is not a message. */
function isBookkeeping(message: MessageAt): boolean {
  return !("erased" in message) && message.role === "system" && message.metadata?.claude === AS_CONTENT;
}

async function watch(
  holdfast: Holdfast,
  session: Session,
  past: readonly Message[],
  heads: readonly TranscriptHead[],
  damage: Error | undefined,
  context: Context,
): Promise<number> {
  const { args, output, io } = context;
  const agent = args.text("agent");
  const print = async (message: Message) => {
    if (agent !== undefined && message.agent !== agent) return;
    if (output.json) await output.record(message);
    else if (args.flag("all") || !isBookkeeping(message))
      await output.lines([...messageLines(message, Date.now(), output), ""]);
  };
  if (output.json) for (const message of past) await print(message);
  else if (past.length > 0) await output.lines([...transcriptLines(past, heads, session.id, context), ""]);
  if (damage !== undefined) throw damage;
  const after = Math.max(session.seq, past.at(-1)?.session === session.id ? (past.at(-1)?.seq ?? 0) : 0);
  const types = ["message/added", ...(output.json ? [] : ["head/created"])];
  return await follow(holdfast, session.id, { after, types }, io, async ({ seq, type, data }) => {
    if (type === "head/created") {
      const head = await holdfast.heads.get(String(data.head));
      if (head === null) return;
      const { head: current } = (await holdfast.sessions.get({ session: session.id })) ?? {};
      return await output.lines([headLine(head, head.id === current, session.id, output), ""]);
    }
    // The message is read by its seq, so a message that was cleared meanwhile is not printed.
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
    "from standard input. With --key, appending the same key again returns the existing message.",
  options: {
    agent: { type: "text", value: "ID", summary: "the agent of the conversation (default: the session's agent)" },
    role: { type: "text", value: "ROLE", choices: ROLES, summary: `${ROLES.join(", ")} (default user)` },
    key: { type: "text", summary: "your own id for the message, so that a repeated call adds it once" },
    run: { type: "text", value: "ID", summary: "the run it belongs to" },
  },
  operands: [
    { name: "SESSION", need: "required" },
    { name: "TEXT", need: "required" },
  ],
  examples: [
    { command: "holdfast messages add chat-1 --agent helper 'hello'", does: "a user's message to the agent helper" },
    { command: "cat notes.md | holdfast messages add chat-1 --role system -", does: "a long one, from a file" },
  ],
  next: "holdfast messages SESSION reads it back.",
  run: async (context) => {
    const { args } = context;
    const role = args.choice("role", ROLES) ?? "user";
    const holdfast = await context.open();
    const named = args.operand(0);
    const session = await findSession(holdfast, named);
    const agent = args.text("agent") ?? session?.agent;
    if (agent === undefined || agent === null) throw new UsageError("name the agent of the conversation: --agent ID");
    const [key, run] = [args.text("key"), args.text("run")];
    const content = await readTextOperand(args.operand(1), context.io);
    const input: MessageInput = { role, content, ...(key === undefined ? {} : { key }) };
    const scope = { session: session?.id ?? named, agent };
    const message = await holdfast.history.append(scope, input, run === undefined ? {} : { run });
    const added = session === null || message.seq > session.seq;
    await context.output.answer({ ...message, added }, () => [
      added
        ? safe`added ${message.id}${session === null ? " (a new session)" : ""}`
        : safe`exists already: ${message.id} has the key ${key ?? ""}`,
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
