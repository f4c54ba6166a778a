// The suite of the vectors contract: documents and collections here, searches and concurrent writers in the files beside.
import assert from "node:assert/strict";
import { LIMITS } from "../../contracts/limits.ts";
import type { DocumentInput, Vectors } from "../../contracts/vectors.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { vectorRaceCases } from "./vectors-races.ts";
import { vectorSearchCases } from "./vectors-search.ts";
import { vectorTextCases } from "./vectors-text.ts";

export function runVectorsSuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  const cases = [...documentCases, ...collectionCases, ...vectorSearchCases, ...vectorTextCases, ...vectorRaceCases];
  runCases(`vectors: ${name}`, cases, make, options);
}

const documentCases: readonly Case[] = [
  prove("ME6 documents are read back as they were added", ["vectors"], async ({ vectors }) => {
    const metadata = { author: { name: "Ada" }, tags: ["x", "y"], "": null, "\u0000": 1.5 };
    const content = [
      { type: "text", text: "Tea \u0000 ☂ 😀" },
      { type: "image", source: { url: "https://example.org/tea.png" }, alt: "tea" },
    ] as const;
    const ids = await vectors.add([
      { id: "one", content, embedding: [0.5, -2, 3], metadata },
      { content: "two", embedding: Float32Array.of(1, 0, 0) },
      { id: "three", content: [] },
    ]);
    assert.equal(ids.length, 3);
    assert.deepEqual([ids[0], ids[2]], ["one", "three"]);
    const [three, one, two] = await vectors.get(["three", "one", present(ids[1]), "missing"]);
    assert.deepEqual(one, { id: "one", content, language: null, embedding: [0.5, -2, 3], metadata });
    assert.deepEqual(two, {
      id: ids[1],
      content: [{ type: "text", text: "two" }],
      language: null,
      embedding: [1, 0, 0],
      metadata: {},
    });
    assert.deepEqual(three, { id: "three", content: [], language: null, embedding: null, metadata: {} });
    assert.deepEqual(await vectors.get([]), []);
    assert.deepEqual(await vectors.get(["one"], { collection: "other" }), []);
  }),

  prove("ME6 long content and bytes are stored as blobs, and read back", ["vectors", "blobs"], async (nouns) => {
    const { vectors, blobs } = nouns;
    const long = "a long text. ".repeat(5000);
    const data = new Uint8Array(3000).map((_, i) => i * 7);
    const ref = await blobs.store("named");
    const content: DocumentInput["content"] = [
      { type: "text", text: long },
      { type: "image", source: { data, mediaType: "image/png" } },
      { type: "document", source: { ref } },
    ];
    await vectors.add([{ id: "a", content, embedding: [1, 2] }]);
    const [document] = await vectors.get(["a"]);
    const [text, image] = present(document).content;
    assert.ok(text?.type === "text" && text.text === long);
    assert.ok(image?.type === "image" && image.source.ref !== undefined);
    assert.deepEqual(Buffer.from(await blobs.resolve(image.source.ref)), Buffer.from(data));
    const [match] = await vectors.search([1, 2]);
    assert.deepEqual(match?.content, document?.content);
    await refuses("BlobNotFound", () =>
      vectors.add([{ content: [{ type: "image", source: { ref: `sha256:${"0".repeat(64)}` } }] }]),
    );
    assert.equal(await vectors.delete(["a"]), 1);
    await refuses(["BlobNotFound", "BlobExpired"], () => blobs.resolve(present(image.source.ref)));
    assert.equal(Buffer.from(await blobs.resolve(ref)).toString(), "named", "a blob that was stored by itself stays");
  }),

  prove("ME6 add refuses an id that is there, whole, and upsert replaces the document", ["vectors"], async (nouns) => {
    const { vectors } = nouns;
    await vectors.add([{ id: "a", content: "old", embedding: [1, 0], metadata: { v: 1 } }]);
    const again = [
      { id: "b", content: "b", embedding: [0, 1] },
      { id: "a", content: "new", embedding: [0, 1] },
    ];
    await refuses("AlreadyExists", () => vectors.add(again));
    assert.deepEqual(await vectors.get(["b"]), []);
    assert.deepEqual(await vectors.upsert(again), ["b", "a"]);
    const [a] = await vectors.get(["a"]);
    assert.deepEqual(a, {
      id: "a",
      content: [{ type: "text", text: "new" }],
      language: null,
      embedding: [0, 1],
      metadata: {},
    });
    const found = await vectors.search([1, 0]);
    assert.deepEqual(
      found.map(({ id, similarity }) => [id, similarity]),
      [
        ["b", 0],
        ["a", 0],
      ],
    );
    assert.deepEqual(await vectors.search([1, 0], { filter: { v: 1 } }), []);
    assert.equal(present(await vectors.getCollection("default")).documents, 2);
    await refuses("InvalidArgument", () => vectors.upsert([again[0] ?? { content: "" }, again[0] ?? { content: "" }]));
  }),

  prove("ME6 delete counts the documents that it removes", ["vectors"], async ({ vectors }) => {
    await vectors.add(range(5).map((n) => ({ id: `d${n}`, content: `${n}`, embedding: [n, 1] })));
    assert.equal(await vectors.delete(["d1", "d3", "missing", "d1"]), 2);
    assert.equal(await vectors.delete(["d1"]), 0);
    assert.equal(await vectors.delete([]), 0);
    assert.equal(await vectors.delete(["d0"], { collection: "missing" }), 0);
    assert.deepEqual((await vectors.search([1, 1], { limit: 10 })).map(({ id }) => id).sort(), ["d0", "d2", "d4"]);
    const { documents, embedded } = present(await vectors.getCollection("default"));
    assert.deepEqual([documents, embedded], [3, 3]);
    await vectors.add([{ id: "d1", content: "again", embedding: [1, 1] }]);
    assert.equal((await vectors.search([1, 1]))[0]?.id, "d1");
  }),

  prove("ME6 a document that was returned or given may be changed by its owner", ["vectors"], async ({ vectors }) => {
    const embedding = [1, 2, 3];
    const metadata = { a: [1] };
    const adding = vectors.add([{ id: "a", content: "a", embedding, metadata }]);
    embedding[0] = 100;
    metadata.a.push(2);
    await adding;
    const [stored] = await vectors.get(["a"]);
    assert.deepEqual([stored?.embedding, stored?.metadata], [[1, 2, 3], { a: [1] }]);
  }),

  prove("ME6 embeddings that are none are refused, and nothing is written", ["vectors"], async ({ vectors }) => {
    const bad: readonly unknown[] = [
      [],
      "text",
      {},
      [1, "2"],
      [1, Number.NaN],
      [1, Number.POSITIVE_INFINITY],
      [1e39, 1],
      [0, 0],
      new Float64Array(2),
      new Array(5000).fill(1),
      [1, undefined, 2],
    ];
    for (const embedding of bad) {
      const document = { id: "a", content: "a", embedding } as DocumentInput;
      await refuses("InvalidArgument", () => vectors.add([{ content: "b", embedding: [1, 1] }, document]));
      await refuses("InvalidArgument", () => vectors.search(embedding as number[]), `${embedding}`).catch((error) => {
        // Without a collection there is nothing to compare with.
        if (!String(error).includes("was accepted")) throw error;
      });
    }
    assert.deepEqual(await vectors.listCollections(), []);
    await vectors.add([{ id: "a", content: "a", embedding: [1, 1] }]);
    for (const embedding of bad) {
      // A text is a query of its own.
      if (typeof embedding === "string") continue;
      await refuses(["InvalidArgument", "EmbeddingMismatch"], () => vectors.search(embedding as number[]));
    }
  }),

  prove("ST8 documents over a limit are refused whole", ["vectors"], async ({ vectors }) => {
    const many = range(LIMITS.documentsPerAdd + 1).map((n) => ({ content: `${n}` }));
    await refuses("LimitExceeded", () => vectors.add(many));
    await refuses("LimitExceeded", () => vectors.add([{ content: "x".repeat(LIMITS.documentBytes + 1) }]));
    const fields = { list: range(LIMITS.metadataFields + 1) };
    await refuses("LimitExceeded", () => vectors.add([{ content: "a" }, { content: "b", metadata: fields }]));
    assert.deepEqual(await vectors.listCollections(), []);
  }),
];

async function counts(vectors: Vectors): Promise<Record<string, [documents: number, model: string]>> {
  const found: Record<string, [number, string]> = {};
  for (const name of await vectors.listCollections()) {
    const { documents, model } = present(await vectors.getCollection(name));
    found[name] = [documents, model];
  }
  return found;
}

const collectionCases: readonly Case[] = [
  prove("ME6 collections are listed, described and deleted with their documents", ["vectors"], async ({ vectors }) => {
    assert.deepEqual(await vectors.listCollections(), []);
    assert.deepEqual(await vectors.search([1]), []);
    const created = await vectors.createCollection("ünïcode '\"; DROP", { dimension: 2, metric: "dot", model: "m" });
    const { createdAt, ...rest } = created;
    assert.ok(createdAt > 0);
    const described = { generation: 1, model: "m", dimension: 2, metric: "dot", precision: "f32" };
    assert.deepEqual(rest, {
      name: "ünïcode '\"; DROP",
      ...described,
      documents: 0,
      embedded: 0,
      packed: 0,
      change: 1,
    });
    assert.deepEqual(await vectors.getCollection(created.name), created);
    await refuses("AlreadyExists", () => vectors.createCollection(created.name, { dimension: 3 }));
    await vectors.add([{ content: "a", embedding: [3, 4] }], { collection: created.name, model: "m" });
    await vectors.add([{ content: "text only" }], { collection: "b" });
    await vectors.add([{ content: "a", embedding: [1] }]);
    assert.deepEqual(await vectors.listCollections(), ["b", "default", created.name]);
    const b = present(await vectors.getCollection("b"));
    assert.deepEqual([b.generation, b.dimension, b.documents, b.embedded], [0, null, 1, 0]);
    assert.deepEqual(await vectors.search([1, 2, 3], { collection: "b" }), []);
    assert.equal(await vectors.deleteCollection(created.name), 1);
    assert.equal(await vectors.deleteCollection(created.name), 0);
    assert.equal(await vectors.getCollection(created.name), null);
    assert.deepEqual(await vectors.listCollections(), ["b", "default"]);
    assert.deepEqual(await vectors.search([1, 1], { collection: created.name }), []);
    await vectors.add([{ content: "another dimension", embedding: [1, 2, 3] }], { collection: created.name });
    assert.equal((await vectors.search([1, 2, 3], { collection: created.name })).length, 1);
  }),

  prove("ME6 embeddings of another dimension or model are never mixed", ["vectors"], async ({ vectors }) => {
    await vectors.add([{ id: "a", content: "a", embedding: [1, 2] }], { model: "m-1" });
    const mixed = await refuses("EmbeddingMismatch", () =>
      vectors.add(
        [
          { content: "b", embedding: [1, 2] },
          { content: "c", embedding: [1, 2, 3] },
        ],
        { model: "m-1" },
      ),
    );
    assert.match(mixed.message, /3 numbers.*m-1 \(2 numbers\)/);
    const other = await refuses("EmbeddingMismatch", () =>
      vectors.upsert([{ content: "b", embedding: [1, 2] }], { model: "m-2" }),
    );
    assert.match(other.message, /m-2.*m-1/);
    await refuses("EmbeddingMismatch", () => vectors.search([1, 2], { model: "m-2" }));
    await refuses("EmbeddingMismatch", () => vectors.search([1, 2, 3]));
    assert.equal((await vectors.search([1, 2], { model: "m-1" })).length, 1);
    assert.equal((await vectors.search([1, 2])).length, 1);
    assert.equal(present(await vectors.getCollection("default")).documents, 1);
  }),

  prove("ME6 embeddings without a model's name are never mixed with named ones", ["vectors"], async ({ vectors }) => {
    const one = { content: "one", embedding: [1, 2] };
    const put = (collection: string, model?: string) =>
      vectors.add([one], { collection, ...(model === undefined ? {} : { model }) });
    await put("named", "m-1");
    const unnamed = await refuses("EmbeddingMismatch", () => put("named"));
    assert.match(present(unnamed.hint), /`model: "m-1"`/);
    assert.deepEqual(unnamed.details.actual, { model: "", dimension: 2 });
    await refuses("EmbeddingMismatch", () => vectors.upsert([{ id: "b", ...one }], { collection: "named", model: "" }));
    await put("unnamed");
    await put("unnamed", "");
    const named = await refuses("EmbeddingMismatch", () => put("unnamed", "m-1"));
    assert.match(present(named.hint), /leave `model` out/);
    await refuses("EmbeddingMismatch", () => vectors.search([1, 2], { collection: "unnamed", model: "m-1" }));
    assert.equal((await vectors.search([1, 2], { collection: "unnamed" })).length, 2);
    assert.deepEqual(await counts(vectors), { named: [1, "m-1"], unnamed: [2, ""] });
    // Documents without an embedding have no model, and a collection without embeddings takes the name of the first ones.
    await vectors.add([{ content: "text" }], { collection: "named" });
    await vectors.createCollection("empty", { dimension: 2 });
    await put("empty", "m-2");
    await refuses("EmbeddingMismatch", () => put("empty"));
    assert.deepEqual(await counts(vectors), { named: [2, "m-1"], unnamed: [2, ""], empty: [1, "m-2"] });
  }),

  prove(
    "ME6 a collection of half precision rounds embeddings and says so by what it returns",
    ["vectors"],
    async (nouns) => {
      const { vectors } = nouns;
      await vectors.createCollection("half", { dimension: 2, precision: "f16" });
      await vectors.add([{ id: "a", content: "a", embedding: [0.1, 1] }], { collection: "half" });
      const [document] = await vectors.get(["a"], { collection: "half" });
      assert.deepEqual(document?.embedding, [0.0999755859375, 1]);
      assert.equal((await vectors.search([0.0999755859375, 1], { collection: "half" }))[0]?.similarity, 1);
      await refuses("InvalidArgument", () =>
        vectors.add([{ content: "b", embedding: [70_000, 1] }], { collection: "half" }),
      );
    },
  ),

  prove("ME6 collections are apart", ["vectors"], async ({ vectors }) => {
    const names = ["a", "A", "a ", "ä"];
    for (const collection of names) {
      await vectors.add([{ id: "same", content: collection, embedding: [1, 0], metadata: { in: collection } }], {
        collection,
      });
    }
    for (const collection of names) {
      const [match, ...more] = await vectors.search([1, 0], { collection, filter: { in: { in: names } } });
      assert.deepEqual([match?.content, more], [[{ type: "text", text: collection }], []]);
    }
    assert.equal(await vectors.delete(["same"], { collection: "a" }), 1);
    assert.equal((await vectors.get(["same"], { collection: "A" })).length, 1);
  }),

  prove(
    "ME6 the checker and the statistics know vectors",
    ["vectors", "check", "stats"],
    async ({ vectors, ...hf }) => {
      await vectors.add(range(5).map((n) => ({ id: `d${n}`, content: `${n}`, embedding: [n, 1], metadata: { n } })));
      await vectors.upsert([{ id: "d1", content: "x".repeat(40_000), embedding: [3, 3] }]);
      await vectors.delete(["d2"]);
      const report = await hf.check();
      assert.deepEqual(report.issues, []);
      const { nouns } = await hf.stats();
      assert.deepEqual(
        [nouns.documents?.rows, nouns.vectors?.rows, nouns.vector_collections?.rows, nouns.metadata_fields?.rows],
        [4, 4, 1, 3],
      );
    },
  ),
];
