// Commits see what those before them have done, whatever the server's default is for transactions.
import { randomBytes } from "node:crypto";
import pg from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { postgresUrl } from "../../../../test/engines.ts";
import { open } from "../../../open.ts";
import { range } from "../../../testing/expect.ts";

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
          ...{ request, agent: "claude-code", sessionId: ID, cwd: "/w", session: `s-${round}-${n}` },
          ...{ basis: null, onConflict: "keep" },
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
