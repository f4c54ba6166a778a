// Many processes and many handles on one store at once: every append gets its own seq, nothing is lost or doubled, and
// nothing blocks: writers wait by timers, readers do not wait at all.
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { scaled } from "../../src/testing/scale.ts";
import { Acknowledgements, examine, type FoundMessage, foundIn, textOf } from "./examine.ts";
import { type Child, Children } from "./process.ts";
import { ENGINES, TestStores } from "./stores.ts";
import type { TickerReport } from "./ticker.ts";

const stores = new TestStores();
const children = new Children(stores.folder);

afterEach(() => children.end());
afterAll(() => stores.remove());

const WRITERS = 8;
/** Messages that are read as soon as another process has been acknowledged them. */
const READS = scaled({ short: 100, long: 1000 });
const APPENDS = scaled({ short: 100, long: 1000 });

/** Each writer's messages in the order in which it asked for them, none missing. */
function expectAll(found: readonly FoundMessage[], writers: readonly string[], appends: number): void {
  expect(found).toHaveLength(writers.length * appends);
  for (const writer of writers) {
    const own = found.filter((one) => one.writer === writer).map(({ n }) => n);
    expect(own, `messages of ${writer}, in seq order`).toEqual(Array.from({ length: appends }, (_, n) => n));
  }
}

/** How often the next message is another writer's: 0 would mean that they took turns as a whole. */
function switches(found: readonly FoundMessage[]): number {
  return found.filter((one, i) => i > 0 && one.writer !== found[i - 1]?.writer).length;
}

describe.each(ENGINES)("many writers (%s)", (engine) => {
  test(`LG1 8 processes append ${APPENDS} messages each to one session of a store that none of them finds there`, async () => {
    const url = await stores.fresh(engine);
    const acknowledged = new Acknowledgements();
    const names = Array.from({ length: WRITERS }, (_, i) => `writer${i}`);
    // Half of them one by one, half ten at a time, which go into the log in the order in which they were asked for.
    const running = names.map((writer, i) =>
      children.start({
        script: "writer.ts",
        args: { url, writer, session: "chat", count: APPENDS, window: i % 2 === 0 ? 1 : 10 },
        onLine: (line) => acknowledged.note(line),
      }),
    );
    await Promise.all(running.map((child) => child.done()));

    expect(acknowledged.count).toBe(WRITERS * APPENDS);
    const store = await open(url);
    await acknowledged.compare(store);
    const found = await examine(store, "chat");
    expectAll(found, names, APPENDS);
    expect(switches(found), "the writers did not write at the same time").toBeGreaterThan(APPENDS / 10);
    // One event says that the session was created; there is nothing else beside the messages.
    const { seq, messages } = (await store.sessions.get("chat")) ?? {};
    expect({ seq, messages }).toEqual({ seq: WRITERS * APPENDS + 1, messages: WRITERS * APPENDS });
    await store.close();
  });

  test("ST6 8 handles in one process append at the same time", async () => {
    const url = await stores.fresh(engine);
    const handles = await Promise.all(Array.from({ length: WRITERS }, () => open(url, { poolSize: 3 })));
    const names = handles.map((_, i) => `handle${i}`);
    const appends = scaled({ short: 80, long: 200 });
    await Promise.all(
      handles.map(async (handle, i) => {
        const writer = names[i] ?? "";
        for (let n = 0; n < appends; n += 4) {
          const scope = { session: "chat", agent: writer };
          const four = [n, n + 1, n + 2, n + 3];
          await Promise.all(
            four.map((one) => handle.history.append(scope, { role: "user", content: textOf(writer, one) })),
          );
        }
      }),
    );
    const views = await Promise.all(handles.map((handle) => examine(handle, "chat")));
    for (const found of views) expectAll(found, names, appends);
    await Promise.all(handles.map((handle) => handle.close()));
  });

  test("LG1 writers of one process each to a session of its own, and to one they share", async () => {
    const url = await stores.fresh(engine);
    const acknowledged = new Acknowledgements();
    const count = scaled({ short: 60, long: 200 });
    const way = (writer: string, session: string) => ({ writer, session, count, window: 5 });
    const running = ["a", "b", "c"].map((name) =>
      children.start({
        script: "writer.ts",
        args: { url, ...way(`${name}-own`, name), beside: [way(`${name}-shared`, "shared"), way(`${name}-back`, "a")] },
        onLine: (line) => acknowledged.note(line),
      }),
    );
    await Promise.all(running.map((child) => child.done()));
    const store = await open(url);
    await acknowledged.compare(store);
    expect(acknowledged.count).toBe(9 * count);
    expectAll(await examine(store, "shared"), ["a-shared", "b-shared", "c-shared"], count);
    expectAll(await examine(store, "a"), ["a-own", "a-back", "b-back", "c-back"], count);
    await store.close();
  });

  test("ST11 a message acknowledged to another process is there for the next read", async () => {
    const url = await stores.fresh(engine);
    const store = await open(url);
    const reads: Promise<unknown>[] = [];
    const child = children.start({
      script: "writer.ts",
      args: { url, writer: "writer", session: "chat", count: READS },
      onLine: (line) => {
        const [word, session = "", seq = "", , n = ""] = line.split(" ");
        if (word !== "ack") return;
        reads.push(expectToRead(store, session, Number(seq), Number(n)).catch((error: unknown) => error));
      },
    });
    await child.done();
    expect(reads).toHaveLength(READS);
    expect((await Promise.all(reads)).filter((failure) => failure !== undefined)).toEqual([]);
    await store.close();
  });
});

async function expectToRead(store: Holdfast, session: string, seq: number, n: number): Promise<void> {
  const [message] = await store.history.session(session, { after: seq - 1, limit: 1 });
  if (message === undefined) throw new Error(`seq ${seq} was acknowledged and is not there`);
  expect(foundIn(message)).toEqual({ seq, writer: "writer", n });
}

describe("while another process holds SQLite's write lock", () => {
  /** Much longer than a busy machine leaves a process without time. */
  const HELD_MS = 1000;
  /** Of the event loop of the process that waits: the lock is released when it has seen so many. */
  const TICKS = 50;

  interface Scene {
    readonly url: string;
    readonly holder: Child;
    readonly ticker: Child;
  }

  /** `isEmpty`: there is no store in the file yet. */
  async function scene({ isEmpty = false } = {}): Promise<Scene> {
    const url = stores.file();
    if (!isEmpty) {
      const store = await open(url);
      await store.history.append({ session: "chat", agent: "ticker" }, { role: "user", content: textOf("before", 0) });
      await store.close();
    }
    const holder = children.start({ script: "lock-holder.ts", args: { path: url } });
    const ticker = children.start({ script: "ticker.ts", args: { url, enoughTicks: TICKS } });
    await Promise.all([holder.heard("ready"), ticker.heard("ready")]);
    return { url, holder, ticker };
  }

  async function ask(ticker: Child, work: string): Promise<TickerReport> {
    ticker.say(work);
    return JSON.parse(await ticker.heard("measured"));
  }

  /**
   * Several times, because the machine itself makes all processes wait now and then. A process whose event loop stands still
   * does not see the ticks, and its work fails with StoreBusy, because the lock is not released.
   */
  async function whileHeld({ holder, ticker }: Scene, works: readonly string[]): Promise<readonly TickerReport[]> {
    const measured: TickerReport[] = [];
    for (const work of works) {
      holder.say("lock");
      await holder.heard("held");
      ticker.say(work);
      expect(await ticker.heard("waited"), "ticks while the lock was in the way").toBe(String(TICKS));
      holder.say("unlock");
      measured.push(JSON.parse(await ticker.heard("measured")));
      await holder.heard("released");
    }
    return measured;
  }

  function median(values: readonly number[]): number {
    return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
  }

  test("ST6 an append waits by timers, the event loop stays responsive, and the append succeeds", async () => {
    const given = await scene();
    await ask(given.ticker, "open");
    const measured = await whileHeld(given, ["append", "append", "append", "append", "append"]);
    const gaps = measured.map(({ longestGapMs }) => longestGapMs);
    expect(median(gaps), `longest gaps: ${gaps.join(" ")}`).toBeLessThan(HELD_MS / 3);
    expect(Math.max(...gaps), `longest gaps: ${gaps.join(" ")}`).toBeLessThan(HELD_MS / 2);

    await ask(given.ticker, "close");
    const store = await open(given.url);
    expect((await examine(store, "chat")).map(({ writer }) => writer)).toEqual(["before", ...Array(5).fill("ticker")]);
    await store.close();
  });

  test("ST6 creating the store waits by timers too", async () => {
    const given = await scene({ isEmpty: true });
    const [report] = await whileHeld(given, ["open"]);
    expect(report?.longestGapMs).toBeLessThan(HELD_MS / 2);
    await whileHeld(given, ["append"]);
  });

  test("ST11 opening the store does not wait for the writer, nor do readers", async () => {
    const given = await scene();
    for (const work of ["open", "open", "open", "read", "read", "read", "read", "read"]) {
      given.holder.say("lock");
      await given.holder.heard("held");
      // The lock stays until the work is done. What waits for it fails with StoreBusy, and the ticker ends.
      expect(await ask(given.ticker, work)).toMatchObject({ tookMs: expect.any(Number) });
      given.holder.say("unlock");
      await given.holder.heard("released");
    }
  });

  test("ST6 who waits longer than busyMs is told StoreBusy, and the handle goes on", async () => {
    const { url, holder } = await scene();
    const store = await open(url, { busyMs: 50 });
    holder.say("hold 400");
    await holder.heard("held");
    const append = (n: number) =>
      store.history.append({ session: "chat", agent: "late" }, { role: "user", content: textOf("late", n) });
    await expect(append(0)).rejects.toMatchObject({ code: "StoreBusy", retryable: true });
    await holder.heard("released");
    await append(1);
    expect((await examine(store, "chat")).map(({ writer, n }) => [writer, n])).toEqual([
      ["before", 0],
      ["late", 1],
    ]);
    await store.close();
  });
});
