// What of a transcript a budget has room for: the newest of it, in whole units. Pure: messages in, messages out.
import type { ContextMessage } from "../contracts/context.ts";
import { repairFrom, type Unit } from "./context-repair.ts";

export type Tokenizer = (message: ContextMessage) => number;

/** What is shown behind the summary, and how many of the stored messages are not. */
export interface Made {
  readonly messages: readonly ContextMessage[];
  readonly leftOut: number;
}

export interface Cut extends Made {
  /** Whatever lies before these messages changes nothing: a unit of them is cut, and no result behind it lacks its call. */
  readonly isSettled: boolean;
}

export function sum(messages: readonly ContextMessage[], count: Tokenizer): number {
  return messages.reduce((total, one) => total + count(one), 0);
}

/** The oldest go first. An id that is used again gets another only among those that stay. */
export function cut(messages: readonly ContextMessage[], room: number, count: Tokenizer): Cut {
  const { units, starts, unseen } = repairFrom(messages, messages.length);
  const fitting = firstWithRoom(units, room, count);
  const oldest = fitting === 0 ? -1 : (starts[fitting - 1] ?? 0);
  const isSettled = fitting > 0 && unseen.every((message) => message < oldest);
  for (let first = fitting; ; first++) {
    const from = starts[first] ?? messages.length;
    const shown = repairFrom(messages, from).units.slice(first).flat();
    // Other ids are longer: then one more has to go.
    if (shown.length > 0 && sum(shown, count) > room) continue;
    return { messages: shown, leftOut: first === 0 ? 0 : from, isSettled };
  }
}

/** Under the ids that they were stored with. */
function firstWithRoom(units: readonly Unit[], room: number, count: Tokenizer): number {
  let tokens = 0;
  for (let first = units.length; first > 0; first--) {
    tokens += sum(units[first - 1] ?? [], count);
    if (tokens > room) return first;
  }
  return 0;
}
