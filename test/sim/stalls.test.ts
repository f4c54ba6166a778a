// Peers, connections and disks that stand still: what was acknowledged stays, nothing is done twice, and work that does
// not need what a stalled peer holds goes on.
import { describe, expect, test } from "vitest";
import { simulate } from "../../src/testing/sim/simulate.ts";
import { stalling } from "./rates.ts";
import { played } from "./required.ts";
import { LIVENESS, STALLED, STALLS } from "./stalls.ts";

describe("ST12 a peer that stands still inside a commit", () => {
  played(LIVENESS, (own) => own, { short: 2, long: 200 });
  played(LIVENESS, () => 0.5, { short: 1, long: 200 });
});

describe("stalls of every kind", () => {
  played(STALLED, (own) => own, { short: 2, long: 200 });
  played(STALLED, () => 0.5, { short: 1, long: 200 });

  test("happen in the simulations", async () => {
    const never = new Set(stalling(0.5).map(({ kind }) => kind));
    for (let seed = 1; seed <= 20 && never.size > 0; seed++) {
      const made = STALLS.make(seed, 0.5);
      for (const [kind, times] of Object.entries((await simulate(made)).fired))
        if (times > 0) never.delete(kind as never);
    }
    expect([...never]).toEqual([]);
  });
});
