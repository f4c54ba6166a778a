// Writers and readers of one collection at once, in one process and in several.
import assert from "node:assert/strict";
import { present, range } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { documentsOf, embeddings, idsOf, nearestIds } from "./vectors-fixture.ts";

const DIMENSION = 16;

export const vectorRaceCases: readonly Case[] = [
  prove("ME6 documents added at once are all there, each once", ["vectors"], async ({ vectors }) => {
    await Promise.all(
      range(20).map((n) => vectors.upsert([{ id: `d${n % 10}`, content: `${n}`, embedding: [n + 1, 1] }])),
    );
    const found = await vectors.search([1, 1], { limit: 100 });
    assert.deepEqual(
      idsOf(found).sort(),
      range(10).map((n) => `d${n}`),
    );
    assert.equal(present(await vectors.getCollection("default")).documents, 10);
  }),

  prove("ME6 writes of another handle are seen by the next search", ["vectors", "another"], async (nouns) => {
    const { vectors, another } = nouns;
    const other = await another();
    const all = embeddings(1400, DIMENSION, 3);
    const documents = documentsOf(all);
    await vectors.add(documents.slice(0, 10));
    const [query] = all;
    assert.equal((await other.vectors.search(present(query))).length, 5);
    await vectors.add(documents.slice(10));
    assert.deepEqual(
      idsOf(await other.vectors.search(present(query), { limit: 9 })),
      nearestIds(all, present(query), 9),
    );
    const nearest = nearestIds(all, present(query), 30);
    await other.vectors.delete(nearest.slice(0, 10));
    assert.deepEqual(idsOf(await vectors.search(present(query), { limit: 20 })), nearest.slice(10));
    await vectors.deleteCollection("default");
    assert.deepEqual(await other.vectors.search(present(query)), []);
    await vectors.add([{ id: "new", content: "new", embedding: [1, 2] }]);
    assert.deepEqual(idsOf(await other.vectors.search([1, 2])), ["new"]);
  }),

  prove(
    "ME6 handles that create, fill and empty one collection at once lose nothing",
    ["vectors", "another"],
    async (nouns) => {
      const { vectors, another } = nouns;
      const handles = [vectors, (await another()).vectors, (await another()).vectors];
      await Promise.all(
        handles.flatMap((handle, h) =>
          range(8).map(async (n) => {
            await handle.add([
              { id: `${h}-${n}-kept`, content: "kept", embedding: [h + 1, n + 1] },
              { id: `${h}-${n}-gone`, content: "gone", embedding: [h + 1, n + 1] },
            ]);
            assert.equal(await handle.delete([`${h}-${n}-gone`]), 1);
          }),
        ),
      );
      const expected = handles.flatMap((_, h) => range(8).map((n) => `${h}-${n}-kept`)).sort();
      for (const handle of handles) {
        assert.deepEqual(idsOf(await handle.search([1, 1], { limit: 100 })).sort(), expected);
        const { documents, embedded } = present(await handle.getCollection("default"));
        assert.deepEqual([documents, embedded], [24, 24]);
      }
    },
  ),

  prove("ME6 a document that is replaced all the time is in every result", ["vectors", "another"], async (nouns) => {
    const { vectors, another } = nouns;
    const other = await another();
    await vectors.add([
      { id: "steady", content: "", embedding: [1, 0] },
      { id: "moving", content: "", embedding: [1, 0.5] },
    ]);
    let isDone = false;
    const writing = (async () => {
      for (const n of range(30)) await other.vectors.upsert([{ id: "moving", content: "", embedding: [1, n / 30] }]);
      isDone = true;
    })();
    while (!isDone) assert.deepEqual(idsOf(await vectors.search([1, 0])).sort(), ["moving", "steady"]);
    await writing;
  }),
];
