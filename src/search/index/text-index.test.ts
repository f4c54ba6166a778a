// The stored index against the naive one, under random writes, merges, erasures and reopened handles, on every engine.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { indexFacts } from "../../../test/index-facts.ts";
import { INDEX_ENGINES, type IndexStore } from "../../../test/index-stores.ts";
import { scaled } from "../../testing/scale.ts";
import { TOKENISER_VERSION } from "../text/tokenise.ts";
import { fieldTerm } from "./reader.ts";

const WORDS = [
  "cat",
  "catalogue",
  "dog",
  "naïve",
  "日本語",
  "src/open.ts",
  "camelCase",
  "zebra",
  "42",
  "\u{1f600}",
  "the",
];
const TERMS = ["cat", "catalogu", "dog", "naiv", "日本", "open", "camelcas", "case", "zebra", "42", "the", "none"];
const FIELDS = [fieldTerm("agent", "a1"), fieldTerm("agent", "a2"), fieldTerm("tool", "grep")];

const text = fc.oneof(
  { weight: 8, arbitrary: fc.array(fc.constantFrom(...WORDS), { maxLength: 6 }).map((words) => words.join(" ")) },
  { weight: 1, arbitrary: fc.constantFrom(...WORDS).map((word) => `${word} and `.repeat(400)) },
);
const session = fc.constantFrom("s1", "s2", "s3");
const agent = fc.constantFrom("a1", "a2");
const which = fc.constantFrom(0 as const, 1 as const);
const action = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("append" as const),
      session,
      agent,
      texts: fc.array(text, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("call" as const), session, agent }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("write" as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("open" as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("clear" as const), session, agent }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("clearRun" as const), session, agent }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("fork" as const), session }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), session, everywhere: fc.boolean() }) },
);
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never;

async function perform({ hf, processes }: IndexStore, names: Map<string, string>, one: Action): Promise<void> {
  // A deleted session's id is not used again.
  const id = "session" in one ? (names.get(one.session) ?? one.session) : "";
  switch (one.do) {
    case "append":
      await hf.history.appendMany(
        { session: id, agent: one.agent },
        one.texts.map((content) => ({ role: "user" as const, content })),
        one.texts.length % 2 === 0 ? { run: "r" } : {},
      );
      return;
    case "call": {
      const content = [{ type: "tool_use", id: "1", name: "grep", input: { pattern: "zebra", in: ["dog"] } }] as const;
      await hf.history.append({ session: id, agent: one.agent }, { role: "assistant", content });
      return;
    }
    case "write":
      return processes[one.which].write();
    case "open":
      await processes[one.which].index.open();
      return;
    case "clear":
      await hf.history.clear({ session: id, agent: one.agent });
      return;
    case "clearRun":
      await hf.history.clearRun({ session: id, agent: one.agent }, "r");
      return;
    case "fork":
      if ((await hf.sessions.get(id)) !== null) await hf.sessions.fork(id);
      return;
    case "delete":
      if ((await hf.sessions.get(id)) === null) return;
      await hf.sessions.delete(id, { everywhere: one.everywhere });
      names.set(one.session, `${id}x`);
  }
}

describe.each(INDEX_ENGINES)("the text index on $name", (engine) => {
  test("TI1, TI2 is what the naive index is, after any writes, merges and erasures", async () => {
    const runs = scaled({ short: engine.name === "postgres" ? 6 : 15, long: 200 });
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 40 }), async (actions) => {
        const store = await engine.fresh();
        try {
          const names = new Map<string, string>();
          for (const one of actions) await perform(store, names, one);
          const expected = await indexFacts(await store.processes[0].naive(), [...TERMS, ...FIELDS]);
          for (const { index } of store.processes) {
            expect(await indexFacts(await index.open(), [...TERMS, ...FIELDS])).toEqual(expected);
          }
        } finally {
          await store.close();
        }
      }),
      { numRuns: runs },
    );
  });

  test("TI3 is written by two processes at once, beside appends and erasures", async () => {
    const store = await engine.fresh();
    try {
      const { hf, processes } = store;
      const [one, other] = processes;
      const append = async (session: string) => {
        for (let at = 0; at < 12; at++) {
          await hf.history.append({ session, agent: "a1" }, { role: "user", content: `cat number${at} dog` });
        }
      };
      const write = async (process: typeof one) => {
        for (let times = 0; times < 8; times++) await process.write();
      };
      const search = async () => {
        for (let times = 0; times < 8; times++) {
          const [cats] = await other.index.read((snapshot) => snapshot.readPostings(["cat"]));
          expect(cats?.count).toBeLessThanOrEqual(36);
        }
      };
      const erase = async () => {
        await append("s3");
        await hf.history.clear({ session: "s3", agent: "a1" });
      };
      await Promise.all([append("s1"), append("s2"), erase(), write(one), write(other), search()]);
      await Promise.all([one.write(), other.write()]);
      const expected = await indexFacts(await one.naive(), TERMS);
      for (const { index } of processes)
        expect(await index.read((snapshot) => indexFacts(snapshot, TERMS))).toEqual(expected);
      const [row] = await store.driver.read(
        "SELECT sum(units) AS units, max(dropped) AS dropped FROM index_segments",
        [],
      );
      expect([Number(row?.units), Number(row?.dropped)]).toEqual([24, 0]);
    } finally {
      await store.close();
    }
  });

  test("TI3 a segment that an older tokeniser made answers until it is made again, which the next run does", async () => {
    const store = await engine.fresh();
    try {
      const { hf, processes, driver } = store;
      const [process, other] = processes;
      for (const content of ["in 10² ways", "zebra"]) {
        await hf.history.append({ session: content, agent: "a1" }, { role: "user", content });
      }
      await process.write();
      await driver.transact(function* () {
        const sql = "UPDATE index_segments SET tokeniser = 1";
        yield { statements: [{ kind: "query", sql, params: [] }], last: true };
      });
      expect((await hf.search("zebra")).hits).toHaveLength(1);
      expect((await hf.check()).issues).toEqual([]);
      await other.write(1000);
      const rows = await driver.read("SELECT tokeniser FROM index_segments", []);
      expect(rows.map(({ tokeniser }) => Number(tokeniser))).toEqual([TOKENISER_VERSION]);
      const found = await Promise.all(["10²", "ways 2", "10", "102"].map((query) => hf.search(query)));
      expect(found.map(({ hits }) => hits.length)).toEqual([1, 1, 1, 0]);
    } finally {
      await store.close();
    }
  });

  test("TI1 merges segments, and reads are the same before and after", async () => {
    const store = await engine.fresh();
    try {
      const { hf, processes } = store;
      const [process] = processes;
      for (let batch = 0; batch < 20; batch++) {
        const messages = Array.from({ length: 5 }, (_, at) => ({
          role: "user" as const,
          content: `${WORDS[(batch + at) % WORDS.length]} number${batch} of ${at}`,
        }));
        await hf.history.appendMany({ session: `s${batch % 3}`, agent: "a1" }, messages);
        await process.write();
      }
      const rows = await store.driver.read("SELECT count(*) AS n, sum(units) AS units FROM index_segments", []);
      expect(Number(rows[0]?.n)).toBeLessThan(12);
      expect(Number(rows[0]?.units)).toBe(100);
      const facts = await indexFacts(await process.index.open(), TERMS);
      expect(facts).toEqual(await indexFacts(await process.naive(), TERMS));
    } finally {
      await store.close();
    }
  });
});
