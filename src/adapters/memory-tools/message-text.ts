// What a model reads of a message.
import type { ContentBlock } from "../../contracts/messages.ts";

export function textOf(content: readonly ContentBlock[]): string {
  return content.map(textOfBlock).join("\n");
}

function textOfBlock(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "tool_use":
      return `[calls ${block.name} ${JSON.stringify(block.input)}]`;
    case "tool_result":
      return `[result] ${typeof block.content === "string" ? block.content : textOf(block.content)}`;
    default:
      return `[${block.type}]`;
  }
}
