// Appends on PostgreSQL against the same bytes through the bare driver: one connection, prepared statements.
import { randomBytes } from "node:crypto";
import * as path from "node:path";
import connect from "postgres";
import { type PostgresServer, startPostgres } from "../../scripts/postgres.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { MessageInput } from "../../src/contracts/messages.ts";
import { open } from "../../src/open.ts";
import type { Param } from "../../src/storage/sql/driver.ts";
import { arrayLiteral, renderTogether } from "../../src/storage/sql/postgres/dialect.ts";
import { ADD_INLINE_MESSAGE, FENCE_SESSION } from "../../src/storage/sql/specs.ts";
import { alternate, compare, percentile, sample } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";
import { bodySource, bytesPerAppend } from "./floor.ts";
import { fillBoth, measureGrowth } from "./growth.ts";
import { AGENT, messageSource, writeAtOnce } from "./messages.ts";

const ROUNDS = 7;
const WRITERS = 64;

/** The server; the first bench that needs it starts it. */
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

/** Runs a function with its own schema on the server, and removes the schema. */
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
    metrics: ["pg.append.sequential", "pg.append.sequential.onerow"],
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
        const bareRows = await sameRows(hf, sql, schema, 1, next);
        const [ours = [], same = [], oneRow = []] = await alternate(ROUNDS, [
          async () => percentile(await sample(turnMs, append), 0.5),
          async () => percentile(await sample(turnMs, bareRows), 0.5),
          async () => percentile(await sample(turnMs, bareAppend), 0.5),
        ]);
        await hf.close();
        return [
          {
            metric: "pg.append.sequential",
            unit: "ms",
            ...compare(ours, same),
            targets: [{ of: "ratio", must: "atMost", limit: 1.5 }],
            note: "p50; baseline: the same rows into the same tables by one bare prepared statement that commits by itself",
          },
          {
            metric: "pg.append.sequential.onerow",
            unit: "ms",
            ...compare(ours, oneRow),
            note: `the same against one prepared INSERT of the same ${bytes} bytes into a table without any key`,
          },
        ];
      });
    },
  };
}

export function concurrentOn(server: SharedServer): Bench {
  return {
    metrics: ["pg.append.concurrent64", "pg.append.concurrent64.onerow"],
    async run({ folder, seconds, say }) {
      const bytes = await measureBytes(folder);
      return withSchema(await server.url(say), async (storeUrl, schema, sql) => {
        const hf = await open(storeUrl);
        const next = messageSource();
        const rawBatches = await bareBatches(sql, schema, bytes);
        const turnMs = (seconds * 1000) / ROUNDS;
        const bareRows = await sameRows(hf, sql, schema, WRITERS, next);
        const [ours = [], same = [], raw = []] = await alternate(ROUNDS, [
          () => writeAtOnce(hf, WRITERS, turnMs, next),
          () => ratePerSecond(turnMs, WRITERS, bareRows),
          () => rawBatches(turnMs),
        ]);
        await hf.close();
        return [
          {
            metric: "pg.append.concurrent64",
            unit: "/s",
            ...compare(ours, same),
            targets: [{ of: "ratio", must: "atLeast", limit: 0.5 }],
            note: "baseline: the same rows of 64 sessions into the same tables by one bare prepared statement",
          },
          {
            metric: "pg.append.concurrent64.onerow",
            unit: "/s",
            ...compare(ours, raw),
            note: `the same against bare statements of 64 rows of ${bytes} bytes, PRIMARY KEY (session, seq)`,
          },
        ];
      });
    },
  };
}

/**
 * The rows of an append to each of that many sessions, as a store writes them, in one prepared statement: the events with
 * their messages, and the positions of the sessions. Seqs and hashes are invented; nothing is read, checked or hashed.
 */
async function sameRows(
  hf: Holdfast,
  sql: connect.Sql,
  schema: string,
  sessions: number,
  next: () => MessageInput,
): Promise<() => Promise<unknown>> {
  const ids = Array.from({ length: sessions }, (_, i) => `bare-${i}`);
  await Promise.all(ids.map((session) => hf.history.append({ session, agent: AGENT }, next())));
  await sql.unsafe(`SET search_path = ${schema}`);
  const [newest] = await sql.unsafe("SELECT * FROM events WHERE role IS NOT NULL ORDER BY no DESC LIMIT 1");
  const row = newest as unknown as Readonly<Record<string, Param>>;
  const numbers = (await sql.unsafe("SELECT no FROM sessions WHERE id LIKE 'bare-%' ORDER BY no")).map(({ no }) =>
    Number(no),
  );
  const text = renderTogether(
    [FENCE_SESSION, ADD_INLINE_MESSAGE].map((spec) => ({ spec, width: Math.min(sessions, 2) })),
  );
  const bodies = {
    hash: bodySource(32),
    sha256: bodySource(32),
    salt: bodySource(16),
    words: bodySource((row.words as Uint8Array).length),
  };
  const starts = await sql.unsafe("SELECT no, seq, chain FROM sessions WHERE id LIKE 'bare-%' ORDER BY no");
  let chains: readonly Uint8Array[] = starts.map(({ chain }) => chain);
  let seq = Number(starts[0]?.seq);
  return async () => {
    const hashes = numbers.map(() => Uint8Array.from(bodies.hash()));
    const fences = numbers.map((no, i) => [
      seq + 1,
      hashes[i] ?? null,
      row.at ?? 0,
      seq,
      0,
      no,
      seq,
      chains[i] ?? null,
    ]);
    const fresh = (i: number): Record<string, Param> => ({
      session_no: numbers[i] ?? 0,
      seq: seq + 1,
      hash: hashes[i] ?? null,
      sha256: bodies.sha256(),
      salt: bodies.salt(),
      words: bodies.words(),
    });
    const given = ADD_INLINE_MESSAGE.columns.filter((column) => column.value === "?").map((column) => column.name);
    const events = numbers.map((_, i) => {
      const own = fresh(i);
      return given.map((name): Param => own[name] ?? row[name] ?? null);
    });
    const params =
      sessions === 1 ? [...(fences[0] ?? []), ...(events[0] ?? [])] : [...columns(fences), ...columns(events)];
    await sql.unsafe(text ?? "", params as never[], { prepare: true });
    chains = hashes;
    seq++;
  };
}

function columns(rows: readonly (readonly Param[])[]): readonly string[] {
  return (rows[0] ?? []).map((_, n) => arrayLiteral(rows.map((row) => row[n] ?? null)));
}

async function ratePerSecond(forMs: number, rows: number, write: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  let written = 0;
  for (; performance.now() < start + forMs; written += rows) await write();
  return (written / (performance.now() - start)) * 1000;
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
