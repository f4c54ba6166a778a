// Renders stored messages as a prompt of the AI SDK's language models, in the format of each version of the specification.
import type { ChatRequest } from "../contracts/chat.ts";
import type { ContextMessage } from "../contracts/context.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { ContentBlock } from "../contracts/messages.ts";
import type { ModelCall } from "../contracts/models.ts";
import { type BlockOf, isAssistant, mediaIn, type OwnBlock, ownBlocks, resultText } from "./content.ts";
import { describeMedia, isMedia, loadMedia, type MediaBlock, type MediaContent } from "./media.ts";

type SpecificationVersion = "v2" | "v3" | "v4";

type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>;

interface Target {
  readonly specificationVersion: SpecificationVersion;
  readonly supportedUrls: PromiseLike<SupportedUrls> | SupportedUrls;
}

interface Rendering {
  readonly version: SpecificationVersion;
  readonly from: string;
  readonly urls: SupportedUrls;
  readonly call: ModelCall;
  /** Names of tools by the ids of their calls: a result must name its tool. */
  readonly names: ReadonlyMap<string, string>;
}

export async function renderPrompt(
  { system, messages }: ChatRequest,
  { specificationVersion: version, supportedUrls }: Target,
  from: string,
  call: ModelCall,
): Promise<readonly object[]> {
  const names = new Map<string, string>();
  for (const { content } of messages) {
    for (const block of content) if (block.type === "tool_use") names.set(block.id, block.name);
  }
  const rendering: Rendering = { version, from, urls: await supportedUrls, call, names };
  const rendered = await Promise.all(
    messages.map((one) => (isAssistant(one) ? renderAssistant(one, rendering) : renderOther(one, rendering))),
  );
  const first = system === undefined || system === "" ? [] : [{ role: "system", content: system }];
  return [...first, ...rendered.flat()];
}

function renderAssistant({ content }: ContextMessage, { from, version }: Rendering): readonly object[] {
  const parts = ownBlocks(content, from).flatMap((one) => renderOwn(one, version));
  return parts.length === 0 ? [] : [{ role: "assistant", content: parts }];
}

function renderOwn({ block, adds }: OwnBlock, version: SpecificationVersion): readonly object[] {
  switch (block.type) {
    case "text":
      return block.text === "" ? [] : [{ type: "text", text: block.text, ...adds }];
    case "thinking":
      // A signature of another adapter is not valid here.
      return block.signature === undefined ? [{ type: "reasoning", text: block.thinking, ...adds }] : [];
    case "tool_use":
      return [{ type: "tool-call", toolCallId: block.id, toolName: block.name, input: block.input, ...adds }];
    case "opaque":
      return renderKept(adds, version);
    case "tool_result":
      return [];
    default:
      return [{ type: "text", text: describeMedia(block) }];
  }
}

/** Converts a part of a reply to a part of a prompt, which differs slightly. */
function renderKept({ providerMetadata, ...part }: JsonObject, version: SpecificationVersion): readonly object[] {
  const options = providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
  switch (part.type) {
    case "tool-call":
      return [{ ...part, input: parsed(part.input), ...options }];
    case "tool-result": {
      const { type, toolCallId, toolName, result = null, isError } = part;
      const output = { type: isError === true ? "error-json" : "json", value: result };
      return [{ type, toolCallId, toolName, output, ...options }];
    }
    case "file":
      return [{ ...part, ...options }];
    case "custom":
    case "reasoning-file":
      return version === "v4" ? [{ ...part, ...options }] : [];
    default:
      return [];
  }
}

function parsed(input: unknown): unknown {
  try {
    return JSON.parse(String(input));
  } catch {
    return {};
  }
}

async function renderOther({ content }: ContextMessage, rendering: Rendering): Promise<readonly object[]> {
  const results = await Promise.all(
    content.filter((block) => block.type === "tool_result").map((block) => renderResult(block, rendering)),
  );
  const others = content.filter(
    (block): block is BlockOf<"text"> | MediaBlock => block.type === "text" || isMedia(block),
  );
  const parts = await Promise.all(others.map((block) => renderPart(block, rendering)));
  return [
    ...(results.length === 0 ? [] : [{ role: "tool", content: results }]),
    // Not every provider accepts a system message in the middle.
    ...(parts.length === 0 ? [] : [{ role: "user", content: parts }]),
  ];
}

async function renderPart(block: BlockOf<"text"> | MediaBlock, rendering: Rendering): Promise<object> {
  if (block.type === "text") return { type: "text", text: block.text };
  const media = await loadMedia(block, rendering.call);
  const mediaType = media.mediaType ?? (block.type === "image" ? "image/*" : "application/pdf");
  if ("url" in media && !isSupported(rendering.urls, mediaType, media.url)) {
    return { type: "text", text: describeMedia(block) };
  }
  const filename = block.type === "document" && block.title !== undefined ? { filename: block.title } : {};
  return { type: "file", mediaType, data: fileData(media, rendering.version), ...filename };
}

function fileData(media: MediaContent, version: SpecificationVersion): unknown {
  const data = "url" in media ? new URL(media.url) : media.bytes;
  if (version !== "v4") return data;
  return data instanceof URL ? { type: "url", url: data } : { type: "data", data };
}

/** Whether the provider loads the URL itself. If not, the model gets the URL as text; the AI SDK would load it. */
function isSupported(urls: SupportedUrls, mediaType: string, url: string): boolean {
  return Object.entries(urls).some(([type, patterns]) => {
    const isOfType = type === "*" || type === "*/*" || type === mediaType || isWild(type, mediaType);
    return isOfType && patterns.some((pattern) => pattern.test(url));
  });
}

function isWild(type: string, mediaType: string): boolean {
  return type.endsWith("/*") && mediaType.startsWith(type.slice(0, -1));
}

async function renderResult(block: BlockOf<"tool_result">, rendering: Rendering): Promise<object> {
  const { toolUseId, content, isError } = block;
  const place = { type: "tool-result", toolCallId: toolUseId, toolName: rendering.names.get(toolUseId) ?? "unknown" };
  if (isError === true) return { ...place, output: { type: "error-text", value: textIn(content) } };
  if (typeof content === "string" || mediaIn(block).length === 0) {
    return { ...place, output: { type: "text", value: resultText(block) } };
  }
  const parts = content.filter((one): one is BlockOf<"text"> | MediaBlock => one.type === "text" || isMedia(one));
  const value = await Promise.all(parts.map((one) => renderResultPart(one, rendering)));
  return { ...place, output: { type: "content", value } };
}

function textIn(content: string | readonly ContentBlock[]): string {
  return resultText({ type: "tool_result", toolUseId: "", content });
}

async function renderResultPart(block: BlockOf<"text"> | MediaBlock, rendering: Rendering): Promise<object> {
  const text = { type: "text", text: block.type === "text" ? block.text : describeMedia(block) };
  if (block.type === "text") return text;
  const media = await loadMedia(block, rendering.call);
  if ("url" in media) return text;
  const { base64: data, mediaType } = media;
  switch (rendering.version) {
    case "v2":
      return { type: "media", data, mediaType };
    case "v3":
      return { type: block.type === "image" ? "image-data" : "file-data", data, mediaType };
    case "v4":
      return { type: "file", data: { type: "data", data }, mediaType };
  }
}
