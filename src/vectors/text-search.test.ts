// A search by text in a collection gives what it gives in a store without other collections, however the index is spread over
// segments, and finds every document that has a word of the query in the document's language.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { TextLanguage } from "../contracts/text-index.ts";
import type { Document } from "../contracts/vectors.ts";
import type { InterruptibleWork } from "../core/time-slice.ts";
import { open } from "../open.ts";
import { hasMatch, matchesText } from "../search/ranking/match-text.ts";
import { parseQuery, toIndexQuery } from "../search/text/query.ts";
import { scaled } from "../testing/scale.ts";

const WORDS = "anchor boat harbour sail sails storm running captain crews compass the der naïve 東京都 readFile".split(
  " ",
);
const COLLECTIONS = ["a", "b", "c"] as const;

const word = fc.constantFrom(...WORDS);
const content = fc.array(word, { minLength: 0, maxLength: 12 }).map((words) => words.join(" "));
const language = fc.constantFrom<TextLanguage | null>(null, null, null, "english", "german", "none");
const document = fc.record({ n: fc.nat(5), content, length: fc.constantFrom(1, 1, 1, 40), language });
const collection = fc.constantFrom(...COLLECTIONS);
const operation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("upsert" as const),
      collection,
      documents: fc.array(document, { maxLength: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("delete" as const), collection, n: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("drop" as const), collection }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("reindex" as const) }) },
);
const query = fc
  .array(
    fc.oneof(
      word,
      word,
      word.map((one) => `-${one}`),
      word.map((one) => `${one.slice(0, 2)}*`),
      fc.constant('"sail storm"'),
    ),
    {
      minLength: 1,
      maxLength: 3,
    },
  )
  .map((parts) => parts.join(" "));

const IDS = [0, 1, 2, 3, 4, 5].map((n) => `d${n}`);

/** Whether a search finds the document, by its text. */
function isFound({ content: blocks, language: own }: Document, text: string): boolean {
  const [block] = blocks;
  const said = block?.type === "text" ? block.text : "";
  const words = toIndexQuery(parseQuery(text, []), own ?? "english");
  return [hasMatch, matchesText].every((decide) => runToEnd(decide(said, words, own ?? "english")));
}

function runToEnd<T>(work: InterruptibleWork<T>): T {
  for (;;) {
    const next = work.next();
    if (next.done === true) return next.value;
  }
}

test("ME15 ME16 other collections change no result and no score", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(operation, { maxLength: 14 }),
      fc.array(query, { minLength: 3, maxLength: 3 }),
      async (operations, queries) => {
        const mixed = await open(":memory:");
        const alone = await Promise.all(COLLECTIONS.map((name) => open(":memory:").then((hf) => ({ name, hf }))));
        try {
          for (const one of operations) {
            if (one.kind === "reindex") {
              // Only here: the index of the others has no segments.
              await mixed.reindex();
              continue;
            }
            const stores = [mixed, ...alone.filter(({ name }) => name === one.collection).map(({ hf }) => hf)];
            for (const { vectors } of stores) {
              if (one.kind === "drop") await vectors.deleteCollection(one.collection);
              else if (one.kind === "delete") await vectors.delete([`d${one.n}`], { collection: one.collection });
              else {
                const documents = new Map(one.documents.map((each) => [`d${each.n}`, each]));
                const given = [...documents].map(([id, { n, content: text, length, language: own }]) => {
                  return { id, content: `${text} `.repeat(length), language: own, metadata: { n } };
                });
                await vectors.upsert(given, { collection: one.collection });
              }
            }
          }
          for (const { name, hf } of alone) {
            for (const text of queries) {
              for (const options of [{}, { filter: { n: { lt: 3 } } }]) {
                const expected = await hf.vectors.search(text, { collection: name, ...options });
                expect(await mixed.vectors.search(text, { collection: name, ...options })).toEqual(expected);
              }
              const found = await hf.vectors.search(text, { collection: name, limit: 100 });
              const all = await hf.vectors.get(IDS, { collection: name });
              expect(found.map(({ id }) => id).sort()).toEqual(
                all.filter((one) => isFound(one, text)).map(({ id }) => id),
              );
            }
          }
        } finally {
          await Promise.all([mixed, ...alone.map(({ hf }) => hf)].map((hf) => hf.close()));
        }
      },
    ),
    { numRuns: scaled({ short: 12, long: 300 }) },
  );
});
