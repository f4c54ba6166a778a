// The byte that a posting has for a term of a passage.
import fc from "fast-check";
import { expect, test } from "vitest";
import { IMPACT_MAX, impactOf } from "./impact.ts";

const count = fc.integer({ min: 1, max: 1e6 });
const words = fc.integer({ min: 1, max: 1e9 });

test("is a whole number from 1 to 255, whatever the passage", () => {
  fc.assert(
    fc.property(count, words, (occurrences, length) => {
      const impact = impactOf(occurrences, length);
      expect(Number.isInteger(impact)).toBe(true);
      expect(impact).toBeGreaterThanOrEqual(1);
      expect(impact).toBeLessThanOrEqual(IMPACT_MAX);
    }),
  );
});

test("grows with each occurrence of the term, and shrinks with the other words", () => {
  fc.assert(
    fc.property(count, words, (occurrences, length) => {
      expect(impactOf(occurrences + 1, length)).toBeGreaterThanOrEqual(impactOf(occurrences, length));
      expect(impactOf(occurrences, length + 1)).toBeLessThanOrEqual(impactOf(occurrences, length));
    }),
  );
  expect(impactOf(2, 24)).toBeGreaterThan(impactOf(1, 24));
  expect(impactOf(1, 75)).toBeLessThan(impactOf(1, 24));
});

test("is what postings of existing stores have", () => {
  const seen = [1, 2, 3, 10].map((occurrences) => [1, 8, 24, 75, 100].map((length) => impactOf(occurrences, length)));
  expect(seen.map((row) => row.join(" "))).toMatchInlineSnapshot(`
    [
      "164 154 134 96 84",
      "200 192 176 139 126",
      "215 209 196 164 152",
      "242 239 234 219 212",
    ]
  `);
});
