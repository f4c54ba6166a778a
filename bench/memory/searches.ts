// How fast searches are: 100,000 messages against the text search of the engine over the same messages, and a million against those.
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { type SharedServer, withSchema } from "../foundation/postgres.ts";
import { measureLoopDelay } from "../loop.ts";
import { alternate, compare, percentile, sampleTimes } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench, Setting } from "../suite.ts";
import { createTexts, PER_SESSION } from "./texts.ts";

const MESSAGES = 100_000;
const GROWN = 1_000_000;
const QUERIES = 100;
const ROUNDS = 5;
const LIMIT = 10;
const AGENT = "bench";

export function searchQueries(): readonly string[] {
  const texts = createTexts(2);
  return Array.from({ length: QUERIES }, () => texts.query());
}

/** Fills a store, and waits until all of it is in the index. Returns the bytes of the texts. */
async function fillStore(hf: Holdfast, count: number, onText: (text: string, at: number) => void = () => {}) {
  const texts = createTexts(1);
  let bytes = 0;
  for (let done = 0; done < count; done += PER_SESSION) {
    const batch = Array.from({ length: PER_SESSION }, (_, index) => {
      const content = texts.message();
      bytes += Buffer.byteLength(content);
      onText(content, done + index);
      return { role: index % 2 === 0 ? "user" : "assistant", content } as const;
    });
    await hf.history.appendMany({ session: `session-${done / PER_SESSION}`, agent: AGENT }, batch);
  }
  await hf.reindex();
  return bytes;
}

/** The median time of a query, over all of them. */
async function measureQueries(run: (query: string) => unknown): Promise<number> {
  const all = searchQueries()[Symbol.iterator]();
  return percentile(await sampleTimes(QUERIES, () => run(all.next().value ?? "")), 0.5);
}

const search = (hf: Holdfast) => (query: string) => hf.search(query, { limit: LIMIT });

/** Filled once for the benches of SQLite, which run one after the other in the same folder. */
const filled = new Map<string, Promise<FilledMessages>>();

export interface FilledMessages {
  readonly hf: Holdfast;
  readonly file: string;
  readonly fts: DatabaseSync;
  /** Of the texts. */
  readonly bytes: number;
}

export function filledMessages({ folder, say }: Setting): Promise<FilledMessages> {
  const known = filled.get(folder);
  if (known !== undefined) return known;
  const make = async () => {
    say(`  adding ${MESSAGES} messages`);
    const file = path.join(folder, "searched.db");
    const hf = await open(file, { durability: "normal" });
    const fts = new DatabaseSync(path.join(folder, "fts.db"));
    fts.exec(
      "PRAGMA journal_mode = WAL; CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter unicode61'); BEGIN",
    );
    const insert = fts.prepare("INSERT INTO texts (rowid, text) VALUES (?, ?)");
    const bytes = await fillStore(hf, MESSAGES, (text, at) => insert.run(at + 1, text));
    fts.exec("COMMIT; INSERT INTO texts (texts) VALUES ('optimize')");
    return { hf, file, fts, bytes };
  };
  const made = make();
  filled.set(folder, made);
  return made;
}

/** Closes what the benches of a folder share. */
export async function closeFilled(): Promise<void> {
  for (const made of filled.values()) {
    const { hf, fts } = await made;
    await hf.close();
    fts.close();
  }
  filled.clear();
}

export const searchText: Bench = {
  metrics: ["search.text", "index.bytes"],
  async run(setting): Promise<readonly Result[]> {
    const { hf, fts, bytes } = await filledMessages(setting);
    const select = fts.prepare("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 10");
    const matching = (query: string) => select.all(query.split(" ").join(" OR "));
    const [ours = [], theirs = []] = await alternate(ROUNDS, [
      () => measureQueries(search(hf)),
      () => measureQueries(matching),
    ]);
    const { textIndex } = await hf.stats();
    return [
      {
        metric: "search.text",
        unit: "ms",
        ...compare(ours, theirs),
        targets: [{ of: "ratio", must: "atMost", limit: 0.5 }],
        note: `p50 of hf.search, with its hits and snippets, among ${MESSAGES} messages; baseline: numbers of rows from FTS5 by bm25`,
      },
      bytesResult("index.bytes", textIndex.bytes, bytes),
    ];
  },
};

function bytesResult(metric: string, bytes: number, texts: number): Result {
  return {
    metric,
    unit: "MB",
    value: bytes / 1e6,
    baseline: texts / 1e6,
    ratio: bytes / texts,
    targets: [{ of: "ratio", must: "atMost", limit: 2 }],
    note: "of the index; baseline: bytes of the indexed texts",
  };
}

export const loopDelay: Bench = {
  metrics: ["loop.delay.p99"],
  async run(setting): Promise<readonly Result[]> {
    const { hf } = await filledMessages(setting);
    const all = searchQueries();
    let at = 0;
    const load = async (turnMs: number) => {
      const deadline = performance.now() + turnMs;
      while (performance.now() < deadline) await search(hf)(all[at++ % all.length] ?? "");
    };
    return [await measureLoopDelay(`searches of ${MESSAGES} messages`, setting.seconds, load)];
  },
};

export const searchGrowth: Bench = {
  metrics: ["search.growth"],
  async run(setting): Promise<readonly Result[]> {
    const { hf: small } = await filledMessages(setting);
    setting.say(`  adding ${GROWN} messages`);
    const large = await open(path.join(setting.folder, "grown.db"), { durability: "normal" });
    await fillStore(large, GROWN);
    const [grown = [], base = []] = await alternate(ROUNDS, [
      () => measureQueries(search(large)),
      () => measureQueries(search(small)),
    ]);
    await large.close();
    return [
      {
        metric: "search.growth",
        unit: "ms",
        ...compare(grown, base),
        targets: [{ of: "ratio", must: "atMost", limit: 6 }],
        note: `p50 of hf.search among ${GROWN} messages; baseline: among ${MESSAGES}`,
      },
    ];
  },
};

export function searchTextOn(server: SharedServer): Bench {
  return {
    metrics: ["search.text.postgres", "index.bytes.postgres"],
    async run({ say }): Promise<readonly Result[]> {
      return withSchema(await server.url(say), async (storeUrl, schema, sql) => {
        say(`  adding ${MESSAGES} messages to PostgreSQL`);
        const hf = await open(storeUrl, { durability: "normal" });
        const rows: { readonly no: number; readonly text: string }[] = [];
        const bytes = await fillStore(hf, MESSAGES, (text, at) => rows.push({ no: at + 1, text }));
        await sql.unsafe(`CREATE TABLE ${schema}.texts (no int, words tsvector)`);
        for (let at = 0; at < rows.length; at += 1000) {
          const batch = rows.slice(at, at + 1000);
          await sql.unsafe(
            `INSERT INTO ${schema}.texts SELECT no, to_tsvector('english', text) FROM unnest($1::int[], $2::text[]) AS t (no, text)`,
            [batch.map(({ no }) => no), batch.map(({ text }) => text)],
          );
        }
        await sql.unsafe(`CREATE INDEX ON ${schema}.texts USING gin (words)`);
        await sql.unsafe(`ANALYZE ${schema}.texts`);
        const ranked =
          `SELECT no FROM ${schema}.texts, to_tsquery('english', $1) q WHERE words @@ q ` +
          "ORDER BY ts_rank(words, q) DESC LIMIT 10";
        const [ours = [], theirs = []] = await alternate(ROUNDS, [
          () => measureQueries(search(hf)),
          () => measureQueries((query) => sql.unsafe(ranked, [query.split(" ").join(" | ")])),
        ]);
        const { textIndex } = await hf.stats();
        await hf.close();
        return [
          {
            metric: "search.text.postgres",
            unit: "ms",
            ...compare(ours, theirs),
            targets: [{ of: "ratio", must: "atMost", limit: 0.7 }],
            note: `p50 of hf.search among ${MESSAGES} messages; baseline: numbers of rows by tsvector (GIN) and ts_rank`,
          },
          bytesResult("index.bytes.postgres", textIndex.bytes, bytes),
        ];
      });
    },
  };
}
