// Reads a session's stored state: the valid rows, their version, and their values.
import type { Json } from "../contracts/json.ts";
import type { Guard } from "../contracts/storage/commit.ts";
import type { StatedRow } from "../contracts/storage/lineage-queries.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { StateRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { damagedRow, decodeRow, json, type RowName, whole, withBlob } from "../core/decode.ts";
import { type LinePosition, NOW } from "../core/lineage.ts";

export interface Snapshot {
  readonly rows: readonly StateRow[];
  /** null if there is no session. */
  readonly version: number | null;
}

/** The version is read first, so that a guard on it covers the rows, which may be newer but never older. */
export async function readSnapshot(storage: Storage, session: string): Promise<Snapshot> {
  const [row] = await storage.query("session.get", { id: session });
  if (row === undefined || row.deleted_at !== null) return { rows: [], version: null };
  const { state_seq: version } = decodeRow({ kind: "session", session }, row, { state_seq: whole });
  return { rows: await readHeld(storage, await storage.query("lineage.stated", { session })), version };
}

/** The valid rows at a position. */
export async function readHeldAt(storage: Storage, { no, branch, seq }: LinePosition): Promise<readonly StateRow[]> {
  return readHeld(storage, await storage.query("lineage.statedAt", { session: no, branch, upTo: seq }));
}

/**
 * Reads the newest stretch first, each in the order in which keys were set. The newest stretch with a row for a key
 * decides.
 */
async function readHeld(storage: Storage, stretches: readonly StatedRow[]): Promise<readonly StateRow[]> {
  const now = storage.environment.now();
  const said = new Set<string>();
  const held: StateRow[][] = [];
  for (const { session_no: no, branch, upto } of stretches) {
    const rows =
      upto === NOW
        ? await storage.query("state.current", { session: no, branch })
        : await storage.query("state.at", { session: no, branch, upTo: upto });
    held.push(rows.filter((row) => !said.has(row.key) && isAlive(row, now)));
    for (const { key } of rows) said.add(key);
    // Everything older was taken away.
    if (said.has("")) break;
  }
  return held.reverse().flat();
}

/** How often a value may be removed between two reads. If it is more, the rows contradict each other. */
const MOST_LOOKS = 64;

/** The present value of a key. */
export async function readKey(storage: Storage, session: string, key: string): Promise<StateRow | undefined> {
  for (let look = 0; look < MOST_LOOKS; look++) {
    const [stretch] = await storage.query("lineage.statedKey", { session, key });
    if (stretch === undefined) return undefined;
    const { session_no: no, branch, upto } = stretch;
    const rows =
      upto === NOW
        ? await storage.query("state.key", { session: no, branch, key })
        : await storage.query("state.keyAt", { session: no, branch, upTo: upto, key });
    const row = rows.find((one) => one.key === key) ?? rows[0];
    if (row !== undefined) return row.key === key && isAlive(row, storage.environment.now()) ? row : undefined;
    // The value was removed after its stretch was found, or its session was.
  }
  throw damagedRow({ kind: "state", session, key }, "its until_seq contradicts the session's other rows", "until_seq");
}

export function isAlive({ given, expires_at }: StateRow, now: number): boolean {
  return given === 1 && (expires_at === null || expires_at > now);
}

/** For callers a missing session has version 0; the guard then requires that there still is none. */
export function versionGuard(session: string, version: number | null): Guard {
  return { check: "state.version", key: [session], expect: version };
}

/** A value's JSON, and the name of its row for errors. */
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
