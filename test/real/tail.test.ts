// The live tail across processes: what another process appends arrives soon, in order and without gaps, wherever the
// tail starts and however slowly it is read, also when the PostgreSQL server goes away in between.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { startPostgres } from "../../scripts/postgres.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { Log, LogEvent } from "../../src/contracts/log.ts";
import { open } from "../../src/open.ts";
import { scaled } from "../../src/testing/scale.ts";
import { allEvents, textOf } from "./examine.ts";
import { type Child, Children } from "./process.ts";
import { ENGINES, schemaOn, TestStores } from "./stores.ts";

const stores = new TestStores();
const children = new Children(stores.folder);

afterEach(() => children.end());
afterAll(() => stores.remove());

/** The usual time between an acknowledgement in the other process and the event in this one. */
const USUAL_MS = 500;
/** The longest: word from the other process may get lost, and then a tail looks again after two seconds. */
const SOON_MS = 2500;
/** Messages of each of the processes that write at full speed. */
const BUSY = scaled({ short: 80, long: 250 });

/** Reads on by itself and notes when each event came. */
class Follower {
  readonly events: LogEvent[] = [];
  readonly arrived = new Map<number, number>();
  readonly #stop = new AbortController();
  readonly #over: Promise<void>;
  #failure: unknown;

  constructor(store: Holdfast, options: NonNullable<Parameters<Log["tail"]>[1]> = {}) {
    const tail = store.log.tail("chat", { ...options, signal: this.#stop.signal });
    this.#over = this.#follow(tail).catch((error: unknown) => {
      this.#failure = error;
    });
  }

  async #follow(tail: AsyncIterable<LogEvent>): Promise<void> {
    for await (const event of tail) {
      this.events.push(event);
      this.arrived.set(event.seq, performance.now());
    }
  }

  async until(seq: number, ms: number): Promise<void> {
    const deadline = performance.now() + ms;
    while ((this.events.at(-1)?.seq ?? 0) < seq) {
      if (this.#failure !== undefined) throw this.#failure;
      if (performance.now() > deadline) throw new Error(`at ${this.events.at(-1)?.seq}, waiting for ${seq}`);
      await sleep(2);
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#over;
    if (this.#failure !== undefined) throw this.#failure;
  }
}

async function begun(url: string): Promise<Holdfast> {
  const store = await open(url);
  await store.history.append({ session: "chat", agent: "first" }, { role: "user", content: textOf("first", 0) });
  return store;
}

/** When each seq was acknowledged in the child, as heard here. */
function writer(
  url: string,
  args: Readonly<Record<string, unknown>>,
): { child: Child; acknowledged: Map<number, number> } {
  const acknowledged = new Map<number, number>();
  const child = children.start({
    script: "writer.ts",
    args: { url, writer: "writer", session: "chat", ...args },
    onLine: (line) => {
      const [word, , seq] = line.split(" ");
      if (word === "ack") acknowledged.set(Number(seq), performance.now());
    },
  });
  return { child, acknowledged };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function expectPromptness(follower: Follower, acknowledged: ReadonlyMap<number, number>): void {
  const delays = [...acknowledged].map(([seq, said]) => (follower.arrived.get(seq) ?? Number.POSITIVE_INFINITY) - said);
  expect(Math.max(...delays)).toBeLessThan(SOON_MS);
  // Without word from the other process it would be found only by looking again every now and then.
  expect(median(delays)).toBeLessThan(USUAL_MS);
}

describe.each(ENGINES)("a tail of what another process writes (%s)", (engine) => {
  test("LG7 sees each event soon, in order, from wherever it starts", async () => {
    const url = await stores.fresh(engine);
    const store = await begun(url);
    const whole = new Follower(store);
    await whole.until(2, SOON_MS);
    const { child, acknowledged } = writer(url, { count: 40, pauseMs: 40 });
    await whole.until(20, 120_000);
    const behind = new Follower(store, { after: 12 });
    const live = new Follower(store, { after: "end" });
    await child.done();
    await Promise.all([whole, behind, live].map((follower) => follower.until(42, SOON_MS)));
    await Promise.all([whole, behind, live].map((follower) => follower.stop()));

    const events = await allEvents(store, "chat");
    expect(events).toHaveLength(42);
    expect(whole.events).toEqual(events);
    expect(behind.events).toEqual(events.slice(12));
    const [first] = live.events;
    expect(first?.seq).toBeGreaterThan(20);
    expect(live.events).toEqual(events.slice((first?.seq ?? 0) - 1));
    expect(acknowledged.size).toBe(40);
    expectPromptness(whole, acknowledged);
    await store.close();
  });

  test("LG7 does not depend on how busy the others are: 4 processes at full speed", async () => {
    const url = await stores.fresh(engine);
    const store = await begun(url);
    const follower = new Follower(store);
    const writers = ["a", "b", "c", "d"].map((name) => writer(url, { writer: name, count: BUSY, window: 5 }));
    await Promise.all(writers.map(({ child }) => child.done()));
    await follower.until(4 * BUSY + 2, SOON_MS);
    await follower.stop();
    expect(follower.events).toEqual(await allEvents(store, "chat"));
    for (const { acknowledged } of writers) expectPromptness(follower, acknowledged);
    await store.close();
  });

  test("LG7 sees soon what a process writes just before it closes the store and ends", async () => {
    const url = await stores.fresh(engine);
    const store = await begun(url);
    const follower = new Follower(store);
    const delays: number[] = [];
    for (let round = 0; round < 5; round++) {
      const { child, acknowledged } = writer(url, { writer: `brief${round}`, count: 1 });
      await child.done();
      const [[seq, said] = [0, 0]] = acknowledged;
      await follower.until(seq, SOON_MS);
      delays.push((follower.arrived.get(seq) ?? 0) - said);
    }
    await follower.stop();
    expect(median(delays), `${delays.map(Math.round).join(" ")} ms`).toBeLessThan(USUAL_MS);
    await store.close();
  });

  test("LG7 that is not read while 5,000 events arrive gets them all afterwards, in order", async () => {
    const url = await stores.fresh(engine);
    const store = await begun(url);
    const slow = store.log.tail("chat")[Symbol.asyncIterator]();
    expect((await slow.next()).value).toMatchObject({ seq: 1 });
    await writer(url, { count: 5000, many: 50, window: 4 }).child.done();
    const seqs: number[] = [];
    while (seqs.length < 5001) {
      const { value, done } = await slow.next();
      if (done === true) throw new Error(`the tail ended after ${seqs.length}`);
      seqs.push(value.seq);
    }
    expect(seqs).toEqual(Array.from({ length: 5001 }, (_, i) => i + 2));
    await slow.return?.();
    await store.close();
  });
});

describe("a tail when the server goes away", () => {
  test.each([
    ["restarted", false],
    ["killed and restarted", true],
  ])("LG7 PostgreSQL %s: the tail goes on behind the last event it saw", async (_, crash) => {
    const server = await startPostgres();
    try {
      const url = schemaOn(server.url);
      const store = await begun(url);
      const follower = new Follower(store);
      const { child, acknowledged } = writer(url, { keyed: true, pauseMs: 10 });
      await follower.until(20, 120_000);
      if (crash) {
        await server.kill();
        await sleep(2500);
      }
      await server.restart();
      const heard = acknowledged.size;
      const more = async () => {
        while (acknowledged.size < heard + 20) await sleep(10);
      };
      await Promise.race([more(), child.ended().then(() => Promise.reject(new Error(child.errors)))]);
      await child.kill();
      await follower.until(Math.max(...acknowledged.keys()), 120_000);
      await follower.stop();
      expect(follower.events.map(({ seq }) => seq)).toEqual(follower.events.map((_, i) => i + 1));
      await store.close();
    } finally {
      await server.stop();
    }
  });
});
