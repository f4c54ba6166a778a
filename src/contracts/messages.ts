// The content of a message: a list of content blocks with a role. Bytes are never inline: a block with bytes is stored
// as a blob, and is read back with a ref.
import type { Json, JsonableObject, JsonObject } from "./json.ts";

export type Role = "user" | "assistant" | "system" | "tool" | "developer";

/** Bytes of a block: passed as data or as the ref of a stored blob, and always read back as a ref. */
export type MediaInput =
  | { readonly data: Uint8Array; readonly mediaType: string; readonly ref?: never; readonly url?: never }
  | { readonly ref: string; readonly mediaType?: string; readonly data?: never; readonly url?: never }
  | { readonly url: string; readonly mediaType?: string; readonly data?: never; readonly ref?: never };

export type Media =
  | { readonly ref: string; readonly mediaType?: string; readonly size?: number; readonly url?: never }
  | { readonly url: string; readonly mediaType?: string; readonly ref?: never };

interface BlockTypes<M> {
  text: { readonly type: "text"; readonly text: string };
  image: { readonly type: "image"; readonly source: M; readonly alt?: string };
  audio: { readonly type: "audio"; readonly source: M; readonly transcript?: string };
  document: { readonly type: "document"; readonly source: M; readonly title?: string };
  toolUse: { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: Json };
  toolResult: {
    readonly type: "tool_result";
    readonly toolUseId: string;
    readonly content: string | readonly ContentOf<M>[];
    readonly isError?: boolean;
  };
  thinking: { readonly type: "thinking"; readonly thinking: string; readonly signature?: string };
  /** A provider's content of a kind that Holdfast does not know. It is stored unchanged. */
  opaque: { readonly type: "opaque"; readonly value: Json };
}

type ContentOf<M> = BlockTypes<M>[keyof BlockTypes<M>];
export type ContentBlock = ContentOf<Media>;
export type ContentBlockInput = ContentOf<MediaInput>;

export interface MessageInput<M extends object = JsonObject> {
  readonly role: Role;
  /** A string is short for one text block. */
  readonly content: string | readonly ContentBlockInput[];
  /**
   * The caller's own id. Appending a message with the same id to the same session again returns the stored message.
   * Conflict if its content, metadata, role, agent or run differ.
   */
  readonly key?: string;
  readonly metadata?: JsonableObject<M>;
}

export interface Message {
  /** `<session>#<seq>`: unique for ever, also across forks. */
  readonly id: string;
  readonly session: string;
  readonly agent: string;
  readonly seq: number;
  readonly role: Role;
  readonly content: readonly ContentBlock[];
  readonly at: number;
  readonly run?: string;
  /**
   * The model call that wrote the message, `session#seq`. Only a run's `message()` returns it; for any other message
   * use hf.calls.findByMessage() or the trace.
   */
  readonly call?: string;
  readonly key?: string;
  readonly metadata?: JsonObject;
  /** Ref of the blob that holds content and metadata. */
  readonly ref: string;
}
