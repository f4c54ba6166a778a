// Killing with -9: writers on SQLite and on PostgreSQL, and the PostgreSQL server itself. Whatever was acknowledged is
// there, once, and the chain holds. (For SQLite this says nothing about power loss: see powerloss.test.ts.)
import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type PostgresServer, startPostgres } from "../../scripts/postgres.ts";
import { isHoldfastError } from "../../src/contracts/errors.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { scaled } from "../../src/testing/scale.ts";
import { Acknowledgements, examine, type FoundMessage, textOf } from "./examine.ts";
import { type Child, Children } from "./process.ts";
import { schemaOn, TestStores } from "./stores.ts";

const stores = new TestStores();
const children = new Children(stores.folder);
const servers: PostgresServer[] = [];

// A child that ends by itself leaves its compiled code to the others, which start faster with it.
beforeAll(() =>
  children
    .start({ script: "writer.ts", args: { url: stores.file(), writer: "first", session: "chat", count: 1 } })
    .done(),
);
afterEach(() => children.end());
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await stores.remove();
});

/** Messages of one appendMany. */
const MANY = 5;

/** One by one, several at a time to the same session with keys, and many in one commit to another session. */
function start(url: string, run: number, acknowledged: Acknowledgements): Child {
  return children.start({
    script: "writer.ts",
    args: {
      url,
      writer: `single${run}`,
      session: "chat",
      beside: [
        { writer: `keyed${run}`, session: "chat", window: 3, keyed: true },
        { writer: `many${run}`, session: "batches", many: MANY },
        { writer: `other${run}`, session: `session${run % 3}`, window: 2 },
      ],
    },
    onLine: (line) => acknowledged.note(line),
  });
}

/** Most of the time while it writes, now and then while it starts and opens. */
async function killSoon(child: Child, run: number): Promise<void> {
  if (run % 7 === 6) await sleep(randomInt(0, 250));
  else {
    await child.heard("ack");
    await sleep(randomInt(10, 81));
  }
  const { signal } = await child.kill();
  expect(signal, child.errors || "the writer ended by itself").toBe("SIGKILL");
}

/** Waits for so many more acknowledgements, however slow the machine is; a writer that ended gives none. */
async function growth(acknowledged: Acknowledgements, more: number, writer?: Child): Promise<void> {
  const goal = acknowledged.count + more;
  while (acknowledged.count < goal) {
    if (writer?.isOver === true) throw new Error(`the writer ended by itself: ${writer.errors}`);
    await sleep(5);
  }
}

/** An appendMany is one commit: of each there is all or nothing, and no other writer's message in between. */
function expectWholeBatches(found: readonly FoundMessage[]): void {
  for (let i = 0; i < found.length; i += MANY) {
    const [first, ...rest] = found.slice(i, i + MANY);
    if (first === undefined) break;
    expect(first.n % MANY).toBe(0);
    expect(rest).toEqual(
      Array.from({ length: MANY - 1 }, (_, k) => ({
        seq: first.seq + k + 1,
        writer: first.writer,
        n: first.n + k + 1,
      })),
    );
  }
}

async function expectEverything(url: string, acknowledged: Acknowledgements): Promise<void> {
  const store = await open(url);
  await acknowledged.compare(store);
  expectWholeBatches(await examine(store, "batches"));
  await store.close();
}

/** How often writers are killed. */
const KILLS = scaled({ short: 8, long: 60 });
const KILLS_BESIDE = scaled({ short: 6, long: 40 });
const KILLS_CREATING = scaled({ short: 8, long: 15 });
const KILLS_OF_CLIENTS = scaled({ short: 8, long: 20 });
const KILLS_OF_SERVER = scaled({ short: 2, long: 5 });

describe("killed writers", () => {
  test(`ST1 SQLite: a writer killed ${KILLS} times at any moment, and its successor goes on with what it left`, async () => {
    const url = stores.file();
    const acknowledged = new Acknowledgements();
    for (let run = 0; run < KILLS || acknowledged.count < scaled({ short: 50, long: 500 }); run++) {
      await killSoon(start(url, run, acknowledged), run);
      // In between it is the next writer that finds the log as the killed one left it.
      if (run % 4 === 3) await expectEverything(url, acknowledged);
    }
    await expectEverything(url, acknowledged);
  });

  test(`ST1 SQLite: writers killed ${KILLS_BESIDE} times while another one is writing, which notices nothing`, async () => {
    const url = stores.file();
    const acknowledged = new Acknowledgements();
    const lane = async (first: number) => {
      for (let run = first; run < KILLS_BESIDE || acknowledged.count < scaled({ short: 50, long: 500 }); run += 2)
        await killSoon(start(url, run, acknowledged), run);
    };
    const survivor = start(url, 100_000, acknowledged);
    await survivor.heard("ready");
    await Promise.all([lane(0), lane(1)]);
    await growth(acknowledged, 1, survivor);
    await survivor.kill();
    expect(survivor.errors).toBe("");
    await expectEverything(url, acknowledged);
  });

  test("ST4 SQLite: killed while it creates the store, and the next one opens it all the same", async () => {
    for (let run = 0; run < KILLS_CREATING; run++) {
      const url = stores.file("young");
      const acknowledged = new Acknowledgements();
      const child = start(url, run, acknowledged);
      const ready = child.heard("ready").catch(() => undefined);
      // Where the creation happens differs between machines: the delays spread over the whole start.
      await Promise.race([ready, sleep(40 + (run * 150) / KILLS_CREATING)]);
      await child.kill();
      const store = await open(url);
      await store.history.append({ session: "chat", agent: "next" }, { role: "user", content: textOf("next", 0) });
      acknowledged.add("chat", { seq: (await store.log.anchor("chat")).seq, writer: "next", n: 0 });
      await acknowledged.compare(store);
      await store.close();
    }
  });

  test(`ST1 PostgreSQL: a client killed ${KILLS_OF_CLIENTS} times at any moment`, async () => {
    const url = await stores.schema();
    const acknowledged = new Acknowledgements();
    for (let run = 0; run < KILLS_OF_CLIENTS || acknowledged.count < scaled({ short: 20, long: 50 }); run++) {
      await killSoon(start(url, run, acknowledged), run);
      if (run % 5 === 4) await expectEverything(url, acknowledged);
    }
    await expectEverything(url, acknowledged);
  });
});

describe("a killed server", () => {
  interface Load {
    readonly acknowledged: Acknowledgements;
    readonly retries: () => number;
    stop(): Promise<void>;
  }

  /** Writers of one handle that try again with the same key whatever says that it may succeed later. */
  function load(store: Holdfast, lanes: number): Load {
    const acknowledged = new Acknowledgements();
    let retries = 0;
    let going = true;
    const append = async (writer: string, session: string, n: number) => {
      const message = { role: "user", content: textOf(writer, n), key: `${writer}-${n}` } as const;
      for (;;) {
        try {
          const { seq } = await store.history.append({ session, agent: writer }, message);
          return acknowledged.add(session, { seq, writer, n });
        } catch (error) {
          if (!isHoldfastError(error) || !error.retryable) throw error;
          retries++;
          await sleep(10);
        }
      }
    };
    const lane = async (writer: string, session: string) => {
      for (let n = 0; going; n++) await append(writer, session, n);
    };
    const names = Array.from({ length: lanes }, (_, i) => `lane${i}`);
    const running = Promise.all(names.map((name, i) => lane(name, i % 2 === 0 ? "chat" : `own${i}`)));
    running.catch(() => undefined);
    return {
      acknowledged,
      retries: () => retries,
      stop: async () => {
        going = false;
        await running;
      },
    };
  }

  test(`ST1 PostgreSQL killed and started again ${KILLS_OF_SERVER} times under one handle, which reconnects by itself`, async () => {
    const server = await startPostgres();
    servers.push(server);
    const url = schemaOn(server.url);
    const store = await open(url);
    const { acknowledged, retries, stop } = load(store, 6);
    for (let round = 0; round < KILLS_OF_SERVER; round++) {
      await growth(acknowledged, 200);
      await sleep(randomInt(0, 100));
      const before = retries();
      await server.kill();
      await sleep(randomInt(0, 300));
      await server.restart();
      await growth(acknowledged, 50);
      expect(retries(), "nobody noticed that the server was away").toBeGreaterThan(before);
    }
    await stop();
    await acknowledged.compare(store);
    await store.close();

    const another = await open(url);
    await acknowledged.compare(another);
    await another.close();
  });

  test("ST1 PostgreSQL: what was acknowledged just before the crash is there without any retry", async () => {
    const server = await startPostgres();
    servers.push(server);
    const url = schemaOn(server.url);
    const acknowledged = new Acknowledgements();
    for (let run = 0; run < scaled({ short: 2, long: 3 }); run++) {
      const child = start(url, run, acknowledged);
      await growth(acknowledged, scaled({ short: 15, long: 17 }), child);
      await sleep(randomInt(100, 200));
      await server.kill();
      await child.kill();
      await server.restart();
      await expectEverything(url, acknowledged);
    }
  });
});
