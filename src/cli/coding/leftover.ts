// What is on this disk of a session and not in the store: an agent worked on after its `holdfast run` was killed, or the store did
// not answer at its end. It is saved before another agent goes on.
import { captureWithAllOf } from "../../coding/basis.ts";
import type { AgentHere } from "../../coding/here.ts";
import { type Saved, Saver } from "../../coding/saver.ts";
import type { CaptureWithFiles } from "../../contracts/captures.ts";
import { isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { converses, type Log } from "./follow.ts";

export interface LeftoverOptions {
  readonly store: Holdfast;
  readonly agent: AgentHere;
  readonly request: string;
  readonly sessionId: string;
  /** What it is known to go on from; undefined: whichever capture it does go on from. */
  readonly basis?: CaptureWithFiles;
  readonly ttlMs: number | null | undefined;
  readonly mask: boolean;
  readonly log: Log;
  readonly onSaved: (saved: Saved) => void;
}

/** The capture that has all that is here; null: there is nothing here, or it could not be saved, which is logged. */
export async function saveLeftover(options: LeftoverOptions): Promise<CaptureWithFiles | null> {
  const { agent, sessionId, log } = options;
  try {
    const found = await agent.find(sessionId);
    try {
      return await save(options, found);
    } finally {
      await found.done();
    }
  } catch (error) {
    if (isHoldfastError(error) && error.code === "NotFound") return null;
    log("error", "capture.leftover", { error: String(error), sessionId });
    return null;
  }
}

async function save(options: LeftoverOptions, found: Awaited<ReturnType<AgentHere["find"]>>) {
  const { store, request, basis, ttlMs, mask, log, onSaved } = options;
  const { captures, clock } = store;
  if (!(await converses(found))) return null;
  const known = basis === undefined ? await captureWithAllOf({ captures, request }, found) : null;
  if (known !== null) return known;
  const saver = new Saver({
    ...{ captures, clock, request, mask },
    ...(basis === undefined ? {} : { basis }),
    ...(ttlMs === undefined ? {} : { ttlMs }),
  });
  const saved = await saver.save(found);
  if (saved !== null) {
    const { id, generation, diverged } = saved.capture;
    log("info", "capture.leftover", { capture: id, generation, diverged, sessionId: found.sessionId });
    onSaved(saved);
  }
  return saver.current;
}
