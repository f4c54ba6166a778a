// The entry holdfast/edge, for platforms without a disk and node:sqlite, such as Cloudflare Workers: captures and
// history of a store in PostgreSQL. It uses the same implementation as open(); a test checks all of its imports.
import { createCaptures } from "./captures/captures.ts";
import { OpenClaims } from "./captures/open-claims.ts";
import { storedCapture } from "./captures/rows.ts";
import { catchUpCapture, type ImportStores } from "./coding/catch-up.ts";
import { HoldfastError } from "./contracts/errors.ts";
import type { Holdfast, OpenOptions } from "./contracts/holdfast.ts";
import type { Sessions } from "./contracts/sessions.ts";
import type { Storage } from "./contracts/storage/storage.ts";
import { CAPTURE_VERBS } from "./contracts/verbs/captures.ts";
import { HISTORY_VERBS } from "./contracts/verbs/history.ts";
import { SESSION_VERBS } from "./contracts/verbs/sessions.ts";
import { checkFields, checkInt, checkRecord, checkText, invalid, reading } from "./core/check.ts";
import { createFence, FENCE, type Fencing } from "./core/fence.ts";
import { Lifetime } from "./core/lifetime.ts";
import { platformEnvironment } from "./core/platform-environment.ts";
import { createSessionLookup, type SessionLookup } from "./core/session-lookup.ts";
import { parseStoreUrl, type StoreTarget } from "./core/store-url.ts";
import { STORED, type StoredCaptures } from "./core/stored-capture.ts";
import { createHistory } from "./history/history.ts";
import { createNouns } from "./nouns.ts";
import { createPayloads } from "./storage/blobs/payloads.ts";
import { openPostgres } from "./storage/sql/postgres/driver.ts";
import { openStorage } from "./storage/sql/store.ts";

// Its types are those of "holdfast": `import type { Capture, Message } from "holdfast"` loads no code.
export { HoldfastError, isHoldfastError } from "./contracts/errors.ts";

/** The form of a Hyperdrive binding: `env.HYPERDRIVE`. */
export interface EdgeConnection {
  readonly connectionString: string;
}

/** A client of the package `postgres`. Only its address and credentials are used, not its connections. */
export interface PostgresClient {
  readonly options: {
    readonly host: readonly string[];
    readonly port: readonly number[];
    readonly database: string;
    readonly user: string;
    readonly pass: unknown;
    readonly ssl?: unknown;
  };
}

export interface EdgeOptions extends Pick<OpenOptions, "create" | "migrate" | "busyMs" | "poolSize" | "environment"> {
  /** The schema of the store; "holdfast" if neither this nor the URL names one. */
  readonly schema?: string;
}

/** A part of what open() returns, with the same promises. */
export interface EdgeStore
  extends Pick<Holdfast, "info" | "clock" | "captures" | "history" | "close" | typeof Symbol.asyncDispose> {
  /** The sessions verbs without those that read whole sessions: archives, Markdown, cost, tree and diff. */
  readonly sessions: Omit<Sessions, "export" | "import" | "markdown" | "cost" | "tree" | "diff">;
}

const OPTIONS = ["schema", "create", "migrate", "busyMs", "poolSize", "environment"] as const;
const BUSY_MS = 30_000;
/** A Worker may have six connections at a time. */
const POOL_SIZE = 4;
const WEEK_MS = 7 * 24 * 3600 * 1000;

/** The code of blocks and memories is not in this entry. */
async function refuseSystem(): Promise<never> {
  throw new HoldfastError("InvalidArgument", "holdfast/edge has no blocks and no memories", {
    hint: "Leave out the options blocks and memory, or open the store with holdfast.",
  });
}

/**
 * Opens a store in PostgreSQL. A Worker's connections belong to the request that opened them: open a store in each
 * request, and close it at its end.
 */
export async function openEdge(
  connection: string | EdgeConnection | PostgresClient,
  options: EdgeOptions = {},
): Promise<EdgeStore> {
  const checked = checkRecord(options, "options");
  checkFields(checked, "options", OPTIONS);
  const environment = options.environment ?? platformEnvironment();
  const { url, schema, shown } = targetOf(connection, checked.schema);
  const busyMs = checked.busyMs === undefined ? BUSY_MS : checkInt(checked.busyMs, "busyMs", 0, 1e9);
  const poolSize = checked.poolSize === undefined ? POOL_SIZE : checkInt(checked.poolSize, "poolSize", 1, 1000);
  const driver = await openPostgres({ url, schema, durability: "full", busyMs, poolSize, environment });
  const opening = { create: checked.create !== false, migrate: checked.migrate !== false, environment, target: shown };
  const { storage, info, clock } = await openStorage(driver, opening);
  const claims = new OpenClaims();
  const lifetime = new Lifetime(
    () => storage.close(),
    () => claims.close(environment),
  );
  const { sessions, captures, history } = composeStores(storage, createSessionLookup(storage, info), claims);
  const close = () => lifetime.close();
  return {
    info,
    clock,
    close,
    [Symbol.asyncDispose]: close,
    sessions: lifetime.of(sessions, SESSION_VERBS),
    captures: lifetime.of(captures, CAPTURE_VERBS),
    history: lifetime.of(history, HISTORY_VERBS),
  };
}

/**
 * Creates the parts of a store that captures and history need, and through which a capture's conversation is imported.
 */
function composeStores(storage: Storage, lookup: SessionLookup, claims: OpenClaims): ImportStores {
  const payloads = createPayloads(storage);
  const createOn = (on: Storage) => ({
    ...createNouns({
      storage: on,
      payloads,
      lookup,
      systemSource: refuseSystem,
      memories: refuseSystem,
      blobTtlMs: WEEK_MS,
      backend: undefined,
    }),
    history: createHistory(on, payloads, lookup),
  });
  const nouns = createOn(storage);
  const stores: ImportStores & Fencing & StoredCaptures = {
    ...nouns,
    captures: createCaptures({
      storage,
      payloads,
      blobs: nouns.blobs,
      sessions: nouns.sessions,
      claims,
      importConversation: (capture) => catchUpCapture(stores, capture),
    }),
    [FENCE]: (session) => createFence(storage, session, createOn),
    [STORED]: async (id) => {
      const [row] = await storage.query("capture.get", { id });
      return row === undefined ? null : storedCapture(payloads, row);
    },
  };
  return stores;
}

function targetOf(connection: unknown, schema: unknown): Extract<StoreTarget, { kind: "postgres" }> {
  const text = urlOf(connection);
  const url = schema === undefined ? text : withSchema(text, checkText(schema, "schema", "idBytes"));
  const target = parseStoreUrl(url);
  if (target.kind === "postgres") return target;
  throw new HoldfastError("BadUrl", "holdfast/edge opens stores in PostgreSQL only", {
    hint: "Give postgres://user@host/database, or a Hyperdrive binding. open() of the package holdfast opens files, on Node.",
  });
}

function urlOf(connection: unknown): string {
  if (typeof connection === "string") return connection;
  const isThing = (typeof connection === "object" && connection !== null) || typeof connection === "function";
  const { connectionString, options } = isThing ? readConnection(connection) : {};
  if (typeof connectionString === "string") return connectionString;
  if (options !== undefined) return urlOfClient(options);
  throw invalid("connection", "a URL, a Hyperdrive binding, or a client of the package postgres", connection);
}

type ClientOptions = Readonly<Record<Exclude<keyof PostgresClient["options"], "host" | "port">, unknown>> & {
  readonly host: readonly unknown[];
  readonly port: readonly number[];
};

/** Reads every field exactly once, because a getter may throw anything. */
function readConnection(connection: object): { readonly connectionString?: unknown; readonly options?: ClientOptions } {
  return reading("connection", () => {
    const { connectionString, options } = connection as { connectionString?: unknown; options?: unknown };
    if (typeof options !== "object" || options === null) return { connectionString };
    const { host, port, database, user, pass, ssl } = options as Readonly<Record<string, unknown>>;
    if (!Array.isArray(host)) return { connectionString };
    const ports = Array.isArray(port) ? Array.from(port, Number) : [];
    return { connectionString, options: { host: [...host], port: ports, database, user, pass, ssl } };
  });
}

function urlOfClient({ host, port, database, user, pass, ssl }: ClientOptions): string {
  if (typeof pass === "function") {
    throw new HoldfastError("InvalidArgument", "the client's password is a function", {
      hint: "Give openEdge a URL with the password that it returns.",
    });
  }
  // Passwords can be long: some are signed tokens.
  const encoded = (value: unknown, what: string) => encodeURIComponent(checkText(value, what, "noteBytes"));
  const names = host.map((one, i) => {
    const name = checkText(one, "connection.options.host", "idBytes");
    const number = port[i] === undefined ? 5432 : checkInt(port[i], "connection.options.port", 1, 65_535);
    return `${name.includes(":") ? `[${name}]` : name}:${number}`;
  });
  const password = typeof pass === "string" && pass !== "" ? `:${encoded(pass, "connection.options.pass")}` : "";
  const mode =
    ssl === undefined || ssl === false || ssl === null ? "" : `?sslmode=${typeof ssl === "string" ? ssl : "require"}`;
  const login = `${encoded(user, "connection.options.user")}${password}`;
  return `postgres://${login}@${names.join(",")}/${encoded(database, "connection.options.database")}${mode}`;
}

/** Adds the schema to the URL. A text that is no URL is returned unchanged; parsing it later refuses it. */
function withSchema(text: string, schema: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  url.searchParams.set("schema", schema);
  return url.href;
}
