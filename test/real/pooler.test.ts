// A store behind a real PgBouncer: each schema is its own store, writes are as durable as without it, and a way of pooling
// that cannot keep the store's promises is refused.
import { randomBytes } from "node:crypto";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { obtainPgBouncer, type PgBouncer, startPgBouncer } from "../../scripts/pgbouncer.ts";
import { open } from "../../src/open.ts";
import { scaled } from "../../src/testing/scale.ts";
import { examine, textOf } from "./examine.ts";
import { TestStores, withPostgres } from "./stores.ts";

const stores = new TestStores();
const program = obtainPgBouncer();
const started: PgBouncer[] = [];
afterEach(async () => {
  for (const one of started.splice(0)) await one.stop();
});
afterAll(() => stores.remove());

/** What people set so that clients with settings of their own are let in: the settings are dropped. */
const IGNORED =
  "search_path,synchronous_commit,standard_conforming_strings,lock_timeout,statement_timeout," +
  "idle_in_transaction_session_timeout,plan_cache_mode,jit,tcp_keepalives_idle,tcp_keepalives_interval," +
  "tcp_keepalives_count,tcp_user_timeout";

function testPooler(name: string, body: () => Promise<void>): void {
  const skips = typeof program === "string";
  test.skipIf(skips)(skips ? `${name} (skipped: ${program})` : name, body);
}

/** A URL behind a PgBouncer of that kind, and one of the server itself. */
async function behind(
  settings: Readonly<Record<string, string>>,
): Promise<{ readonly url: (schema: string) => string; readonly direct: string }> {
  if (typeof program === "string") throw new Error(program);
  const direct = await stores.schema();
  const pooler = await startPgBouncer(program, direct, settings);
  started.push(pooler);
  const url = (schema: string) => {
    const one = new URL(pooler.url);
    one.searchParams.set("schema", schema);
    return one.href;
  };
  return { url, direct };
}

describe("behind PgBouncer", () => {
  const kinds = [
    { pool_mode: "transaction" },
    { pool_mode: "transaction", ignore_startup_parameters: IGNORED },
    { pool_mode: "session", ignore_startup_parameters: IGNORED },
    { pool_mode: "session" },
  ];
  for (const settings of kinds) {
    const kind = Object.entries(settings).map(([name, value]) => `${name}=${value.slice(0, 20)}`);
    testPooler(`ST14 two schemas are two stores, and none is public (${kind.join(", ")})`, async () => {
      const { url, direct } = await behind({ ...settings, default_pool_size: "2" });
      const names = ["A", "b"].map((letter) => `Pool_${letter}_${randomBytes(4).toString("hex")}`);
      try {
        await useSideBySide(names.map(url));
        await withPostgres(direct, async (sql) => {
          const rows = await sql`SELECT schemaname AS name FROM pg_tables WHERE tablename = 'holdfast_meta'`;
          const found = rows.map(({ name }) => name);
          expect(found).toEqual(expect.arrayContaining(names));
          expect(found).not.toContain("public");
        });
      } finally {
        for (const name of names)
          await withPostgres(direct, (sql) => sql.unsafe(`DROP SCHEMA IF EXISTS "${name}" CASCADE`));
      }
    });
  }

  /** Both stores get messages at once, over the same few server connections; each holds its own. */
  async function useSideBySide(urls: readonly string[]): Promise<void> {
    const stores = await Promise.all(urls.map((url) => open(url, { poolSize: 4 })));
    const count = scaled({ short: 8, long: 60 });
    await Promise.all(
      stores.flatMap((store, i) =>
        ["x", "y"].map(async (session) => {
          for (let n = 0; n < count; n++) {
            await store.history.append(
              { session, agent: `writer${i}` },
              { role: "user", content: textOf(`writer${i}`, n) },
            );
            await store.state.set(session, { n });
          }
        }),
      ),
    );
    for (const [i, store] of stores.entries()) {
      for (const session of ["x", "y"]) {
        const found = await examine(store, session);
        expect(found.map(({ writer, n }) => [writer, n])).toEqual(
          Array.from({ length: count }, (_, n) => [`writer${i}`, n]),
        );
      }
      expect(await store.check()).toMatchObject({ status: "ok" });
    }
    const [first, second] = stores;
    expect(first?.info.storeId).not.toBe(second?.info.storeId);
    await Promise.all(stores.map((store) => store.close()));
  }

  testPooler("ST14 every commit is durable and bounded, whatever the server's own settings are", async () => {
    const { url, direct } = await behind({ pool_mode: "transaction" });
    const schema = new URL(direct).searchParams.get("schema") ?? "";
    const role = new URL(direct).username;
    await withPostgres(direct, (sql) => sql.unsafe(`ALTER ROLE "${role}" SET synchronous_commit = off`));
    try {
      const store = await open(url(schema));
      await store.sessions.create({ id: "s" });
      // What a transaction of the store sees, told by a trigger inside it.
      await withPostgres(direct, (sql) =>
        sql.unsafe(
          `CREATE TABLE "${schema}".seen (path text, sync text, lock text, idle text);
           CREATE FUNCTION "${schema}".see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             INSERT INTO "${schema}".seen VALUES (current_setting('search_path'), current_setting('synchronous_commit'),
               current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout'));
             RETURN NEW; END $$;
           CREATE TRIGGER see AFTER INSERT ON "${schema}".events FOR EACH ROW EXECUTE FUNCTION "${schema}".see()`,
        ),
      );
      for (let n = 0; n < 3; n++)
        await store.history.append({ session: "s", agent: "a" }, { role: "user", content: `${n}` });
      await store.close();
      const seen = await withPostgres(direct, (sql) => sql.unsafe(`SELECT * FROM "${schema}".seen`));
      expect(seen.map((row) => ({ ...row }))).toEqual(
        Array(3).fill({ path: `"${schema}"`, sync: "on", lock: "200ms", idle: "5s" }),
      );
    } finally {
      await withPostgres(direct, (sql) => sql.unsafe(`ALTER ROLE "${role}" RESET synchronous_commit`));
    }
  });

  testPooler("LG7 a tail sees what another handle writes", async () => {
    const { url, direct } = await behind({ pool_mode: "transaction" });
    const schema = new URL(direct).searchParams.get("schema") ?? "";
    const [reader, writer] = [await open(url(schema)), await open(url(schema))];
    // Its event has the seq 1.
    await writer.sessions.create({ id: "s" });
    const over = new AbortController();
    const seen: string[] = [];
    const tailing = (async () => {
      for await (const { type } of reader.log.tail("s", { after: 1, signal: over.signal })) {
        seen.push(type);
        over.abort();
      }
    })();
    await writer.log.annotate("s", { n: 1 });
    await tailing;
    expect(seen).toHaveLength(1);
    await Promise.all([reader.close(), writer.close()]);
  });

  testPooler("ST14 statement pooling is refused and the error names the setting", async () => {
    const { url, direct } = await behind({ pool_mode: "statement", ignore_startup_parameters: IGNORED });
    const schema = new URL(direct).searchParams.get("schema") ?? "";
    await expect(open(url(schema))).rejects.toMatchObject({
      code: "BadUrl",
      hint: expect.stringContaining("pool_mode = transaction"),
    });
  });
});
