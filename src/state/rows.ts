// A session's state as it is stored: its current rows, the version they belong to, and their values.
import type { Json } from "../contracts/json.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { StateRow } from "../contracts/queries.ts";
import type { Guard, Storage } from "../contracts/storage.ts";
import { decodeRow, json, type RowName, whole, withBlob } from "../core/decode.ts";

export interface Snapshot {
  readonly rows: readonly StateRow[];
  /** null when there is no session. */
  readonly version: number | null;
}

/** The version is read first: a guard on it then covers the rows, which may be newer but never older. */
export async function readSnapshot(storage: Storage, session: string): Promise<Snapshot> {
  const [row] = await storage.query("session.get", session);
  if (row === undefined || row.deleted_at !== null) return { rows: [], version: null };
  const { state_seq: version } = decodeRow({ kind: "session", session }, row, { state_seq: whole });
  return { rows: await storage.query("state.current", session, session, storage.environment.now()), version };
}

/** No session yet is version 0 to callers; the guard then says that there still is none. */
export function versionGuard(session: string, version: number | null): Guard {
  return { check: "state.version", key: [session], expect: version };
}

/** A value's JSON, and the row to name when it is none. */
export interface Value {
  readonly name: RowName;
  readonly bytes: Uint8Array;
}

export async function readValue(payloads: Payloads, session: string, row: StateRow): Promise<Value> {
  const name = { kind: "state", session, key: row.key, seq: row.seq };
  return { name, bytes: await payloads.read(withBlob(name, "value", row)) };
}

export function decodeValue({ name, bytes }: Value): Json {
  return decodeRow(name, { value: bytes }, { value: json }).value;
}
