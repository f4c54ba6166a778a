// The pages of a segment: what was written is read back, whatever the terms and postings, and damage is noticed.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeText } from "../../core/bytes.ts";
import { runAtOnce } from "../../core/time-slice.ts";
import { verifyPage } from "./byte-stream.ts";
import { type MergeSource, mergeSegments } from "./merge.ts";
import type { PendingUnit } from "./pending.ts";
import { type MadeSegment, SegmentBuilder } from "./segment.ts";
import { findPostings, readEntries } from "./term-pages.ts";
import { columnsOf, compareUnits } from "./unit-columns.ts";
import { decodeUnitPages, encodeRemoved, withoutRemoved } from "./unit-pages.ts";

const term = fc.oneof(
  fc.constantFrom("a", "ab", "abc", "b", "zebra", "é", "日本", "\u{1f600}", "\uffee", "\u0001role:user"),
  fc.string({ minLength: 1, maxLength: 8, unit: "grapheme" }),
);
const unit = fc.record({
  group: fc.integer({ min: 1, max: 5 }),
  item: fc.integer({ min: 1, max: 1e9 }),
  part: fc.integer({ min: 0, max: 3 }),
  words: fc.integer({ min: 0, max: 65_535 }),
  minutes: fc.integer({ min: 0, max: 0xff_ff_ff_ff }),
  flags: fc.integer({ min: 0, max: 255 }),
  terms: fc
    .array(fc.tuple(term, fc.integer({ min: 1, max: 255 })), { maxLength: 30 })
    .map((pairs) => new Map(pairs.map(([name, impact]) => [name, name.startsWith("\u0001") ? 1 : impact]))),
});
const units = (most: number) =>
  fc.uniqueArray(unit, { maxLength: most, selector: ({ group, item, part }) => `${group}/${item}/${part}` });

function contentsOf(made: MadeSegment, isOfTerms: boolean): Uint8Array[] {
  const pages = made.pages.filter(({ page }) => page >= 0 === isOfTerms);
  return pages.sort((a, b) => Math.abs(a.page) - Math.abs(b.page)).map(({ body }) => verifyPage(body));
}

function sourceOf(made: MadeSegment, removed: readonly number[] = []): MergeSource {
  const columns = runAtOnce(decodeUnitPages(contentsOf(made, false), made.units));
  const list = removed.length === 0 ? null : verifyPage(encodeRemoved(removed));
  return { ...withoutRemoved(columns, list), pages: contentsOf(made, true) };
}

function factsOf(made: MadeSegment): object {
  const { columns, pages } = sourceOf(made);
  const entries = pages.flatMap((page) => [...readEntries(page)]);
  const lists = entries.map(({ term: name, postings }) => [
    Buffer.from(name).toString(),
    [...postings.units],
    [...postings.impacts],
  ]);
  return { ...columns, items: made.items, lists };
}

function build(records: readonly PendingUnit[]): MadeSegment {
  const builder = new SegmentBuilder();
  for (const { terms, ...record } of records) builder.add(record, terms);
  return runAtOnce(builder.build());
}

describe("pages of a segment", () => {
  test("TI1 give back the units and postings that they were made of", () => {
    fc.assert(
      fc.property(units(60), (records) => {
        const { columns, pages } = sourceOf(build(records));
        const sorted = records.toSorted(compareUnits);
        expect(columns).toEqual(columnsOf(sorted));
        const names = new Set(records.flatMap(({ terms }) => [...terms.keys()]));
        for (const name of [...names, "", "a", "zz", "\u0001"]) {
          const expected = sorted.flatMap(({ terms }, at) => (terms.has(name) ? [[at, terms.get(name)]] : []));
          const found = pages.flatMap((page) => {
            const postings = findPostings(page, encodeText(name));
            return postings === null ? [] : [...postings.units].map((one, at) => [one, postings.impacts[at]]);
          });
          expect(found).toEqual(expected);
        }
      }),
    );
  });

  test("TI1 continue a long list of postings on the next pages", () => {
    const records = Array.from({ length: 30_000 }, (_, item) => ({
      group: 1,
      item,
      part: 0,
      words: 1,
      minutes: 0,
      flags: 0,
      terms: new Map([
        ["often", 1 + (item % 255)],
        [`rare${item}`, 7],
      ]),
    }));
    const { pages } = sourceOf(build(records));
    const found = pages.flatMap((page) => [...(findPostings(page, encodeText("often"))?.units ?? [])]);
    expect(found.length).toBe(records.length);
    expect(found.every((one, at) => one === at)).toBe(true);
    expect(pages.every(({ length }) => length <= 8100)).toBe(true);
    expect(pages.length).toBeGreaterThan(10);
  });

  test("TI1 of merged segments are those of one segment of all units that were not removed", () => {
    fc.assert(
      fc.property(
        units(80),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 2, max: 9 }),
        (records, count, every) => {
          const shares = Array.from({ length: count }, (_, share) =>
            records.filter((_, at) => at % count === share).toSorted(compareUnits),
          );
          const sources = shares.map((share) => {
            const gone = [...share.keys()].filter((at) => at % every === 1);
            const erased = share.map((one, at) =>
              gone.includes(at) ? { ...one, terms: new Map<string, number>() } : one,
            );
            return sourceOf(build(erased), gone);
          });
          const merged = runAtOnce(mergeSegments(sources));
          const left = shares.flatMap((share) => share.filter((_, at) => at % every !== 1));
          expect(factsOf(merged)).toEqual(factsOf(build(left)));
        },
      ),
    );
  });

  test("TI1 have a checksum: no changed byte goes unnoticed", () => {
    const made = build([{ group: 1, item: 1, part: 0, words: 1, minutes: 0, flags: 0, terms: new Map([["cat", 9]]) }]);
    for (const { body } of made.pages) {
      for (let at = 0; at < body.length; at++) {
        const damaged = Uint8Array.from(body);
        damaged[at] = (damaged[at] ?? 0) ^ 1;
        expect(() => verifyPage(damaged)).toThrow("damaged");
      }
    }
    expect(() => verifyPage(new Uint8Array(3))).toThrow("damaged");
  });
});
