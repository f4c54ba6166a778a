// Cranfield: 1,400 abstracts, and 225 queries with the abstracts that people judged relevant. The same texts are searched by SQLite's
// FTS5 with Porter stems.
import { readFileSync } from "node:fs";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { documentFromText } from "../../src/vectors/document-from-text.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";
import { folderWith } from "./data.ts";

const DOCUMENTS = "cran.all.1400.xml";
const METRIC = "cranfield.r10";
const FOUND = 10;
const ADDED_AT_ONCE = 700;

interface JudgedCollection {
  readonly documents: readonly { readonly number: number; readonly text: string }[];
  readonly queries: readonly { readonly text: string; readonly relevant: ReadonlySet<number> }[];
}

function readCollection(folder: string): JudgedCollection {
  const read = (file: string) => readFileSync(path.join(folder, file), "utf8");
  const tag = (text: string, name: string) =>
    new RegExp(`<${name}>([\\s\\S]*?)</${name}>`).exec(text)?.[1]?.trim() ?? "";
  const documents = (read(DOCUMENTS).match(/<doc>[\s\S]*?<\/doc>/g) ?? []).map((text) => ({
    number: Number(tag(text, "docno")),
    text: tag(text, "text") || tag(text, "title"),
  }));
  const relevant = new Map<number, Set<number>>();
  for (const line of read("cranqrel.trec.txt").split("\n")) {
    const [query = 0, , document = 0, grade = 0] = line.trim().split(/\s+/).map(Number);
    if (grade > 0) relevant.set(query, (relevant.get(query) ?? new Set()).add(document));
  }
  // The judgements count the queries in their order, not by their numbers.
  const queries = (read("cran.qry.xml").match(/<top>[\s\S]*?<\/top>/g) ?? []).map((text, index) => ({
    text: tag(text, "title"),
    relevant: relevant.get(index + 1) ?? new Set<number>(),
  }));
  return { documents, queries: queries.filter((query) => query.relevant.size > 0) };
}

async function recallOf(
  { queries }: JudgedCollection,
  search: (query: string) => Promise<readonly number[]> | readonly number[],
): Promise<number> {
  let sum = 0;
  for (const { text, relevant } of queries) {
    const found = await search(text);
    sum += found.slice(0, FOUND).filter((document) => relevant.has(document)).length / relevant.size;
  }
  return sum / queries.length;
}

function createFts({ documents }: JudgedCollection): (query: string) => readonly number[] {
  const db = new DatabaseSync(":memory:");
  db.exec("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter unicode61')");
  const insert = db.prepare("INSERT INTO texts (rowid, text) VALUES (?, ?)");
  for (const { number, text } of documents) insert.run(number, text);
  const select = db.prepare("SELECT rowid AS number FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT 10");
  return (query) => {
    const words = [...new Set(query.match(/[\p{L}\p{N}]+/gu) ?? [])].map((word) => `"${word}"`);
    return select.all(words.join(" OR ")).map(({ number }) => Number(number));
  };
}

/** As any program has them: documents of a collection. */
async function addDocuments(hf: Holdfast, { documents }: JudgedCollection): Promise<void> {
  const given = documents.map(({ number, text }) => documentFromText(text, { id: String(number) }));
  for (let from = 0; from < given.length; from += ADDED_AT_ONCE) {
    await hf.vectors.add(given.slice(from, from + ADDED_AT_ONCE));
  }
}

export const cranfield: Bench = {
  metrics: [METRIC],
  async run({ data, say }): Promise<readonly Result[]> {
    const folder = folderWith(data, [DOCUMENTS]);
    if (folder === undefined) {
      say(`  ${METRIC} needs --data DIR with ${DOCUMENTS}`);
      return [];
    }
    const collection = readCollection(folder);
    const hf = await open(":memory:");
    await addDocuments(hf, collection);
    const search = async (text: string) =>
      (await hf.vectors.search(text, { limit: FOUND })).map(({ id }) => Number(id));
    const value = await recallOf(collection, search);
    await hf.close();
    const baseline = await recallOf(collection, createFts(collection));
    return [
      {
        metric: METRIC,
        unit: "recall",
        value,
        baseline,
        ratio: value / baseline,
        targets: [{ of: "ratio", must: "atLeast", limit: 1 }],
        note: "of the relevant abstracts, among the first ten; baseline: FTS5 with porter stems, bm25",
      },
    ];
  },
};
