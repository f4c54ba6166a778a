// Every damage of the rows of the index: the checker names it, a search refuses it or is right nevertheless, and reindex repairs it.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type IndexFacts, indexFacts } from "../../../test/index-facts.ts";
import { INDEX_ENGINES, IndexProcess, type IndexStore } from "../../../test/index-stores.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { documentIndex } from "./document-index.ts";
import { memoryIndex } from "./memory-index.ts";

const TERMS = ["cat", "catalogu", "dog", "zebra", "tiger", "number3"];
const WORDS = ["cat", "catalogue", "dog", "zebra"];
const MEMORY_TERMS = ["paris", "rome", "tea"];

interface Damage {
  readonly name: string;
  /** The checker names it as one of these. */
  readonly kinds: readonly string[];
  /** "same": a search is right nevertheless; "lost": a search cannot know, because a row is gone. Otherwise it is refused, or right. */
  readonly search?: "same" | "lost";
  readonly plant: readonly string[];
}

const OF = "kind = 'messages'";
const FIRST = `segment = (SELECT s.segment FROM index_segments s WHERE s.kind = 'messages' ORDER BY s.low LIMIT 1)`;
const SECOND = `segment = (SELECT s.segment FROM index_segments s WHERE s.kind = 'messages' ORDER BY s.low LIMIT 1 OFFSET 1)`;
const LAST = `segment = (SELECT s.segment FROM index_segments s WHERE s.kind = 'messages' ORDER BY s.low DESC LIMIT 1)`;
const ofSegments = (set: string, which = SECOND) => [`UPDATE index_segments SET ${set} WHERE ${OF} AND ${which}`];
const ofKind = (set: string) => [`UPDATE index_kinds SET ${set} WHERE ${OF}`];
const COPIED = "dropped, marked, units, items, removed, bytes, directory, language, tokeniser";

const MARKS = ["text-index-marks-wrong"];
const RANGE = ["text-index-range-wrong"];
const PAGE = ["text-index-page-wrong"];
const ROW = ["text-index-segment-wrong"];
const ITEM = ["text-index-item-wrong"];
const STRAY = ["text-index-stray"];

const DAMAGES: readonly Damage[] = [
  { name: "the row of the kind is missing", kinds: MARKS, plant: [`DELETE FROM index_kinds WHERE ${OF}`] },
  { name: "the epoch is too low", kinds: MARKS, plant: ofKind("epoch = 1") },
  { name: "the language is lost", kinds: MARKS, plant: ofKind("language = NULL") },
  { name: "the language is unknown", kinds: MARKS, plant: ofKind("language = 'englisj'") },
  { name: "it is settled beyond the log", kinds: MARKS, plant: ofKind("settled = settled + 1000") },
  { name: "it is settled before its end", kinds: MARKS, plant: ofKind("settled = 1") },
  {
    name: "it is indexed beyond its segments",
    kinds: RANGE,
    plant: ofKind("indexed = indexed + 2, settled = settled + 2"),
  },
  { name: "it is indexed before its end", kinds: RANGE, plant: ofKind("indexed = indexed - 1") },
  {
    name: "the first segment is missing",
    kinds: RANGE,
    plant: [`DELETE FROM index_segments WHERE ${OF} AND ${FIRST}`],
  },
  { name: "a segment is missing", kinds: RANGE, plant: [`DELETE FROM index_segments WHERE ${OF} AND ${SECOND}`] },
  { name: "the last segment is missing", kinds: RANGE, plant: [`DELETE FROM index_segments WHERE ${OF} AND ${LAST}`] },
  { name: "all segments are missing", kinds: RANGE, plant: [`DELETE FROM index_segments WHERE ${OF}`] },
  { name: "a segment begins too late", kinds: RANGE, plant: ofSegments("low = low + 1") },
  { name: "a segment begins too early", kinds: RANGE, plant: ofSegments("low = low - 1") },
  { name: "a segment ends too late", kinds: RANGE, plant: ofSegments("high = high + 1") },
  { name: "a segment ends too early", kinds: RANGE, plant: ofSegments("high = high - 1") },
  { name: "the last segment ends too late", kinds: RANGE, plant: ofSegments("high = high + 1", LAST) },
  { name: "a segment is turned over", kinds: RANGE, plant: ofSegments("high = low - 1") },
  {
    name: "a segment is there twice",
    kinds: RANGE,
    plant: [
      `INSERT INTO index_pages SELECT kind, segment + 1000, page, first, body FROM index_pages WHERE ${OF} AND ${SECOND}`,
      `INSERT INTO index_segments (kind, segment, low, high, version, ${COPIED}) ` +
        `SELECT kind, segment + 1000, low, high, version, ${COPIED} FROM index_segments WHERE ${OF} AND ${SECOND}`,
    ],
  },
  { name: "a segment is of a later epoch", kinds: MARKS, plant: ofSegments("version = version + 1000") },
  { name: "a segment is marked", kinds: RANGE, plant: ofSegments("marked = 1") },
  { name: "a segment has fewer units than items", kinds: RANGE, plant: ofSegments("units = 1") },
  { name: "a segment has more units", kinds: PAGE, plant: ofSegments("units = units + 1") },
  { name: "all units of a segment are removed", kinds: ROW, plant: ofSegments("removed = units") },
  { name: "a unit of a segment is removed", kinds: ROW, plant: ofSegments("removed = 1") },
  { name: "a segment has fewer items", kinds: ROW, plant: ofSegments("items = items - 1") },
  { name: "a segment has other bytes", kinds: ROW, search: "same", plant: ofSegments("bytes = bytes + 1") },
  { name: "a segment has no language", kinds: ROW, search: "same", plant: ofSegments("language = ''") },
  {
    name: "a segment has another language",
    kinds: ["text-index-text-wrong"],
    search: "same",
    plant: ofSegments("language = 'german'"),
  },
  { name: "a segment has another directory", kinds: PAGE, plant: ofSegments("directory = directory + 1") },
  { name: "a segment is dropped with its pages", kinds: STRAY, search: "same", plant: ofSegments("dropped = 1") },
  {
    name: "a segment is not dropped any more",
    kinds: PAGE,
    plant: [`DELETE FROM index_pages WHERE ${OF} AND ${SECOND}`, ...ofSegments("dropped = 0")],
  },
  {
    name: "a page of terms is missing",
    kinds: PAGE,
    plant: [`DELETE FROM index_pages WHERE ${OF} AND ${SECOND} AND page = 0`],
  },
  {
    name: "a page of units is missing",
    kinds: PAGE,
    plant: [`DELETE FROM index_pages WHERE ${OF} AND ${SECOND} AND page = -1`],
  },
  {
    name: "a page of terms is cut",
    kinds: PAGE,
    plant: [`UPDATE index_pages SET body = first WHERE ${OF} AND ${SECOND} AND page = 0`],
  },
  {
    name: "a page of units is cut",
    kinds: PAGE,
    plant: [`UPDATE index_pages SET body = first WHERE ${OF} AND ${SECOND} AND page = -1`],
  },
  {
    name: "a page begins with another term",
    kinds: PAGE,
    plant: [
      `UPDATE index_pages SET first = (SELECT o.first FROM index_pages o WHERE o.${OF} AND o.page = 0 AND NOT o.${SECOND} LIMIT 1) ` +
        `WHERE ${OF} AND ${SECOND} AND page = 0`,
      `UPDATE index_pages SET first = body WHERE ${OF} AND ${SECOND} AND page = 0`,
    ],
  },
  {
    name: "a page is there twice",
    kinds: PAGE,
    plant: [
      `INSERT INTO index_pages SELECT kind, segment, page + 1, first, body FROM index_pages WHERE ${OF} AND ${SECOND} AND page = 0`,
    ],
  },
  {
    name: "the units of a segment are those of another",
    kinds: [...PAGE, "text-index-text-wrong"],
    search: "lost",
    plant: [
      `UPDATE index_pages SET body = (SELECT o.body FROM index_pages o WHERE o.${OF} AND o.page = -1 AND o.${FIRST}) ` +
        `WHERE ${OF} AND ${SECOND} AND page = -1`,
    ],
  },
  {
    name: "the words of a segment are those of another",
    kinds: [...PAGE, "text-index-text-wrong"],
    search: "lost",
    plant: [
      `UPDATE index_pages SET body = (SELECT o.body FROM index_pages o WHERE o.${OF} AND o.page = 0 AND o.${FIRST}) ` +
        `WHERE ${OF} AND ${SECOND} AND page = 0`,
    ],
  },
  {
    name: "pages belong to no segment",
    kinds: STRAY,
    search: "same",
    plant: [
      `INSERT INTO index_pages SELECT kind, segment + 1000, page, first, body FROM index_pages WHERE ${OF} AND ${SECOND}`,
    ],
  },
  {
    name: "pages belong to no kind",
    kinds: STRAY,
    search: "same",
    plant: [
      `INSERT INTO index_pages SELECT 'massages', segment, page, first, body FROM index_pages WHERE ${OF} AND ${SECOND}`,
    ],
  },
  {
    name: "the segment of memories is missing",
    kinds: ITEM,
    plant: ["DELETE FROM index_segments WHERE kind = 'memories'"],
  },
  {
    name: "a memory is in another segment",
    kinds: ITEM,
    plant: ["UPDATE index_items SET segment = 999 WHERE item = (SELECT min(no) FROM memories)"],
  },
  {
    name: "a memory is not in the index",
    kinds: ITEM,
    plant: ["DELETE FROM index_items WHERE item = (SELECT min(no) FROM memories)"],
  },
  {
    name: "a memory waits for the index that is in it",
    kinds: ["text-index-text-wrong"],
    plant: ["UPDATE index_items SET segment = NULL WHERE item = (SELECT min(no) FROM memories)"],
  },
  {
    name: "an item is of no memory",
    kinds: ITEM,
    search: "same",
    plant: ["INSERT INTO index_items (kind, group_no, item, segment) VALUES ('memories', 77, 77, NULL)"],
  },
  {
    name: "a segment of memories is dropped",
    kinds: RANGE,
    plant: ["UPDATE index_segments SET dropped = 1 WHERE kind = 'memories'"],
  },
  {
    name: "a document is not in the index",
    kinds: ITEM,
    search: "lost",
    plant: ["DELETE FROM index_pages WHERE kind = 'documents'", "DELETE FROM index_items WHERE kind = 'documents'"],
  },
  {
    name: "an item is of no document",
    kinds: ITEM,
    search: "same",
    plant: ["INSERT INTO index_items (kind, group_no, item, segment) VALUES ('documents', 77, 77, NULL)"],
  },
];

async function fill({ hf, processes: [process] }: IndexStore): Promise<void> {
  for (let batch = 0; batch < 4; batch++) {
    for (let at = 0; at < 6; at++) {
      const content = `${WORDS[(batch + at) % WORDS.length]} number${batch} of ${at} ${batch === 1 ? "tiger" : ""}`;
      await hf.history.append({ session: `s${at % 2}`, agent: "a" }, { role: "user", content });
    }
    await process.write();
  }
  for (const text of ["Ada lives in Paris", "Ada lived in Rome", "Ada drinks tea"]) await hf.memory.save(text);
  await memoryIndex(process.storage, "english").writer.run({ least: 1, language: "english" });
  await hf.vectors.upsert([
    { id: "d1", content: "tea in Rome" },
    { id: "d2", content: "coffee in Paris" },
  ]);
  await documentIndex(process.storage, process).writer.run({ least: 1, language: "english" });
}

interface Facts {
  readonly messages: IndexFacts;
  readonly memories: IndexFacts;
  readonly documents: readonly (readonly string[])[];
}

async function findDocuments({ vectors }: Holdfast, text: string): Promise<readonly string[]> {
  return (await vectors.search(text)).map(({ id, score }) => `${id} ${score}`);
}

/** As a process that has read nothing yet finds it. */
async function readFacts({ hf, driver }: IndexStore): Promise<Facts> {
  const process = new IndexProcess(driver);
  return {
    messages: await process.index.read((snapshot) => indexFacts(snapshot, TERMS)),
    memories: await memoryIndex(process.storage, "english").read((snapshot) => indexFacts(snapshot, MEMORY_TERMS)),
    documents: await Promise.all(MEMORY_TERMS.map((term) => findDocuments(hf, term))),
  };
}

describe.each(INDEX_ENGINES.filter(({ name }) => name !== "memory"))("a damaged index on $name", (engine) => {
  let store: IndexStore;
  let sound: Facts;
  const run = (sql: string) =>
    store.driver.transact(function* () {
      yield { statements: [{ kind: "query", sql, params: [] }], last: true };
    });

  beforeAll(async () => {
    store = await engine.fresh();
    await fill(store);
    sound = await readFacts(store);
    expect(sound.messages).toEqual(await indexFacts(await store.processes[0].naive(), TERMS));
    expect((await store.hf.check()).issues).toEqual([]);
  });
  afterAll(() => store.close());

  /** Four segments of messages again: a reindex makes as many of them as there were. */
  const segments = async () => {
    const [row] = await store.driver.read("SELECT count(*) AS n FROM index_segments WHERE kind = 'messages'", []);
    return Number(row?.n);
  };

  test.each(DAMAGES)(
    "TI4 $name: it is named, no search is wrong, and reindex repairs it",
    async ({ kinds, search, plant }) => {
      if ((await segments()) < 3) {
        for (const one of ["index_pages", "index_segments"]) await run(`DELETE FROM ${one} WHERE ${OF}`);
        await run(`UPDATE index_kinds SET indexed = 0 WHERE ${OF}`);
        await store.hf.history.clear({ session: "s0", agent: "a" });
        await store.hf.history.clear({ session: "s1", agent: "a" });
        for (const id of (await store.hf.memory.list()).items) await store.hf.memory.delete(id.id);
        await fill(store);
        sound = await readFacts(store);
      }
      for (const sql of plant) await run(sql);
      const { issues } = await store.hf.check();
      const named = new Set(issues.map(({ kind }) => kind));
      expect(
        [...kinds].some((kind) => named.has(kind as never)),
        JSON.stringify(issues),
      ).toBe(true);
      for (const { hint } of issues) expect(hint).toContain("reindex");
      const found = await readFacts(store).catch((error: unknown) => error);
      if (found instanceof HoldfastError) {
        expect(found).toMatchObject({ code: "StoreCorrupted", hint: expect.stringContaining("reindex") });
        expect(search, "searches answer").not.toBe("same");
      } else if (search !== "lost") expect(found).toEqual(sound);
      await store.hf.reindex();
      expect((await store.hf.check()).issues).toEqual([]);
      expect(await readFacts(store)).toEqual(sound);
    },
  );
});
