// The files of a PostgreSQL server, read through the server itself: what stands in the pages of a store's tables, whether
// a row still points at it or not. Needs a superuser, as on the servers that the tests start.
import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { postgresUrl } from "./engines.ts";

/** Why the files of the tests' server cannot be read; null when they can. */
export async function whyUnreadable(): Promise<string | null> {
  try {
    const [row] = await onServer(
      postgresUrl(),
      (sql) => sql`SELECT rolsuper FROM pg_roles WHERE rolname = current_user`,
    );
    return row?.rolsuper === true ? null : "this server's files are not ours to read";
  } catch {
    return "there is no PostgreSQL server to ask";
  }
}

async function onServer<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

export interface OwnDatabase {
  /** What open() takes. */
  readonly url: string;
  /** How often the word stands in the files of the store's tables. */
  times(word: string): Promise<number>;
  /** The tables that have a row with the word, also in bytes. */
  tablesWith(word: string): Promise<readonly string[]>;
  /** How often the table has been vacuumed. */
  vacuums(table: string): Promise<number>;
  end(): Promise<void>;
}

/** A database of its own: elsewhere, a transaction of another test could keep dead rows from being removed. */
export async function ownDatabase(): Promise<OwnDatabase> {
  const name = `hf_files_${randomBytes(6).toString("hex")}`;
  const url = new URL(postgresUrl());
  await onServer(url.href, (sql) => sql.unsafe(`CREATE DATABASE ${name}`));
  url.pathname = `/${name}`;
  return {
    url: `${url.href}?schema=holdfast`,
    times: (word) =>
      onServer(url.href, async (sql) => {
        // What the server holds in memory is written first.
        await sql`CHECKPOINT`;
        const files = await sql`
          SELECT pg_read_binary_file(pg_relation_filepath(f.oid), 0, pg_relation_size(f.oid)) AS bytes
          FROM pg_class t JOIN pg_class f ON f.oid IN (t.oid, t.reltoastrelid)
          WHERE t.relnamespace = 'holdfast'::regnamespace AND t.relkind = 'r'`;
        return files.reduce((sum, { bytes }) => sum + Buffer.from(bytes).toString("latin1").split(word).length - 1, 0);
      }),
    tablesWith: (word) =>
      onServer(url.href, async (sql) => {
        const tables =
          await sql`SELECT relname FROM pg_class WHERE relnamespace = 'holdfast'::regnamespace AND relkind = 'r'`;
        const found: string[] = [];
        const hex = Buffer.from(word).toString("hex");
        for (const { relname } of tables) {
          const rows = await sql`
            SELECT 1 FROM ${sql(`holdfast.${relname}`)} t WHERE strpos(t::text, ${word}) > 0 OR strpos(t::text, ${hex}) > 0 LIMIT 1`;
          if (rows.length > 0) found.push(String(relname));
        }
        return found;
      }),
    vacuums: (table) =>
      onServer(url.href, async (sql) => {
        const [row] = await sql`SELECT pg_stat_get_vacuum_count(${`holdfast.${table}`}::regclass) AS n`;
        return Number(row?.n);
      }),
    end: async () => {
      await onServer(postgresUrl(), (sql) => sql.unsafe(`DROP DATABASE ${name} WITH (FORCE)`));
    },
  };
}
