// The time of a message, as far as its importer knows: an import keeps the agent's own time in `metadata.at`, a
// mirrored entry in its `timestamp`. Rows have the time of their commit, and keep the order.
import type { Message } from "../contracts/messages.ts";

/** Other programs may use the same field for something else, so only a plausible time is accepted. */
const EARLIEST_MS = 946_684_800_000;
const CLOCKS_APART_MS = 24 * 3_600_000;

export function messageTimeOf({ at, metadata }: Pick<Message, "at" | "metadata">): number {
  const { at: imported, claude } = metadata ?? {};
  const stamp = typeof claude === "object" && claude !== null && "timestamp" in claude ? claude.timestamp : null;
  const time = typeof imported === "number" ? imported : typeof stamp === "string" ? Date.parse(stamp) : at;
  return Number.isSafeInteger(time) && time >= EARLIEST_MS && time <= at + CLOCKS_APART_MS ? time : at;
}
