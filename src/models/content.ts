// What adapters share in converting stored content to a provider's format: which blocks belong to which provider, and tool results
// as text.
import type { ProviderContent } from "../contracts/chat.ts";
import type { ContextMessage } from "../contracts/context.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import type { ContentBlock } from "../contracts/messages.ts";
import { isObject } from "../core/check.ts";
import { describeMedia, isMedia, type MediaBlock } from "./media.ts";

export type BlockOf<T extends ContentBlock["type"]> = Extract<ContentBlock, { type: T }>;

export function keepBlock(from: string, block: JsonObject): BlockOf<"opaque"> {
  return { type: "opaque", value: { from, block } satisfies ProviderContent };
}

/** An opaque block with further fields of the block before it; nothing when there are none. */
export function keepFields(from: string, adds: JsonObject): readonly BlockOf<"opaque">[] {
  return Object.keys(adds).length === 0 ? [] : [{ type: "opaque", value: { from, adds } satisfies ProviderContent }];
}

export interface OwnBlock {
  readonly block: ContentBlock;
  /** Further fields that this provider sent with the block. */
  readonly adds: JsonObject;
}

/** The blocks that this provider accepts: opaque blocks only if they came from it. */
export function ownBlocks(content: readonly ContentBlock[], from: string): readonly OwnBlock[] {
  return content.flatMap((block, i): readonly OwnBlock[] => {
    if (block.type !== "opaque") {
      const next = content[i + 1];
      const kept = next?.type === "opaque" ? providerContent(next.value, from) : undefined;
      return [{ block, adds: kept !== undefined && "adds" in kept ? kept.adds : {} }];
    }
    const kept = providerContent(block.value, from);
    return kept !== undefined && "block" in kept ? [{ block, adds: kept.block }] : [];
  });
}

function providerContent(value: Json, from: string): ProviderContent | undefined {
  if (!isObject(value) || value.from !== from) return undefined;
  const { block, adds } = value;
  if (block !== undefined && isObject(block)) return { from, block };
  return adds !== undefined && isObject(adds) ? { from, adds } : undefined;
}

/** Messages of the roles "tool" and "user" are the same side of the conversation; the assistant's are the other. */
export function isAssistant({ role }: ContextMessage): boolean {
  return role === "assistant";
}

/** A tool result as plain text, for interfaces that accept only text. */
export function resultText({ content, isError }: BlockOf<"tool_result">): string {
  const text = typeof content === "string" ? content : content.map(blockText).join("\n");
  return isError === true ? `Error: ${text}` : text;
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
    case "document":
      return describeMedia(block);
    case "thinking":
      return "";
    case "tool_result":
      return resultText(block);
    case "tool_use":
      return JSON.stringify(block.input);
    case "opaque":
      return JSON.stringify(block.value);
  }
}

export function mediaIn({ content }: BlockOf<"tool_result">): readonly MediaBlock[] {
  return typeof content === "string" ? [] : content.filter(isMedia);
}
