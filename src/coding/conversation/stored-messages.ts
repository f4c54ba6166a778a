// Reads the messages of a stored session. A session that the Claude Agent SDK mirrored entry by entry is read like a transcript.
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { JsonObject } from "../../contracts/json.ts";
import type { ContentBlock, ContentBlockInput, Role } from "../../contracts/messages.ts";
import type { Session } from "../../contracts/session.ts";
import type { Conversation } from "./conversation.ts";
import { isMirror, mirroredConversation } from "./sdk-mirror.ts";
import { metadataOf } from "./session-metadata.ts";

export interface StoredMessage {
  readonly role: Role;
  readonly content: readonly (ContentBlock | ContentBlockInput)[];
  readonly metadata?: JsonObject;
}

/** The message's time by the agent's clock; null: unknown. */
export function messageTime({ metadata }: StoredMessage): number | null {
  const at = metadata?.at;
  return typeof at === "number" && Math.abs(at) <= LATEST ? at : null;
}

/** The largest time of a Date, in milliseconds. */
const LATEST = 8.64e15;

type Stores = Pick<Holdfast, "history">;

const PAGE = 500;

/** Reads page by page; a mirrored session is read as a whole first. */
export async function* readStoredMessages(hf: Stores, session: Session): AsyncGenerator<StoredMessage> {
  if (isMirror(session)) {
    yield* toStoredMessages(await mirroredConversation(hf, session));
    return;
  }
  for (let after: string | undefined; ; ) {
    const page = await hf.history.session(session.id, { limit: PAGE, ...(after === undefined ? {} : { after }) });
    yield* page;
    after = page.at(-1)?.id;
    if (page.length < PAGE) return;
  }
}

function* toStoredMessages({ messages }: Conversation): Generator<StoredMessage> {
  for (const message of messages) {
    yield { role: message.role, content: message.content, metadata: metadataOf(message) };
  }
}
