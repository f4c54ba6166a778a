// A search that loses races with a writer: it begins again, and at last fails instead of leaving documents out.
import { expect, test } from "vitest";
import { HoldfastError } from "../contracts/errors.ts";
import { searchUntilSettled } from "./settled-search.ts";

/** A search that loses so many races with a writer. */
function losing(races: number): () => Promise<{ matches: readonly string[]; isStale: boolean }> {
  let left = races;
  return async () => (left-- > 0 ? { matches: [], isStale: true } : { matches: ["all"], isStale: false });
}

test("ME6 a search that loses many races with a writer has all documents in its result", async () => {
  expect(await searchUntilSettled("docs", losing(50))).toEqual(["all"]);
});

test("ME6 a search that loses every race is an error that names the collection, and no result without documents", async () => {
  const searching = searchUntilSettled("docs", losing(Number.POSITIVE_INFINITY));
  await expect(searching).rejects.toThrow(HoldfastError);
  await expect(searching).rejects.toMatchObject({ code: "Conflict", retryable: true, details: { collection: "docs" } });
});
