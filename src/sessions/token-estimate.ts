// Estimates the tokens of a message if the caller passes no tokenizer. It is a separate file, so that a loop that
// counts tokens loads no code of a store.
import type { ContextMessage } from "../contracts/context.ts";
import type { ContentBlock } from "../contracts/messages.ts";

const MESSAGE_TOKENS = 4;
const BYTES_PER_TOKEN = 4;
const MEDIA_TOKENS = 1000;

/** contracts/context.ts documents these figures, because callers plan with them. */
export function estimate({ content }: ContextMessage): number {
  const { bytes, media } = sizeOf(content);
  return MESSAGE_TOKENS + Math.ceil(bytes / BYTES_PER_TOKEN) + media * MEDIA_TOKENS;
}

function sizeOf(content: readonly ContentBlock[]): { readonly bytes: number; readonly media: number } {
  let bytes = 0;
  let media = 0;
  for (const block of content) {
    if (block.type === "image" || block.type === "audio" || block.type === "document") media += 1;
    else if (block.type === "tool_result" && typeof block.content !== "string") {
      const inner = sizeOf(block.content);
      bytes += inner.bytes + Buffer.byteLength(block.toolUseId);
      media += inner.media;
    } else bytes += Buffer.byteLength(textOf(block));
  }
  return { bytes, media };
}

function textOf(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "thinking":
      return block.thinking;
    case "tool_use":
      return `${block.id}${block.name}${JSON.stringify(block.input)}`;
    case "tool_result":
      return `${block.toolUseId}${String(block.content)}`;
    case "opaque":
      return JSON.stringify(block.value);
    default:
      return "";
  }
}
