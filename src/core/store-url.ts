// Parses what open() takes: a path, ":memory:", or a PostgreSQL URL. A malformed URL may have its password anywhere, so
// errors show nothing of it.
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { HoldfastError } from "../contracts/errors.ts";
import { invalid } from "./check.ts";

/** `shown` is for errors and info(); it contains no password. */
export type StoreTarget =
  | { readonly kind: "sqlite"; readonly path: string; readonly shown: string }
  | { readonly kind: "postgres"; readonly url: string; readonly schema: string; readonly shown: string };

export function parseStoreUrl(url: unknown): StoreTarget {
  if (typeof url !== "string") throw invalid("url", 'a file path, ":memory:" or postgres://…', url);
  if (url === ":memory:") return { kind: "sqlite", path: url, shown: url };
  if (/^postgres(ql)?:/i.test(url)) return parsePostgres(url);
  if (/^file:\/\//i.test(url)) return sqliteTarget(fromFileUrl(url), url);
  // As in SQLite: a path relative to the working directory.
  if (/^file:/i.test(url)) return sqliteTarget(url.slice("file:".length), url);
  // A single letter is a drive of Windows; more letters name a kind of store. The rest may contain a password.
  const scheme = /^[a-z][a-z0-9+.-]+:/i.exec(url.trim())?.[0];
  if (scheme !== undefined || /:\/\/|^\W*postgres\S*@/i.test(url)) {
    throw badUrl(
      `${scheme ?? "that URL"}…`,
      "there is no store of that kind; if it is a file, write ./ before its name",
    );
  }
  return sqliteTarget(url, url);
}

/** Whether a text given as a path looks like a user name and password before a host, or like a connection string. */
export function mayHoldPassword(text: string): boolean {
  if (/:\/\/\S*:\S*@/.test(text)) return true;
  if (/^(\.{0,2}\/(?!\/)|[a-z]:[\\/])/i.test(text)) return false;
  return /:(?!\/\/)[^\\@]*@|password\s*=/i.test(text);
}

/** postgres://me:secret@host/db → postgres://me:***@host/db. Anything that may be part of a password is hidden too. */
export function hidePassword(text: string): string {
  const shown = text
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^/?#]*?):[^/?#]*@/i, "$1:***@")
    .replace(/([?&]password=)[^&#]*/gi, "$1***");
  const rest = shown.replace(":***@", "@").replace(/[?&]password=\*\*\*/gi, "");
  if (!mayHoldPassword(rest)) return shown;
  return `${/^[a-z][a-z0-9+.-]+:\/\//i.exec(text)?.[0] ?? ""}***`;
}

function fromFileUrl(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    throw badUrl("file://…", "it is not a file URL of this machine");
  }
}

function sqliteTarget(path: string, shown: string): StoreTarget {
  if (path === "" || path.includes("\0")) throw badUrl(JSON.stringify(path), "it is not a path");
  if (mayHoldPassword(path)) {
    throw badUrl("that text", "it looks like a user name and a password; if it is a file, write ./ before its name");
  }
  return { kind: "sqlite", path: resolve(path), shown };
}

function parsePostgres(text: string): StoreTarget {
  const url = parseWhole(text);
  const schema = url.searchParams.get("schema") ?? "holdfast";
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(schema)) {
    throw badUrl(`?schema=${schema}`, "a schema name has letters, digits and _, at most 63 characters");
  }
  for (const name of url.searchParams.keys()) if (!isParameter(name)) throw unknownParameter(name);
  const attributes = url.searchParams.get("target_session_attrs");
  if (attributes !== null && !SESSION_ATTRIBUTES.includes(attributes)) {
    throw badUrl("postgres://…?target_session_attrs=…", `it is one of ${SESSION_ATTRIBUTES.join(", ")}`);
  }
  url.searchParams.delete("schema");
  const shown = `postgres://${url.host}${url.pathname}?schema=${schema}`;
  return { kind: "postgres", url: url.href, schema, shown };
}

function parseWhole(text: string): URL {
  try {
    const url = new URL(text);
    // The client decodes these parts, and its error would show the text that it could not decode.
    for (const part of [url.username, url.password, url.pathname]) decodeURIComponent(part);
    // A password with / ? or # in it ends the host early: the rest of the password would be parsed as another part, and
    // shown.
    const isWhole = /^postgres(ql)?:\/\/[^\\]*$/i.test(text) && !/[@#]/.test(`${url.pathname}${url.search}${url.hash}`);
    if (isWhole) return url;
  } catch {
    // Refused below; the parser's message could show the password.
  }
  throw badUrl("postgres://…", "it cannot be parsed; a password must be percent-encoded");
}

/** The known parameters. The client sends unknown ones to the server, whose error would not suggest the right name. */
const PARAMETERS = [
  "schema",
  "sslmode",
  "ssl",
  "sslnegotiation",
  "target_session_attrs",
  "application_name",
  "options",
  "role",
  "connect_timeout",
  "idle_timeout",
  "max_lifetime",
  "keep_alive",
  "prepare",
  "max_pipeline",
  "statement_timeout",
  "lock_timeout",
  "transaction_timeout",
  "idle_session_timeout",
  "idle_in_transaction_session_timeout",
];
const SESSION_ATTRIBUTES = ["read-write", "read-only", "primary", "standby", "prefer-standby"];

/** A name with a dot is a custom setting of the caller. */
function isParameter(name: string): boolean {
  return PARAMETERS.includes(name) || /^[a-z_]\w*(\.[a-z_]\w*)+$/i.test(name);
}

function unknownParameter(name: string): HoldfastError {
  const shown = /^\w+$/.test(name) ? name : "…";
  return badUrl(
    `postgres://…?${shown}=…`,
    `there is no parameter "${shown}"; the parameters are ${PARAMETERS.join(", ")}`,
  );
}

function badUrl(shown: string, why: string): HoldfastError {
  return new HoldfastError("BadUrl", `cannot open ${shown}: ${why}`, {
    hint: 'Give a file path, ":memory:", or postgres://user@host/database?schema=name.',
  });
}
