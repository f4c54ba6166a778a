// PostgreSQL's own check: what it says of damaged files of a server that was stopped, of an index that is gone, and of a
// role that may not use amcheck.
import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type PostgresServer, startPostgres } from "../../scripts/postgres.ts";
import { open } from "../../src/open.ts";
import { isLong } from "../../src/testing/scale.ts";
import { postgresUrl } from "../engines.ts";

async function ask(url: string, text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    return await sql.unsafe(text);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

const schemaName = () => `check_${randomBytes(6).toString("hex")}`;

describe("PostgreSQL's own check", () => {
  test("SE10 runs without leaving the extension behind, and names an index that is gone or invalid", async () => {
    const schema = schemaName();
    const hf = await open(`${postgresUrl()}?schema=${schema}`);
    try {
      await hf.history.append({ session: "chat", agent: "ada" }, { role: "user", content: "hello" });
      const clean = await hf.check();
      expect([clean.issues, clean.engine]).toEqual([[], { check: "amcheck", notRun: null }]);
      const left = await ask(postgresUrl(), "SELECT 1 AS n FROM pg_extension WHERE extname = 'amcheck'");
      expect(left).toHaveLength(0);
      await ask(
        postgresUrl(),
        `UPDATE pg_index SET indisvalid = false WHERE indexrelid = '${schema}.runs_due'::regclass`,
      );
      expect((await hf.check()).issues).toMatchObject([{ kind: "index-damaged", rows: ["runs_due"] }]);
      await ask(postgresUrl(), `REINDEX INDEX ${schema}.runs_due`);
      await ask(postgresUrl(), `DROP INDEX ${schema}.sessions_agent`);
      expect((await hf.check()).issues).toMatchObject([{ kind: "schema-damaged", rows: ["sessions_agent"] }]);
    } finally {
      await hf.close();
      await ask(postgresUrl(), `DROP SCHEMA ${schema} CASCADE`);
    }
  });

  test("SE10 a role that may not use amcheck is told so in the report, and the rest is checked", async () => {
    const name = schemaName();
    const url = new URL(postgresUrl());
    await ask(
      postgresUrl(),
      `CREATE ROLE ${name} LOGIN PASSWORD 'plain'; GRANT CREATE ON DATABASE "${url.pathname.slice(1)}" TO ${name}`,
    );
    url.username = name;
    url.password = "plain";
    try {
      const hf = await open(`${url}?schema=${name}`);
      await hf.history.append({ session: "chat", agent: "ada" }, { role: "user", content: "hello" });
      const { status, engine, counts } = await hf.check();
      await hf.close();
      expect([status, counts.messages]).toEqual(["ok", 1]);
      expect(engine).toEqual({ check: "amcheck", notRun: expect.stringContaining("CREATE EXTENSION amcheck") });
    } finally {
      await ask(postgresUrl(), `DROP OWNED BY ${name} CASCADE; DROP ROLE ${name}`);
    }
  });
});

/** A server of its own takes seconds to make. */
const damaged = "damaged files of a PostgreSQL server";
describe.skipIf(!isLong)(isLong ? damaged : `${damaged} (skipped: only npm run test:long runs it)`, () => {
  let directory: string;
  let server: PostgresServer;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "holdfast-check-pg-"));
    chmodSync(directory, 0o755);
    // Otherwise the pages' checksums would say it all, which not every server has.
    server = await startPostgres({ dataDir: join(directory, "data"), settings: { ignore_checksum_failure: "on" } });
  }, 120_000);
  afterAll(async () => {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  /** Changes a byte of every place of a text in a relation's file, old versions of rows too, while the server is down. */
  async function damage(schema: string, relation: string, text: string): Promise<void> {
    const [row] = await ask(server.url, `SELECT pg_relation_filepath('${schema}.${relation}') AS path`);
    await server.shutDown();
    const file = join(directory, "data", String(row?.path));
    const bytes = readFileSync(file);
    expect(bytes.includes(text)).toBe(true);
    for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text)) bytes[at] = (bytes[at] ?? 0) ^ 2;
    writeFileSync(file, bytes);
    await server.restart();
  }

  test.each([
    ["an index", "sessions_id_key", "index-damaged", ["sessions_id_key"]],
    ["a table", "sessions", "index-damaged", ["sessions_id_key"]],
  ] as const)("SE10 a changed byte of %s is named", async (_, relation, kind, rows) => {
    const schema = schemaName();
    const url = `${server.url}?schema=${schema}`;
    const hf = await open(url);
    for (const session of ["first-session", "second-session"]) {
      await hf.history.append({ session, agent: "ada" }, { role: "user", content: "hello" });
    }
    await hf.close();
    await damage(schema, relation, "second-session");
    const again = await open(url);
    const { issues } = await again.check();
    await again.close();
    expect(issues[0]).toMatchObject({ kind, rows, hint: expect.stringContaining("REINDEX") });
  });

  test("SE10 a damaged page of a table is named", async () => {
    const schema = schemaName();
    const url = `${server.url}?schema=${schema}`;
    const hf = await open(url);
    await hf.history.append({ session: "chat", agent: "ada" }, { role: "user", content: "hello" });
    await hf.close();
    const [row] = await ask(server.url, `SELECT pg_relation_filepath('${schema}.events') AS path`);
    await server.shutDown();
    const file = join(directory, "data", String(row?.path));
    const bytes = readFileSync(file);
    // The length and the place of the first row, in the page's list of rows behind its header of 24 bytes.
    bytes[24] = (bytes[24] ?? 0) ^ 0xff;
    writeFileSync(file, bytes);
    await server.restart();
    const again = await open(url);
    const { issues } = await again.check();
    await again.close();
    expect(issues.map(({ kind, rows }) => [kind, rows])).toContainEqual(["page-damaged", ["events"]]);
  });
});
