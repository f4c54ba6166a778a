// A kind of fault that never happens proves nothing.
import { expect, test } from "vitest";
import { simulate } from "../../src/testing/sim/simulate.ts";
import { mixed } from "./rates.ts";
import { SCENARIOS } from "./scenarios.ts";

test("every kind of fault happens in the mixed simulations", { timeout: 300_000 }, async () => {
  const never = new Set(mixed(0.5).map(({ kind }) => kind));
  for (let seed = 1; seed <= 40 && never.size > 0; seed++) {
    const made = SCENARIOS.get("determinism")?.make(seed, 0.5);
    if (made === undefined) throw new Error("there is no such scenario");
    for (const [kind, times] of Object.entries((await simulate(made)).fired))
      if (times > 0) never.delete(kind as never);
  }
  expect([...never]).toEqual([]);
});
