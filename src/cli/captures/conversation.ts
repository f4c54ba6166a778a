// The conversation of a capture becomes messages of its session, which outlives it.
import { type Imported, importConversation } from "../../coding/conversation/import.ts";
import { sourceOfCapture } from "../../coding/sources.ts";
import { conversationIn } from "../../coding/telling.ts";
import type { Capture } from "../../contracts/captures.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";

/** From what was saved, so that what was masked there is masked here. null: it has no transcript. */
export async function importCaptured(holdfast: Holdfast, capture: Capture): Promise<Imported | null> {
  const conversation = await conversationIn(await sourceOfCapture(holdfast.captures, capture.id));
  if (conversation === null) return null;
  return importConversation(holdfast, conversation, { session: capture.session, request: capture.request });
}

/** With those of its sub-agents. */
export function messagesIn({ messages, subagents }: Imported): number {
  return subagents.reduce((sum, one) => sum + messagesIn(one), messages);
}
