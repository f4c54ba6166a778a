// Searches of the vectors contract: what is found is what comparing with every embedding finds.
import assert from "node:assert/strict";
import type { MetadataFilter } from "../../contracts/metadata-filter.ts";
import type { VectorMetric, Vectors } from "../../contracts/vectors.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { documentsOf, embeddings, idsOf, nearestIds, shareFound } from "./vectors-fixture.ts";

const DIMENSION = 24;

/** Adds so many that most of them are packed. */
async function addMany(vectors: Vectors, all: readonly (readonly number[])[], collection: string): Promise<void> {
  const documents = documentsOf(all, (n) => ({ metadata: { n, even: n % 2 === 0, group: `g${n % 100}` } }));
  for (let from = 0; from < documents.length; from += 700) {
    await vectors.add(documents.slice(from, from + 700), { collection });
  }
}

/** Waits for the packing in the background. */
async function packed(vectors: Vectors, collection: string, least: number): Promise<void> {
  for (let attempt = 0; attempt < 20_000; attempt++) {
    if (present(await vectors.getCollection(collection)).packed >= least) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  assert.fail("the embeddings were not packed");
}

const metricCases = (["cosine", "dot", "euclidean"] as const).map((metric: VectorMetric) =>
  prove(`ME6 the nearest are found by ${metric}, with their scores in order`, ["vectors"], async ({ vectors }) => {
    const all = embeddings(300, DIMENSION, 11);
    await vectors.createCollection("c", { dimension: DIMENSION, metric });
    await vectors.add(documentsOf(all), { collection: "c" });
    for (const query of embeddings(20, DIMENSION, 11).slice(5)) {
      const found = await vectors.search(query, { collection: "c", limit: 10 });
      assert.deepEqual(idsOf(found), nearestIds(all, query, 10, metric));
      for (const [i, { score, similarity }] of found.entries()) {
        assert.ok(score >= 0 && score <= 1, `${score}`);
        assert.ok(score <= (found[i - 1]?.score ?? 1) && similarity <= (found[i - 1]?.similarity ?? Infinity));
      }
    }
  }),
);

export const vectorSearchCases: readonly Case[] = [
  ...metricCases,

  prove(
    "ME6 scores are from 0 to 1, and equally near documents come in the order they were added",
    ["vectors"],
    async (nouns) => {
      const { vectors } = nouns;
      await vectors.add([
        { id: "same", content: "", embedding: [2, 0] },
        { id: "also", content: "", embedding: [7, 0] },
        { id: "across", content: "", embedding: [0, 5] },
        { id: "against", content: "", embedding: [-1, 0] },
      ]);
      const found = await vectors.search([3, 0]);
      assert.deepEqual(
        found.map(({ id, score, similarity }) => [id, score, similarity]),
        [
          ["same", 1, 1],
          ["also", 1, 1],
          ["across", 0.5, 0],
          ["against", 0, -1],
        ],
      );
      assert.equal((await vectors.search([3, 0], { limit: 2 })).length, 2);
      await refuses("InvalidArgument", () => vectors.search([3, 0], { limit: 0 }));
    },
  ),

  prove(
    "ME6 a search in packed and in new embeddings finds what a comparison with all finds",
    ["vectors"],
    async (nouns) => {
      const { vectors } = nouns;
      const all = embeddings(2600, DIMENSION, 5);
      await addMany(vectors, all, "c");
      await packed(vectors, "c", 2048);
      const queries = embeddings(40, DIMENSION, 77);
      const shares: number[] = [];
      for (const query of queries) {
        const found = await vectors.search(query, { collection: "c", limit: 10 });
        assert.equal(found.length, 10);
        shares.push(shareFound(idsOf(found), nearestIds(all, query, 10)));
      }
      assert.ok(shares.reduce((sum, share) => sum + share, 0) / shares.length >= 0.99, `${shares}`);
    },
  ),

  prove(
    "ME6 what is deleted or replaced in a page is not found, and what takes its place is",
    ["vectors"],
    async (nouns) => {
      const { vectors } = nouns;
      const all = embeddings(1300, DIMENSION, 9);
      await addMany(vectors, all, "c");
      await packed(vectors, "c", 1024);
      const [query] = all;
      const first = await vectors.search(present(query), { collection: "c", limit: 30 });
      const gone = idsOf(first).filter((_, i) => i % 2 === 0);
      assert.equal(await vectors.delete(gone, { collection: "c" }), 15);
      const left = await vectors.search(present(query), { collection: "c", limit: 15 });
      assert.deepEqual(
        idsOf(left),
        idsOf(first).filter((id) => !gone.includes(id)),
      );
      const moved = present(left[0]).id;
      const against = present(query).map((value) => -value);
      await vectors.upsert([{ id: moved, content: "moved", embedding: against }], { collection: "c" });
      assert.equal((await vectors.search(against, { collection: "c" }))[0]?.id, moved);
      assert.ok(!idsOf(await vectors.search(present(query), { collection: "c", limit: 15 })).includes(moved));
    },
  ),

  prove("ME6 pages are what their embeddings give, and can be made again", ["vectors", "check"], async (nouns) => {
    const { vectors, check } = nouns;
    const all = embeddings(2100, DIMENSION, 31);
    await addMany(vectors, all, "c");
    await packed(vectors, "c", 2048);
    await vectors.delete(["d5", "d1500", "d2099"], { collection: "c" });
    assert.deepEqual((await check()).issues, []);
    const query = present(all[7]);
    const options = { collection: "c", limit: 20, filter: { even: true } };
    const before = await vectors.search(query, options);
    assert.equal(await vectors.rebuild("c"), 2097);
    assert.deepEqual(await vectors.search(query, options), before);
    await packed(vectors, "c", 2048);
    assert.deepEqual(await vectors.search(query, options), before);
    assert.deepEqual((await check()).issues, []);
    await refuses("NotFound", () => vectors.rebuild("missing"));
  }),

  prove(
    "ME9 a filter keeps exactly what matches, in packed and in new embeddings",
    ["vectors"],
    async ({ vectors }) => {
      const all = embeddings(1500, DIMENSION, 21);
      await addMany(vectors, all, "c");
      await packed(vectors, "c", 1024);
      const matching: readonly (readonly [filter: MetadataFilter, keeps: (n: number) => boolean])[] = [
        [{}, () => true],
        [{ group: "g7" }, (n) => n % 100 === 7],
        [{ even: true, n: { gte: 1000 } }, (n) => n % 2 === 0 && n >= 1000],
        [{ not: { group: { in: range(99).map((n) => `g${n}`) } } }, (n) => n % 100 === 99],
        [{ or: [{ n: 3 }, { n: { gt: 1490 } }] }, (n) => n === 3 || n > 1490],
        [{ missing: { exists: false }, n: { lt: 50 } }, (n) => n < 50],
        [{ n: "3" }, () => false],
      ];
      for (const query of embeddings(3, DIMENSION, 4)) {
        for (const [filter, keeps] of matching) {
          const found = await vectors.search(query, { collection: "c", limit: 12, filter });
          const kept = all.map((vector, n) => (keeps(n) ? vector : null));
          const expected = nearestIds(
            kept.map((vector) => vector ?? present(query).map((value) => -value)),
            query,
            1500,
          ).filter((id) => keeps(Number(id.slice(1))));
          assert.deepEqual(idsOf(found), expected.slice(0, 12), JSON.stringify(filter));
        }
      }
    },
  ),

  prove("ME9 hostile filters are refused or match nothing", ["vectors"], async ({ vectors }) => {
    await vectors.add([{ id: "a", content: "a", embedding: [1, 0], metadata: { name: "Ada" } }]);
    const injections = ["'", '"; DROP TABLE documents; --', "1) OR (1=1", "\u0000", "%", "a'||'b", "$1", "?", ":items"];
    for (const text of injections) {
      const filters: readonly MetadataFilter[] = [{ name: text }, { [text]: 1 }, { name: { in: [text] } }];
      for (const filter of filters) {
        const found = await vectors.search([1, 0], { filter }).catch((error: Error) => error.name);
        assert.ok(found === "HoldfastError" || (Array.isArray(found) && found.length === 0), JSON.stringify(filter));
      }
    }
    const wrong = { name: { like: "A%" } } as unknown as MetadataFilter;
    await refuses("InvalidArgument", () => vectors.search([1, 0], { filter: wrong }));
    assert.equal((await vectors.search([1, 0], { filter: { name: "Ada" } })).length, 1);
  }),
];
