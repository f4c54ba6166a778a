// Places for stores: fresh files in a scratch folder, and fresh schemas on a PostgreSQL server, all removed at the end.
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import postgres from "postgres";
import { type PostgresServer, startPostgres } from "../../scripts/postgres.ts";

export const ENGINES = ["sqlite", "postgres"] as const;
export type Engine = (typeof ENGINES)[number];

export class TestStores {
  readonly folder = fs.mkdtempSync(path.join(tmpdir(), "holdfast-real-"));
  readonly #schemas: string[] = [];
  #server: PostgresServer | undefined;
  #memory: string | undefined;
  #files = 0;

  /** A path where nothing is yet. */
  file(name = "store"): string {
    this.#files++;
    return path.join(this.folder, `${name}-${this.#files}.db`);
  }

  /** The same in memory where there is such a file system: for many copies that need not survive anything. */
  fleeting(name: string): string {
    const memory = "/dev/shm";
    this.#memory ??= fs.existsSync(memory) ? fs.mkdtempSync(path.join(memory, "holdfast-real-")) : this.folder;
    this.#files++;
    return path.join(this.#memory, `${name}-${this.#files}.db`);
  }

  /** A URL whose schema does not exist yet; on the server of `npm test`, or on one of our own. */
  async schema(): Promise<string> {
    const given = process.env.HOLDFAST_TEST_POSTGRES;
    this.#server ??= given ? undefined : await startPostgres();
    const url = schemaOn(given || (this.#server?.url ?? ""));
    if (given) this.#schemas.push(url);
    return url;
  }

  async fresh(engine: Engine): Promise<string> {
    return engine === "sqlite" ? this.file() : await this.schema();
  }

  async remove(): Promise<void> {
    for (const url of this.#schemas) {
      const schema = new URL(url).searchParams.get("schema");
      await withPostgres(url, (sql) => sql.unsafe(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`));
    }
    await this.#server?.stop();
    for (const folder of [this.folder, this.#memory ?? this.folder])
      fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** A URL of that server whose schema does not exist yet. */
export function schemaOn(server: string): string {
  const url = new URL(server);
  url.searchParams.set("schema", `real_${randomBytes(6).toString("hex")}`);
  return url.href;
}

/** Straight to the database, past Holdfast. */
export async function withPostgres<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const plain = new URL(url);
  plain.searchParams.delete("schema");
  const sql = postgres(plain.href, { max: 1, onnotice: () => undefined });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
