// The ranking is exactly that of scoring every unit, whatever the order in which the index has them, and follows the query.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { exhaustiveRanking } from "../../../test/exhaustive-ranking.ts";
import { snapshotOfParts } from "../../../test/index-parts.ts";
import { realEnvironment } from "../../core/environment.ts";
import { TimeSlice } from "../../core/time-slice.ts";
import { isLong } from "../../testing/scale.ts";
import { createNaiveIndex } from "../index/naive-index.ts";
import { type PendingUnit, unitsOf } from "../index/pending.ts";
import { fieldTerm, type IndexKind, type IndexSnapshot } from "../index/reader.ts";
import type { IndexItem } from "../index/units.ts";
import { parseQuery, toIndexQuery } from "../text/query.ts";
import { type ItemRankingOptions, openItemRanking } from "./rank-items.ts";
import { ONE } from "./weights.ts";

const slice = new TimeSlice(realEnvironment());
const MINUTE_MS = 60_000;

async function best(snapshot: IndexSnapshot, text: string, limit: number, options?: ItemRankingOptions) {
  const query = toIndexQuery(parseQuery(text, []), "english");
  return (await openItemRanking(snapshot, query, slice, options)).best(limit);
}

async function names(snapshot: IndexSnapshot, text: string, options?: ItemRankingOptions): Promise<readonly string[]> {
  return (await best(snapshot, text, 100, options)).map(({ groupNumber, item }) => `${groupNumber}/${item}`);
}

function message(group: number, item: number, text: string, fields: readonly string[] = []): IndexItem {
  return { group, item, text, fields, at: item * MINUTE_MS, flags: 0 };
}

const WORDS = ["ship", "sail", "harbour", "rope", "anchor", "wind", "storm", "port", "crew", "map"];
const word = fc.constantFrom(...WORDS, ...WORDS.slice(0, 3), ...WORDS.slice(0, 2), "src/ship.ts", "shipYard");
const text = fc.oneof(
  { weight: 9, arbitrary: fc.array(word, { minLength: 1, maxLength: 12 }) },
  { weight: 1, arbitrary: fc.array(word, { minLength: 100, maxLength: 250 }) },
);
const items = fc
  .array(fc.record({ group: fc.integer({ min: 1, max: 4 }), words: text, at: fc.nat(3), flags: fc.nat(3) }), {
    maxLength: 60,
  })
  .map((all) =>
    all.map(({ group, words, at, flags }, index): IndexItem => {
      const fields = index % 3 === 0 ? [fieldTerm("tool", "Bash")] : [];
      return { group, item: index + 1, text: words.join(" "), fields, at: at * MINUTE_MS, flags };
    }),
  );
const queryText = fc
  .array(fc.oneof(word, fc.constantFrom("sto*", "-map", '"ship sail"', "-anchor", "sh*")), {
    minLength: 1,
    maxLength: 5,
  })
  .map((words) => words.join(" "));
const options = fc.record(
  {
    selection: fc.record(
      {
        groups: fc.constant((group: number) => group !== 2),
        flags: fc.constant(new Set([0, 1])),
        since: fc.constant(1),
        until: fc.constant(2),
        fields: fc.constant([{ field: "tool", values: ["Bash", "Read"], isExcluded: false }]),
      },
      { requiredKeys: [] },
    ),
    factors: fc.constant({ max: 80, factorOf: (unit: number) => (unit % 2 === 0 ? 80 : ONE) }),
  },
  { requiredKeys: [] },
);

test("ME11 the best items are those of scoring every unit, best first", async () => {
  const kind = fc.constantFrom<IndexKind>("messages", "memories", "documents");
  await fc.assert(
    fc.asyncProperty(
      kind,
      items,
      queryText,
      options,
      fc.integer({ min: 1, max: 20 }),
      async (of, all, query, chosen, limit) => {
        const snapshot = createNaiveIndex(of, all, "english");
        const expected = await exhaustiveRanking(snapshot, toIndexQuery(parseQuery(query, []), "english"), chosen);
        expect(await best(snapshot, query, limit, chosen)).toEqual(expected.slice(0, limit));
      },
    ),
    { numRuns: isLong ? 3000 : 200 },
  );
});

test("ME11 the best of many items are those of scoring every unit, also when few of them are scored", async () => {
  const rare = Array.from({ length: 40 }, (_, index) => `rare${index}x`);
  const common = ["river", "stone", "cloud"];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom<IndexKind>("messages", "memories", "documents"),
      fc.infiniteStream(fc.nat(1_000_000)),
      fc.subarray(rare, { minLength: 2, maxLength: 4 }),
      fc.integer({ min: 1, max: 5 }),
      async (kind, numbers, wanted, limit) => {
        const next = (below: number) => numbers.next().value % below;
        const all = Array.from({ length: 1200 }, (_, index) => {
          const words = Array.from({ length: 1 + next(4) }, () => common[next(3)]);
          if (next(10) === 0) words.push(rare[next(rare.length)], wanted[next(wanted.length)]);
          if (next(150) === 0) words.push(...wanted);
          return message(1 + Math.floor(index / (kind === "documents" ? 1 : 40)), index + 1, words.join(" "));
        });
        const snapshot = createNaiveIndex(kind, all, "english");
        const query = [...wanted, ...common].join(" ");
        const expected = await exhaustiveRanking(snapshot, toIndexQuery(parseQuery(query, []), "english"), {});
        expect(await best(snapshot, query, limit)).toEqual(expected.slice(0, limit));
      },
    ),
    { numRuns: isLong ? 100 : 8 },
  );
});

test("ME11 the ranking does not depend on the order in which the index has its units", async () => {
  await fc.assert(
    fc.asyncProperty(items, fc.infiniteStream(fc.nat()), queryText, async (all, keys, query) => {
      const shuffled = all
        .map((item) => ({ item, key: keys.next().value }))
        .sort((a, b) => a.key - b.key)
        .map(({ item }) => item);
      const plain = (found: Awaited<ReturnType<typeof best>>) => found.map(({ unit, ...rest }) => rest);
      const [one, other] = [all, shuffled].map((each) => createNaiveIndex("messages", each, "english"));
      if (one === undefined || other === undefined) throw new Error("bug");
      expect(plain(await best(one, query, 50))).toEqual(plain(await best(other, query, 50)));
    }),
    { numRuns: isLong ? 2000 : 100 },
  );
});

test("ME11 the best of many items in several parts of an index are those of scoring every unit", async () => {
  const rare = Array.from({ length: 20 }, (_, index) => `rare${index}x`);
  const common = ["river", "stone", "cloud"];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom<IndexKind>("messages", "memories", "documents"),
      fc.infiniteStream(fc.nat(1_000_000)),
      fc.subarray([...rare, ...common, '"river stone"', "rare1*", "stone -cloud"], { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 12 }),
      options,
      async (kind, numbers, wanted, limit, chosen) => {
        const next = (below: number) => numbers.next().value % below;
        const parts = Array.from({ length: 1 + next(4) }, () => [] as PendingUnit[]);
        const groups = 1 + next(60);
        for (let index = 0; index < 500; index++) {
          const words = Array.from({ length: 1 + next(5) }, () => (next(4) === 0 ? rare[next(20)] : common[next(3)]));
          const item = { ...message(1 + next(groups), index + 1, words.join(" ")), flags: next(3) };
          // Mostly the next one, as messages are added, and sometimes any: such as memories that are saved again.
          const part = parts[next(10) === 0 ? next(parts.length) : Math.floor((index * parts.length) / 500)];
          part?.push(...(await unitsOf(item, "english", slice)));
        }
        const snapshot = snapshotOfParts(kind, parts);
        const query = wanted.join(" ");
        const parsed = toIndexQuery(parseQuery(query, []), "english");
        const expected = await exhaustiveRanking(snapshot, parsed, chosen);
        expect(await best(snapshot, query, limit, chosen)).toEqual(expected.slice(0, limit));
        // Some of these units, and others, in any order.
        const some = [...expected.slice(0, 5).map(({ unit }) => unit), next(snapshot.units.count)];
        const scored = await (await openItemRanking(snapshot, parsed, slice, chosen)).scoresOf(some.reverse());
        expect(scored.map(({ unit }) => unit)).toEqual(some);
        for (const one of expected.slice(0, 5)) expect(scored).toContainEqual(one);
      },
    ),
    { numRuns: isLong ? 1000 : 12 },
  );
});

describe("a ranking", () => {
  test("ME11 has no item without a word of the query, and none for a query without words", async () => {
    const snapshot = createNaiveIndex("messages", [message(1, 1, "ships"), message(2, 1, "boats")], "english");
    expect(await names(snapshot, "ship")).toEqual(["1/1"]);
    for (const query of ["submarine", "", "!!", "-ship", "sub*", '"ship boat"']) {
      expect(await names(snapshot, query)).toEqual([]);
    }
  });

  test("ME11 counts the messages around one, less than its own text", async () => {
    const session = ["anchor", "weather", "calm", "sea", "quiet"].map((each, index) => message(1, index + 1, each));
    const snapshot = createNaiveIndex("messages", session, "english");
    expect(await names(snapshot, "anchor")).toEqual(["1/1", "1/2", "1/3"]);
    const memories = createNaiveIndex("memories", session, "english");
    expect(await names(memories, "anchor")).toEqual(["1/1"]);
  });

  test("ME11 has the newer of equal ones first, wherever they are in the index", async () => {
    const all = Array.from({ length: 3000 }, (_, index) => message(index + 1, 1, index % 50 === 7 ? "ship" : "sail"));
    for (const [index, one] of all.entries()) all[index] = { ...one, at: index * MINUTE_MS };
    const newest = all.filter(({ text: each }) => each === "ship").map(({ group }) => `${group}/1`);
    expect(await names(createNaiveIndex("messages", all, "english"), "ship")).toEqual(newest.reverse());
    const found = await best(createNaiveIndex("messages", all, "english"), "ship", 1);
    expect(found.map(({ groupNumber }) => `${groupNumber}/1`)).toEqual(newest.slice(0, 1));
  });

  test("ME11 prefers the session, and the document, that is about the query", async () => {
    const about = [message(1, 1, "rope rope"), message(1, 9, "sail knots"), message(1, 20, "a sail")];
    const other = [message(2, 20, "a sail"), message(2, 40, "cooking and gardens")];
    const filler = [3, 4, 5, 6].map((group) => message(group, 1, "nothing here"));
    const snapshot = createNaiveIndex("messages", [...about, ...other, ...filler], "english");
    const ranked = await names(snapshot, "sail rope");
    expect(ranked.indexOf("1/20")).toBeLessThan(ranked.indexOf("2/20"));
    const half = `rope ${"and so on ".repeat(60)}`;
    const documents = createNaiveIndex(
      "documents",
      [message(1, 1, `${half} sail ${half}`), message(2, 1, `${half} ${half}`), message(3, 1, "none")],
      "english",
    );
    expect(await names(documents, "sail rope")).toEqual(["1/1", "2/1"]);
  });

  test("ME11 prefers parts of a path that stand in one passage", async () => {
    const spread = message(1, 1, `open ${"file ".repeat(150)} src ts`);
    const snapshot = createNaiveIndex(
      "documents",
      [spread, message(2, 1, `see src/open.ts ${"file ".repeat(150)}`)],
      "english",
    );
    expect((await names(snapshot, "src/open.ts"))[0]).toBe("2/1");
  });

  test("ME11 gives shares from 0 to 1", async () => {
    const all = Array.from({ length: 30 }, (_, index) => message(1, index + 1, "ship ".repeat(index + 1)));
    const found = await best(createNaiveIndex("messages", all, "english"), "ship", 100);
    expect(found).toHaveLength(30);
    for (const { share } of found) expect(share > 0 && share <= 1).toBe(true);
  });
});
