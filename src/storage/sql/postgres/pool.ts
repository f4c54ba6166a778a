// Connections to one PostgreSQL store. A pool that lost its server is given up for a new one: the client puts broken
// connections back among the open ones and waits longer and longer before it tries again, and neither is wanted here.
import type postgresJs from "postgres";
import type { Environment } from "../../../contracts/environment.ts";
import { HoldfastError } from "../../../contracts/errors.ts";
import { isUnreachable, postgresError } from "./errors.ts";

export type Sql = postgresJs.Sql;
export type Reserved = postgresJs.ReservedSql;

export interface PoolOptions {
  readonly url: string;
  readonly schema: string;
  readonly durability: "full" | "normal";
  readonly poolSize: number;
  readonly environment: Environment;
}

/** How long a server may take to answer at all, and connections to end. */
const CONNECT_MS = 10_000;
const END_SECONDS = 2;

export class Pool {
  /** Server and schema, never a password. */
  readonly target: string;
  readonly #make: () => Sql;
  #sql: Sql;
  #ended = false;

  constructor(target: string, make: () => Sql) {
    this.target = target;
    this.#make = make;
    this.#sql = make();
  }

  get sql(): Sql {
    return this.#sql;
  }

  /** Runs it on a connection of its own, which goes back only if it still works. */
  async reserved<T>(run: (connection: Reserved) => Promise<T>): Promise<T> {
    return this.guarded(async (sql) => {
      const connection = await sql.reserve();
      try {
        const result = await run(connection);
        connection.release();
        return result;
      } catch (error) {
        if (!isUnreachable(error)) connection.release();
        throw error;
      }
    });
  }

  async guarded<T>(run: (sql: Sql) => Promise<T>): Promise<T> {
    const sql = this.#sql;
    try {
      return await run(sql);
    } catch (error) {
      if (isUnreachable(error)) this.#renew(sql);
      throw error;
    }
  }

  #renew(lost: Sql): void {
    if (this.#sql !== lost || this.#ended) return;
    this.#sql = this.#make();
    lost.end({ timeout: 0 }).catch(() => {});
  }

  /** A client of its own to listen with; the caller ends it. */
  listener(): Sql {
    return this.#make();
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#sql.end({ timeout: END_SECONDS });
  }
}

export async function openPool(options: PoolOptions): Promise<Pool> {
  const { default: connect } = await import("postgres").catch((cause) => {
    throw new HoldfastError("MissingDependency", "the package `postgres` is not installed", {
      hint: "npm install postgres",
      cause,
    });
  });
  const url = new URL(options.url);
  const target = `postgres://${url.host}${url.pathname} schema ${options.schema}`;
  const pool = new Pool(target, () => connect(options.url, clientOptions(options)) as unknown as Sql);
  try {
    await answered(pool, options.environment);
    return pool;
  } catch (error) {
    await pool.end().catch(() => {});
    throw postgresError(error, target);
  }
}

function clientOptions(options: PoolOptions): postgresJs.Options<{ bigint: postgresJs.PostgresType<number> }> {
  return {
    max: options.poolSize,
    idle_timeout: 30,
    connect_timeout: CONNECT_MS / 1000,
    onnotice: () => {},
    // int8 as numbers: everything we keep in one is far below 2^53.
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
    connection: {
      application_name: "holdfast",
      search_path: options.schema,
      // Our statements are few, constant and prepared: planning each execution anew would cost more than running it.
      plan_cache_mode: "force_generic_plan",
      jit: "off",
      synchronous_commit: options.durability === "full" ? "on" : "off",
    } as Record<string, string>,
  };
}

/** The client would try for ever where something answers that is no PostgreSQL. */
async function answered(pool: Pool, environment: Environment): Promise<void> {
  const over = new AbortController();
  const late = environment.sleep(CONNECT_MS, over.signal).then(() => {
    if (over.signal.aborted) return;
    throw Object.assign(new Error("no answer"), { code: "CONNECT_TIMEOUT" });
  });
  try {
    await Promise.race([pool.sql.unsafe("SELECT 1").execute(), late]);
  } finally {
    over.abort();
  }
}
