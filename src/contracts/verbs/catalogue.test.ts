// The catalogue and an open store: the compiler compares the declarations with the interfaces, these tests with what is there.
import { describe, expect, test } from "vitest";
import { open } from "../../open.ts";
import { CATALOGUE } from "./catalogue.ts";

/** Parts whose verbs are members of the store itself. */
const OF_STORE = ["archives", "stats", "search", "reindex", "query", "trace", "check", "handle"];

function functionsOf(holder: object): string[] {
  const members = Object.entries(holder).filter(([, member]) => typeof member === "function");
  return members.map(([name]) => name).sort();
}

describe("the catalogue", () => {
  test("ST7 declares every verb of an open store and no other", async () => {
    const store = await open(":memory:");
    try {
      const declared = Object.entries(CATALOGUE).filter(([part]) => !OF_STORE.includes(part));
      const nouns = Object.fromEntries(declared.map(([noun, verbs]) => [noun, Object.keys(verbs).sort()]));
      const members = Object.entries(store).filter(([name, member]) => typeof member === "object" && name !== "info");
      expect(nouns).toEqual(Object.fromEntries(members.map(([noun, member]) => [noun, functionsOf(member as object)])));
      const own = Object.entries(CATALOGUE).filter(([part]) => OF_STORE.includes(part));
      expect(own.flatMap(([, verbs]) => Object.keys(verbs)).sort()).toEqual(functionsOf(store));
    } finally {
      await store.close();
    }
  });

  test("ST7 is plain data, which JSON can carry to other programs", () => {
    expect(JSON.parse(JSON.stringify(CATALOGUE))).toEqual(CATALOGUE);
  });
});
