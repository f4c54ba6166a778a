// What was said in a stored session, message by message: one that was imported, or one that the Claude Agent SDK mirrored entry
// by entry, which is read as the transcript that it is.
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { JsonObject } from "../../contracts/json.ts";
import type { ContentBlock, ContentBlockInput, Role } from "../../contracts/messages.ts";
import type { Session } from "../../contracts/session.ts";
import type { Conversation } from "./conversation.ts";
import { metadataOf } from "./facts.ts";
import { isMirror, mirroredConversation } from "./mirror.ts";

export interface Spoken {
  readonly role: Role;
  readonly content: readonly (ContentBlock | ContentBlockInput)[];
  readonly metadata?: JsonObject;
}

/** When it was said, by the agent's clock; null: nothing says it. */
export function saidAt({ metadata }: Spoken): number | null {
  const at = metadata?.at;
  return typeof at === "number" && Math.abs(at) <= LATEST ? at : null;
}

/** As far as a Date goes. */
const LATEST = 8.64e15;

type Stores = Pick<Holdfast, "history">;

const PAGE = 500;

/** Page by page; a mirrored one is read as a whole first. */
export async function* spokenIn(hf: Stores, session: Session): AsyncGenerator<Spoken> {
  if (isMirror(session)) {
    yield* spokenOf(await mirroredConversation(hf, session));
    return;
  }
  for (let after: string | undefined; ; ) {
    const page = await hf.history.session(session.id, { limit: PAGE, ...(after === undefined ? {} : { after }) });
    yield* page;
    after = page.at(-1)?.id;
    if (page.length < PAGE) return;
  }
}

function* spokenOf({ messages }: Conversation): Generator<Spoken> {
  for (const message of messages) {
    yield { role: message.role, content: message.content, metadata: metadataOf(message) };
  }
}
