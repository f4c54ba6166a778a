// A child that migrates a store and stops in the middle: it says "stopped" after so many statements of the migration, and
// then does nothing any more, inside of its transaction.
import { realEnvironment } from "../../src/core/environment.ts";
import type { Driver, Row } from "../../src/storage/sql/driver.ts";
import { migrate } from "../../src/storage/sql/migrations.ts";
import { openPostgres } from "../../src/storage/sql/postgres/driver.ts";
import { openSqlite } from "../../src/storage/sql/sqlite/driver.ts";
import { say } from "./say.ts";

export interface MigratorArguments {
  readonly url: string;
  readonly stopAfter: number;
}

const environment = realEnvironment();
const SETTINGS = { durability: "full", busyMs: 10_000, poolSize: 1, environment } as const;

function connect(target: string): Promise<Driver> {
  if (!target.startsWith("postgres")) return openSqlite({ ...SETTINGS, path: target });
  const url = new URL(target);
  const schema = url.searchParams.get("schema") ?? "";
  url.searchParams.delete("schema");
  return openPostgres({ ...SETTINGS, url: url.href, schema });
}

function stopForEver(): void {
  say("stopped");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

/** One statement at a time, and after so many that change something no more. */
function stopping(driver: Driver, stopAfter: number): Driver {
  let done = 0;
  return {
    dialect: driver.dialect,
    read: (sql: string, params: readonly never[]) => driver.read(sql, params),
    migrate: (create: boolean, run) =>
      driver.migrate(create, (execute) =>
        run(async (...sql) => {
          let rows: readonly Row[] = [];
          for (const one of sql) {
            rows = await execute(one);
            if (!one.startsWith("SELECT") && ++done === stopAfter) stopForEver();
          }
          return rows;
        }),
      ),
  } as Driver;
}

const args: MigratorArguments = JSON.parse(process.argv[2] ?? "");
const driver = await connect(args.url);
const options = { create: false, migrate: true, environment, target: args.url };
await migrate(stopping(driver, args.stopAfter), options);
say("migrated");
await driver.close();
