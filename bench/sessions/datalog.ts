// Datalog beside hand-written SQL over the same connection, and beside DataScript with the same facts.
import * as path from "node:path";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { realEnvironment } from "../../src/core/environment.ts";
import { open } from "../../src/open.ts";
import type { Driver } from "../../src/storage/sql/driver.ts";
import { openPostgres } from "../../src/storage/sql/postgres/driver.ts";
import { openSqlite } from "../../src/storage/sql/sqlite/driver.ts";
import { attributesAsText, factsOf, oracle } from "../../test/query/facts.ts";
import type { SharedServer } from "../foundation/postgres.ts";
import { withSchema } from "../foundation/postgres.ts";
import { alternate, type Comparison, compare, median, sample } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench, Setting } from "../suite.ts";
import { fill } from "./fill.ts";
import { type MeasuredQuery, QUERIES } from "./queries.ts";

const ROUNDS = 5;
const AT_LEAST = 5;
const LIMITS = { timeoutMs: 600_000, maxRows: 1_000_000 };
const COMMON = { durability: "normal", busyMs: 30_000, environment: realEnvironment() } as const;

/** The hand-written SQL of a query. Titles are stored as bytes, which each engine writes in its own way. */
function handWritten({ sql }: MeasuredQuery, driver: Driver): string {
  const title = driver.dialect.engine === "postgres" ? "convert_to('Title 7', 'UTF8')" : "CAST('Title 7' AS BLOB)";
  return sql.replace("{title}", title);
}

function asked(hf: Holdfast, { datalog, rules, inputs = [] }: MeasuredQuery) {
  return hf.query(datalog, rules === undefined ? inputs : [rules, ...inputs], LIMITS);
}

async function measureOne(hf: Holdfast, driver: Driver, query: MeasuredQuery, seconds: number): Promise<Comparison> {
  const sql = handWritten(query, driver);
  const rows = await driver.inspect(sql, query.params ?? [], LIMITS);
  const answer = await asked(hf, query);
  const found = Array.isArray(answer) ? answer.length : 1;
  if (found !== rows.length) throw new Error(`${query.name}: ${found} rows, by hand ${rows.length}`);
  const turnMs = (seconds * 1000) / QUERIES.length / ROUNDS;
  const [ours = [], hand = []] = await alternate(ROUNDS, [
    async () => median(await sample(turnMs, () => asked(hf, query), AT_LEAST)),
    async () => median(await sample(turnMs, () => driver.inspect(sql, query.params ?? [], LIMITS), AT_LEAST)),
  ]);
  return compare(ours, hand);
}

/** The slowest of the ten queries is the result. */
async function measureAll(metric: string, hf: Holdfast, driver: Driver, setting: Setting): Promise<Result> {
  let worst: { readonly query: MeasuredQuery; readonly figures: Comparison } | undefined;
  for (const query of QUERIES) {
    const figures = await measureOne(hf, driver, query, setting.seconds);
    setting.say(
      `  ${query.name}: ${figures.value.toFixed(2)} ms, by hand ${figures.baseline.toFixed(2)}, × ${figures.ratio.toFixed(2)}`,
    );
    if (worst === undefined || figures.ratio > worst.figures.ratio) worst = { query, figures };
  }
  if (worst === undefined) throw new Error("there are no queries");
  return {
    metric,
    unit: "ms",
    ...worst.figures,
    targets: [{ of: "ratio", must: "atMost", limit: 3 }],
    note: `worst of ten queries on a million facts, without ANALYZE: ${worst.query.name}; baseline: hand-written SQL`,
  };
}

export const datalog: Bench = {
  metrics: ["datalog.sql", "datalog.datascript"],
  async run(setting) {
    const file = path.join(setting.folder, "datalog.db");
    const hf = await open(file, { durability: "normal" });
    const driver = await openSqlite({ ...COMMON, path: file });
    try {
      await fill(driver);
      const results: Result[] = [];
      if (setting.isSelected("datalog.sql")) results.push(await measureAll("datalog.sql", hf, driver, setting));
      if (setting.isSelected("datalog.datascript")) results.push(await againstDataScript(file, driver, setting));
      return results;
    } finally {
      await driver.close();
      await hf.close();
    }
  },
};

/** The time until the first answer to each of the ten queries: DataScript loads the facts, Holdfast opens the store. */
async function againstDataScript(file: string, driver: Driver, { say }: Setting): Promise<Result> {
  const facts = await factsOf(driver);
  say(`  ${facts.length} facts`);
  const begin = performance.now();
  const { ask } = oracle(facts);
  const loaded = performance.now();
  say(`  DataScript loaded in ${((loaded - begin) / 1000).toFixed(1)} s`);
  for (const { name, datalog: text, rules, inputs = [] } of QUERIES) {
    const started = performance.now();
    // DataScript neither orders nor limits.
    const plain = text.replace(/ :order-by .*\]$/, "]");
    ask(plain, ...(rules === undefined ? inputs : [attributesAsText(rules), ...inputs]));
    say(`  DataScript, ${name}: ${(performance.now() - started).toFixed(0)} ms`);
  }
  const theirs = performance.now() - begin;
  const start = performance.now();
  const hf = await open(file, { durability: "normal" });
  for (const query of QUERIES) await asked(hf, query);
  const ours = performance.now() - start;
  await hf.close();
  return {
    metric: "datalog.datascript",
    unit: "ms",
    value: ours,
    baseline: theirs,
    ratio: ours / theirs,
    note: `open and first answer of the ten queries on ${facts.length} facts; baseline: DataScript, load and first answer`,
  };
}

export function datalogOn(server: SharedServer): Bench {
  return {
    metrics: ["pg.datalog.sql"],
    async run(setting) {
      const url = await server.url(setting.say);
      return withSchema(url, async (storeUrl, schema) => {
        const hf = await open(storeUrl, { durability: "normal", poolSize: 2 });
        const driver = await openPostgres({ ...COMMON, url, schema, poolSize: 2 });
        try {
          await fill(driver);
          return [await measureAll("pg.datalog.sql", hf, driver, setting)];
        } finally {
          await driver.close();
          await hf.close();
        }
      });
    },
  };
}
