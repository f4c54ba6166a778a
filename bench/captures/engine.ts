// A store for captures, and the alternative in a database of the same engine: the whole
// transcript, gzipped, as one row.
import * as path from "node:path";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { filesSize } from "../foundation/blobs.ts";
import { openBare } from "../foundation/floor.ts";
import { type SharedServer, withSchema } from "../foundation/postgres.ts";

export interface Engine {
  readonly hf: Holdfast;
  /** The size of the store on disk. */
  bytes(): Promise<number>;
  saveRow(id: string, zipped: Uint8Array): Promise<void>;
  loadRow(id: string): Promise<Uint8Array>;
}

type WithEngine = <T>(run: (engine: Engine) => Promise<T>) => Promise<T>;

interface EngineSetting {
  readonly folder: string;
  say(text: string): void;
}

/** The prefix of an engine's metrics, and a function that creates a store on it. */
export interface EngineKind {
  readonly prefix: string;
  with(setting: EngineSetting): WithEngine;
}

const COLUMNS = (blob: string) => `(session_id text PRIMARY KEY, session_blob ${blob} NOT NULL)`;
const UPSERT = (mark1: string, mark2: string) =>
  `VALUES (${mark1}, ${mark2}) ON CONFLICT (session_id) DO UPDATE SET session_blob = excluded.session_blob`;

let count = 0;

export const onSqlite: EngineKind = {
  prefix: "",
  with:
    ({ folder }) =>
    async (run) => {
      const file = path.join(folder, `captures-${count++}.db`);
      const rows = openBare(path.join(folder, `captures-${count++}-rows.db`));
      rows.exec(`CREATE TABLE agent_sessions ${COLUMNS("blob")}`);
      const save = rows.prepare(`INSERT INTO agent_sessions ${UPSERT("?", "?")}`);
      const load = rows.prepare("SELECT session_blob FROM agent_sessions WHERE session_id = ?");
      const hf = await open(file);
      try {
        return await run({
          hf,
          bytes: async () => filesSize(file),
          saveRow: async (id, zipped) => void save.run(id, zipped),
          loadRow: async (id) => load.get(id)?.session_blob as Uint8Array,
        });
      } finally {
        await hf.close();
        rows.close();
      }
    },
};

export function onPostgres(server: SharedServer): EngineKind {
  return {
    prefix: "pg.",
    with:
      ({ say }) =>
      async (run) =>
        withSchema(await server.url(say), async (storeUrl, schema, sql) => {
          const hf = await open(storeUrl);
          const table = `${schema}_rows.agent_sessions`;
          await sql.unsafe(`CREATE SCHEMA ${schema}_rows`);
          await sql.unsafe(`CREATE TABLE ${table} ${COLUMNS("bytea")}`);
          const size = `SELECT sum(pg_total_relation_size(oid))::bigint AS bytes FROM pg_class
            WHERE relkind = 'r' AND relnamespace = '${schema}'::regnamespace`;
          try {
            return await run({
              hf,
              bytes: async () => Number((await sql.unsafe(size))[0]?.bytes),
              saveRow: async (id, zipped) => {
                await sql.unsafe(`INSERT INTO ${table} ${UPSERT("$1", "$2")}`, [id, zipped], { prepare: true });
              },
              loadRow: async (id) => {
                const text = `SELECT session_blob FROM ${table} WHERE session_id = $1`;
                return (await sql.unsafe(text, [id], { prepare: true }))[0]?.session_blob;
              },
            });
          } finally {
            await hf.close();
            await sql.unsafe(`DROP SCHEMA ${schema}_rows CASCADE`);
          }
        }),
  };
}
