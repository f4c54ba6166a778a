// Converts the content of coding agents' messages into content blocks. Other programs, models and tools wrote it: a value that fits no
// block becomes an opaque block, and is cut only if a store could not store it.
import type { Json, JsonObject } from "../../contracts/json.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { ContentBlock, ContentBlockInput } from "../../contracts/messages.ts";
import { isObject } from "../../core/check.ts";

/** No agent nests deeper; a store accepts more (jsonDepth) inside a message. */
const DEEPEST = 256;
/** Tool results inside tool results. */
const NESTED = 6;

export type LooseObject = Readonly<Record<string, unknown>>;

export function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** The value if it is a valid id: well-formed, without NUL, and short enough. */
export function idOf(value: unknown): string | null {
  if (typeof value !== "string" || value === "" || value.includes("\0") || !value.isWellFormed()) return null;
  return value.length * 3 > LIMITS.idBytes && Buffer.byteLength(value) > LIMITS.idBytes ? null : value;
}

export function wholeOf(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** A string becomes a text block, and each item of a list a block. Any other value becomes an opaque block. */
export function contentOf(value: unknown, nested = 0): readonly ContentBlockInput[] {
  if (typeof value === "string") return [{ type: "text", text: value }];
  if (!Array.isArray(value)) return value === undefined || value === null ? [] : [opaque(value)];
  if (value.length > LIMITS.blocksPerMessage) return [opaque(value)];
  return value.map((block) => blockOf(block, nested));
}

function blockOf(block: unknown, nested: number): ContentBlockInput {
  if (!isObject(block)) return opaque(block);
  const { type } = block;
  if (type === "text" && typeof block.text === "string") return { type: "text", text: block.text };
  if (type === "thinking" && typeof block.thinking === "string") {
    const { thinking, signature } = block;
    return { type: "thinking", thinking, ...(typeof signature === "string" ? { signature } : {}) };
  }
  if (type === "tool_use" && typeof block.id === "string" && typeof block.name === "string") {
    return { type: "tool_use", id: block.id, name: block.name, input: limitDepth(block.input ?? {}) };
  }
  if (type === "tool_result" && typeof block.tool_use_id === "string" && nested < NESTED) {
    const { content } = block;
    return toolResult(
      block.tool_use_id,
      typeof content === "string" ? content : contentOf(content, nested + 1),
      block.is_error === true,
    );
  }
  if ((type === "image" || type === "document") && isObject(block.source)) {
    return mediaOf(type, block.source) ?? opaque(block);
  }
  return opaque(block);
}

export function toolResult(
  toolUseId: string,
  content: string | readonly ContentBlockInput[],
  isError: boolean,
): ContentBlockInput {
  return { type: "tool_result", toolUseId, content, ...(isError ? { isError } : {}) };
}

function mediaOf(type: "image" | "document", source: LooseObject): ContentBlockInput | null {
  const mediaType = idOf(source.media_type) ?? undefined;
  if (source.type === "url" && typeof source.url === "string") {
    return { type, source: { url: source.url, ...(mediaType === undefined ? {} : { mediaType }) } };
  }
  if (source.type !== "base64" || typeof source.data !== "string" || mediaType === undefined) return null;
  const data = base64(source.data);
  return data === null ? null : { type, source: { data, mediaType } };
}

/** null when the text is not base64. */
export function base64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null;
  return new Uint8Array(Buffer.from(text, "base64"));
}

export function opaque(value: unknown): ContentBlockInput {
  return { type: "opaque", value: limitDepth(value) };
}

/** The same JSON value. Values that are nested too deep are replaced by a note. */
export function limitDepth(value: unknown): Json {
  return isShallow(value, DEEPEST) ? (value as Json) : replaceDeepValues(value, DEEPEST);
}

function isShallow(value: unknown, left: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return left > 0 && Object.values(value).every((one) => isShallow(one, left - 1));
}

function replaceDeepValues(value: unknown, left: number): Json {
  if (typeof value !== "object" || value === null) return value as Json;
  if (left === 0) return "(nested too deep)";
  if (Array.isArray(value)) return value.map((one) => replaceDeepValues(one, left - 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, replaceDeepValues(one, left - 1)]),
  ) as JsonObject;
}

const TAGS = [
  "task-notification",
  "command-name",
  "local-command-stdout",
  "local-command-stderr",
  "local-command-caveat",
  "bash-input",
  "bash-stdout",
  "bash-stderr",
];
const BEGINNING = new RegExp(
  `^\\s*(?:<(?:${TAGS.join("|")})>|\\[Request interrupted by user(?: for tool use)?\\]\\s*$)`,
);

export function isProgramText(content: readonly (ContentBlock | ContentBlockInput)[]): boolean {
  const [first] = content;
  return first?.type === "text" && BEGINNING.test(first.text);
}
