// holdfast fork, resume, rewind: continue a session from an earlier point.
import { HoldfastError, isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { ForkInput, MessageAt, Moved } from "../../contracts/lineage.ts";
import type { Locator } from "../../contracts/locators.ts";
import type { Command } from "../command-line.ts";
import { UsageError } from "../failure.ts";
import { LOCATOR_HELP, locate, locateFork, shortHead, suggestMessage } from "../locate.ts";
import { quoted, safe, wrapWords } from "../terminal.ts";
import { plural } from "../units.ts";

export const fork: Command = {
  name: "fork",
  summary: "create a session that continues another from some point",
  usage: [
    "fork SESSION[@HEAD] [NEW-ID] [--title T] [--agent A] [--tag T]…",
    "fork SESSION#SEQ [NEW-ID]",
    "fork SESSION --message ID [NEW-ID]",
  ],
  description:
    "Creates a session with the history of another one up to a head or a message. Without a head or message, it uses the session's " +
    "current head, or its latest state if it has no head. fork copies nothing and does not change the other session. You name a " +
    `message by its session and its number, as holdfast messages prints it: chat-1#7. ${LOCATOR_HELP}`,
  options: {
    title: { type: "text", summary: "a title for people" },
    agent: { type: "text", value: "ID", summary: "the agent it belongs to (default: the other session's)" },
    tag: { type: "list", value: "TAG", summary: "a tag to find it by" },
    message: {
      type: "text",
      value: "ID",
      summary: "the last message to inherit; it may belong to a session that SESSION was forked from",
    },
  },
  operands: [
    { name: "SESSION", need: "required" },
    { name: "NEW-ID", need: "optional" },
  ],
  examples: [
    { command: "holdfast fork chat-1", does: "fork at the current head, with a generated id" },
    { command: "holdfast fork chat-1@hd-1a2b3c other-answer", does: "fork at an older head" },
    { command: "holdfast fork chat-1#7", does: "fork right after a message" },
  ],
  next: "holdfast messages NEW-ID prints its messages; holdfast diff SESSION NEW-ID shows how they differ.",
  run: async (context) => {
    const { args, output } = context;
    const holdfast = await context.open();
    const { at, message: named } = await locateFork(holdfast, args.operand(0));
    const [id, message] = [args.operands[1], args.text("message") ?? named];
    const [title, agent] = [args.text("title"), args.text("agent")];
    const input: ForkInput = {
      ...(id === undefined ? {} : { id }),
      ...(title === undefined ? {} : { title }),
      ...(agent === undefined ? {} : { agent }),
      ...(message === undefined ? {} : { message }),
      tags: args.list("tag"),
    };
    const session = await holdfast.sessions.fork(at, input).catch(async (error: unknown) => {
      throw message === undefined ? error : await withNearMessageHint(error, holdfast, at.session, message);
    });
    const head = message === undefined ? await findSourceHead(holdfast, session.id) : null;
    const later =
      at.head !== undefined || head === null ? [] : await findLaterMessages(holdfast, at.session, head, session.id);
    const from = {
      ...at,
      ...(head === null ? {} : { head }),
      ...(message === undefined ? {} : { message }),
      ...(later.length === 0 ? {} : { messagesAfter: later.length }),
    };
    await output.answer({ ...session, from }, () =>
      wrapWords(
        safe`created session ${session.id}, a fork of ${at.session}${describePoint(at, head, message)}`,
        output.width,
      ),
    );
    const last = later.at(-1);
    if (last !== undefined) {
      const it = later.length === 1 ? "it" : "them";
      await output.note(
        `the fork leaves out ${plural(later.length, "later message")}; \`holdfast fork ${quoted(last.id)}\` includes ${it}`,
      );
    }
    return undefined;
  },
};

async function withNearMessageHint(
  error: unknown,
  holdfast: Holdfast,
  session: string,
  message: string,
): Promise<unknown> {
  if (!isHoldfastError(error) || error.code !== "NotFound" || error.details.kind !== "message") return error;
  const hint = await suggestMessage(holdfast, session, message);
  return new HoldfastError("NotFound", error.message, { hint, details: error.details, cause: error });
}

/** Reads the head of the fork point from the fork itself, because the source's current head may have moved since. */
async function findSourceHead(holdfast: Holdfast, fork: string): Promise<string | null> {
  const { sessions } = await holdfast.sessions.tree({ session: fork }, { limit: 1 });
  return sessions.find(({ id }) => id === fork)?.from?.head ?? null;
}

/**
 * Finds the messages that the session shows and the fork does not. Subtracting their counts would be wrong: counts
 * include cleared messages, and the session may be on another branch than its current head.
 */
async function findLaterMessages(
  holdfast: Holdfast,
  session: string,
  head: string,
  fork: string,
): Promise<readonly MessageAt[]> {
  const [now, then] = [await holdfast.sessions.at({ session }), await holdfast.heads.get(head)];
  if (then?.session === session && then.branch === now.branch) {
    return await holdfast.history.session(session, { after: then.seq });
  }
  return (await holdfast.sessions.diff({ session }, { session: fork })).a.messages;
}

function describePoint(at: Locator, head: string | null, message: string | undefined): string {
  if (message !== undefined) return ` at message ${message}`;
  if (head === null) return " at its latest state (it has no head)";
  return ` at ${at.head === undefined ? "its current head" : "head"} ${shortHead(head)}`;
}

function movedLines({ session, head, branch, branched }: Moved, verb: string, width: number): string[] {
  const at = head === null ? "its latest state" : `head ${shortHead(head.id)}`;
  const text = safe`${session} ${verb} ${at}${branched ? `, on branch ${branch}` : " (it was there already)"}`;
  return wrapWords(text, width);
}

export const resume: Command = {
  name: "resume",
  summary: "continue from a head and leave the current head in place",
  usage: ["resume SESSION[@HEAD]"],
  description:
    "Continues the same session from a head, on a new branch if events came after it. Those events stay " +
    "and can be read at their own heads. The current head stays until the session publishes the next one. Use resume to continue " +
    "after a crash, or from any head of the session, also on another branch. holdfast rewind, in contrast, moves the " +
    `current head back at once, so that all readers see it, and accepts only ancestors of the current head. ${LOCATOR_HELP}`,
  options: {},
  operands: [{ name: "SESSION", need: "required" }],
  examples: [
    { command: "holdfast resume chat-1", does: "continue from the current head after a crash in the middle of a turn" },
    { command: "holdfast resume chat-1@hd-1a2b3c", does: "continue from an older head" },
  ],
  next: "holdfast sessions tree SESSION shows its branches; holdfast rewind also moves the current head.",
  run: async (context) => {
    const holdfast = await context.open();
    const moved = await holdfast.sessions.resume(await locate(holdfast, context.args.operand(0)));
    await context.output.answer(moved, () => movedLines(moved, "continues from", context.output.width));
    return undefined;
  },
};

export const rewind: Command = {
  name: "rewind",
  summary: "go back: make an older head the current one",
  usage: ["rewind SESSION@HEAD"],
  description:
    "Moves the current head back to one of its ancestors, and the session continues from there on a new branch. rewind deletes " +
    "nothing: later events can be read at their own heads. holdfast resume also continues from a head, but leaves the current head " +
    `in place until the session publishes the next one. ${LOCATOR_HELP}`,
  options: {},
  operands: [{ name: "SESSION@HEAD", need: "required" }],
  examples: [{ command: "holdfast rewind chat-1@hd-1a2b3c", does: "go back to that head" }],
  next: "holdfast heads SESSION lists the heads; holdfast fork keeps both branches as separate sessions.",
  run: async (context) => {
    const holdfast = await context.open();
    const named = context.args.operand(0);
    const at = await locate(holdfast, named);
    if (at.head === undefined) {
      throw new UsageError(
        `name the head to go back to: ${quoted(`${named}@HEAD`)}; \`holdfast heads ${quoted(named)}\` lists them`,
      );
    }
    const moved = await holdfast.sessions.rewind(at);
    await context.output.answer(moved, () => movedLines(moved, "is back at", context.output.width));
    return undefined;
  },
};
