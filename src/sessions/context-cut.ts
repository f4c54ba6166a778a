// Cuts a transcript to a budget: keeps the newest messages, in whole units. This is a pure function from messages to
// messages. A transcript may be long and a tokenizer slow, so the work can be interrupted after every message.
import type { ContextMessage } from "../contracts/context.ts";
import { type InterruptibleWork, runAtOnce } from "../core/time-slice.ts";
import { repairInSteps, type Unit } from "./context-repair.ts";

export type Tokenizer = (message: ContextMessage) => number;

/** The messages after the summary, and how many stored messages were left out. */
export interface CutContext {
  readonly messages: readonly ContextMessage[];
  readonly leftOut: number;
}

export interface Cut extends CutContext {
  /**
   * True if earlier messages cannot change the result: a unit of these messages was cut, and no result after it lacks
   * its call.
   */
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

/** Drops the oldest units first. A repeated id is replaced only among the units that stay. */
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
 * The first number from `low` on for which `holds` is true, otherwise `most`. Replaced ids are longer than stored ones,
 * so that a few more units may have to be dropped. The search doubles its step until `holds` is true, and then bisects.
 * Dropping the oldest call makes no later id longer, so once true, `holds` stays true.
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

/** Counts the units with their stored ids. */
function* firstWithRoom(units: readonly Unit[], room: number, count: Tokenizer): InterruptibleWork<number> {
  let tokens = 0;
  for (let first = units.length; first > 0; first--) {
    tokens += yield* sumInSteps(units[first - 1] ?? [], count);
    if (tokens > room) return first;
  }
  return 0;
}
