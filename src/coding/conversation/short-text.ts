// Shortens text to one line or to a number of characters, and never splits a character.
import type { ConversationMessage } from "./conversation.ts";

type Blocks = ConversationMessage["content"];

/** At most `most` UTF-16 units, without half of a surrogate pair at the end. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = Math.max(0, most);
  const isInside = end > 0 && /[\ud800-\udbff]/.test(text.charAt(end - 1)) && /[\udc00-\udfff]/.test(text.charAt(end));
  return text.slice(0, isInside ? end - 1 : end);
}

/** A time for people, in UTC. */
export function formatMoment(at: number): string {
  // The Swedish form is that of ISO 8601.
  format ??= new Intl.DateTimeFormat("sv-SE", { timeZone: "UTC", dateStyle: "short", timeStyle: "medium" });
  return `${format.format(at)} UTC`;
}

let format: Intl.DateTimeFormat | undefined;

/** As cut(), with a note of how many characters are missing. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const kept = cut(text, most);
  return `${kept} … (${text.length - kept.length} more characters)`;
}

/** The first line that is not blank. */
export function firstLine(content: Blocks): string {
  for (const block of content) {
    if (block.type !== "text") continue;
    const line = block.text.split("\n").find((one) => one.trim() !== "");
    if (line !== undefined) return line.trim();
  }
  return "";
}

/** Makes a valid title: one line of well-formed Unicode without control characters. */
export function titleOf(text: string, most = 200): string {
  return cut(
    text
      .slice(0, most * 4)
      .toWellFormed()
      .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
      .trim(),
    most,
  );
}

/** The result of a tool call; null when there is none. */
export function findToolResult(
  messages: readonly ConversationMessage[],
  toolUseId: string | null,
): { readonly isError: boolean } | null {
  if (toolUseId === null) return null;
  for (const { content } of messages) {
    for (const block of content) {
      if (block.type === "tool_result" && block.toolUseId === toolUseId) return { isError: block.isError === true };
    }
  }
  return null;
}

/** Escapes control characters, marks that change the direction of text, and lone surrogates; line ends and tabs stay. */
export function escapeControls(text: string): string {
  const lines = text.replace(/\r\n?|[\v\f\u0085\u2028\u2029]/g, "\n");
  return lines.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, (character) => {
    if (character === "\n" || character === "\t" || character === "\u200c" || character === "\u200d") return character;
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}
