// How many of the ten nearest embeddings searches find, on SQLite, on PostgreSQL without extensions, and on a PostgreSQL of the
// distribution with pgvector: results are the same, also where an extension is installed.
import * as path from "node:path";
import { nativePostgres } from "../../scripts/native-postgres.ts";
import { type PostgresServer, startPostgres } from "../../scripts/postgres.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { normOf } from "../../src/vectors/kernel/vector.ts";
import { sampleVectors } from "../../test/vectors/samples.ts";
import { type SharedServer, withSchema } from "../foundation/postgres.ts";
import type { Result } from "../report.ts";
import type { Bench, Setting } from "../suite.ts";

const COUNT = 20_000;
const DIMENSION = 384;
const QUERIES = 50;
const NEAREST = 10;
const AT_ONCE = 1000;

export interface Samples {
  /** The embedding of the document with the id `d` and its position. */
  readonly vectors: readonly Float32Array[];
  readonly queries: readonly Float32Array[];
}

/** The share of the ten nearest, by the cosine of all embeddings, that searches find. */
export async function shareFound(hf: Holdfast, { vectors, queries }: Samples): Promise<number> {
  const norms = vectors.map(normOf);
  let found = 0;
  for (const query of queries) {
    const scores = vectors.map((vector, i) => {
      let product = 0;
      for (let k = 0; k < vector.length; k++) product += (vector[k] ?? 0) * (query[k] ?? 0);
      return product / (norms[i] ?? 1);
    });
    const order = [...scores.keys()].sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0));
    const nearest = new Set(order.slice(0, NEAREST).map((i) => `d${i}`));
    for (const { id } of await hf.vectors.search(query, { limit: NEAREST })) if (nearest.has(id)) found++;
  }
  return found / (queries.length * NEAREST);
}

function createSamples(): Samples {
  const next = sampleVectors("spectrum", DIMENSION, 5);
  const vectors = Array.from({ length: COUNT }, next);
  return { vectors, queries: Array.from({ length: QUERIES }, next) };
}

async function measureRecall(metric: string, url: string, where: string): Promise<Result> {
  const { vectors, queries } = createSamples();
  const hf = await open(url, { durability: "normal" });
  for (let from = 0; from < COUNT; from += AT_ONCE) {
    const batch = vectors.slice(from, from + AT_ONCE);
    await hf.vectors.add(batch.map((embedding, i) => ({ id: `d${from + i}`, content: "", embedding })));
  }
  // What is not packed is compared exactly, and would show nothing of the codes.
  while (((await hf.vectors.getCollection("default"))?.packed ?? 0) <= COUNT - 1024) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const value = await shareFound(hf, { vectors, queries });
  await hf.close();
  return {
    metric,
    unit: "recall",
    value,
    baseline: 1,
    ratio: value,
    targets: [{ of: "value", must: "atLeast", limit: 0.99 }],
    note: `of the ten nearest of ${COUNT} embeddings of ${DIMENSION} numbers, ${where}; baseline: all compared exactly`,
  };
}

const onSqlite: Bench = {
  metrics: ["vectors.recall"],
  run: async ({ folder }) => [
    await measureRecall("vectors.recall", path.join(folder, "recall.db"), "in a SQLite file"),
  ],
};

function onPostgres(server: SharedServer): Bench {
  return {
    metrics: ["vectors.recall.postgres"],
    run: async ({ say }) =>
      withSchema(await server.url(say), async (url) => [
        await measureRecall("vectors.recall.postgres", url, "on PostgreSQL without extensions"),
      ]),
  };
}

/** Without a result where the distribution's packages cannot be had. */
const onNative: Bench = {
  metrics: ["vectors.recall.pgvector"],
  async run({ say }: Setting) {
    const server = await startNative(say);
    if (server === null) return [];
    try {
      return await withSchema(server.url, async (url, _, sql) => {
        await sql`CREATE EXTENSION IF NOT EXISTS vector`;
        return [await measureRecall("vectors.recall.pgvector", url, "on PostgreSQL with pgvector")];
      });
    } finally {
      await server.stop();
    }
  },
};

async function startNative(say: (text: string) => void): Promise<PostgresServer | null> {
  try {
    const bin = await nativePostgres();
    say("  starting PostgreSQL with pgvector");
    return await startPostgres({ bin });
  } catch (error) {
    say(`  vectors.recall.pgvector is left out: ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
}

export function recallBenches(server: SharedServer): readonly Bench[] {
  return [onSqlite, onPostgres(server), onNative];
}
