// How many connections a handle makes, what it does when the server has no room for more, which schema it opens, and what
// it says when a role may not, or a server does not answer.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type postgres from "postgres";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { open } from "../../src/open.ts";
import { TestStores, withPostgres } from "./stores.ts";

const stores = new TestStores();
const scope = { session: "s", agent: "a" };
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});
afterAll(() => stores.remove());

const randomName = () => `hf_pool_${randomBytes(5).toString("hex")}`;
const admin = async <T>(work: (sql: postgres.Sql) => Promise<T>) => withPostgres(await stores.schema(), work);
const schemaOf = (url: string) => new URL(url).searchParams.get("schema") ?? "";

/** A role of its own, which is no superuser and may make schemas only if it says so. */
async function asRole(options: string, mayCreate = true): Promise<{ readonly url: string; readonly role: string }> {
  const url = new URL(await stores.schema());
  const role = randomName();
  const database = url.pathname.slice(1);
  await admin(async (sql) => {
    await sql.unsafe(`CREATE ROLE ${role} LOGIN PASSWORD '${role}' ${options}`);
    if (mayCreate) await sql.unsafe(`GRANT CREATE ON DATABASE "${database}" TO ${role}`);
  });
  cleanups.push(() => admin((sql) => sql.unsafe(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`)));
  [url.username, url.password] = [role, role];
  return { url: url.href, role };
}

function named(url: string, name: string): string {
  const one = new URL(url);
  one.searchParams.set("application_name", name);
  return one.href;
}

/** The most connections of that name that were seen while the work went on. */
async function mostConnections(name: string, work: Promise<unknown>): Promise<number> {
  return admin(async (sql) => {
    let most = 0;
    let isOver = false;
    work
      .finally(() => {
        isOver = true;
      })
      .catch(() => undefined);
    while (!isOver) {
      const [row] = await sql`SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = ${name}`;
      most = Math.max(most, row?.n ?? 0);
    }
    await work;
    return most;
  });
}

describe("a handle's connections", () => {
  test("ST13 are never more than poolSize, whatever is asked at once", async () => {
    const url = await stores.schema();
    const name = randomName();
    const store = await open(named(url, name), { poolSize: 3 });
    for (let n = 0; n < 20; n++) await store.history.append(scope, { role: "user", content: `${n}` });
    const all = Promise.all(
      Array.from({ length: 45 }, async (_, n) => {
        await store.query('[:find ?m :where [?m :message/role "user"]]');
        await store.history.get(scope);
        await store.history.append({ session: `s${n}`, agent: "a" }, { role: "user", content: "x" });
        await store.sessions.list();
      }),
    );
    const most = await mostConnections(name, all);
    expect(most).toBeLessThanOrEqual(3);
    expect(most).toBeGreaterThan(1);
    await store.close();
  });

  test("ST13 one is enough, and a tail has one beside them", async () => {
    const url = await stores.schema();
    const name = randomName();
    const store = await open(named(url, name), { poolSize: 1 });
    await store.sessions.create({ id: "s" });
    const over = new AbortController();
    const work = (async () => {
      let seen = 0;
      const writing = Promise.all([1, 2, 3].map((n) => store.history.append(scope, { role: "user", content: `${n}` })));
      for await (const _ of store.log.tail("s", { signal: over.signal })) if (++seen === 4) over.abort();
      await writing;
    })();
    expect(await mostConnections(name, work)).toBeLessThanOrEqual(2);
    await store.close();
  });

  test("ST13 where the server has no room the handle goes on with those it has, and a new handle waits for room", async () => {
    const { url } = await asRole("CONNECTION LIMIT 2");
    const store = await open(url, { poolSize: 8 });
    await store.history.append(scope, { role: "user", content: "0" });
    const calls = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        n % 2 === 0
          ? store.history.append(scope, { role: "user", content: `${n}` })
          : store.query('[:find ?m :where [?m :message/role "user"]]'),
      ),
    );
    expect(calls).toHaveLength(30);
    // Both are taken until the first handle is closed.
    const second = open(url, { poolSize: 1 });
    second.catch(() => undefined);
    await store.history.get(scope);
    await store.close();
    expect(await (await second).history.get(scope)).toHaveLength(16);
    await (await second).close();
  });
});

describe("a schema", () => {
  test("ST14 is the one that is named, in upper and lower case", async () => {
    const base = schemaOf(await stores.schema());
    const names = [`${base}_team`, `${base}_Team`, `${base}_TEAM`];
    cleanups.push(() =>
      admin((sql) => sql.unsafe(`DROP SCHEMA IF EXISTS ${names.map((one) => `"${one}"`).join(", ")} CASCADE`)),
    );
    const ids = new Set<string>();
    for (const name of names) {
      const url = new URL(await stores.schema());
      url.searchParams.set("schema", name);
      const store = await open(url.href);
      ids.add(store.info.storeId);
      await store.state.set("s", { name });
      await store.close();
      const again = await open(url.href, { create: false });
      expect(await again.state.get("s")).toEqual({ name });
      expect(await again.sessions.list()).toMatchObject({ items: [{ id: "s" }] });
      await again.close();
    }
    expect(ids.size).toBe(3);
  });

  test("ST14 that a role owns takes a store, although the role may not make schemas", async () => {
    const { url, role } = await asRole("", false);
    await expect(open(url)).rejects.toMatchObject({
      code: "PermissionDenied",
      hint: expect.stringContaining("CREATE SCHEMA"),
    });
    await admin((sql) => sql.unsafe(`CREATE SCHEMA "${schemaOf(url)}" AUTHORIZATION ${role}`));
    const store = await open(url);
    await store.history.append(scope, { role: "user", content: "mine" });
    await store.close();
  });

  test("ST7 that a role may not use is PermissionDenied with the right to ask for", async () => {
    const owner = await stores.schema();
    await (await open(owner)).close();
    const { url } = await asRole("", false);
    const other = new URL(url);
    other.searchParams.set("schema", schemaOf(owner));
    await expect(open(other.href)).rejects.toMatchObject({
      code: "PermissionDenied",
      hint: expect.stringContaining("GRANT USAGE"),
    });
  });

  test("ST7 on a server that takes no writes is read, and a write is ReadOnly", async () => {
    const { url, role } = await asRole("");
    const store = await open(url);
    await store.history.append(scope, { role: "user", content: "0" });
    await store.close();
    await admin((sql) => sql.unsafe(`ALTER ROLE ${role} SET default_transaction_read_only = on`));
    const reader = await open(url);
    expect(await reader.history.get(scope)).toHaveLength(1);
    const refusal = { code: "ReadOnly", retryable: false, hint: expect.stringContaining("primary") };
    await expect(reader.history.append(scope, { role: "user", content: "1" })).rejects.toMatchObject(refusal);
    await expect(reader.sessions.create({ id: "new" })).rejects.toMatchObject(refusal);
    await reader.close();
    const another = new URL(url);
    another.searchParams.set("schema", randomName());
    await expect(open(another.href)).rejects.toMatchObject(refusal);
  });

  test("ST7 whose statements the server ends early is QueryTimeout, and says which setting to raise", async () => {
    const url = await stores.schema();
    await (await open(url)).close();
    const impatient = new URL(url);
    impatient.searchParams.set("statement_timeout", "50");
    const store = await open(impatient.href);
    await admin((sql) =>
      sql.begin(async (locking) => {
        await locking.unsafe(`LOCK TABLE "${schemaOf(url)}".sessions IN ACCESS EXCLUSIVE MODE`);
        await expect(store.sessions.list()).rejects.toMatchObject({
          code: "QueryTimeout",
          retryable: true,
          hint: expect.stringContaining("statement_timeout"),
        });
      }),
    );
    await store.close();
  });

  test("ST12 whose tables are locked for a while is read when they are free", async () => {
    const url = await stores.schema();
    const store = await open(url);
    await store.sessions.create({ id: "s" });
    const listed = await admin((sql) =>
      sql.begin(async (locking) => {
        await locking.unsafe(`LOCK TABLE "${schemaOf(url)}".sessions IN ACCESS EXCLUSIVE MODE`);
        const waiting = store.sessions.list();
        waiting.catch(() => undefined);
        // Longer than the first try for a lock takes.
        await locking`SELECT pg_sleep(0.5)`;
        return { waiting };
      }),
    );
    expect(await listed.waiting).toMatchObject({ items: [{ id: "s" }] });
    await store.close();
  });
});

/** Hands everything on until it is told to fall silent: then it keeps the connections and says nothing. */
async function silentRelay(to: string): Promise<{ readonly url: string; fallSilent(): void }> {
  const server = new URL(to);
  const sockets = new Set<Socket>();
  let isSilent = false;
  const relay = createServer((client) => {
    const upstream = connect(Number(server.port), server.hostname);
    for (const [from, into] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("error", () => undefined);
      from.on("close", () => into.destroy());
      from.on("data", (bytes) => void (isSilent || into.write(bytes)));
    }
  });
  relay.listen(0, "127.0.0.1");
  await once(relay, "listening");
  cleanups.push(async () => {
    relay.close();
    for (const socket of sockets) socket.destroy();
  });
  const url = new URL(to);
  url.port = String((relay.address() as AddressInfo).port);
  return {
    url: url.href,
    fallSilent: () => {
      isSilent = true;
    },
  };
}

test("ST12 a server that falls silent is StoreUnreachable in bounded time, says that the outcome is unknown, and close() ends", {
  timeout: 120_000,
}, async () => {
  const relay = await silentRelay(await stores.schema());
  const store = await open(relay.url, { busyMs: 500 });
  await store.history.append(scope, { role: "user", content: "0" });
  relay.fallSilent();
  const lost = await store.history.append(scope, { role: "user", content: "1" }).catch((error: unknown) => error);
  expect(lost).toMatchObject({
    code: "StoreUnreachable",
    retryable: true,
    message: expect.stringContaining("whether the commit happened is unknown"),
  });
  await store.close();
});

test("ST12 close() ends soon when the server falls silent right after an acknowledged commit", {
  timeout: 120_000,
}, async () => {
  const relay = await silentRelay(await stores.schema());
  const store = await open(relay.url, { busyMs: 500 });
  // Its notification is not sent yet, and never answered.
  await store.history.append(scope, { role: "user", content: "0" });
  relay.fallSilent();
  await store.close();
});
