// The server settings that the store's promises rest on. A direct connection gets them when it starts and is asked whether
// it has them. A connection pooler drops or mixes up what a client sets for its session, so there every transaction sets
// them for itself.
import { HoldfastError } from "../../../contracts/errors.ts";

export interface SettingsOptions {
  readonly schema: string;
  readonly durability: "full" | "normal";
  readonly busyMs: number;
}

/**
 * The first try for a lock: long enough for every commit that is not stuck. A commit that did not get its lock is made
 * again with a longer wait, apart from the commits that it shared a transaction with.
 */
export const FIRST_LOCK_MS = 200;
/** A client that is silent inside a transaction for this long is frozen or lost: the server ends the transaction. */
export const IDLE_IN_TRANSACTION_MS = 5000;
/** How long one statement may take, without its wait for locks. */
export const WORK_MS = 300_000;

/** Verified: without them a store would be another one, would lose acknowledged writes, or would wait for ever. */
const VERIFIED = [
  "search_path",
  "synchronous_commit",
  "standard_conforming_strings",
  "lock_timeout",
  "statement_timeout",
  "idle_in_transaction_session_timeout",
] as const;

export type Settings = Readonly<Record<string, string>>;

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** `given` are those that the caller's URL names; they win. */
export function settingsFor({ schema, durability, busyMs }: SettingsOptions, given: Settings): Settings {
  return {
    // In quotes: the server would fold an unquoted name to lower case.
    search_path: quoteIdentifier(schema),
    synchronous_commit: durability === "full" ? "on" : "off",
    standard_conforming_strings: "on",
    lock_timeout: String(Math.max(1, Math.min(busyMs, FIRST_LOCK_MS))),
    statement_timeout: String(busyMs + WORK_MS),
    idle_in_transaction_session_timeout: String(IDLE_IN_TRANSACTION_MS),
    // Our statements are few, constant and prepared: planning each execution anew would cost more than running it.
    plan_cache_mode: "force_generic_plan",
    jit: "off",
    ...given,
  };
}

/** Of direct connections only: the server notices within a minute that a client's machine is gone. */
export const KEEPALIVE: Settings = {
  tcp_keepalives_idle: "30",
  tcp_keepalives_interval: "10",
  tcp_keepalives_count: "3",
  tcp_user_timeout: "60000",
};

/** One statement, the first of a transaction; its values end with the transaction. */
export function localSettings(settings: Settings): string {
  const parts = Object.entries(settings).map(
    ([name, value]) => `set_config(${literal(name)}, ${literal(value)}, true)`,
  );
  return `SELECT pg_backend_pid() AS pid, ${parts.join(", ")}`;
}

/** Without backslashes, so that it reads the same whatever standard_conforming_strings says. */
function literal(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes("\\") ? `E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}

const READS = VERIFIED.map((name) => `current_setting('${name}') AS ${name}`);
export const READ_SETTINGS = `SELECT pg_backend_pid() AS pid, ${READS.join(", ")}`;

/** Names of settings that do not have the required values. */
export function differingSettings(
  row: Readonly<Record<string, unknown>> | undefined,
  settings: Settings,
): readonly string[] {
  return VERIFIED.filter((name) => !isSame(String(row?.[name]), settings[name] ?? ""));
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** The server says "5s" for 5000. */
function isSame(actual: string, asked: string): boolean {
  return actual === asked || (inMs(actual) !== null && inMs(actual) === inMs(asked));
}

function inMs(text: string): number | null {
  const [, digits, unit = "ms"] = /^\s*(\d+)\s*(ms|s|min|h|d)?\s*$/.exec(text) ?? [];
  return digits === undefined ? null : Number(digits) * (UNITS[unit] ?? 1);
}

export function settingsRefused(target: string, names: readonly string[]): HoldfastError {
  return new HoldfastError(
    "BadUrl",
    `${target} does not keep the settings that the store relies on: ${names.join(", ")}`,
    {
      details: { target, settings: names },
      hint: "Connect to PostgreSQL directly, or through a pooler with pool_mode = transaction or session.",
    },
  );
}
