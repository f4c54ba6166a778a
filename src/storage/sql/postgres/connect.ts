// From a URL to a pool of connections that have the settings a store relies on. Detects a connection pooler: it answers
// with a process id of its own, refuses settings at the start, or drops them.
import type postgresJs from "postgres";
import type { Environment } from "../../../contracts/environment.ts";
import { HoldfastError } from "../../../contracts/errors.ts";
import { type Address, type ClientOptions, CONNECT_MS, Connection, dialAny, type Sql } from "./connection.ts";
import { isUnreachable, postgresError, sqlState } from "./errors.ts";
import { Pool } from "./pool.ts";
import {
  differingSettings,
  KEEPALIVE,
  localSettings,
  READ_SETTINGS,
  type Settings,
  settingsFor,
  settingsRefused,
} from "./settings.ts";
import { settle } from "./statements.ts";

export interface ConnectOptions {
  readonly url: string;
  readonly schema: string;
  readonly durability: "full" | "normal";
  readonly poolSize: number;
  readonly busyMs: number;
  readonly environment: Environment;
}

export interface PostgresAccess {
  readonly pool: Pool;
  readonly settings: Settings;
  /** True behind a pooler: settings of the session may be lost, so every transaction sets them itself. */
  readonly isPooled: boolean;
  /** The URL names a lock_timeout, which is then not lengthened. */
  readonly hasOwnLockTimeout: boolean;
  /** A client of its own to listen with, which reconnects by itself. */
  listen(): Listener;
}

interface Listener {
  readonly client: Sql;
  end(): void;
}

const KEEP_ALIVE_SECONDS = 15;
const IDLE_SECONDS = 30;
const LIFE_SECONDS = 45 * 60;
/** What the client itself reads from the URL; everything else there is a setting of the server. */
const CLIENT_PARAMETERS = new Set([
  "sslmode",
  "ssl",
  "sslnegotiation",
  "target_session_attrs",
  "connect_timeout",
  "keep_alive",
  "max_pipeline",
  "prepare",
  "idle_timeout",
  "max_lifetime",
  "sslrootcert",
]);
/** These settings can only be set when a connection starts. */
const START_PARAMETERS = new Set(["options", "application_name"]);

/** The process id is not a server's: there is a pooler. */
class PoolerFound extends Error {}
/** The connection was closed at BEGIN, as by a pooler that gives every statement another connection. */
class TransactionCut extends Error {}

interface ParsedUrl {
  readonly url: string;
  readonly target: string;
  readonly given: Settings;
  readonly start: Settings;
  readonly idleMs: number;
  readonly lifeMs: number;
  readonly keepAlive: number;
  readonly isPooled: boolean;
}

function parse({ url: text, schema }: ConnectOptions): ParsedUrl {
  const url = new URL(text);
  const target = `postgres://${url.host}${url.pathname} schema ${schema}`;
  const given: Record<string, string> = {};
  const start: Record<string, string> = { application_name: "holdfast" };
  for (const [name, value] of [...url.searchParams]) {
    if (CLIENT_PARAMETERS.has(name)) continue;
    (START_PARAMETERS.has(name) ? start : given)[name] = value;
    url.searchParams.delete(name);
  }
  const seconds = (name: string, fallback: number) => {
    const number = Number(url.searchParams.get(name) ?? fallback);
    return Number.isFinite(number) && number > 0 ? number : fallback;
  };
  return {
    url: url.href,
    target,
    given,
    start,
    isPooled: url.searchParams.get("prepare") === "false",
    idleMs: seconds("idle_timeout", IDLE_SECONDS) * 1000,
    lifeMs: seconds("max_lifetime", LIFE_SECONDS) * 1000,
    keepAlive: seconds("keep_alive", KEEP_ALIVE_SECONDS),
  };
}

export async function connectPostgres(options: ConnectOptions): Promise<PostgresAccess> {
  const { default: connect } = await import("postgres").catch((cause) => {
    throw new HoldfastError("MissingDependency", "the package `postgres` is not installed", {
      hint: "npm install postgres",
      cause,
    });
  });
  const parsed = parse(options);
  const make = (own: ClientOptions) => connect(parsed.url, own) as unknown as Sql;
  if (!parsed.isPooled) {
    try {
      return await openAccess(options, parsed, make, false);
    } catch (error) {
      if (!(error instanceof PoolerFound)) throw postgresError(error, parsed.target);
    }
  }
  try {
    return await openAccess(options, parsed, make, true);
  } catch (error) {
    throw postgresError(error, parsed.target);
  }
}

async function openAccess(
  options: ConnectOptions,
  parsed: ParsedUrl,
  make: (own: ClientOptions) => Sql,
  isPooled: boolean,
): Promise<PostgresAccess> {
  const { environment } = options;
  const { target, idleMs, lifeMs, given } = parsed;
  const settings = settingsFor(options, given);
  const common = clientOptions(parsed, isPooled ? parsed.start : { ...parsed.start, ...settings, ...KEEPALIVE });
  const makeOne = (own: ClientOptions) => make({ ...common, ...own });
  let isOpened = false;
  const pool = new Pool({
    size: options.poolSize,
    idleMs,
    lifeMs,
    environment,
    target,
    open: async (onClose) => {
      for (let cuts = 0; ; cuts++) {
        const connection = new Connection(makeOne, environment, !isPooled, onClose);
        try {
          await (isPooled ? verifyPooled : verifyDirect)(connection, settings, target);
          return connection;
        } catch (error) {
          connection.destroy();
          // A handle that has begun with direct connections cannot change to a pooler.
          if (error instanceof PoolerFound && isOpened) throw settingsRefused(target, ["search_path"]);
          if (!(error instanceof TransactionCut)) throw error;
          // A single failure may be chance.
          if (cuts > 0) throw settingsRefused(target, ["transactions"]);
        }
      }
    },
  });
  try {
    // Longer than a single try, whose error says more.
    await pool.alone(2 * CONNECT_MS, async () => {});
    isOpened = true;
  } catch (error) {
    await pool.end();
    throw error;
  }
  return {
    pool,
    settings,
    isPooled,
    hasOwnLockTimeout: given.lock_timeout !== undefined,
    listen: () => listener(makeOne),
  };
}

async function verifyDirect(connection: Connection, settings: Settings): Promise<void> {
  try {
    const rows = await connection.open(READ_SETTINGS);
    const pid = Number(rows[0]?.pid);
    if (rows.state?.pid !== pid || differingSettings(rows[0], settings).length > 0) throw new PoolerFound();
    connection.pid = pid;
  } catch (error) {
    // The error of a pooler for an unknown start setting.
    if (sqlState(error) === "08P01") throw new PoolerFound();
    throw error;
  }
}

async function verifyPooled(connection: Connection, settings: Settings, target: string): Promise<void> {
  await connection.open("SELECT 1");
  try {
    await connection.run("BEGIN");
  } catch (error) {
    if (isUnreachable(error)) throw new TransactionCut("no transaction", { cause: error });
    throw error;
  }
  const [, rows] = await settle([localSettings(settings), READ_SETTINGS, "COMMIT"].map((one) => connection.run(one)));
  const differing = differingSettings(rows?.[0], settings);
  if (differing.length > 0) throw settingsRefused(target, differing);
}

function clientOptions(
  { keepAlive }: ParsedUrl,
  connection: Settings,
): postgresJs.Options<{ bigint: postgresJs.PostgresType<number> }> {
  return {
    // The pool closes unused connections, not the client: the client does not know that a transaction is between two
    // round trips.
    ...({ idle_timeout: null, max_lifetime: null, keep_alive: keepAlive } as object),
    connect_timeout: CONNECT_MS / 1000,
    onnotice: () => {},
    fetch_types: false,
    // int8 as numbers: everything we keep in one is far below 2^53.
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
    connection: connection as Record<string, string>,
  };
}

function listener(make: (own: ClientOptions) => Sql): Listener {
  const over = { isOver: false };
  let socket: Awaited<ReturnType<typeof dialAny>> | null = null;
  const redial = async (address: Address) => {
    if (over.isOver) throw new Error("the listener has ended");
    return dialAny(address, (one) => {
      socket = one;
    });
  };
  const client = make({ max: 1, ...({ socket: redial } as object) });
  return {
    client,
    end: () => {
      over.isOver = true;
      client.end({ timeout: 0 }).catch(() => {});
      socket?.destroy();
    },
  };
}
