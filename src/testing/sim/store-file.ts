// The store file of a simulation: a real file with a real WAL, in memory if the machine has a folder for that. Creating
// a store and connecting to it takes longer than most simulations, so the next simulation reuses the emptied store.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import type { Environment } from "../../contracts/environment.ts";
import type { Driver, Param, Plan, Statement } from "../../storage/sql/driver.ts";
import { simulatedEnvironment } from "../environment.ts";
import { bound } from "./driver.ts";
import { engine, loadEngine } from "./engine.ts";

const idle: SimulatedStoreFile[] = [];

/** One simulation uses the file at a time; it calls `leave` on success and `remove` otherwise. */
export class SimulatedStoreFile {
  readonly #directory: string;
  readonly #path: string;
  readonly #drivers = new Map<string, Driver>();
  #environment: Environment = simulatedEnvironment(0);
  #empty: readonly Statement[] = [];

  private constructor() {
    this.#directory = mkdtempSync(path.join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "holdfast-sim-"));
    this.#path = path.join(this.#directory, "store");
    process.once("exit", () => this.#erase());
  }

  static async acquire(environment: Environment): Promise<SimulatedStoreFile> {
    await loadEngine();
    const place = idle.pop() ?? (await SimulatedStoreFile.#make());
    place.#environment = environment;
    return place;
  }

  static async #make(): Promise<SimulatedStoreFile> {
    const place = new SimulatedStoreFile();
    const driver = await place.connect("observer");
    await engine().openOn({ ...bound(driver), close: async () => {} }, { environment: simulatedEnvironment(0) });
    place.#empty = await emptyingStatements(driver);
    return place;
  }

  /** The connections of that name. */
  async connect(name: string): Promise<Driver> {
    const known = this.#drivers.get(name);
    if (known !== undefined) return known;
    const environment: Environment = {
      now: () => this.#environment.now(),
      monotonic: () => this.#environment.monotonic(),
      random: (bytes) => this.#environment.random(bytes),
      sleep: (ms, signal) => this.#environment.sleep(ms, signal),
      defer: (run) => this.#environment.defer(run),
      log: (level, event, fields) => this.#environment.log(level, event, fields),
    };
    const driver = await engine().openSqlite({ path: this.#path, durability: "normal", busyMs: 30_000, environment });
    this.#drivers.set(name, driver);
    return driver;
  }

  async reuse(): Promise<void> {
    const statements = this.#empty;
    const plan = function* (): Plan<void> {
      yield { statements, last: true };
    };
    await (await this.connect("observer")).transact(plan);
    idle.push(this);
  }

  async remove(): Promise<void> {
    for (const driver of this.#drivers.values()) await driver.close();
    this.#erase();
  }

  #erase(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** Statements that reset every table to that of a new store. */
async function emptyingStatements(driver: Driver): Promise<readonly Statement[]> {
  const tables = (await driver.read(driver.dialect.tableNames, [])).map((row) => String(Object.values(row)[0]));
  const statements: Statement[] = [];
  for (const table of tables) {
    statements.push({ kind: "query", sql: `DELETE FROM ${table}`, params: [] });
    for (const row of await driver.read(`SELECT * FROM ${table}`, [])) {
      const names = Object.keys(row);
      const sql = `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
      statements.push({ kind: "query", sql, params: Object.values(row) as Param[] });
    }
  }
  return statements;
}
