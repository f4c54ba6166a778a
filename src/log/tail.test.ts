// Many tails of one handle: counts their queries, and tests that every tail gets every event once and in order, also if
// notifications are lost.
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore } from "../../test/engines.ts";
import type { Environment } from "../contracts/environment.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Log, LogEvent } from "../contracts/log.ts";
import { realEnvironment } from "../core/environment.ts";
import { createSessionLookup } from "../core/session-lookup.ts";
import { createPayloads } from "../storage/blobs/payloads.ts";
import type { Driver } from "../storage/sql/driver.ts";
import { QUERIES } from "../storage/sql/statements.ts";
import { SqlStorage } from "../storage/sql/store.ts";
import { simulatedEnvironment } from "../testing/environment.ts";
import { bound } from "../testing/sim/driver.ts";
import { createLog } from "./log.ts";

const TAILS = 200;
/** How often the waker checks all followed logs without a notification. */
const LOOK_MS = 2000;

/** Only changes the interval of the waker's own checks; the engine's polling continues. */
function lookingEvery(ms: number): Environment {
  const real = realEnvironment();
  return { ...real, sleep: (asked, signal) => real.sleep(asked === LOOK_MS ? ms : asked, signal) };
}

/** The queries of tails to an engine, by session. */
class ReadCounter {
  reads: string[] = [];
  lookups: (readonly string[])[] = [];

  counting(driver: Driver): Driver {
    return {
      ...bound(driver),
      read: (sql, params) => {
        if (sql === QUERIES.get("events.read").sql || sql === QUERIES.get("session.get").sql)
          this.reads.push(String(params[0]));
        return driver.read(sql, params);
      },
      lookup: (sql, keys) => {
        this.lookups.push(keys.map(String));
        return driver.lookup(sql, keys);
      },
    };
  }

  forget(): void {
    this.reads = [];
    this.lookups = [];
  }
}

interface Handle {
  readonly storage: SqlStorage;
  readonly log: Log;
}

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function handle(driver: Driver, environment: Environment): Handle {
  const storage = new SqlStorage(driver, environment);
  const lookup = createSessionLookup(storage, { url: "here", storeId: "here" });
  return { storage, log: createLog(storage, createPayloads(storage), lookup) };
}

/** Creates a session, which is one event. */
function create({ storage }: Handle, session: string): Promise<unknown> {
  const at = storage.environment.now();
  return storage.commit({
    sessions: [{ id: session, mode: "create", at }],
    events: [{ session, type: "session/created", at }],
  });
}

/** Writes one more event. */
function write({ storage }: Handle, session: string): Promise<unknown> {
  const at = storage.environment.now();
  return storage.commit({
    sessions: [{ id: session, mode: "existing", at }],
    events: [{ session, type: "note", at, data: {} }],
  });
}

/** Reads a tail in the background; a slow reader pauses after every event. */
class Reader {
  readonly seqs: number[] = [];
  readonly over: Promise<void>;
  readonly #stop = new AbortController();

  constructor({ log }: Handle, session: string, pause?: () => Promise<void>) {
    const events = log.tail(session, { signal: this.#stop.signal });
    this.over = this.#follow(events, pause);
  }

  async #follow(events: AsyncIterable<LogEvent>, pause?: () => Promise<void>): Promise<void> {
    for await (const { seq } of events) {
      this.seqs.push(seq);
      await pause?.();
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.over;
  }
}

async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries++) {
    if (tries > 2000) throw new Error("it did not come to that");
    await sleep(5);
  }
}

function counted(from: number): number[] {
  return Array.from({ length: from }, (_, i) => i + 1);
}

async function fresh(engine: (typeof ENGINES)[number]): Promise<EngineStore> {
  const ground = await engine.fresh();
  ends.push(() => ground.end());
  return ground;
}

/** A handle whose tails are counted: so many, of the sessions s0, s1 …, all waiting. */
async function followed(
  ground: EngineStore,
  sessions: number,
  lookMs: number,
): Promise<[Handle, ReadCounter, readonly Reader[]]> {
  const asked = new ReadCounter();
  const here = handle(asked.counting(ground.driver), lookingEvery(lookMs));
  const names = Array.from({ length: TAILS }, (_, i) => `s${i % sessions}`);
  await Promise.all([...new Set(names)].map((name) => create(here, name)));
  const readers = names.map((name) => new Reader(here, name));
  ends.push(async () => {
    for (const reader of readers) await reader.stop();
    await here.storage.close();
  });
  await until(() => readers.every(({ seqs }) => seqs.length === 1));
  // When the listener of PostgreSQL is connected, all logs are checked once.
  await sleep(100);
  asked.forget();
  return [here, asked, readers];
}

const NEVER_MS = 3_600_000;

/** A driver whose reads of events, once done, are not answered from `holdAnswers()` on until what that returned is called. */
function withHeldAnswers(driver: Driver): { readonly driver: Driver; readonly holdAnswers: () => () => void } {
  let held: Promise<void> | null = null;
  return {
    driver: {
      ...bound(driver),
      read: async (sql, params) => {
        const rows = await driver.read(sql, params);
        if (sql === QUERIES.get("events.read").sql && held !== null) await held;
        return rows;
      },
    },
    holdAnswers: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return () => {
        held = null;
        resolve();
      };
    },
  };
}

describe.each(ENGINES)("many tails on $name", (engine) => {
  test("LG7 appends to one session cost the tails of 199 others no query", async () => {
    const ground = await fresh(engine);
    const [here, asked, readers] = await followed(ground, TAILS, NEVER_MS);
    for (let n = 0; n < 20; n++) {
      await write(here, "s7");
      await sleep(5);
    }
    await until(() => readers[7]?.seqs.length === 21);
    await sleep(60);
    expect(new Set(asked.reads)).toEqual(new Set(["s7"]));
    expect(asked.reads.length).toBeLessThanOrEqual(20);
    expect(new Set(asked.lookups.flat())).toEqual(new Set(engine.name === "sqlite" ? [] : ["s7"]));
  });

  test("LG7 a write of another handle costs one lookup, and one read per session with new events", async () => {
    const ground = await fresh(engine);
    const [, asked, readers] = await followed(ground, TAILS, NEVER_MS);
    const other = handle(await ground.another(), realEnvironment());
    await write(other, "s7");
    await until(() => readers[7]?.seqs.length === 2);
    await sleep(60);
    expect(asked.reads).toEqual(["s7"]);
    expect(asked.lookups.length).toBeLessThanOrEqual(2);
    await other.storage.close();
  });

  test("LG7 tails of one session that are woken together share their reads", async () => {
    const ground = await fresh(engine);
    const [here, asked, readers] = await followed(ground, 1, NEVER_MS);
    for (let n = 2; n <= 11; n++) {
      await write(here, "s0");
      await until(() => readers.every(({ seqs }) => seqs.length === n));
    }
    expect(asked.reads.length).toBeLessThanOrEqual(10);
  });

  test("LG7 every tail gets every event once and in order, when every notification is lost", async () => {
    const ground = await fresh(engine);
    const deaf = { ...bound(ground.driver), watch: () => () => {} };
    const here = handle(deaf, lookingEvery(10));
    const other = handle(await ground.another(), realEnvironment());
    const names = Array.from({ length: 12 }, (_, i) => `s${i}`);
    await Promise.all(names.map((name) => create(here, name)));
    let turn = 0;
    const nowAndThen = async () => {
      if (turn++ % 7 === 0) await sleep(1);
    };
    const readers = names.flatMap((name) =>
      [1, 2, 3, 4].map((n) => new Reader(here, name, n > 2 ? nowAndThen : undefined)),
    );
    await Promise.all(
      [here, other].map(async (by, i) => {
        for (let n = 0; n < 120; n++) await write(by, `s${(n * (i + 5)) % 12}`);
      }),
    );
    // This handle is not notified of the last event in every session.
    for (const name of names) await write(other, name);
    const lengths = new Map<string, number>();
    for (const name of names) lengths.set(name, (await other.log.read(name)).length);
    expect([...lengths.values()].reduce((a, b) => a + b)).toBe(264);
    await until(() => readers.every(({ seqs }, i) => seqs.length >= (lengths.get(names[i >> 2] ?? "") ?? 0)));
    for (const [i, { seqs }] of readers.entries()) expect(seqs).toEqual(counted(lengths.get(names[i >> 2] ?? "") ?? 0));
    for (const reader of readers) await reader.stop();
    await Promise.all([here, other].map(({ storage }) => storage.close()));
  });
});

const SQLITE = ENGINES.filter(({ name }) => name === "sqlite");

describe.each(SQLITE)("a tail on $name, with a clock of its own", (engine) => {
  test("LG7 a tail that is not read keeps no resources, and continues where it was", async () => {
    const ground = await fresh(engine);
    const asked = new ReadCounter();
    const environment = simulatedEnvironment(1);
    const here = handle(asked.counting(ground.driver), environment);
    await create(here, "s");
    const tail = here.log.tail("s")[Symbol.asyncIterator]();
    expect((await tail.next()).value).toMatchObject({ seq: 1 });
    await environment.advance(3 * LOOK_MS);
    asked.forget();
    await environment.advance(3 * LOOK_MS);
    expect(asked.lookups).toEqual([]);
    await write(here, "s");
    expect((await tail.next()).value).toMatchObject({ seq: 2 });
    const waiting = tail.next();
    await environment.advance(3 * LOOK_MS);
    expect(asked.lookups).toEqual([["s"], ["s"], ["s"]]);
    await write(here, "s");
    expect((await waiting).value).toMatchObject({ seq: 3 });
    await here.storage.close();
    expect((await tail.next()).done).toBe(true);
  });

  test("LG7 a tail that is ended while it waits ends at once, and then returns no event", async () => {
    const ground = await fresh(engine);
    const here = handle(ground.driver, lookingEvery(NEVER_MS));
    await create(here, "s");
    const tail = here.log.tail("s")[Symbol.asyncIterator]();
    expect((await tail.next()).value).toMatchObject({ seq: 1 });
    const waiting = tail.next();
    await sleep(20);
    await tail.return?.();
    expect(await waiting).toEqual({ value: undefined, done: true });
    await write(here, "s");
    expect(await tail.next()).toEqual({ value: undefined, done: true });
    await here.storage.close();
  });

  test("LG7 calls that do not wait for each other are answered in order", async () => {
    const ground = await fresh(engine);
    const here = handle(ground.driver, lookingEvery(NEVER_MS));
    await create(here, "s");
    const tail = here.log.tail("s", { types: ["note"] })[Symbol.asyncIterator]();
    const asked = Array.from({ length: 6 }, () => tail.next());
    for (let n = 0; n < 5; n++) await write(here, "s");
    const given = await Promise.all(asked.slice(0, 5));
    expect(given.map(({ value }) => value?.seq)).toEqual([2, 3, 4, 5, 6]);
    await here.storage.close();
    expect((await asked[5])?.done).toBe(true);
  });

  test("LG7 a tail whose events another has just read gives them without a read, each once", async () => {
    const ground = await fresh(engine);
    const asked = new ReadCounter();
    const here = handle(asked.counting(ground.driver), simulatedEnvironment(1));
    await create(here, "s");
    for (let n = 0; n < 30; n++) await write(here, "s");
    const [idle, first, late] = [30, 0, 12].map((after) => here.log.tail("s", { after })[Symbol.asyncIterator]());
    await idle?.next();
    await first?.next();
    asked.forget();
    const seqs: unknown[] = [];
    for (let n = 0; n < 19; n++) seqs.push((await late?.next())?.value?.seq);
    expect(seqs).toEqual(counted(31).slice(12));
    // It has looked up the session, and has not read events.
    expect(asked.reads).toEqual(["s"]);
    await write(here, "s");
    expect((await late?.next())?.value).toMatchObject({ seq: 32 });
    for (let n = 2; n <= 32; n++) expect((await first?.next())?.value).toMatchObject({ seq: n });
    await here.storage.close();
  });

  test("LG7 a tail does not rely on a read that began before the write that woke it", async () => {
    const { driver, holdAnswers } = withHeldAnswers((await fresh(engine)).driver);
    const here = handle(driver, lookingEvery(NEVER_MS));
    await create(here, "s");
    const early = new Reader(here, "s");
    await until(() => early.seqs.length === 1);
    const answer = holdAnswers();
    // Its read has found no event and is not answered yet when the event is written and wakes the other tail.
    const late = here.log.tail("s", { after: 1 })[Symbol.asyncIterator]();
    const first = late.next();
    await sleep(20);
    await write(here, "s");
    await sleep(20);
    answer();
    await until(() => early.seqs.length === 2);
    expect((await first).value).toMatchObject({ seq: 2 });
    await early.stop();
    await here.storage.close();
  });

  test("LG7 a tail that shares a read still gets events written before that read was answered", async () => {
    const { driver, holdAnswers } = withHeldAnswers((await fresh(engine)).driver);
    const here = handle(driver, lookingEvery(NEVER_MS));
    await create(here, "s");
    await write(here, "s");
    const answer = holdAnswers();
    const first = new Reader(here, "s");
    await sleep(20);
    // The read has found two events and is not answered yet.
    await write(here, "s");
    const second = new Reader(here, "s");
    await sleep(20);
    answer();
    await until(() => [first, second].every(({ seqs }) => seqs.length === 3));
    await Promise.all([first, second].map((reader) => reader.stop()));
    await here.storage.close();
  });

  test("LG7 a tail whose read failed reads again when the store answers", async () => {
    const ground = await fresh(engine);
    const environment = simulatedEnvironment(1);
    let isAway = false;
    const answer = <T>(ask: () => Promise<T>): Promise<T> =>
      isAway ? Promise.reject(new HoldfastError("StoreUnreachable", "the server is away")) : ask();
    const { driver } = ground;
    const unsteady: Driver = {
      ...bound(driver),
      read: (sql, params) => answer(() => driver.read(sql, params)),
      lookup: (sql, keys) => answer(() => driver.lookup(sql, keys)),
    };
    const here = handle(unsteady, environment);
    await create(here, "s");
    const tail = here.log.tail("s")[Symbol.asyncIterator]();
    await tail.next();
    const waiting = tail.next();
    await environment.advance(10);
    isAway = true;
    await write(here, "s");
    await environment.advance(2 * LOOK_MS);
    isAway = false;
    await environment.advance(LOOK_MS);
    expect((await waiting).value).toMatchObject({ seq: 2 });
    await here.storage.close();
  });
});
