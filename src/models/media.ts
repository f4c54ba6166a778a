// Images, audio and documents for a provider: their bytes or URL, and placeholders where a provider does not accept them.
import type { ContentBlock } from "../contracts/messages.ts";
import type { ModelCall } from "../contracts/models.ts";

export type MediaBlock = Extract<ContentBlock, { type: "image" | "audio" | "document" }>;

export type MediaContent =
  | { readonly url: string; readonly mediaType: string | undefined }
  | { readonly bytes: Uint8Array; readonly base64: string; readonly mediaType: string };

const DEFAULT_MEDIA: Readonly<Record<MediaBlock["type"], string>> = {
  image: "image/png",
  audio: "audio/wav",
  document: "application/pdf",
};

/** The bytes of the blob a block refers to, or its URL. */
export async function loadMedia({ type, source }: MediaBlock, call: ModelCall): Promise<MediaContent> {
  if (source.ref === undefined) return { url: source.url, mediaType: source.mediaType };
  const bytes = await call.readBlob(source.ref);
  return { bytes, base64: toBase64(bytes), mediaType: source.mediaType ?? DEFAULT_MEDIA[type] };
}

function toBase64({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}

export function dataUrl({ mediaType, base64 }: { readonly mediaType: string; readonly base64: string }): string {
  return `data:${mediaType};base64,${base64}`;
}

/** The text for a model in place of content that its interface does not accept. */
export function describeMedia(block: MediaBlock): string {
  const about = block.type === "image" ? block.alt : block.type === "audio" ? block.transcript : block.title;
  const where = block.source.ref === undefined ? block.source.url : undefined;
  return `[${[block.type, about, where].filter((one) => one !== undefined).join(": ")}]`;
}

export function isMedia(block: ContentBlock): block is MediaBlock {
  return block.type === "image" || block.type === "audio" || block.type === "document";
}
