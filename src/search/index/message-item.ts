// From a message to what is indexed of it. Indexing and snippets read the same text here, so that they agree on what is where.
import type { Json } from "../../contracts/json.ts";
import type { ContentBlock, Message } from "../../contracts/messages.ts";
import { messageTimeOf } from "../../core/message-time.ts";
import type { TextLanguage } from "../text/stem.ts";
import { tokenise } from "../text/tokenise.ts";
import { fieldTerm, ROLES } from "./reader.ts";
import type { IndexItem } from "./units.ts";

/** Ends a block: what stands in two blocks is in two paragraphs. */
const BLOCK_END = "\n\n";

export function messageItem(group: number, message: Message, language: TextLanguage): IndexItem {
  return {
    group,
    item: message.seq,
    at: messageTimeOf(message),
    flags: ROLES.indexOf(message.role),
    text: messageText(message.content),
    fields: messageFields(message, language),
  };
}

/**
 * What a message says: its texts, the names and arguments of tool calls, the results of tools, and what describes attachments. No
 * thinking, and no content of a kind that Holdfast does not know, because neither is meant for readers.
 */
export function messageText(content: readonly ContentBlock[]): string {
  const parts: string[] = [];
  for (const block of content) addBlock(parts, block);
  return parts.join(BLOCK_END);
}

function addBlock(parts: string[], block: ContentBlock): void {
  const text = blockText(block);
  if (text !== "") parts.push(text);
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "tool_use":
      return [block.name, ...inputLines(block.input)].join("\n");
    case "tool_result":
      return typeof block.content === "string" ? block.content : messageText(block.content);
    case "image":
      return block.alt ?? "";
    case "audio":
      return block.transcript ?? "";
    case "document":
      return block.title ?? "";
    case "thinking":
    case "opaque":
      return "";
  }
}

/** `path: src/open.ts`, a line for each value: as JSON, a line break in a text would be a backslash and an n. */
function inputLines(input: Json): string[] {
  const lines: string[] = [];
  const pending: { readonly key: string; readonly value: Json }[] = [{ key: "", value: input }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { key, value } = next;
    if (value === null || value === "") continue;
    if (typeof value !== "object") {
      lines.push(key === "" ? String(value) : `${key}: ${value}`);
      continue;
    }
    const inner = Array.isArray(value)
      ? value.map((one: Json) => ({ key, value: one }))
      : Object.entries(value).map(([name, one]) => ({ key: name, value: one }));
    for (const one of inner.reverse()) pending.push(one);
  }
  return lines;
}

/** Fields of messages. "speaker" has the words of a name, because a query says "Ana" of "Ana Maria". */
export const MESSAGE_FIELDS = { agent: "agent", tool: "tool", speaker: "speaker" } as const;

function messageFields(message: Message, language: TextLanguage): readonly string[] {
  const fields = new Set([fieldTerm(MESSAGE_FIELDS.agent, message.agent)]);
  for (const block of message.content) {
    if (block.type === "tool_use") fields.add(fieldTerm(MESSAGE_FIELDS.tool, block.name));
  }
  for (const { term } of tokenise(speakerName(message), language)) fields.add(fieldTerm(MESSAGE_FIELDS.speaker, term));
  return [...fields];
}

/** Code units of a name that are indexed. */
const NAME_LENGTH_MAX = 256;

/** The name in the metadata, as in the chat formats of providers, or, if an agent speaks, its id. */
function speakerName({ metadata, role, agent }: Message): string {
  const name = metadata?.name;
  if (typeof name === "string") return name.slice(0, NAME_LENGTH_MAX);
  return role === "assistant" ? agent : "";
}
