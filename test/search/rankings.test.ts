// Generated queries over the same sessions give the same hits, in the same order and with the same scores, on every engine.
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { SearchOptions } from "../../src/contracts/search.ts";
import { open } from "../../src/open.ts";
import { simulatedEnvironment } from "../../src/testing/environment.ts";
import { scaled } from "../../src/testing/scale.ts";
import { ENGINES, type EngineStore } from "../engines.ts";

const QUERIES = scaled({ short: 40, long: 500 });
const ROLES = ["user", "assistant", "system", "tool"] as const;
const WORDS = (
  "anchor boat harbour rope sailing sails storm wind captain crew map compass the a of in on and never 東京都 naïve " +
  "src/open.ts readFile connection_pool v1.2.3 don't 🙂 ships shipping"
).split(" ");

const stores: Holdfast[] = [];
const grounds: EngineStore[] = [];

/** The same calls at the same times, so that the stores have the same messages. */
async function fill(hf: Holdfast): Promise<void> {
  const pick = fc.sample(fc.nat(1_000_000), { seed: 7, numRuns: 20_000 })[Symbol.iterator]();
  const next = (below: number) => (pick.next().value ?? 0) % below;
  for (let session = 0; session < 12; session++) {
    await hf.sessions.create({ id: `s${session}`, request: `r${session % 3}`, tags: [`t${session % 2}`] });
    const messages = Array.from({ length: 5 + next(30) }, (_, index) => {
      const length = index % 11 === 0 ? 150 : 1 + next(15);
      const content = Array.from({ length }, () => WORDS[next(WORDS.length)]).join(" ");
      return { role: ROLES[next(4)] ?? "user", content, metadata: { name: `Ann ${session % 4}` } } as const;
    });
    await hf.history.appendMany({ session: `s${session}`, agent: `agent-${session % 5}` }, messages);
    if (session % 4 === 0) {
      const head = await hf.heads.publish(`s${session}`);
      await hf.history.append(
        { session: `s${session}`, agent: "late" },
        { role: "user", content: "a storm, and no harbour" },
      );
      await hf.heads.publish(`s${session}`);
      if (session % 8 === 0) await hf.sessions.rewind({ session: `s${session}`, head: head.id });
      else await hf.sessions.fork(`s${session}`, { id: `fork-${session}` });
    }
  }
  await hf.history.clear({ session: "s5", agent: "agent-0" });
  await hf.sessions.delete("s4");
}

beforeAll(async () => {
  const urls = [":memory:"];
  for (const engine of ENGINES) {
    const ground = await engine.fresh();
    grounds.push(ground);
    urls.push(ground.url);
  }
  for (const url of urls) {
    const hf = await open(url, { environment: simulatedEnvironment(1), durability: "normal" });
    stores.push(hf);
    await fill(hf);
  }
}, 120_000);

afterAll(async () => {
  for (const hf of stores) await hf.close();
  for (const ground of grounds) await ground.end();
});

const word = fc.constantFrom(...WORDS);
const part = fc.oneof(
  { weight: 6, arbitrary: word },
  { weight: 1, arbitrary: fc.tuple(word, word).map(([a, b]) => `"${a} ${b}"`) },
  { weight: 1, arbitrary: word.map((one) => `${one.slice(0, 3)}*`) },
  { weight: 1, arbitrary: word.map((one) => `-${one}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "role:user",
      "-role:tool",
      "session:s3",
      "tag:t1",
      "-request:r1",
      "ann",
      "agent:agent-2",
    ),
  },
);
const limits = fc.record({ limit: fc.integer({ min: 10, max: 60 }), rewound: fc.boolean() });
const filters: fc.Arbitrary<SearchOptions> = fc.record(
  {
    limit: fc.integer({ min: 1, max: 60 }),
    session: fc.constantFrom("s1", "s3", "fork-4"),
    request: fc.constantFrom("r0", "r2"),
    role: fc.constantFrom(...ROLES),
    rewound: fc.boolean(),
    perSession: fc.integer({ min: 1, max: 4 }),
    neighbours: fc.integer({ min: 0, max: 2 }),
    tokens: fc.integer({ min: 20, max: 500 }),
  },
  { requiredKeys: [] },
);

const options = fc.oneof({ weight: 2, arbitrary: limits }, { weight: 1, arbitrary: filters });

test("ME11 generated queries give the same hits on SQLite, in memory and on PostgreSQL", async () => {
  let found = 0;
  const query = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(" "));
  await fc.assert(
    fc.asyncProperty(query, options, async (text, chosen) => {
      const [first, ...others] = await Promise.all(stores.map((hf) => hf.search(text, chosen)));
      for (const other of others) {
        // Times of a PostgreSQL store are its server's.
        const plain = (results: typeof other | undefined) =>
          JSON.parse(JSON.stringify(results, (key, value) => (key === "at" ? undefined : value)));
        expect(plain(other)).toEqual(plain(first));
      }
      found += first?.hits.length ?? 0;
    }),
    { numRuns: QUERIES, seed: 11 },
  );
  expect(found).toBeGreaterThan(QUERIES);
});
