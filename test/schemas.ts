// Schemas for many cases on one PostgreSQL. Making a store's tables and dropping them takes longer than most cases, so what
// a case left is emptied for a later one. Not for the very next: whatever still runs for the old one is over by then.
import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { postgresUrl } from "./engines.ts";

/** So many are left alone for a while. */
const RESTING = 4;
/** One that grew larger is dropped: emptied rows keep their place until they are vacuumed. */
const MOST_BYTES = 8 * 1024 * 1024;

export class Schemas {
  readonly #sql = postgres(postgresUrl(), { max: 1, onnotice: () => undefined });
  /** Oldest first. */
  readonly #left: string[] = [];

  /** A schema with an empty store, or none. */
  async take(): Promise<string> {
    const old = this.#left.length > RESTING ? this.#left.shift() : undefined;
    if (old !== undefined && (await this.#empty(old))) return old;
    return `hf_test_${randomBytes(8).toString("hex")}`;
  }

  leave(schema: string): void {
    this.#left.push(schema);
  }

  async end(): Promise<void> {
    for (const schema of this.#left) await this.#drop(schema);
    await this.#sql.end();
  }

  async #drop(schema: string): Promise<void> {
    await this.#sql.unsafe(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
  }

  /** Every table as a new store has it, numbers included; false when it was dropped instead. */
  async #empty(schema: string): Promise<boolean> {
    const tables = await this.#sql`
      SELECT c.relname AS name, pg_total_relation_size(c.oid)::int AS bytes,
        pg_get_serial_sequence(quote_ident(${schema}) || '.' || quote_ident(c.relname), a.attname) AS numbers
      FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attidentity <> ''
      WHERE c.relnamespace = ${schema}::regnamespace AND c.relkind = 'r' AND c.relname <> 'holdfast_meta'`;
    if (tables.length === 0 || tables.reduce((sum, { bytes }) => sum + bytes, 0) > MOST_BYTES) {
      await this.#drop(schema);
      return false;
    }
    const names = tables.map(({ name }) => `"${schema}"."${name}"`);
    const numbered = tables.flatMap(({ numbers }) => (numbers === null ? [] : [`setval('${numbers}', 1, false)`]));
    await this.#sql.unsafe(
      [
        "BEGIN",
        `LOCK TABLE ${names.join(", ")}`,
        ...names.map((name) => `DELETE FROM ${name}`),
        `SELECT ${numbered.join(", ")}`,
        `INSERT INTO "${schema}".counters (name, n) VALUES ('gc', 1), ('word_refs', 0)`,
        "COMMIT",
      ].join(";\n"),
    );
    return true;
  }
}
