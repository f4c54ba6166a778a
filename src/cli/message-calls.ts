// Finds the model call that wrote each message, for `messages --calls`.
import type { Call } from "../contracts/calls.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { MessageAt } from "../contracts/lineage.ts";
import { formatUsd } from "./spending.ts";

/** Calls by the ids of the messages they wrote. */
export type MessageCalls = ReadonlyMap<string, Call>;

/** Finds calls for messages of runs; other messages do not name the call that wrote them. */
export async function findMessageCalls(holdfast: Holdfast, messages: readonly MessageAt[]): Promise<MessageCalls> {
  const found = new Map<string, Call>();
  for (const message of messages) {
    if ("erased" in message || message.run === undefined) continue;
    const call = await holdfast.calls.findByMessage(message.id);
    if (call !== null) found.set(message.id, call);
  }
  return found;
}

/** For --json: each message with the id of its call, and the calls themselves. */
export function withCalls(messages: readonly MessageAt[], calls: MessageCalls | null) {
  if (calls === null) return { messages };
  const named = messages.map((message) => {
    const call = calls.get(message.id);
    return call === undefined ? message : { ...message, call: call.id };
  });
  return { messages: named, calls: [...new Map([...calls.values()].map((call) => [call.id, call])).values()] };
}

/** For example "call chat-1#7, fake-1, $0.25". */
export function formatCall({ id, model, costUsd }: Call): string {
  return [`call ${id}`, model, costUsd === null ? null : formatUsd(costUsd)].filter((part) => part !== null).join(", ");
}
