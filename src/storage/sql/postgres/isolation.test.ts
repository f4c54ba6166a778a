// Commits see what those before them have done, whatever the server's default is for transactions.
import { randomBytes } from "node:crypto";
import pg from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { postgresUrl } from "../../../../test/engines.ts";
import { countEvents, migrateToNewer } from "../../../../test/newer-version.ts";
import { realEnvironment } from "../../../core/environment.ts";
import { open } from "../../../open.ts";
import { range } from "../../../testing/expect.ts";
import { openPostgres } from "./driver.ts";

const SETTINGS = { durability: "full", busyMs: 10_000, poolSize: 1, environment: realEnvironment() } as const;

const name = `hf_test_${randomBytes(6).toString("hex")}`;
const sql = pg(postgresUrl(), { max: 1, onnotice: () => undefined });
beforeAll(async () => {
  await sql.unsafe(`CREATE ROLE ${name} LOGIN SUPERUSER PASSWORD '${name}'`);
  await sql.unsafe(`ALTER ROLE ${name} SET default_transaction_isolation = 'repeatable read'`);
});
afterAll(async () => {
  await sql.unsafe(`DROP SCHEMA IF EXISTS "${name}" CASCADE`);
  await sql.unsafe(`DROP ROLE ${name}`);
  await sql.end();
});

const ID = "0b5c8a5e-8b0a-4ad0-9d2c-6f6f0a1f7c11";

test("ST2 of captures begun at once in different sessions one is the newest, also where transactions are repeatable reads", async () => {
  const url = new URL(postgresUrl());
  [url.username, url.password] = [name, name];
  url.searchParams.set("schema", name);
  const first = await open(url.href);
  const handles = [first, ...(await Promise.all(range(3).map(() => open(url.href))))];
  for (const round of range(10)) {
    const request = `req-${round}`;
    for (const n of handles.keys()) await first.sessions.create({ id: `s-${round}-${n}` });
    await Promise.all(
      handles.map(({ captures }, n) =>
        captures.save({
          request,
          agent: "claude-code",
          sessionId: ID,
          cwd: "/w",
          session: `s-${round}-${n}`,
          basis: null,
          onConflict: "keep",
          // Of the same bytes they would wait for each other's blob.
          files: [{ role: "transcript", path: `project/${ID}.jsonl`, content: Buffer.from(`{"n":"${round} ${n}"}\n`) }],
        }),
      ),
    );
    const { items } = await first.captures.list({ request, diverged: true });
    expect(items.filter(({ diverged }) => !diverged)).toHaveLength(1);
    expect(items).toHaveLength(handles.length);
  }
  for (const handle of handles) await handle.close();
});

test("ST4 a commit that waited for a migration is refused, also where transactions are repeatable reads", async () => {
  const url = new URL(postgresUrl());
  [url.username, url.password] = [name, name];
  url.searchParams.set("schema", `${name}_newer`);
  const hf = await open(url.href);
  const driver = await openPostgres({ ...SETTINGS, url: postgresUrl(), schema: `${name}_newer` });
  try {
    const append = () => hf.history.append({ session: "s", agent: "ada" }, { role: "user", content: "one" });
    // The first makes the session, the second learns where it is: from then on an append is one statement.
    for (const _ of range(3)) await append();
    const migration = migrateToNewer(driver, ["SELECT pg_sleep(0.3)"]);
    const refusal = (async () => {
      for (;;) await append();
    })();
    await expect(refusal).rejects.toMatchObject({ code: "SchemaTooNew" });
    await migration;
    const [before, now] = await countEvents(driver);
    expect(now).toBe(before);
  } finally {
    await hf.close();
    await driver.close();
    await sql.unsafe(`DROP SCHEMA IF EXISTS "${name}_newer" CASCADE`);
  }
});
