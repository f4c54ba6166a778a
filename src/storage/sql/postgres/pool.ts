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

type Make = (own: postgresJs.Options<{ bigint: postgresJs.PostgresType<number> }>) => Sql;

/**
 * A client of one connection, for one plan at a time. It is opened by a statement of ours before it is reserved: asked
 * for one that is not open, the client either waits for ever or, if it may ask new connections for their types, ends the
 * process when one of them dies while it does (postgres.js issues 751 and 1192).
 */
class Writer {
  readonly #client: Sql;
  #isOpen = false;

  constructor(make: Make) {
    this.#client = make({
      max: 1,
      onclose: () => {
        this.#isOpen = false;
      },
    });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** null when the client is just closing the connection. */
  async reserve(environment: Environment): Promise<Reserved | null> {
    if (!this.#isOpen) {
      await this.#client.unsafe("SELECT 1").execute();
      this.#isOpen = true;
    }
    const reserved = this.#client.reserve();
    reserved.catch(() => {});
    return Promise.race([reserved, new Promise<null>((late) => environment.defer(() => late(null)))]);
  }

  async end(): Promise<void> {
    await this.#client.end({ timeout: 0 }).catch(() => {});
  }
}

export class Pool {
  /** Server and schema, never a password. */
  readonly target: string;
  readonly #environment: Environment;
  readonly #make: Make;
  #sql: Sql;
  #idle: Writer[] = [];
  #ended = false;

  constructor(target: string, environment: Environment, make: Make) {
    this.target = target;
    this.#environment = environment;
    this.#make = make;
    this.#sql = make({});
  }

  /** For single statements. */
  get sql(): Sql {
    return this.#sql;
  }

  /** Runs it on a connection of its own, which is used again only if it still works. */
  async reserved<T>(run: (connection: Reserved) => Promise<T>): Promise<T> {
    return this.guarded(async () => {
      const [writer, connection] = await this.#reserve();
      try {
        const result = await run(connection);
        this.#giveBack(writer, connection);
        return result;
      } catch (error) {
        if (isUnreachable(error)) void writer.end();
        else this.#giveBack(writer, connection);
        throw error;
      }
    });
  }

  async #reserve(): Promise<readonly [Writer, Reserved]> {
    for (;;) {
      const writer = this.#idle.pop() ?? new Writer(this.#make);
      try {
        const connection = await writer.reserve(this.#environment);
        if (connection !== null) return [writer, connection];
        void writer.end();
      } catch (error) {
        void writer.end();
        throw error;
      }
    }
  }

  #giveBack(writer: Writer, connection: Reserved): void {
    // The client would put a broken connection among the open ones.
    if (!writer.isOpen || this.#ended) void writer.end();
    else {
      connection.release();
      this.#idle.push(writer);
    }
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

  /** Those that work for somebody just now are left alone: whether they are lost as well, they will see. */
  #renew(lost: Sql): void {
    if (this.#sql !== lost || this.#ended) return;
    this.#sql = this.#make({});
    lost.end({ timeout: 0 }).catch(() => {});
    for (const writer of this.#idle.splice(0)) void writer.end();
  }

  /** A client of its own to listen with; the caller ends it. */
  listener(): Sql {
    return this.#make({});
  }

  async end(): Promise<void> {
    this.#ended = true;
    await Promise.all([...this.#idle.splice(0).map((writer) => writer.end()), this.#sql.end({ timeout: END_SECONDS })]);
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
  const common = clientOptions(options);
  const pool = new Pool(
    target,
    options.environment,
    (own) => connect(options.url, { ...common, ...own }) as unknown as Sql,
  );
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
    // One is for the writer, which is a client of its own.
    max: Math.max(1, options.poolSize - 1),
    idle_timeout: 30,
    connect_timeout: CONNECT_MS / 1000,
    onnotice: () => {},
    fetch_types: false,
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
