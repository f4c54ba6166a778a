// What happens while the agent runs and when it has ended: its sessions are saved again and again, and everything is over
// within the grace time.
import { realEnvironment } from "../../core/environment.ts";
import type { Child, Ended } from "./child.ts";
import type { Follower } from "./follow.ts";
import type { Grace } from "./grace.ts";

/** How often the agent is asked which session it is in: that is a look at one small file. */
const LOOK_MS = 200;
/** How often it is looked whether the agent has written anything, until something of it is saved. */
const FIRST_LOOK_MS = 25;
/** An agent that waits for its user is looked at less often. */
const PATIENT_LOOK_MS = 200;
const PATIENT_AFTER_MS = 30_000;
const EVERY_MS = 2000;
/** Saving takes at most a twentieth of the time: starting the OpenCode program for it costs seconds of a processor. */
const REST_PER_SAVE = 20;
/** The longest that a timer can wait. */
const LONGEST_MS = 2 ** 31 - 1;

export interface Supervision {
  readonly child: Child;
  readonly follower: Follower;
  readonly grace: Grace;
  /** null: every two seconds, and less often where a save takes long. */
  readonly everyMs: number | null;
}

export interface SupervisedEnd extends Ended {
  /** It did not obey a signal within its part of the grace time. */
  readonly wasKilled: boolean;
}

/** Saved again and again until the agent ends. A save that is under way then is not waited for here. */
export async function untilEnd({ child, follower, grace, everyMs }: Supervision): Promise<SupervisedEnd> {
  const over = new AbortController();
  let wasKilled = false;
  follower.started(child.pid);
  void repeat(over.signal, LOOK_MS, () => follower.look());
  void saveFirst(over.signal, follower);
  void repeat(over.signal, everyMs ?? EVERY_MS, () => follower.save("while"), everyMs === null ? REST_PER_SAVE : 0);
  void grace.agentIsLate(over.signal).then(() => {
    if (over.signal.aborted) return;
    wasKilled = true;
    child.kill();
  });
  const ended = await child.ended;
  over.abort();
  return { ...ended, wasKilled };
}

/** Saves as soon as the agent has written something, so that a kill before the end of the first interval loses no earlier message. */
async function saveFirst(over: AbortSignal, follower: Follower): Promise<void> {
  const { sleep, monotonic } = realEnvironment();
  const from = monotonic();
  let [seen, tookMs] = [follower.writtenBefore, 0];
  while (!over.aborted && follower.isStored && follower.saved.length === 0) {
    const lookMs = monotonic() - from > PATIENT_AFTER_MS ? PATIENT_LOOK_MS : FIRST_LOOK_MS;
    // An export of OpenCode takes seconds of a processor, and one without a message is in vain.
    await sleep(Math.max(lookMs, tookMs), over);
    const written = await follower.written();
    if (over.aborted || written === seen) continue;
    seen = written;
    const began = monotonic();
    await follower.save("first");
    tookMs = monotonic() - began;
  }
}

export type GraceOutcome = "done" | "late" | "interrupted";

/** Runs until it is done, the grace time is over or a second signal comes. Signals no longer reach the agent. */
export async function withinGrace(grace: Grace, act: () => Promise<void>): Promise<GraceOutcome> {
  const signals = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
  const over = new AbortController();
  let count = 0;
  const listen = () => {
    count += 1;
    grace.beginUrgent();
    if (count > 1) over.abort();
  };
  for (const signal of signals) process.on(signal, listen);
  try {
    const done = act().then(() => "done" as const);
    const late = grace.over(over.signal).then(() => (count > 1 ? ("interrupted" as const) : ("late" as const)));
    return await Promise.race([done, late]);
  } finally {
    over.abort();
    for (const signal of signals) process.removeListener(signal, listen);
  }
}

/** After an act that took long it rests so many times as long. */
async function repeat(over: AbortSignal, everyMs: number, act: () => Promise<void>, restPerAct = 0): Promise<void> {
  const { sleep, monotonic } = realEnvironment();
  let tookMs = 0;
  while (!over.aborted) {
    await sleep(Math.min(Math.max(everyMs, tookMs * restPerAct), LONGEST_MS), over);
    if (over.aborted) return;
    const began = monotonic();
    await act();
    tookMs = monotonic() - began;
  }
}
