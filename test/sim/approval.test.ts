// Approval under faults: no effect before a person permitted it, one effect for each permission.
import { expect, test } from "vitest";
import { simulate } from "../../src/testing/sim/simulate.ts";
import { APPROVAL } from "./scenarios.ts";

test.each([1, 2, 3, 4, 5, 6])("RU16 nothing is done that nobody permitted, seed %i", async (seed) => {
  const { problems, effects } = await simulate(APPROVAL.make(seed, APPROVAL.rate));
  expect(problems).toEqual([]);
  expect(effects.map(({ tool }) => tool)).toContain("refund");
});
