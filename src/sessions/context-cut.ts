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
  const shownFrom = (first: number) =>
    repairFrom(messages, starts[first] ?? messages.length)
      .units.slice(first)
      .flat();
  const first = firstThat(fitting, units.length, (one) => sum(shownFrom(one), count) <= room);
  const leftOut = first === 0 ? 0 : (starts[first] ?? messages.length);
  return { messages: shownFrom(first), leftOut, isSettled };
}

/**
 * The first from `low` on that holds, or else `most`. Other ids are longer than those stored, so that more may have to go,
 * mostly few: each step is twice as far as the one before, until one holds; then it is halved. With the oldest call gone no
 * later id gets longer, so what holds once holds from there on.
 */
function firstThat(low: number, most: number, holds: (one: number) => boolean): number {
  let fails = low - 1;
  let held = low;
  for (let step = 1; held < most && !holds(held); step *= 2) {
    fails = held;
    held = Math.min(most, held + step);
  }
  while (held - fails > 1) {
    const middle = Math.floor((fails + held) / 2);
    if (holds(middle)) held = middle;
    else fails = middle;
  }
  return held;
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
