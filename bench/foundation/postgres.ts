// Appends on PostgreSQL against the same bytes through the bare driver: one connection, prepared statements.
import { randomBytes } from "node:crypto";
import * as path from "node:path";
import connect from "postgres";
import { type PostgresServer, startPostgres } from "../../scripts/postgres.ts";
import { open } from "../../src/open.ts";
import { alternate, compare, percentile, sample } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";
import { bodySource, bytesPerAppend } from "./floor.ts";
import { fillBoth, measureGrowth } from "./growth.ts";
import { AGENT, messageSource, writeAtOnce } from "./messages.ts";

const ROUNDS = 7;
const WRITERS = 64;

/** Started by the first bench that needs it. */
export class SharedServer {
  #own: PostgresServer | undefined;
  #version: string | null = null;

  async url(say: (text: string) => void): Promise<string> {
    const given = process.env.DATABASE_URL;
    if (given === undefined && this.#own === undefined) {
      say("  starting PostgreSQL");
      this.#own = await startPostgres();
    }
    const url = given ?? this.#own?.url ?? "";
    this.#version ??= await withBare(url, async (sql) => {
      const [row] = await sql`SHOW server_version`;
      return String(row?.server_version);
    });
    return url;
  }

  get version(): string | null {
    return this.#version;
  }

  async stop(): Promise<void> {
    await this.#own?.stop();
  }
}

async function withBare<T>(url: string, run: (sql: connect.Sql) => Promise<T>): Promise<T> {
  const sql = connect(url, { max: 1, onnotice: () => {} });
  try {
    return await run(sql);
  } finally {
    await sql.end();
  }
}

/** Runs with a schema of its own on the server, and removes it. */
export async function withSchema<T>(
  url: string,
  run: (storeUrl: string, schema: string, sql: connect.Sql) => Promise<T>,
): Promise<T> {
  const schema = `bench_${randomBytes(6).toString("hex")}`;
  const storeUrl = new URL(url);
  storeUrl.searchParams.set("schema", schema);
  return withBare(url, async (sql) => {
    await sql.unsafe(`CREATE SCHEMA ${schema}`);
    try {
      return await run(storeUrl.href, schema, sql);
    } finally {
      await sql.unsafe(`DROP SCHEMA ${schema} CASCADE`);
    }
  });
}

/** The rows are the same on both engines; SQLite's can be measured without a server. */
async function measureBytes(folder: string): Promise<number> {
  const file = path.join(folder, `bytes-${randomBytes(4).toString("hex")}.db`);
  const hf = await open(file);
  await hf.history.append({ session: "writer-1", agent: AGENT }, messageSource()());
  await hf.close();
  return bytesPerAppend(file);
}

export function sequentialOn(server: SharedServer): Bench {
  return {
    metrics: ["pg.append.sequential"],
    async run({ folder, seconds, say }) {
      const bytes = await measureBytes(folder);
      return withSchema(await server.url(say), async (storeUrl, schema, sql) => {
        const hf = await open(storeUrl);
        const next = messageSource();
        const nextBody = bodySource(bytes);
        await sql.unsafe(`CREATE TABLE ${schema}.floor (no bigint GENERATED ALWAYS AS IDENTITY, body bytea NOT NULL)`);
        const insert = `INSERT INTO ${schema}.floor (body) VALUES ($1)`;
        const turnMs = (seconds * 1000) / ROUNDS;
        const append = () => hf.history.append({ session: "one", agent: AGENT }, next());
        const bareAppend = async () => sql.unsafe(insert, [nextBody()], { prepare: true });
        const [ours = [], floor = []] = await alternate(ROUNDS, [
          async () => percentile(await sample(turnMs, append), 0.5),
          async () => percentile(await sample(turnMs, bareAppend), 0.5),
        ]);
        await hf.close();
        const note = `p50; baseline: one prepared INSERT of the same ${bytes} bytes that commits by itself`;
        return [{ metric: "pg.append.sequential", unit: "ms", ...compare(ours, floor), note }];
      });
    },
  };
}

export function concurrentOn(server: SharedServer): Bench {
  return {
    metrics: ["pg.append.concurrent64"],
    async run({ folder, seconds, say }) {
      const bytes = await measureBytes(folder);
      return withSchema(await server.url(say), async (storeUrl, schema, sql) => {
        const hf = await open(storeUrl);
        const next = messageSource();
        const rawBatches = await bareBatches(sql, schema, bytes);
        const turnMs = (seconds * 1000) / ROUNDS;
        const [ours = [], raw = []] = await alternate(ROUNDS, [
          () => writeAtOnce(hf, WRITERS, turnMs, next),
          () => rawBatches(turnMs),
        ]);
        await hf.close();
        const note = `baseline: bare statements of 64 rows of ${bytes} bytes, PRIMARY KEY (session, seq)`;
        return [{ metric: "pg.append.concurrent64", unit: "/s", ...compare(ours, raw), note }];
      });
    },
  };
}

async function bareBatches(
  sql: connect.Sql,
  schema: string,
  bytes: number,
): Promise<(forMs: number) => Promise<number>> {
  await sql.unsafe(
    `CREATE TABLE ${schema}.keyed (session bigint, seq bigint, body bytea NOT NULL, PRIMARY KEY (session, seq))`,
  );
  const nextBody = bodySource(bytes);
  const tuples = Array.from({ length: WRITERS }, (_, i) => `($${i * 3 + 1}, $${i * 3 + 2}, $${i * 3 + 3})`);
  const insert = `INSERT INTO ${schema}.keyed (session, seq, body) VALUES ${tuples.join(", ")}`;
  let seq = 0;
  return async (forMs) => {
    const start = performance.now();
    let rows = 0;
    for (; performance.now() < start + forMs; rows += WRITERS) {
      seq++;
      const params: (number | Uint8Array)[] = [];
      for (let session = 0; session < WRITERS; session++) params.push(session, seq, nextBody());
      await sql.unsafe(insert, params, { prepare: true });
    }
    return (rows / (performance.now() - start)) * 1000;
  };
}

export function growthOn(server: SharedServer): Bench {
  return {
    metrics: ["pg.append.growth"],
    async run({ say }): Promise<readonly Result[]> {
      const url = await server.url(say);
      return withSchema(url, (longUrl) =>
        withSchema(url, async (shortUrl) => {
          const long = await open(longUrl);
          const short = await open(shortUrl);
          const next = messageSource();
          await fillBoth(long, short, next, say);
          const result = await measureGrowth("pg.append.growth", long, short, next);
          await long.close();
          await short.close();
          return [result];
        }),
      );
    },
  };
}
