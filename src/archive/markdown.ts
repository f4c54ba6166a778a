// Renders a session for people: Markdown that quotes every message, so that the text of a message cannot end its quote, begin a heading of
// the document, or become HTML.
import { HoldfastError } from "../contracts/errors.ts";
import type { Head } from "../contracts/heads.ts";
import type { MessageAt, View } from "../contracts/lineage.ts";
import type { Locator } from "../contracts/locators.ts";
import type { ContentBlock, Media } from "../contracts/messages.ts";
import type { Session } from "../contracts/session.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { isInstant, printInstant } from "../core/instant.ts";
import { lineageAt } from "../core/lineage.ts";
import { messageTimeOf } from "../core/message-time.ts";
import { rowId } from "../core/row-id.ts";
import { findAt, findHead } from "../core/session-lookup.ts";
import { TimeSlice } from "../core/time-slice.ts";
import { messageRowsAt, messagesOf } from "../history/at.ts";
import { isAtPoint } from "../sessions/branching.ts";
import { sessionOf } from "../sessions/describe.ts";
import { viewAt } from "../sessions/view.ts";

export async function markdownOf(storage: Storage, payloads: Payloads, locator: Locator): Promise<string> {
  const found = await findAt(storage, locator);
  const aliases = (await storage.query("session.aliases", { session: found.session.id })).map(({ name }) => name);
  const session = sessionOf(found.session, aliases);
  const view = await viewAt(storage, payloads, session, found);
  const messages = await readEach(storage, payloads, view);
  const compactions = compactionsOf(await view.heads(), messages);
  const isAtHead = found.head !== null || (await isReadAtHead(storage, found.session));
  const slice = new TimeSlice(storage.environment);
  const parts = [
    `# ${inline(session.title ?? session.id)}`,
    "",
    ...facts(session, view.head?.id ?? session.head, isAtHead, messages.length),
  ];
  for (const [i, message] of messages.entries()) {
    if (slice.isSpent) await slice.pause();
    parts.push(["", ...messageLines(message, i + 1), ...(compactions.get(message.id) ?? [])].join("\n"));
  }
  return [...parts, ""].join("\n");
}

/** Reads the messages one by one: a damaged message is shown as damaged, and does not hide the others. */
interface DamagedMessage {
  readonly id: string;
  readonly role: string;
  readonly agent: string;
  readonly at: number;
  readonly damage: string;
}

async function readEach(
  storage: Storage,
  payloads: Payloads,
  { session, branch, seq }: View,
): Promise<readonly (MessageAt | DamagedMessage)[]> {
  const [row] = await storage.query("session.get", { id: session.id });
  const lineage = row === undefined ? [] : await lineageAt(storage, { no: row.no, branch, seq });
  const slice = new TimeSlice(storage.environment);
  const messages: (MessageAt | DamagedMessage)[] = [];
  for (const one of await messageRowsAt(storage, lineage)) {
    try {
      messages.push(...(await messagesOf([one], payloads, slice)));
    } catch (error) {
      if (!(error instanceof HoldfastError) || (error.code !== "BlobCorrupted" && error.code !== "StoreCorrupted")) {
        throw error;
      }
      const { role, agent, at } = one;
      messages.push({ id: rowId(one.session, one.seq), role: String(role), agent, at, damage: error.message });
    }
  }
  return messages;
}

/** By summary, the messages that it replaces: the first head with the summary is the compaction. */
function compactionsOf(
  heads: readonly Head[],
  messages: readonly { readonly id: string }[],
): ReadonlyMap<string, readonly string[]> {
  const numbers = new Map(messages.map(({ id }, i) => [id, i + 1]));
  const found = new Map<string, readonly string[]>();
  for (const { id, compaction } of heads) {
    if (compaction === null || found.has(compaction.summary)) continue;
    const number = numbers.get(compaction.upTo);
    const upTo = number === undefined ? code(compaction.upTo) : `message ${number}`;
    found.set(compaction.summary, ["", `*Compaction ${code(id)}: this summary stands for everything up to ${upTo}.*`]);
  }
  return found;
}

/** Whether the document shows the state at the head: events after the head are not part of it. */
async function isReadAtHead(storage: Storage, session: SessionRow): Promise<boolean> {
  return session.head !== null && (await isAtPoint(storage, session, await findHead(storage, session.head)));
}

function facts(session: Session, head: string | null, isAtHead: boolean, messages: number): readonly string[] {
  const pairs: readonly (readonly [string, string | null])[] = [
    ["Session", code(session.id)],
    ["Agent", session.agent === null ? null : code(session.agent)],
    ["Status", session.status],
    ["Head", head === null || !isAtHead ? null : code(head)],
    ["Stands", head === null || isAtHead ? null : `elsewhere than at its current head ${code(head)}`],
    ["Tags", session.tags.length === 0 ? null : session.tags.map(code).join(" ")],
    ["Created", time(session.createdAt)],
    ["Messages", String(messages)],
  ];
  return pairs.flatMap(([name, value]) => (value === null ? [] : [`- ${name}: ${value}`]));
}

function messageLines(message: MessageAt | DamagedMessage, number: number): readonly string[] {
  const at = "damage" in message || "erased" in message ? message.at : messageTimeOf(message);
  const title = `## ${number}. ${inline(message.role)} (${inline(message.agent)}), ${time(at)}`;
  if ("damage" in message) return [title, "", `*cannot be read: ${inline(message.damage)}*`];
  if ("erased" in message) return [title, "", "*erased*"];
  return [title, ...message.content.flatMap((block) => ["", ...blockLines(block)])];
}

function blockLines(block: ContentBlock): readonly string[] {
  switch (block.type) {
    case "text":
      return quote(block.text);
    case "thinking":
      return ["*thinking*", "", ...quote(block.thinking)];
    case "image":
      return [media("Image", block.alt, block.source)];
    case "audio":
      return [media("Audio", block.transcript, block.source)];
    case "document":
      return [media("Document", block.title, block.source)];
    case "tool_use":
      return [`**Tool call** ${code(block.name)} (${code(block.id)})`, "", ...fence(print(block.input), "json")];
    case "tool_result": {
      const title = `**${block.isError === true ? "Tool error" : "Tool result"}** (${code(block.toolUseId)})`;
      if (typeof block.content === "string") return [title, "", ...fence(block.content)];
      return [title, ...block.content.flatMap((inner) => ["", ...blockLines(inner)])];
    }
    default:
      return ["**Other content**", "", ...fence(print("value" in block ? block.value : block), "json")];
  }
}

function print(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? "";
}

function media(kind: string, words: string | undefined, source: Media): string {
  const size = "size" in source && source.size !== undefined ? `${source.size} bytes` : undefined;
  const parts = [words === undefined ? undefined : inline(words), source.mediaType && code(source.mediaType), size];
  const facts = parts.filter((part) => part !== undefined && part !== "");
  return `**${kind}** ${[...facts, code(source.ref ?? source.url ?? "")].join(", ")}`;
}

/** Splits at all line ends of Markdown, not only \n. */
function linesOf(text: string): readonly string[] {
  return text.split(/\r\n|\r|\n/);
}

const OPENS = /^(`{3,})[^`]*$|^(~{3,})/;
/** A fence inside a list or with indentation: its end depends on more than the line, so it is escaped. */
const NESTED = /^([\s>*+\-\d.)]+)(`{3,}|~{3,})/;

/** Quotes the author's Markdown. HTML is escaped, except in fences, where Markdown shows it as text. */
function quote(text: string): readonly string[] {
  let fence: string | null = null;
  return linesOf(text).map((line) => {
    if (fence !== null) {
      if (closes(line, fence)) fence = null;
      return `> ${line}`;
    }
    const opened = OPENS.exec(line);
    fence = opened?.[1] ?? opened?.[2] ?? null;
    if (fence !== null) return `> ${line}`;
    return `> ${line.replace(NESTED, "$1\\$2").replaceAll("<", "&lt;")}`.trimEnd();
  });
}

function closes(line: string, fence: string): boolean {
  const found = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(line)?.[1];
  return found !== undefined && found[0] === fence[0] && found.length >= fence.length;
}

/** A code block with the exact text: its fence is longer than any fence inside. */
function fence(text: string, language = ""): readonly string[] {
  const mark = "`".repeat(longestRun(text, 2) + 1);
  return [`${mark}${language}`, ...linesOf(text), mark];
}

function longestRun(text: string, least: number): number {
  let longest = least;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}

/** One line of code. */
function code(text: string): string {
  const mark = "`".repeat(text.includes("`") ? longestRun(text, 1) + 1 : 1);
  const line = linesOf(text).join(" ");
  return line.startsWith("`") || line.endsWith("`") ? `${mark} ${line} ${mark}` : `${mark}${line}${mark}`;
}

/** One line of text, with all characters escaped that mean something to Markdown. */
function inline(text: string): string {
  return linesOf(text)
    .join(" ")
    .replace(/[\\`*_{}[\]()#+!|~&]/g, "\\$&")
    .replaceAll("<", "&lt;");
}

/** UTC, to the second. */
function time(at: number): string {
  return isInstant(at)
    ? printInstant(at)
        .replace("T", " ")
        .replace(/\.\d+Z$/, "Z")
    : `@${at}`;
}
