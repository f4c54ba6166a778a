// The conversation of a capture becomes messages of its session, which outlives it.
import type { Imported } from "../../coding/conversation/import.ts";

export { importCaptured } from "../../coding/catch-up.ts";

/** With those of its sub-agents. */
export function messagesIn({ messages, subagents }: Imported): number {
  return subagents.reduce((sum, one) => sum + messagesIn(one), messages);
}
