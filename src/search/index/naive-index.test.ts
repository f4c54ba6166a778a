// What a snapshot of the index says of a few items.
import { describe, expect, test } from "vitest";
import { createNaiveIndex } from "./naive-index.ts";
import { fieldTerm, ROLES } from "./reader.ts";
import { type IndexItem, readPassages } from "./units.ts";

const MINUTE_MS = 60_000;

function message(group: number, item: number, text: string, fields: readonly string[] = []): IndexItem {
  return { group, item, text, fields, at: item * MINUTE_MS, flags: ROLES.indexOf("user") };
}

describe("a snapshot", () => {
  test("numbers the units of items, and links those of a group in the order of their items", () => {
    const long = "word ".repeat(150);
    const { units } = createNaiveIndex(
      "messages",
      [message(7, 3, "third"), message(9, 1, "other"), message(7, 1, long)],
      "english",
    );
    const rows = Array.from({ length: units.count }, (_, unit) => ({
      group: units.groupNumbers[units.group[unit] ?? -1],
      item: units.item[unit],
      part: units.part[unit],
      words: units.words[unit],
      minutes: units.minutes[unit],
      previous: units.previous[unit],
      next: units.next[unit],
    }));
    expect(rows).toEqual([
      { group: 7, item: 3, part: 0, words: 1, minutes: 3, previous: 3, next: -1 },
      { group: 9, item: 1, part: 0, words: 1, minutes: 1, previous: -1, next: -1 },
      { group: 7, item: 1, part: 0, words: 75, minutes: 1, previous: -1, next: 3 },
      { group: 7, item: 1, part: 1, words: 75, minutes: 1, previous: 2, next: 0 },
    ]);
  });

  test("has the postings of words and fields, and those of a word that occurs often have more impact", async () => {
    const user = fieldTerm("role", "user");
    const index = createNaiveIndex(
      "messages",
      [message(1, 1, "a cat"), message(1, 2, "a cat and a cat", [user]), message(1, 3, "dogs")],
      "english",
    );
    const [cat, role, none] = await index.readPostings(["cat", user, "bird"]);
    expect([...(cat?.units ?? [])]).toEqual([0, 1]);
    expect(cat?.impacts[1]).toBeGreaterThan(cat?.impacts[0] ?? 255);
    expect(role).toMatchObject({ count: 1, units: Int32Array.of(1), impacts: Uint8Array.of(1) });
    expect(none).toMatchObject({ term: "bird", count: 0 });
  });

  test("finds terms by their beginning, the most frequent first, and no fields", async () => {
    const items = [message(1, 1, "cart"), message(1, 2, "cart car"), message(1, 3, "cat", [fieldTerm("role", "user")])];
    const index = createNaiveIndex("messages", items, "none");
    expect(await index.termsWithPrefix("ca", 5)).toEqual(["cart", "car", "cat"]);
    expect(await index.termsWithPrefix("ca", 1)).toEqual(["cart"]);
    expect(await index.termsWithPrefix("", 9)).toEqual(["cart", "car", "cat"]);
  });
});

describe("the passages of a text", () => {
  test("together are the text, also of one that is tokenised in stretches", () => {
    for (const text of ["", "short", "some words. ".repeat(9_000), "x".repeat(50_000), "🙂".repeat(20_000)]) {
      const passages = [...readPassages(text, "english")];
      expect(passages.map(({ start, end }) => text.slice(start, end)).join("")).toBe(text);
      expect(passages.map(({ part }) => part)).toEqual([...passages.keys()]);
      for (const { start, end, tokens } of passages) {
        for (const token of tokens) expect(token.start >= start && token.end <= end).toBe(true);
      }
    }
  });
});
