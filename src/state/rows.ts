// A session's state as it is stored: the rows that hold, the version they belong to, and their values.
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
  /** null when there is no session. */
  readonly version: number | null;
}

/** The version is read first: a guard on it then covers the rows, which may be newer but never older. */
export async function readSnapshot(storage: Storage, session: string): Promise<Snapshot> {
  const [row] = await storage.query("session.get", { id: session });
  if (row === undefined || row.deleted_at !== null) return { rows: [], version: null };
  const { state_seq: version } = decodeRow({ kind: "session", session }, row, { state_seq: whole });
  return { rows: await readHeld(storage, await storage.query("lineage.stated", { session })), version };
}

/** What held at a position. */
export async function readHeldAt(storage: Storage, { no, branch, seq }: LinePosition): Promise<readonly StateRow[]> {
  return readHeld(storage, await storage.query("lineage.statedAt", { session: no, branch, upTo: seq }));
}

/** Newest stretch first, in each the order in which it was set; the youngest branch that says something decides. */
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

/** Times that a value may be taken away between two reads of it; the rows contradict each other when it is more. */
const MOST_LOOKS = 64;

/** The one value of a key that holds now. */
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
    // Taken away since the stretch was found, by its session or with it.
  }
  throw damagedRow({ kind: "state", session, key }, "its until_seq contradicts the session's other rows", "until_seq");
}

export function isAlive({ given, expires_at }: StateRow, now: number): boolean {
  return given === 1 && (expires_at === null || expires_at > now);
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
