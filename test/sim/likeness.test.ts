// The simulated server makes the same statements wait as PostgreSQL: every pair of steps that our plans have, the first
// in an open transaction and the second in another, on a real server and on the simulated one.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { GuardName } from "../../src/contracts/storage/commit.ts";
import { sha256 } from "../../src/core/bytes.ts";
import { openOn } from "../../src/open.ts";
import { BLOB_LOOKUP, SESSION_LOOKUP } from "../../src/storage/sql/commit.ts";
import type { BulkSpec, Dialect, Driver, Param, Plan, Row, Statement } from "../../src/storage/sql/driver.ts";
import * as specs from "../../src/storage/sql/specs.ts";
import { GUARDS, STATEMENTS } from "../../src/storage/sql/statements.ts";
import { Disk } from "../../src/testing/sim/disk.ts";
import { bound } from "../../src/testing/sim/driver.ts";
import { Faults } from "../../src/testing/sim/faults.ts";
import { postgresDriver } from "../../src/testing/sim/postgres.ts";
import { Process, Scheduler } from "../../src/testing/sim/scheduler.ts";
import { SimulatedServer } from "../../src/testing/sim/server.ts";
import { SimulatedStoreFile } from "../../src/testing/sim/store-file.ts";
import { ENGINES, type EngineStore } from "../engines.ts";

const LIMITS = { steps: 1e6, ms: 1e12, quietMs: 1e12 };
const HASH = sha256(new Uint8Array([1]));
const STORED = sha256(new Uint8Array([2]));
/** A checksum; nothing compares it here. */
const SUM = "0123456789abcdef";

/** What both servers hold before every pair: each pair is rolled back. */
async function fill(store: Holdfast): Promise<void> {
  for (const session of ["a", "b"]) {
    await store.history.append({ session, agent: "x" }, { role: "user", content: "said" });
  }
  await store.runs.start({ id: "x", version: "1", iterate: (it) => it.done() }, { id: "run", session: "a" });
  await store.blobs.store(new Uint8Array([2]));
}

/** Where the session "a" stands. */
interface SessionTip {
  readonly no: number;
  readonly seq: number;
  readonly chain: Uint8Array;
}

async function sessionTip(driver: Driver): Promise<SessionTip> {
  const [row] = await driver.read("SELECT no, seq, chain FROM sessions WHERE id = ?", ["a"]);
  return { no: Number(row?.no), seq: Number(row?.seq), chain: row?.chain as Uint8Array };
}

function lookup(keys: readonly string[], lock: boolean): Statement {
  return { kind: "lookup", sql: SESSION_LOOKUP, keys, lock };
}

function bulk(spec: BulkSpec, ...rows: readonly (readonly Param[])[]): Statement {
  return { kind: "bulk", spec, rows };
}

const MADE = ["sessions.new", "sessions.other", "agents.new"] as const;

function stepsOf({ lockRow }: Dialect, { no, seq, chain }: SessionTip): ReadonlyMap<string, Statement> {
  const guard = (check: GuardName, ...params: readonly Param[]): Statement => ({
    kind: "query",
    sql: GUARDS.get(check).sql + lockRow,
    params,
  });
  const created = (id: string): Statement => bulk(specs.CREATE_SESSION, [id, null, 1, 1, HASH, SUM]);
  const moved: readonly Param[] = [seq + 1, HASH, 1, 1, 0, no];
  const blob = (hash: Uint8Array): Statement =>
    bulk(specs.PUT_BLOB, [hash, 1, "text/plain", 1, 0, 1, new Uint8Array([1]), "", null, 1, null, 1, SUM]);
  return new Map<string, Statement>([
    ["look at a", lookup(["a"], false)],
    ["lock a", lookup(["a"], true)],
    ["lock b", lookup(["b"], true)],
    ["lock a and b", lookup(["a", "b"], true)],
    ["lock what is not there", lookup(["nothing"], true)],
    ["lock a blob", { kind: "lookup", sql: BLOB_LOOKUP, keys: [STORED], lock: true }],
    ["guard session.version", guard("session.version", "a")],
    ["guard run.epoch", guard("run.epoch", "run")],
    ["guard run.active", guard("run.active", "a")],
    ["guard agent.version", guard("agent.version", "x")],
    ["events beside", { kind: "lock-table", table: "events", how: "beside" }],
    ["events alone", { kind: "lock-table", table: "events", how: "alone" }],
    ["aliases alone", { kind: "lock-table", table: "aliases", how: "alone" }],
    ["create a session", created(MADE[0])],
    ["create another", created(MADE[1])],
    ["register an agent", bulk(specs.REGISTER_AGENT, [MADE[2], new Uint8Array([1]), 1, 1, SUM])],
    ["advance a", bulk(specs.ADVANCE_SESSION, moved)],
    ["add an event", bulk(specs.ADD_EVENT, [no, seq + 1, 1, 1, HASH, HASH, "annotation", null, null, null, null])],
    ["beat", { kind: "query", sql: STATEMENTS.get("run.beat").sql, params: ["run", 0] }],
    ["beat of another epoch", { kind: "query", sql: STATEMENTS.get("run.beat").sql, params: ["run", 99] }],
    ["store a blob", blob(HASH)],
    ["store a blob that is there", blob(STORED)],
    ["fence a", bulk(specs.FENCE_SESSION, [...moved, seq, chain])],
  ]);
}

/** Ends a transaction that was to be held only. */
class RolledBack extends Error {}

async function rolledBack(transaction: Promise<unknown>): Promise<void> {
  await transaction.catch((error: unknown) => {
    if (!(error instanceof RolledBack)) throw error;
  });
}

type HeldTransaction = Generator<
  { readonly statements: readonly Statement[]; readonly last: false },
  never,
  readonly (readonly Row[])[]
>;

function* only(step: Statement): HeldTransaction {
  yield { statements: [step], last: false };
  throw new RolledBack();
}

const WAITING_FOR_US =
  "SELECT count(*) AS n FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))";

/** Whether the second waits for the first, on a real server. */
async function waitsReally(first: Driver, second: Driver, one: Statement, two: Statement): Promise<boolean> {
  let other: Promise<void> | undefined;
  let isOver = false;
  let isWaiting = false;
  const held = function* (): Plan<never> {
    yield { statements: [one], last: false };
    other = rolledBack(second.transact(() => only(two))).finally(() => {
      isOver = true;
    });
    while (!isOver && !isWaiting) {
      const [blocked] = yield { statements: [{ kind: "query", sql: WAITING_FOR_US, params: [] }], last: false };
      isWaiting = Number(blocked?.[0]?.n) > 0;
    }
    throw new RolledBack();
  };
  await rolledBack(first.transact(held));
  await other;
  return isWaiting;
}

class SimulatedPair {
  readonly #scheduler = new Scheduler(1);
  readonly #processes: readonly Process[];
  readonly drivers: readonly Driver[];

  constructor(real: Driver) {
    const faults = new Faults(1, []);
    const server = new SimulatedServer(real, new Process(this.#scheduler, "server", 0), new Disk(faults));
    const timeouts = { lockMs: null, idleInTransactionMs: null, hungMs: 1e9, busyMs: 1e9 };
    this.#processes = ["first", "second"].map((name) => new Process(this.#scheduler, name, 1));
    this.drivers = this.#processes.map((process) => postgresDriver(real, server, process, faults, timeouts));
  }

  async waits(one: Statement, two: Statement): Promise<boolean> {
    const [first, second] = this.drivers;
    const [process, clock] = this.#processes;
    if (first === undefined || second === undefined || process === undefined || clock === undefined) return false;
    const began = this.#scheduler.monotonic;
    const held = function* (): Plan<never> {
      yield { statements: [one], last: false };
      process.freeze(1000, "test");
      yield { statements: [], last: false };
      throw new RolledBack();
    };
    let ended = 0;
    const other = clock.environment.sleep(1).then(async () => {
      await rolledBack(second.transact(() => only(two)));
      ended = this.#scheduler.monotonic - began;
    });
    await this.#scheduler.drive(Promise.all([rolledBack(first.transact(held)), other]), LIMITS);
    return ended >= 1000;
  }
}

for (const engine of ENGINES.filter(({ name }) => name === "postgres")) {
  describe("the simulated server", () => {
    let ground: EngineStore;
    let other: Driver;
    let place: SimulatedStoreFile;
    beforeAll(async () => {
      ground = await engine.fresh();
      other = await ground.another();
      await fill(await openOn({ ...bound(ground.driver), close: async () => {} }, {}));
      place = await SimulatedStoreFile.acquire(new Process(new Scheduler(1), "observer", 0).environment);
      await fill(await openOn({ ...bound(await place.connect("observer")), close: async () => {} }, {}));
    });
    afterAll(async () => {
      await place.reuse();
      await ground.end();
    });

    test("makes wait whom PostgreSQL makes wait", async () => {
      const simulated = new SimulatedPair(await place.connect("observer"));
      const [driver = ground.driver] = simulated.drivers;
      const real = stepsOf(ground.driver.dialect, await sessionTip(ground.driver));
      const ours = stepsOf(driver.dialect, await sessionTip(await place.connect("observer")));
      const differs: string[] = [];
      let waits = 0;
      for (const [first, one] of real) {
        for (const [second, two] of real) {
          const really = await waitsReally(ground.driver, other, one, two);
          const simulates = await simulated.waits(ours.get(first) ?? one, ours.get(second) ?? two);
          if (really) waits++;
          if (really !== simulates)
            differs.push(`${first}, then ${second}: ${really ? "waits" : "goes on"} on PostgreSQL`);
        }
      }
      expect(differs).toEqual([]);
      expect(waits).toBeGreaterThan(50);
    });
  });
}
