// Reads a session's state as it was at the end of a lineage. Values that were replaced since are still stored as
// versions. Values of another session that was erased everywhere since are gone, and only its log says that they
// existed.
import type { Json, JsonObject } from "../contracts/json.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { StateRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { plainObject } from "../core/decode.ts";
import type { LineageStretch } from "../core/lineage.ts";
import { eventOf } from "../log/log.ts";
import { decodeValue, isAlive, readValue } from "./rows.ts";

/** A key whose value was erased. */
export interface ErasedValue {
  readonly session: string;
  readonly seq: number;
  readonly key: string;
}

interface HeldRow {
  readonly session: string;
  readonly row: StateRow;
}

/**
 * `clock` decides what had expired. If the keys differ from the expected ones, the function looks for values that were
 * erased since, and returns them as null.
 */
export async function readStateAt(
  storage: Storage,
  payloads: Payloads,
  lineage: readonly LineageStretch[],
  clock: number,
  isExpected: (keys: readonly string[]) => boolean,
): Promise<{ readonly value: JsonObject; readonly erased: readonly ErasedValue[] }> {
  const rows = await rowsAt(storage, lineage);
  const live = rows.filter(({ row }) => isAlive(row, clock));
  const keys = live.map(({ row }) => row.key);
  const erased: ErasedValue[] = [];
  if (!isExpected(keys.toSorted())) {
    const gone: ErasedValue[] = [];
    for (const { session, row } of rows) {
      if (await wasErased(storage, session, row, clock)) gone.push({ session, seq: row.seq, key: row.key });
    }
    for (const one of erasedSince(keys, gone, isExpected)) erased.push(one);
  }
  const all = new Set([...keys, ...erased.map(({ key }) => key)]);
  const shown = erased.length === 0 ? live : rows.filter(({ row }) => all.has(row.key));
  const entries: [string, Json][] = [];
  for (const { session, row } of shown) {
    entries.push([row.key, row.given === 1 ? decodeValue(await readValue(payloads, session, row)) : null]);
  }
  return { value: Object.fromEntries(entries), erased };
}

/** If more sessions than this were erased, they are treated as one. */
const MOST_SESSIONS = 8;

/**
 * A session is erased as a whole. The sessions whose values complete the expected keys were erased since; the others
 * were erased before.
 */
function erasedSince(
  keys: readonly string[],
  gone: readonly ErasedValue[],
  isExpected: (keys: readonly string[]) => boolean,
): readonly ErasedValue[] {
  const sessions = [...new Set(gone.map(({ session }) => session))];
  if (sessions.length > MOST_SESSIONS) return gone;
  for (let chosen = 1; chosen < 2 ** sessions.length; chosen++) {
    const some = gone.filter(({ session }) => (chosen >> sessions.indexOf(session)) % 2 === 1);
    if (isExpected([...keys, ...some.map(({ key }) => key)].sort())) return some;
  }
  return gone;
}

/** For each key the row that decides about it, also a row that says that the key was removed. */
async function rowsAt(storage: Storage, lineage: readonly LineageStretch[]): Promise<readonly HeldRow[]> {
  const keys = new Set<string>();
  const found: (readonly HeldRow[])[] = [];
  for (const { no, branch, session, upTo } of lineage) {
    const rows = await storage.query("state.at", { session: no, branch, upTo });
    found.push(rows.filter(({ key }) => !keys.has(key) && key !== "").map((row) => ({ session, row })));
    for (const { key } of rows) keys.add(key);
    // All older values were removed.
    if (keys.has("")) break;
  }
  return found.reverse().flat();
}

/** The row of an erased value looks like that of a removed key, but its event says that the key was set. */
async function wasErased(storage: Storage, session: string, row: StateRow, clock: number): Promise<boolean> {
  if (row.given === 1) return false;
  const [event] = await storage.query("events.at", { session, seq: row.seq });
  if (event === undefined) return false;
  const { keys, expires } = plainObject.read(eventOf(session, event).data) ?? {};
  const isSet = Array.isArray(keys) && keys.includes(row.key);
  return isSet && (typeof expires !== "number" || expires > clock);
}
