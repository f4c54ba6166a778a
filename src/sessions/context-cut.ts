// What of a transcript a budget has room for: the newest of it, in whole units. Pure: messages in, messages out. A
// transcript may be long, and a tokenizer slow, so that the work can be interrupted after every message.
import type { ContextMessage } from "../contracts/context.ts";
import { type InterruptibleWork, runAtOnce } from "../core/time-slice.ts";
import { repairInSteps, type Unit } from "./context-repair.ts";

export type Tokenizer = (message: ContextMessage) => number;

/** What is shown behind the summary, and how many of the stored messages are not. */
export interface CutContext {
  readonly messages: readonly ContextMessage[];
  readonly leftOut: number;
}

export interface Cut extends CutContext {
  /** Whatever lies before these messages changes nothing: a unit of them is cut, and no result behind it lacks its call. */
  readonly isSettled: boolean;
}

export function sum(messages: readonly ContextMessage[], count: Tokenizer): number {
  return runAtOnce(sumInSteps(messages, count));
}

export function* sumInSteps(messages: readonly ContextMessage[], count: Tokenizer): InterruptibleWork<number> {
  let total = 0;
  for (const one of messages) {
    yield;
    total += count(one);
  }
  return total;
}

/** The oldest go first. An id that is used again gets another only among those that stay. */
export function cut(messages: readonly ContextMessage[], room: number, count: Tokenizer): Cut {
  return runAtOnce(cutInSteps(messages, room, count));
}

export function* cutInSteps(
  messages: readonly ContextMessage[],
  room: number,
  count: Tokenizer,
): InterruptibleWork<Cut> {
  const { units, starts, unseen } = yield* repairInSteps(messages, messages.length);
  const fitting = yield* firstWithRoom(units, room, count);
  const oldest = fitting === 0 ? -1 : (starts[fitting - 1] ?? 0);
  const isSettled = fitting > 0 && unseen.every((message) => message < oldest);
  const shownFrom = function* (first: number): InterruptibleWork<readonly ContextMessage[]> {
    const repaired = yield* repairInSteps(messages, starts[first] ?? messages.length);
    return repaired.units.slice(first).flat();
  };
  const hasRoom = function* (first: number): InterruptibleWork<boolean> {
    return (yield* sumInSteps(yield* shownFrom(first), count)) <= room;
  };
  const first = yield* firstThat(fitting, units.length, hasRoom);
  const leftOut = first === 0 ? 0 : (starts[first] ?? messages.length);
  return { messages: yield* shownFrom(first), leftOut, isSettled };
}

/**
 * The first from `low` on that holds, or else `most`. Other ids are longer than those stored, so that more may have to go,
 * mostly few: each step is twice as far as the one before, until one holds; then it is halved. With the oldest call gone no
 * later id gets longer, so what holds once holds from there on.
 */
function* firstThat(
  low: number,
  most: number,
  holds: (one: number) => InterruptibleWork<boolean>,
): InterruptibleWork<number> {
  let fails = low - 1;
  let held = low;
  for (let step = 1; held < most && !(yield* holds(held)); step *= 2) {
    fails = held;
    held = Math.min(most, held + step);
  }
  while (held - fails > 1) {
    const middle = Math.floor((fails + held) / 2);
    if (yield* holds(middle)) held = middle;
    else fails = middle;
  }
  return held;
}

/** Under the ids that they were stored with. */
function* firstWithRoom(units: readonly Unit[], room: number, count: Tokenizer): InterruptibleWork<number> {
  let tokens = 0;
  for (let first = units.length; first > 0; first--) {
    tokens += yield* sumInSteps(units[first - 1] ?? [], count);
    if (tokens > room) return first;
  }
  return 0;
}
