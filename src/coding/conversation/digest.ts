// Makes a digest of an earlier conversation for an agent that could not resume it: the first prompt, the last messages, and open tasks.
// Every line is quoted, so that no content can end the quotation, and the header says that the digest is a record and not an
// instruction (rule SE8).
import type { CatchUpProblem, ImportStores } from "../catch-up.ts";
import { type ActivitySummary, resultText, summarizeActivity, textOfMessage } from "./activity-summary.ts";
import { frameDigest, HEADER, MARK } from "./digest-frame.ts";
import { catchUpWithEarlier } from "./request-conversations.ts";
import { cut, escapeControls, formatMoment, shorten } from "./short-text.ts";
import { messageTime, type StoredMessage } from "./stored-messages.ts";

export interface DigestOptions {
  /** How many of the last messages; default 50. */
  readonly messages?: number;
  /** The longest digest in characters; default 24,000. */
  readonly chars?: number;
}

const QUOTE = `${MARK} `;

/**
 * Imports the session's newest capture first. "" when the session has no messages. Never longer than `chars`. It covers also the
 * earlier sessions that this one got a digest of.
 */
export async function digest(
  hf: ImportStores,
  session: string,
  { messages = 50, chars = 24_000 }: DigestOptions = {},
): Promise<string> {
  const { sessions, behind } = await catchUpWithEarlier(hf, session);
  const activity = await summarizeActivity(hf, sessions, messages);
  if (activity.messages === 0) return "";
  const room = chars - frameDigest("").length;
  if (room < 200) return cut(HEADER, chars);
  const facts = overview(activity, { sessions: sessions.length, behind }, room);
  const newest = lastMessages(activity, room - facts.length - 120);
  // The cut may leave a line that has no mark yet.
  return frameDigest(cut([facts, newest].filter((text) => text !== "").join("\n"), room).trimEnd());
}

/** Each line begins with the mark, and quoted text cannot end a line in another way. */
function quote(text: string): string {
  return escapeControls(text)
    .split("\n")
    .map((line) => `${QUOTE}${line}`.trimEnd())
    .join("\n");
}

interface EarlierSessions {
  readonly sessions: number;
  readonly behind: CatchUpProblem;
}

function overview(activity: ActivitySummary, { sessions, behind }: EarlierSessions, room: number): string {
  const { prompts, summary, changed, tasks, open, messages, firstAt, lastAt } = activity;
  const [first] = prompts;
  const part = Math.floor(room / 8);
  return quote(
    [
      `Messages: ${messages}; prompts: ${prompts.length}.`,
      ...(firstAt === null || lastAt === null ? [] : [`From ${formatMoment(firstAt)} to ${formatMoment(lastAt)}.`]),
      ...(behind === null ? [] : [`The newest messages may be missing: ${shorten(behind, 300)}`]),
      ...(sessions === 1 ? [] : [`Sessions: ${sessions}, each of which began with a digest of those before it.`]),
      ...(first === undefined ? [] : ["First prompt:", shorten(textOfMessage(first), part)]),
      ...(summary === null
        ? []
        : ["Summary of what came before, as it was compacted:", shorten(textOfMessage(summary), part)]),
      ...list("Files changed:", changed, 20, part),
      ...list(
        "Open tasks:",
        tasks.map(({ title, status }) => `[${status}] ${title}`),
        20,
        part,
      ),
      ...list(
        "Tool calls without a result (they were cut off):",
        open.map(({ name, input }) => `${name} ${shortJson(input, 200)}`),
        5,
        part,
      ),
    ].join("\n"),
  );
}

/** The newest items, one a line. */
function list(title: string, items: readonly string[], most: number, room: number): readonly string[] {
  if (items.length === 0) return [];
  const lines: string[] = [];
  let left = room;
  for (const item of items.slice(-most).toReversed()) {
    const line = `- ${oneLine(shorten(item, 300))}`;
    left -= line.length + 3;
    if (left < 0) break;
    lines.unshift(line);
  }
  const out = items.length - lines.length;
  return [title, ...(out === 0 ? [] : [`- (${out} more)`]), ...lines];
}

function oneLine(text: string): string {
  return escapeControls(text).replaceAll("\n", " ⏎ ");
}

function shortJson(input: unknown, most: number): string {
  return oneLine(shorten(JSON.stringify(input) ?? "", most));
}

/** The last messages that fit into `room`. The first line says how many are left out. */
function lastMessages({ last, messages }: ActivitySummary, room: number): string {
  const shown: string[] = [];
  let left = room;
  let n = last.length;
  for (; n > 0; n--) {
    const message = last[n - 1];
    const text = message === undefined ? "" : quote(messageText(message, n === last.length ? 4000 : 1500));
    if (text.length + 1 > left) break;
    left -= text.length + 1;
    shown.unshift(text);
  }
  // The last message matters most: a part of it is better than nothing.
  const newest = last.at(-1);
  if (shown.length === 0 && newest !== undefined && left > 100) {
    shown.push(cut(quote(messageText(newest, Math.floor(left / 3))), left));
    n = last.length - 1;
  }
  const out = messages - (last.length - n);
  const note = out === 0 ? [] : [quote(`(${out} of ${messages} messages are left out here)`)];
  return [...note, quote("Last messages:"), ...shown].join("\n");
}

function messageText(message: StoredMessage, most: number): string {
  const kind = message.metadata?.meta === true ? ", added by the program" : "";
  const at = messageTime(message);
  const when = at === null ? "" : `, ${formatMoment(at)}`;
  return [`[${message.role}${kind}${when}]`, ...message.content.map((block) => blockText(block, most))].join("\n");
}

function blockText(block: StoredMessage["content"][number], most: number): string {
  switch (block.type) {
    case "text":
      return shorten(block.text, most);
    case "thinking":
      return `(thinking) ${shorten(block.thinking, 300)}`;
    case "tool_use":
      return `(calls ${oneLine(block.name)}) ${shortJson(block.input, 400)}`;
    case "tool_result":
      return `(${block.isError === true ? "failed" : "result"}) ${shorten(resultText(block), 600)}`;
    case "opaque":
      return "(content that cannot be shown)";
    default:
      return `(${block.type})`;
  }
}
