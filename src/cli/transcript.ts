// Messages as people read them: a line that says who and when, and the content below it, indented.
import type { ContentBlock, Media, Message } from "../contracts/messages.ts";
import type { Output } from "./output.ts";
import { safeLine, safeText, truncate, wrap } from "./terminal.ts";
import { formatAge, formatBytes } from "./units.ts";

const INDENT = "    ";
/** Arguments and results of tools can be whole files; `--json` has all of it. */
const TOOL_TEXT_MAX = 600;

export function messageLines(message: Message, now: number, output: Output): string[] {
  const { style } = output;
  const run = message.run === undefined ? "" : `, run ${message.run}`;
  const who = `${style.strong(safeLine(message.role))} ${safeLine(`(${message.agent}${run})`)}`;
  const head = `${style.name(`#${message.seq}`)} ${who} ${style.faint(formatAge(message.at, now))}`;
  const body = message.content.flatMap((block) => wrap(safeText(blockText(block)), output.width - INDENT.length));
  return [head, ...body.map((line) => (line === "" ? "" : INDENT + line))];
}

export function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
      return `[image ${mediaText(block.source)}${block.alt === undefined ? "" : ` "${block.alt}"`}]`;
    case "audio":
      return `[audio ${mediaText(block.source)}]${block.transcript === undefined ? "" : ` ${block.transcript}`}`;
    case "document":
      return `[document ${block.title === undefined ? "" : `"${block.title}" `}${mediaText(block.source)}]`;
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

function mediaText(media: Media): string {
  const type = media.mediaType ?? "";
  const size = "size" in media && media.size !== undefined ? formatBytes(media.size) : "";
  return [type, size, media.ref ?? media.url].filter((part) => part !== "").join(" ");
}

function shorten(text: string): string {
  return truncate(text.replaceAll("\t", " "), TOOL_TEXT_MAX);
}
