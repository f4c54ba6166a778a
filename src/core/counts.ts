// Numbers of rows of each kind.
import type { Counts } from "../contracts/heads.ts";

export const NONE: Counts = { messages: 0, turns: 0, evals: 0, calls: 0, snapshots: 0, invocations: 0 };

export function addCounts(a: Counts, b: Partial<Counts>): Counts {
  return {
    messages: a.messages + (b.messages ?? 0),
    turns: a.turns + (b.turns ?? 0),
    evals: a.evals + (b.evals ?? 0),
    calls: a.calls + (b.calls ?? 0),
    snapshots: a.snapshots + (b.snapshots ?? 0),
    invocations: a.invocations + (b.invocations ?? 0),
  };
}
