// Stores that cannot be opened or were damaged, servers out of reach, handles that are closed: always a typed error
// that names what happened, in reasonable time, never a crash and never wrong words.
import { once } from "node:events";
import * as fs from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { isHoldfastError } from "../../src/contracts/errors.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { isLong } from "../../src/testing/scale.ts";
import { allEvents, examine, foundIn, textOf } from "./examine.ts";
import { ENGINES, TestStores, withPostgres } from "./stores.ts";

const stores = new TestStores();
afterAll(() => stores.remove());

const scope = { session: "chat", agent: "writer" };

async function fresh(url: string, messages: number): Promise<void> {
  const store = await open(url);
  for (let n = 0; n < messages; n += 50) {
    const count = Math.min(50, messages - n);
    const many = Array.from({ length: count }, (_, i) => ({ role: "user", content: textOf("writer", n + i) }) as const);
    await store.history.appendMany(scope, many);
  }
  await store.close();
}

function schemaOf(url: string): string {
  return new URL(url).searchParams.get("schema") ?? "";
}

describe("paths that are no stores", () => {
  test("ST7 a folder that is not there", async () => {
    const url = path.join(stores.folder, "nowhere", "store.db");
    await expect(open(url)).rejects.toMatchObject({ code: "MissingDirectory" });
    expect(fs.existsSync(path.dirname(url))).toBe(false);
  });

  test("ST7 a file where a folder should be", async () => {
    const file = stores.file();
    fs.writeFileSync(file, "");
    await expect(open(path.join(file, "store.db"))).rejects.toMatchObject({ code: "MissingDirectory" });
  });

  test("ST7 a folder instead of a file", async () => {
    await expect(open(stores.folder)).rejects.toMatchObject({ code: "BadUrl" });
  });

  test.each([
    ["text", Buffer.from("this is not a database, and it is longer than its header would be ".repeat(100))],
    ["a few words", Buffer.from("buy milk")],
    ["noise", Buffer.from(Array.from({ length: 20_000 }, (_, i) => (i * 7919) % 251))],
  ])("ST7 a file of %s, which stays as it is", async (_, bytes) => {
    const file = stores.file("other");
    fs.writeFileSync(file, bytes);
    await expect(open(file)).rejects.toMatchObject({ code: "NotAStore" });
    expect(fs.readFileSync(file).equals(bytes)).toBe(true);
  });

  test("ST7 somebody else's SQLite database, which keeps its tables", async () => {
    const file = stores.file("other");
    const db = new DatabaseSync(file);
    db.exec("CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('soup')");
    await expect(open(file)).rejects.toMatchObject({ code: "NotAStore" });
    expect(db.prepare("SELECT name FROM recipes").all()).toEqual([{ name: "soup" }]);
    db.close();
  });

  test("ST7 somebody else's PostgreSQL schema", async () => {
    const url = await stores.schema();
    await withPostgres(url, async (sql) => {
      await sql.unsafe(`CREATE SCHEMA ${schemaOf(url)}; CREATE TABLE ${schemaOf(url)}.recipes (name text)`);
    });
    await expect(open(url)).rejects.toMatchObject({ code: "NotAStore" });
  });
});

describe.each(ENGINES)("a store of a newer version (%s)", (engine) => {
  async function changeVersion(url: string, version: string): Promise<void> {
    const update = `UPDATE holdfast_meta SET value = '${version}' WHERE name = 'schema'`;
    if (engine === "postgres") {
      await withPostgres(url, (sql) => sql.unsafe(update.replace("holdfast_meta", `${schemaOf(url)}.holdfast_meta`)));
      return;
    }
    const db = new DatabaseSync(url);
    db.exec(update);
    db.close();
  }

  test("ST4 is refused with SchemaTooNew, and is as good as before", async () => {
    const url = await stores.fresh(engine);
    await fresh(url, 3);
    const { info, close } = await open(url);
    await close();
    await changeVersion(url, "999");
    const refusal = { code: "SchemaTooNew", details: { found: 999 } };
    await expect(open(url)).rejects.toMatchObject(refusal);
    await expect(open(url, { create: false, migrate: false })).rejects.toMatchObject(refusal);
    await changeVersion(url, String(info.schemaVersion));
    const store = await open(url);
    expect(await examine(store, "chat")).toHaveLength(3);
    await store.close();
  });

  test("ST4 is refused when it does not say which version it is", async () => {
    const url = await stores.fresh(engine);
    await fresh(url, 1);
    await changeVersion(url, "");
    await expect(open(url)).rejects.toMatchObject({ code: "StoreCorrupted" });
  });
});

describe("a damaged file", () => {
  const PAGE = 4096;
  const MESSAGES = 300;

  /** Everything a reader and a writer may do; a word for each outcome. Wrong words are not an outcome. */
  async function use(url: string): Promise<readonly string[]> {
    let store: Holdfast | undefined;
    const works: (() => Promise<unknown>)[] = [
      async () => {
        store = await open(url);
      },
      async () => {
        // Some may be out of sight when an index is damaged; those that are read are what was written, in order.
        const found = ((await store?.history.session("chat")) ?? []).map(foundIn);
        expect(found.map(({ n }) => n)).toEqual(found.map(({ n }) => n).sort((a, b) => a - b));
      },
      async () => (store === undefined ? undefined : await allEvents(store, "chat")),
      async () => {
        const report = await store?.log.verify("chat");
        if (report?.ok === false) return "chain";
      },
      async () => store?.sessions.list(),
      async () => store?.history.append(scope, { role: "user", content: textOf("writer", MESSAGES) }),
      async () => store?.close(),
    ];
    const outcomes: string[] = [];
    for (const work of works) {
      try {
        outcomes.push((await work()) === "chain" ? "chain" : "fine");
      } catch (error) {
        if (!isHoldfastError(error)) throw error;
        outcomes.push(error.code);
      }
    }
    return outcomes;
  }

  const TYPED = ["fine", "chain", "StoreCorrupted", "NotAStore", "BlobCorrupted", "BlobNotFound", "NotFound"].concat([
    "UnsupportedSchemaVersion",
    "SessionDeleted",
    "ExecutionCorrupted",
  ]);

  // In `npm test` each page has one of the damages, in turn; in test:long it has all of them.
  test("ST7 each page overwritten in turn: a typed error or nothing to notice, never wrong words", async () => {
    const url = stores.file();
    await fresh(url, MESSAGES);
    const whole = fs.readFileSync(url);
    const copy = stores.fleeting("damaged");
    const seen = new Map<string, number>();
    const garbage = Buffer.from(Array.from({ length: PAGE }, (_, i) => (i * 31 + 7) % 256));
    const damages = [
      (at: number) => Buffer.concat([whole.subarray(0, at), garbage, whole.subarray(at + PAGE)]),
      (at: number) => Buffer.concat([whole.subarray(0, at), Buffer.alloc(PAGE), whole.subarray(at + PAGE)]),
      (at: number) => Buffer.from(whole).fill(0xa5, at + PAGE - 700, at + PAGE - 600),
    ];
    for (let at = 0; at < whole.length; at += PAGE) {
      for (const [kind, damage] of damages.entries()) {
        if (!isLong && kind !== (at / PAGE) % damages.length) continue;
        for (const suffix of ["-wal", "-shm"]) fs.rmSync(copy + suffix, { force: true });
        fs.writeFileSync(copy, damage(at));
        for (const outcome of await use(copy)) {
          expect(TYPED, `page ${at / PAGE}, damage ${kind}`).toContain(outcome);
          seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
        }
      }
    }
    expect([...seen.keys()]).toEqual(expect.arrayContaining(["StoreCorrupted", "NotAStore", "fine"]));
  });

  test("ST7 cut short anywhere: a typed error", async () => {
    const url = stores.file();
    await fresh(url, MESSAGES);
    const whole = fs.readFileSync(url);
    const copy = stores.fleeting("cut");
    for (const length of [1, 99, 100, 512, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE, whole.length / 2, whole.length - PAGE]) {
      for (const suffix of ["-wal", "-shm"]) fs.rmSync(copy + suffix, { force: true });
      fs.writeFileSync(copy, whole.subarray(0, length));
      const outcomes = await use(copy);
      for (const outcome of outcomes) expect(TYPED, `cut at ${length}`).toContain(outcome);
      expect(new Set(outcomes).size, `cut at ${length}, and nobody noticed`).toBeGreaterThan(1);
    }
  });
});

describe("a server out of reach", () => {
  const SOON_MS = 15_000;

  async function refusal(url: string): Promise<unknown> {
    const late = new AbortController();
    const error = await Promise.race([
      open(url).then(
        () => "it was opened",
        (thrown: unknown) => thrown,
      ),
      sleep(SOON_MS, `no answer within ${SOON_MS} ms`, { signal: late.signal }).catch(() => undefined),
    ]);
    late.abort();
    return error;
  }

  test.each([
    ["nobody listens", "postgres://someone:secret@127.0.0.1:1/postgres"],
    ["its name is unknown", "postgres://someone:secret@no-such-host.invalid/postgres"],
  ])("ST7 %s: StoreUnreachable, soon, worth another try, without the password", async (_, url) => {
    const error = await refusal(url);
    expect(error).toMatchObject({ code: "StoreUnreachable", retryable: true });
    expect(JSON.stringify(error)).not.toContain("secret");
  });

  /** Opens a store at a server that treats every connection like this. */
  async function refusalOf(answer: (socket: Socket) => unknown): Promise<unknown> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => undefined);
      answer(socket);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const error = await refusal(`postgres://someone@127.0.0.1:${port}/postgres`);
    server.close();
    for (const socket of sockets) socket.destroy();
    return error;
  }

  test("ST7 it says nothing, hangs up at once, or is no PostgreSQL", async () => {
    const [silent, hangsUp, another] = await Promise.all([
      refusalOf(() => undefined),
      refusalOf((socket) => socket.end()),
      refusalOf((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")),
    ]);
    const unreachable = { code: "StoreUnreachable", retryable: true };
    expect(silent).toMatchObject(unreachable);
    expect(hangsUp).toMatchObject(unreachable);
    expect(another).toMatchObject(unreachable);
  });

  test("ST7 it knows neither the user nor the database", async () => {
    const url = new URL(await stores.schema());
    const stranger = new URL(url);
    stranger.username = "stranger";
    expect(await refusal(stranger.href)).toMatchObject({ code: "PermissionDenied" });
    url.pathname = "/no_such_database";
    expect(await refusal(url.href)).toMatchObject({ code: "NotFound" });
  });
});

describe.each(ENGINES)("closing (%s)", (engine) => {
  test("ST7 waits for what is under way, may be done twice, and refuses calls after it with Closed", async () => {
    const url = await stores.fresh(engine);
    const store = await open(url);
    const appends = Array.from({ length: 20 }, (_, n) =>
      store.history.append(scope, { role: "user", content: textOf("writer", n) }),
    );
    const settled = Promise.allSettled(appends);
    await Promise.all([store.close(), store.close()]);
    expect((await settled).map(({ status }) => status)).toEqual(appends.map(() => "fulfilled"));
    await store.close();

    const calls: (() => unknown)[] = [
      () => store.history.append(scope, { role: "user", content: "late" }),
      () => store.history.get(scope),
      () => store.history.clear(scope),
      () => store.log.read("chat"),
      () => store.log.verify("chat"),
      () => store.log.annotate("chat", { late: true }),
      () => store.sessions.create({ id: "late" }),
      () => store.sessions.list(),
      () => store.state.get("chat"),
      () => store.state.set("chat", { late: 1 }),
      () => store.agents.list(),
      () => store.blobs.store(new TextEncoder().encode("late")),
      () => store.stats(),
    ];
    for (const call of calls) {
      await expect(Promise.resolve().then(call), `${call}`).rejects.toMatchObject({ code: "Closed" });
    }
    const later = await open(url);
    expect(await examine(later, "chat")).toHaveLength(20);
    await later.close();
  });

  test("ST7 `await using` closes", async () => {
    const url = await stores.fresh(engine);
    let kept: Holdfast | undefined;
    {
      await using store = await open(url);
      kept = store;
      await store.history.append(scope, { role: "user", content: textOf("writer", 0) });
    }
    await expect(kept.history.get(scope)).rejects.toMatchObject({ code: "Closed" });
  });
});
