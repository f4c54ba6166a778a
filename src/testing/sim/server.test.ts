// The simulated server keeps locks between the round trips of a plan as PostgreSQL does, and releases them when the
// plan ends, the process dies or a timeout of the server expires.
import { describe, expect, test } from "vitest";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { SESSION_LOOKUP } from "../../storage/sql/commit.ts";
import type { Driver, Plan } from "../../storage/sql/driver.ts";
import { GUARDS, STATEMENTS } from "../../storage/sql/statements.ts";
import { SqlStorage } from "../../storage/sql/store.ts";
import { Disk } from "./disk.ts";
import { engine } from "./engine.ts";
import { type Fault, Faults } from "./faults.ts";
import { type PostgresTimeouts, postgresDriver, TIMEOUTS } from "./postgres.ts";
import { Process, Scheduler } from "./scheduler.ts";
import { SimulatedServer } from "./server.ts";
import { SimulatedStoreFile } from "./store-file.ts";
import { touchedRows, writtenTable } from "./touched-rows.ts";

const LIMITS = { steps: 100_000, ms: 1e9, quietMs: 1e9 };
const ENDLESS: PostgresTimeouts = { lockMs: null, idleInTransactionMs: null, hungMs: 60_000, busyMs: 30_000 };

interface Client {
  readonly process: Process;
  readonly driver: Driver;
  readonly store: Holdfast;
}

/** Clients of one server, with the outcome and the second of each. */
class ServerBench {
  readonly scheduler = new Scheduler(1);
  readonly ends: string[] = [];
  readonly place: SimulatedStoreFile;
  readonly #server: SimulatedServer;
  readonly #faults: Faults;

  private constructor(place: SimulatedStoreFile, driver: Driver, faults: readonly Fault[]) {
    this.place = place;
    this.#faults = new Faults(1, faults);
    this.#server = new SimulatedServer(driver, new Process(this.scheduler, "server", 0), new Disk(this.#faults));
  }

  static async make(faults: readonly Fault[] = []): Promise<ServerBench> {
    const place = await SimulatedStoreFile.acquire(new Process(new Scheduler(1), "observer", 0).environment);
    return new ServerBench(place, await place.connect("observer"), faults);
  }

  async client(name: string, timeouts: Partial<PostgresTimeouts> = {}): Promise<Client> {
    const process = new Process(this.scheduler, name, 1);
    const real = await this.place.connect("observer");
    const driver = postgresDriver(real, this.#server, process, this.#faults, { ...ENDLESS, ...timeouts });
    const opened = engine().openOn({ ...driver, close: async () => {} }, { environment: process.environment });
    await this.scheduler.drive(opened, LIMITS);
    return { process, driver, store: await opened };
  }

  async run(...calls: readonly (readonly [name: string, call: Promise<unknown>])[]): Promise<readonly string[]> {
    const started = this.scheduler.monotonic;
    const end = (name: string, how: string) =>
      this.ends.push(`${name} ${how} at ${Math.round((this.scheduler.monotonic - started) / 1000)} s`);
    const all = calls.map(([name, call]) =>
      call.then(
        () => end(name, "done"),
        (error) => end(name, error.code ?? String(error)),
      ),
    );
    await this.scheduler.drive(Promise.all(all), LIMITS);
    return this.ends.splice(0);
  }

  async messages(session: string): Promise<number> {
    const driver = await this.place.connect("observer");
    const sql =
      "SELECT count(*) AS n FROM events e JOIN sessions s ON s.no = e.session_no WHERE s.id = ? AND e.type = 'message/added'";
    return Number((await driver.read(sql, [session]))[0]?.n);
  }
}

function append({ store }: Client, session: string): Promise<unknown> {
  return store.history.append({ session, agent: "a" }, { role: "user", content: "said" });
}

/** Locks these sessions one by one, a trip each, and does something after the first. */
function* locking(sessions: readonly string[], between: () => void = () => {}): Plan<void> {
  for (const [i, key] of sessions.entries()) {
    yield { statements: [{ kind: "lookup", sql: SESSION_LOOKUP, keys: [key], lock: true }], last: false };
    if (i === 0) between();
  }
  yield { statements: [], last: true };
}

/** Writes to the table of events, and does something before it commits. */
function* writing(between: () => void): Plan<void> {
  yield { statements: [{ kind: "lock-table", table: "events", how: "beside" }], last: false };
  between();
  yield { statements: [], last: true };
}

async function withSessions(bench: ServerBench): Promise<void> {
  const first = await bench.client("first");
  await bench.run(["a", append(first, "a")], ["b", append(first, "b")]);
}

test("rows that a statement locks or changes are found for every one of ours", async () => {
  const bench = await ServerBench.make();
  const driver = await bench.place.connect("observer");
  const changes = Object.entries(STATEMENTS.all()).filter(([, sql]) => /^\s*(UPDATE|DELETE)/.test(sql));
  const unknown: string[] = [];
  for (const [name, sql] of [...Object.entries(GUARDS.all()), ...changes]) {
    const params = Array.from({ length: sql.split("?").length - 1 }, () => 1);
    const asked = touchedRows(sql, params);
    if (asked === null || asked.tables[0] !== (writtenTable(sql) ?? asked.tables[0])) unknown.push(name);
    else await driver.read(asked.sql, asked.params).catch((error) => unknown.push(`${name}: ${error}`));
  }
  expect(unknown).toEqual([]);
  const isInsert = ([, sql]: readonly [string, string]) => touchedRows(sql, []) === null && writtenTable(sql) !== null;
  expect(Object.entries(STATEMENTS.all()).filter(isInsert).length).toBe(
    Object.keys(STATEMENTS.all()).length - changes.length,
  );
  await bench.place.reuse();
});

describe("a simulated server", () => {
  test("keeps a row locked while its process stands still, and no other row", async () => {
    const bench = await ServerBench.make();
    await withSessions(bench);
    const [frozen, other, third] = [
      await bench.client("frozen"),
      await bench.client("other"),
      await bench.client("third"),
    ];
    const stops = () => frozen.process.freeze(100_000, "test");
    const ends = await bench.run(
      ["frozen", frozen.driver.transact(() => locking(["a"], stops))],
      ["other", other.process.environment.sleep(1).then(() => append(other, "a"))],
      ["third", third.process.environment.sleep(1).then(() => append(third, "b"))],
    );
    expect(ends).toEqual(["third done at 0 s", "frozen done at 100 s", "other done at 100 s"]);
    await bench.place.reuse();
  });

  test("lets go of the locks of a process that died", async () => {
    const bench = await ServerBench.make();
    await withSessions(bench);
    const [dying, other] = [await bench.client("dying"), await bench.client("other")];
    dying.driver.transact(() => locking(["a"], () => dying.process.freeze(100_000, "test")));
    const killer = new Process(bench.scheduler, "killer", 1);
    const kill = killer.environment.sleep(3000).then(() => dying.process.kill("test"));
    const asks = killer.environment.sleep(1).then(() => append(other, "a"));
    const ends = await bench.run(["killer", kill], ["other", asks]);
    expect(ends).toContain("other done at 3 s");
    await bench.place.reuse();
  });

  test("ends a transaction that was idle for too long: its process is told, the others go on", async () => {
    const bench = await ServerBench.make();
    await withSessions(bench);
    const [frozen, other] = [await bench.client("frozen", { idleInTransactionMs: 5000 }), await bench.client("other")];
    const stops = () => frozen.process.freeze(100_000, "test");
    let trips = 0;
    const plan = () => locking(["a"], () => (++trips === 1 ? stops() : undefined));
    const ends = await bench.run(
      ["frozen", frozen.driver.transact(plan)],
      ["other", other.process.environment.sleep(1).then(() => append(other, "a"))],
    );
    expect(ends[0]).toBe("other done at 5 s");
    expect(ends[1]).toMatch(/^frozen .* at 100 s$/);
    await bench.place.reuse();
  });

  test("refuses a lock after its time; the driver tries again as long as busyMs says", async () => {
    const bench = await ServerBench.make();
    await withSessions(bench);
    const [frozen, other] = [await bench.client("frozen"), await bench.client("other", { lockMs: 200, busyMs: 7000 })];
    const ends = await bench.run(
      ["frozen", frozen.driver.transact(() => locking(["a"], () => frozen.process.freeze(100_000, "test")))],
      ["other", other.process.environment.sleep(1).then(() => append(other, "a"))],
    );
    expect(ends).toEqual(["other StoreBusy at 7 s", "frozen done at 100 s"]);
    await bench.place.reuse();
  });

  test("makes two that create a session at once one after the other", async () => {
    const bench = await ServerBench.make();
    const clients = await Promise.all(["x", "y"].map((name) => bench.client(name)));
    await bench.run(...clients.map((client) => [client.process.name, append(client, "new")] as const));
    expect(await bench.messages("new")).toBe(2);
    await bench.place.reuse();
  });

  test("ends a circle of waiting plans: one is made again", async () => {
    const bench = await ServerBench.make();
    await withSessions(bench);
    const [x, y] = [await bench.client("x"), await bench.client("y")];
    let made = 0;
    const plan = (sessions: readonly string[]) => () => {
      made++;
      return locking(sessions);
    };
    const ends = await bench.run(
      ["x", x.driver.transact(plan(["a", "b"]))],
      ["y", y.driver.transact(plan(["b", "a"]))],
    );
    expect(ends.map((end) => end.slice(0, 6)).sort()).toEqual(["x done", "y done"]);
    expect(made).toBeGreaterThan(2);
    await bench.place.reuse();
  });

  test.each(["connectionLost", "connectionHung"] as const)(
    "%s: the commit happened or not, and its process cannot know",
    async (kind) => {
      const seen = new Set<number>();
      for (let tries = 0; tries < 12; tries++) {
        const here: Fault["filter"] = ({ process, what }) => process === "unlucky" && what === "trip";
        const bench = await ServerBench.make([{ kind, probability: 1, afterN: tries, maxTriggers: 1, filter: here }]);
        const unlucky = await bench.client("unlucky", { idleInTransactionMs: 5000 });
        const ends: string[] = [];
        for (let i = 0; i < 4; i++) ends.push(...(await bench.run(["append", append(unlucky, "s")])));
        const told = ends.filter((end) => end.startsWith("append StoreUnreachable"));
        const waited = kind === "connectionHung" ? 60 : 0;
        if (told.length > 0) expect(told).toEqual([`append StoreUnreachable at ${waited} s`]);
        const lost = 4 - (await bench.messages("s"));
        expect(lost).toBeLessThanOrEqual(told.length);
        if (told.length > 0) seen.add(lost);
        await bench.place.reuse();
      }
      expect([...seen].sort()).toEqual([0, 1]);
    },
  );

  test("ST12 an index that waits for a table behind a frozen peer does not make others wait with it", async () => {
    const bench = await ServerBench.make();
    await withSessions(bench);
    const [frozen, index, other] = [
      await bench.client("frozen", TIMEOUTS),
      await bench.client("index", TIMEOUTS),
      await bench.client("other", TIMEOUTS),
    ];
    const writes = [{ op: "run", statement: "inline.index", params: [1] }] as const;
    const storage = new SqlStorage(index.driver, index.process.environment);
    const wait = ({ process }: Client, ms: number) => process.environment.sleep(ms);
    const ends = await bench.run(
      ["frozen", frozen.driver.transact(() => writing(() => frozen.process.freeze(4000, "test")))],
      ["index", wait(index, 1).then(() => storage.commit({ solo: true, settled: true, writes }))],
      ["other", wait(other, 400).then(() => append(other, "b"))],
    );
    expect(ends).toEqual(["index StoreBusy at 0 s", "other done at 0 s", "frozen done at 4 s"]);
    await bench.place.reuse();
  });

  test("writes commits one after the other on a slow disk", async () => {
    const slow: Fault = {
      kind: "slowDisk",
      probability: 1,
      maxTriggers: 1,
      ms: 1e8,
      filter: ({ process }) => process === "slow",
    };
    const bench = await ServerBench.make([slow]);
    const [first, other] = [await bench.client("slow"), await bench.client("other")];
    const ends = await bench.run(
      ["slow", append(first, "a")],
      ["other", other.process.environment.sleep(10).then(() => append(other, "b"))],
    );
    const [one, two] = ends.map((end) => Number(/at (\d+) s/.exec(end)?.[1]));
    expect(one).toBeGreaterThan(1);
    expect(two).toBe(one);
    await bench.place.reuse();
  });
});
