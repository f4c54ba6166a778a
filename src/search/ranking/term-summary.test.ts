// No unit has more of a term than the bound of its block says, wherever the units around it are in the index.
import fc from "fast-check";
import { expect, test } from "vitest";
import { snapshotOfParts } from "../../../test/index-parts.ts";
import { realEnvironment } from "../../core/environment.ts";
import { runAtOnce, TimeSlice } from "../../core/time-slice.ts";
import { isLong } from "../../testing/scale.ts";
import { type PendingUnit, unitsOf } from "../index/pending.ts";
import { blockOf } from "./blocks.ts";
import { takeScratch } from "./scratch.ts";
import { summarizeTerm, unitsAround } from "./term-summary.ts";
import { termScore, WEIGHTS } from "./weights.ts";

const slice = new TimeSlice(realEnvironment());
const weights = WEIGHTS.messages;

test("ME11 a block's bound is no less than what a term gives to any of its units", async () => {
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.nat(1_000_000)), fc.integer({ min: 1, max: 30 }), async (numbers, groups) => {
      const next = (below: number) => numbers.next().value % below;
      const parts = Array.from({ length: 1 + next(5) }, () => [] as PendingUnit[]);
      const isInOrder = next(2) === 0;
      for (let item = 1; item <= 200; item++) {
        const text = next(8) === 0 ? "ship ".repeat(1 + next(3)) : "sail";
        const one = { group: 1 + next(groups), item, at: 0, flags: 0, text, fields: [] };
        const part = parts[isInOrder ? Math.floor((item * parts.length) / 201) : next(parts.length)];
        part?.push(...(await unitsOf(one, "english", slice)));
      }
      const { units, readPostings } = snapshotOfParts("messages", parts);
      const [list] = await readPostings(["ship"]);
      if (list === undefined) throw new Error("bug");
      const { blocks, bounds } = runAtOnce(summarizeTerm(units, list, weights, takeScratch(units)));
      const impacts = new Map(Array.from({ length: list.count }, (_, at) => [list.units[at], list.impacts[at] ?? 0]));
      for (let unit = 0; unit < units.count; unit++) {
        const [farBefore, before, after, farAfter] = unitsAround(units, unit).map((other) => impacts.get(other) ?? 0);
        const near = ((before ?? 0) + (after ?? 0)) * weights.near;
        const far = ((farBefore ?? 0) + (farAfter ?? 0)) * weights.far;
        const sum = (impacts.get(unit) ?? 0) * weights.own + near + far;
        if (sum > 0) expect(bounds[blocks.indexOf(blockOf(unit))]).toBeGreaterThanOrEqual(termScore(sum));
      }
    }),
    { numRuns: isLong ? 1000 : 50 },
  );
});
