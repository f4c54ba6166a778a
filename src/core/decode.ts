// Decodes rows from storage. A disk, an editor or a fault may have changed them, so every column is checked. A column
// with a value that Holdfast does not write becomes an error that names the row and says what to do.
import { HoldfastError } from "../contracts/errors.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import { EVENT_SCHEMA_VERSION } from "../contracts/log.ts";
import type { StoredPayload } from "../contracts/storage/rows.ts";
import { decodeText } from "./bytes.ts";
import { isObject } from "./check.ts";

/** The kind of a row, and the ids that identify it, for errors. */
export interface RowName {
  readonly kind: string;
  readonly [id: string]: string | number;
}

/** Reads a column; undefined if it has a value that Holdfast does not write. */
export interface Column<T> {
  readonly wanted: string;
  readonly read: (value: unknown) => T | undefined;
}

type Shape = Readonly<Record<string, Column<unknown>>>;
type DecodedRow<S extends Shape> = { readonly [C in keyof S]: S[C] extends Column<infer T> ? T : never };

/** Returns the row's columns that the shape names. Throws StoreCorrupted. */
export function decodeRow<S extends Shape>(name: RowName, row: object, shape: S): DecodedRow<S> {
  const cells = row as Readonly<Record<string, unknown>>;
  const decoded: Record<string, unknown> = {};
  for (const column in shape) {
    const { read, wanted } = shape[column] as Column<unknown>;
    const value = read(cells[column]);
    if (value === undefined) throw damagedRow(name, `its ${column} is not ${wanted}`, column);
    decoded[column] = value;
  }
  return decoded as DecodedRow<S>;
}

export function damagedRow(name: RowName, why: string, column: string): HoldfastError {
  const { kind, ...ids } = name;
  const found = Object.entries(ids).map(([id, value]) => `${id} ${JSON.stringify(value)}`);
  return new HoldfastError("StoreCorrupted", `the stored ${kind} (${found.join(", ")}) is damaged: ${why}`, {
    details: { ...name, column },
    hint: "Keep a copy of the store, run `npx holdfast verify` to find all damage, and restore the store from a backup.",
  });
}

/** Rule LG3. */
export function unsupportedVersion(session: string, seq: number, version: number): HoldfastError {
  return new HoldfastError("UnsupportedSchemaVersion", `event ${seq} has schema version ${version}`, {
    details: { session, seq, version, known: EVENT_SCHEMA_VERSION },
    hint: "Update holdfast on this machine.",
  });
}

/** A row with the blob that its column refers to. Throws if the LEFT JOIN found no blob. */
export function withBlob<P extends StoredPayload>(name: RowName, column: string, row: P): P {
  if (digest.read(row.sha256) === undefined || row.form === null) {
    throw damagedRow(name, `the blob of its ${column} is missing`, column);
  }
  return row;
}

export const whole: Column<number> = {
  wanted: "a whole number",
  read: (value) => (Number.isSafeInteger(value) ? (value as number) : undefined),
};

export const text: Column<string> = {
  wanted: "text",
  read: (value) => (typeof value === "string" ? value : undefined),
};

export const digest: Column<Uint8Array> = {
  wanted: "a SHA-256",
  read: (value) => (value instanceof Uint8Array && value.byteLength === 32 ? value : undefined),
};

/** Text that is stored as bytes. */
export const utf8: Column<string> = {
  wanted: "UTF-8 text",
  read: (value) => {
    try {
      return value instanceof Uint8Array ? decodeText(value) : undefined;
    } catch {
      return undefined;
    }
  },
};

export const json: Column<Json> = {
  wanted: "JSON",
  read: (value) => {
    const said = utf8.read(value);
    try {
      return said === undefined ? undefined : (JSON.parse(said) as Json);
    } catch {
      return undefined;
    }
  },
};

export const jsonObject: Column<JsonObject> = {
  wanted: "a JSON object",
  read: (value) => plainObject.read(json.read(value)),
};

export const jsonTexts: Column<readonly string[]> = {
  wanted: "a JSON list of texts",
  read: (value) => {
    const found = list.read(json.read(value));
    return found?.every((item) => typeof item === "string") ? (found as readonly string[]) : undefined;
  },
};

/** A value inside JSON that was decoded already. */
export const list: Column<readonly unknown[]> = {
  wanted: "a list",
  read: (value) => (Array.isArray(value) ? value : undefined),
};

export const plainObject: Column<JsonObject> = {
  wanted: "an object",
  read: (value) => (isObject(value) ? (value as JsonObject) : undefined),
};

export const plainTexts: Column<Readonly<Record<string, string>>> = {
  wanted: "an object of texts",
  read: (value) => {
    const found = plainObject.read(value);
    const isOfTexts = found !== undefined && Object.values(found).every((item) => typeof item === "string");
    return isOfTexts ? (found as Readonly<Record<string, string>>) : undefined;
  },
};

export function oneOf<T extends string>(allowed: readonly T[]): Column<T> {
  return {
    wanted: `one of ${allowed.join(", ")}`,
    read: (value) => allowed.find((one) => one === value),
  };
}

/** null if the column is NULL. */
export function optional<T>({ wanted, read }: Column<T>): Column<T | null> {
  return { wanted, read: (value) => (value === null || value === undefined ? null : read(value)) };
}
