// Any sequence of writes and searches through two handles gives what a naive model gives: in packed and in new embeddings, with filters,
// in several collections, and after the pages were made again.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Holdfast } from "../contracts/holdfast.ts";
import { open } from "../open.ts";
import { documentsOf, embeddings } from "../testing/suites/vectors-fixture.ts";

const DIMENSION = 8;
const PACKED = 1030;
const LIMIT = 2;
const COLLECTIONS = ["a", "b", "large"] as const;
const ALL = embeddings(PACKED + 400, DIMENSION, 17);

interface ModelDocument {
  readonly id: string;
  readonly embedding: readonly number[];
  readonly group: number;
}

/** Documents in the order in which they were written. */
type Model = Map<string, Map<string, ModelDocument>>;

function cosine(a: readonly number[], b: readonly number[]): number {
  const product = (x: readonly number[], y: readonly number[]) => x.reduce((sum, v, i) => sum + v * (y[i] ?? 0), 0);
  return product(a, b) / Math.sqrt(product(a, a) * product(b, b));
}

function modelSearch(model: Model, collection: string, query: readonly number[], group: number | null): string[] {
  const documents = [...(model.get(collection)?.values() ?? [])].filter((one) => group === null || one.group === group);
  return documents
    .map(({ id, embedding }, n) => ({ id, n, score: cosine(embedding, query) }))
    .sort((x, y) => y.score - x.score || x.n - y.n)
    .slice(0, LIMIT)
    .map(({ id }) => id);
}

const collection = fc.constantFrom("a", "a", ...COLLECTIONS);
const handle = fc.nat(1);
/** Few of them, so that commands meet: what one deletes, another has found. */
const near = fc.nat(12);
const command = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("put" as const),
      handle,
      collection,
      ids: fc.uniqueArray(near, { maxLength: 9 }),
      embedding: near,
      group: fc.nat(2),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("delete" as const),
      handle,
      collection,
      ids: fc.array(near, { maxLength: 9 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("search" as const),
      handle,
      collection,
      query: near,
      group: fc.option(fc.nat(3)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("rebuild" as const), handle, collection }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("drop" as const), handle, collection: fc.constantFrom("a", "b") }),
  },
);
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never;

async function apply(hf: Holdfast, model: Model, one: Command): Promise<void> {
  const { collection } = one;
  const known = model.get(collection);
  switch (one.kind) {
    case "put": {
      const { group } = one;
      const documents = one.ids.map((n, i) => ({
        id: `d${n}`,
        embedding: ALL[(one.embedding + i) % ALL.length] ?? [],
        group,
      }));
      await hf.vectors.upsert(
        documents.map(({ id, embedding }) => ({ id, content: id, embedding, metadata: { group } })),
        { collection },
      );
      const target = known ?? new Map<string, ModelDocument>();
      for (const document of documents) {
        target.delete(document.id);
        target.set(document.id, document);
      }
      if (documents.length > 0) model.set(collection, target);
      return;
    }
    case "delete": {
      const ids = [...new Set(one.ids.map((n) => `d${n}`))];
      const expected = ids.filter((id) => known?.has(id) ?? false).length;
      expect(await hf.vectors.delete(ids, { collection })).toBe(expected);
      for (const id of ids) known?.delete(id);
      return;
    }
    case "search": {
      const query = ALL[one.query] ?? [];
      const options = { collection, limit: LIMIT, ...(one.group === null ? {} : { filter: { group: one.group } }) };
      const found = (await hf.vectors.search(query, options)).map(({ id }) => id);
      expect(found).toEqual(modelSearch(model, collection, query, one.group));
      return;
    }
    case "rebuild":
      if (known !== undefined) expect(await hf.vectors.rebuild(collection)).toBe(known.size);
      return;
    case "drop":
      expect(await hf.vectors.deleteCollection(collection)).toBe(known?.size ?? 0);
      model.delete(collection);
  }
}

test("ME6, ME9 two handles answer as a naive model, whatever is written", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "holdfast-vectors-"));
  const file = path.join(folder, "store.db");
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 30, maxLength: 60 }), async (commands) => {
        const handles = [
          await open(file, { durability: "normal" }),
          await open(file, { durability: "normal" }),
        ] as const;
        const model: Model = new Map();
        const [hf] = handles;
        for (const name of await hf.vectors.listCollections()) await hf.vectors.deleteCollection(name);
        const large = documentsOf(ALL.slice(0, PACKED), (n) => ({ metadata: { group: n % 3 } }));
        await hf.vectors.add(large, { collection: "large" });
        model.set(
          "large",
          new Map(ALL.slice(0, PACKED).map((embedding, n) => [`d${n}`, { id: `d${n}`, embedding, group: n % 3 }])),
        );
        for (const one of commands) await apply(handles[one.handle] ?? hf, model, one);
        expect((await hf.check()).issues).toEqual([]);
        for (const one of handles) await one.close();
      }),
      { numRuns: 12, seed: 11, endOnFailure: true },
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
