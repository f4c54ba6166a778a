// What a message that a search found says itself: what agents call and get with the tools of their memory says nothing new.
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { ContentBlock, Message } from "../../contracts/messages.ts";
import type { SearchHit } from "../../contracts/search.ts";
import { textOf } from "./message-text.ts";

type ToolUse = Extract<ContentBlock, { type: "tool_use" }>;

const MEMORY_TOOLS: ReadonlySet<string> = new Set([
  "archival_memory_insert",
  "archival_memory_search",
  "conversation_search",
  "conversation_search_date",
  "core_memory_append",
  "core_memory_replace",
  "memory_insert",
  "memory_replace",
  "memory_rethink",
]);

/** Mostly the call of a result is one of so many messages before it. */
const CALL_DISTANCE = 50;
/** Code units that are shown before and after a word. */
const SHOWN_AROUND = 300;

/** Reads each message once, however often it is asked for. */
export class OwnWords {
  readonly #history: Holdfast["history"];
  readonly #known = new Map<string, Promise<string | undefined>>();
  readonly #sessions = new Map<string, Promise<readonly Message[]>>();

  constructor(history: Holdfast["history"]) {
    this.#history = history;
  }

  /** The text to show; undefined: the words are only beside the message, or in calls and results of memory tools. */
  of(hit: SearchHit): Promise<string | undefined> {
    const known = this.#known.get(hit.id) ?? this.#read(hit);
    this.#known.set(hit.id, known);
    return known;
  }

  async #read(hit: SearchHit): Promise<string | undefined> {
    const { snippet, passage, signals, session, seq } = hit;
    const words = snippet.highlights.map(([start, end]) => snippet.text.slice(start, end).toLowerCase());
    if (words.length === 0 && !signals.some(({ name }) => name === "vector")) return undefined;
    const message =
      (await this.#history.session(session, { after: seq - 1, limit: 1 })).find(({ id }) => id === hit.id) ??
      (await this.#whole(hit)).find(({ id }) => id === hit.id);
    if (message === undefined) return passage;
    const own: ContentBlock[] = [];
    for (const block of message.content) if (!(await this.#isOfMemory(block, hit))) own.push(block);
    if (own.length === message.content.length) return passage;
    const text = textOf(own.filter(({ type }) => type !== "thinking" && type !== "opaque"));
    const lower = text.toLowerCase();
    const places = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
    if (text === "" || (words.length > 0 && places.length === 0)) return undefined;
    const at = places.length === 0 ? 0 : Math.min(...places);
    return text.slice(Math.max(0, at - SHOWN_AROUND), at + SHOWN_AROUND).toWellFormed();
  }

  async #isOfMemory(block: ContentBlock, hit: SearchHit): Promise<boolean> {
    if (block.type === "tool_use") return isMemoryCall(block);
    if (block.type !== "tool_result") return false;
    const { toolUseId } = block;
    const { session, seq } = hit;
    const after = Math.max(0, seq - CALL_DISTANCE);
    const near = await this.#history.session(session, { after, limit: seq - after });
    const call = callOf(toolUseId, near, hit) ?? callOf(toolUseId, await this.#whole(hit), hit);
    return call !== undefined && isMemoryCall(call);
  }

  /** With what a fork inherits. */
  #whole({ session, shownIn }: SearchHit): Promise<readonly Message[]> {
    const from = shownIn ?? session;
    const known = this.#sessions.get(from) ?? this.#history.session(from);
    this.#sessions.set(from, known);
    return known;
  }
}

/** The last call with the id before the message: ids may come again in a session. */
function callOf(id: string, messages: readonly Message[], hit: SearchHit): ToolUse | undefined {
  const end = messages.findIndex((message) => message.id === hit.id);
  return messages
    .slice(0, end === -1 ? messages.length : end)
    .flatMap(({ content }) => content)
    .findLast((block): block is ToolUse => block.type === "tool_use" && block.id === id);
}

/** Others may have a tool named memory: Anthropic's has commands. */
function isMemoryCall({ name, input }: ToolUse): boolean {
  if (name !== "memory") return MEMORY_TOOLS.has(name);
  return typeof input === "object" && input !== null && "command" in input && "path" in input;
}
