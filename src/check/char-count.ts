// Counts the characters of a message's content, as history/append.ts counts them when a caller appends the message.
import { json, list, plainObject } from "../core/decode.ts";

/** null: the bytes are not a message's content. */
export function countChars(bytes: Uint8Array): number | null {
  const content = list.read(plainObject.read(json.read(bytes))?.content);
  return content === undefined ? null : charsIn(content);
}

function charsIn(blocks: readonly unknown[]): number {
  let chars = 0;
  for (const item of blocks) {
    const block = plainObject.read(item) ?? {};
    if (block.type === "text") chars += lengthOf(block.text);
    else if (block.type === "thinking") chars += lengthOf(block.thinking);
    else if (block.type === "tool_result") {
      const { content } = block;
      chars += typeof content === "string" ? content.length : charsIn(list.read(content) ?? []);
    }
  }
  return chars;
}

function lengthOf(value: unknown): number {
  return typeof value === "string" ? value.length : 0;
}
