// Formats messages for people: a line with id, role, agent and age, and the indented content below it.
import type { Call } from "../contracts/calls.ts";
import type { MessageAt } from "../contracts/lineage.ts";
import type { ContentBlock, Media } from "../contracts/messages.ts";
import { messageTimeOf } from "../core/message-time.ts";
import { formatCall } from "./message-calls.ts";
import type { Output } from "./output.ts";
import { safeLine, safeText, truncate, wrap } from "./terminal.ts";
import { formatAge, formatBytes } from "./units.ts";

const INDENT = "    ";
/** Tool arguments and results can be whole files, so they are cut; `--json` prints all of them. */
const TOOL_TEXT_MAX = 600;

export function messageLines(message: MessageAt, now: number, output: Output, call?: Call): string[] {
  const { style } = output;
  const isErased = "erased" in message;
  const run = isErased || message.run === undefined ? "" : `, run ${message.run}`;
  const author = `${style.strong(safeLine(message.role))} ${safeLine(`(${message.agent}${run})`)}`;
  const age = style.faint(formatAge(isErased ? message.at : messageTimeOf(message), now));
  const head = `${style.name(safeLine(message.id))} ${author} ${age}`;
  const writer = call === undefined ? [] : wrap(safeLine(`by ${formatCall(call)}`), output.width - INDENT.length);
  if (isErased) return [head, `${INDENT}${style.faint("(erased)")}`];
  return [head, ...writer.map((line) => INDENT + style.faint(line)), ...contentLines(message.content, output)];
}

export function contentLines(content: readonly ContentBlock[], output: Output): string[] {
  const body = content.flatMap((block) => wrap(safeText(blockText(block)), output.width - INDENT.length));
  return body.map((line) => (line === "" ? "" : INDENT + line));
}

export function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
      return mediaText("image", block.alt, block.source);
    case "audio":
      return mediaText("audio", block.transcript, block.source);
    case "document":
      return mediaText("document", block.title, block.source);
    case "tool_use":
      return `→ ${block.name} ${shorten(JSON.stringify(block.input) ?? "")}`;
    case "tool_result": {
      const { content } = block;
      const text = typeof content === "string" ? content : content.map(blockText).join("\n");
      return `← ${block.isError === true ? "error: " : ""}${shorten(text)}`;
    }
    case "thinking":
      return `(thinking) ${shorten(block.thinking)}`;
    case "opaque":
      return `[${shorten(JSON.stringify(block.value) ?? "")}]`;
    default:
      return `[${shorten(JSON.stringify(block) ?? "")}]`;
  }
}

/** The ref comes last, outside the brackets, where it is easy to copy. */
function mediaText(kind: string, words: string | undefined, media: Media): string {
  const size = "size" in media && media.size !== undefined ? formatBytes(media.size) : "";
  const facts = [words === undefined ? "" : JSON.stringify(words), media.mediaType ?? "", size].filter(
    (part) => part !== "",
  );
  return `[${[kind, ...facts].join(" ")}] ${media.ref ?? media.url}`;
}

function shorten(text: string): string {
  return truncate(text.replaceAll("\t", " "), TOOL_TEXT_MAX);
}
