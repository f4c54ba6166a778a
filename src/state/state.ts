// State: short-term key/value memory of a session. Every value is a version that holds until it is replaced, so patches
// of different keys touch different rows and never lose each other.
import type { Json, JsonObject } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Payloads, PreparedPayload } from "../contracts/payloads.ts";
import type { StateRow } from "../contracts/queries.ts";
import type { State, Versioned } from "../contracts/state.ts";
import type { Commit, EventDraft, Guard, Storage, Write } from "../contracts/storage.ts";
import { checkId, checkInt, checkPlain, checkRecord, checkTags, encodeJson, limitExceeded } from "../core/check.ts";
import { decide } from "../core/decide.ts";
import { decodeRow, json, whole, withBlob } from "../core/decode.ts";

interface Change {
  readonly session: string;
  readonly type: "state/set" | "state/patched" | "state/cleared";
  readonly at: number;
  readonly values: readonly (readonly [key: string, payload: PreparedPayload])[];
  /** Keys taken away; null stands for all. */
  readonly removed: readonly string[] | null;
  readonly expiresAt: number | null;
  readonly guards?: readonly Guard[];
}

export function createState(storage: Storage, payloads: Payloads): State {
  const read = (session: string) => current(storage, payloads, session);
  return {
    get: async (session) => (await read(checkId(session, "session"))).value,
    getVersioned: async (session) => read(checkId(session, "session")),
    async getKey(session, key) {
      const id = checkId(session, "session");
      const [row] = await storage.query("state.key", id, id, checkId(key, "key"), storage.environment.now());
      return row === undefined ? undefined : readValue(id, row, payloads);
    },
    async set(session, value, options) {
      const id = checkId(session, "session");
      const values = await prepare(payloads, value, "state");
      const at = storage.environment.now();
      const change: Change = {
        session: id,
        type: "state/set",
        at,
        values,
        removed: null,
        expiresAt: expiry(options, at),
      };
      return committed(storage, changeCommit(change), value);
    },
    async patch(session, patch, options) {
      const id = checkId(session, "session");
      const values = await prepare(payloads, patch, "patch");
      const given = checkRecord(options, "options");
      const removed = given.remove === undefined ? [] : checkTags(given.remove, "remove", "stateKeys");
      const at = storage.environment.now();
      const expiresAt = expiry(options, at);
      const commit = changeCommit({ session: id, type: "state/patched", at, values, removed, expiresAt });
      const outcome = await decide(storage, async () => ({ commit, answer: ({ events }) => events[0]?.seq ?? 0 }));
      const now = await read(id);
      return { value: now.value, version: Math.max(now.version, outcome) };
    },
    async compareAndSet(session, version, value, options) {
      const id = checkId(session, "session");
      const expected = checkInt(version, "version", 0, Number.MAX_SAFE_INTEGER);
      const values = await prepare(payloads, value, "state");
      const at = storage.environment.now();
      const expiresAt = expiry(options, at);
      return decide<Versioned | null>(storage, async () => {
        const [row] = await storage.query("session.get", id);
        const alive = row !== undefined && row.deleted_at === null;
        if ((alive ? row.state_seq : 0) !== expected) return { answer: null };
        // No session yet is version 0 as well; the guard then says that there still is none.
        const guards: Guard[] = [{ check: "state.version", key: [id], expect: alive ? expected : null }];
        return {
          commit: changeCommit({ session: id, type: "state/set", at, values, removed: null, expiresAt, guards }),
          answer: ({ events }) => ({ value: value as JsonObject, version: events[0]?.seq ?? 0 }),
        };
      });
    },
    async clear(session) {
      const id = checkId(session, "session");
      const at = storage.environment.now();
      await decide<void>(storage, async () => {
        const [row] = await storage.query("session.get", id);
        if (row === undefined || row.deleted_at !== null) return { answer: undefined };
        const commit = changeCommit({
          session: id,
          type: "state/cleared",
          at,
          values: [],
          removed: null,
          expiresAt: null,
        });
        return { commit, answer: () => undefined };
      });
    },
  };
}

async function committed(storage: Storage, commit: Commit, value: unknown): Promise<Versioned> {
  return decide(storage, async () => ({
    commit,
    answer: ({ events }) => ({ value: value as JsonObject, version: events[0]?.seq ?? 0 }),
  }));
}

function expiry(options: unknown, at: number): number | null {
  const ttl = checkRecord(options, "options").ttlMs;
  return ttl === undefined ? null : at + checkInt(ttl, "ttlMs", 0, 1e15);
}

async function prepare(
  payloads: Payloads,
  value: unknown,
  what: string,
): Promise<readonly (readonly [string, PreparedPayload])[]> {
  const given = checkPlain(value, what);
  const entries = Object.entries(given).filter(([, item]) => item !== undefined);
  if (entries.length > LIMITS.stateKeys) throw limitExceeded("stateKeys", `${what} in keys`, entries.length);
  const prepared: [string, PreparedPayload][] = [];
  for (const [key, item] of entries) {
    const bytes = encodeJson(item, `${what}.${key.slice(0, 80)}`, "stateValueBytes");
    prepared.push([
      checkId(key, "state key"),
      await payloads.prepare(bytes, { media: "application/json", utf8: true }),
    ]);
  }
  return prepared;
}

/** The old values end where the new ones begin. */
function changeCommit(change: Change): Commit {
  const { session, at } = change;
  const here = [{ slot: "session" }, { slot: "branch" }] as const;
  const closing: Write[] =
    change.removed === null
      ? [{ op: "run", statement: "state.closeAll", params: [{ slot: "seq" }, ...here] }]
      : [...change.removed, ...change.values.map(([key]) => key)].map((key) => ({
          op: "run",
          statement: "state.close",
          params: [{ slot: "seq" }, ...here, key],
        }));
  const opening = change.values.map(
    ([key, payload], ord): Write => ({
      op: "insert",
      table: "state",
      row: { key, ord, value: payload.sha256, salt: payload.salt, expires_at: change.expiresAt },
    }),
  );
  const event: EventDraft = {
    session,
    type: change.type,
    at,
    data: {
      keys: change.values.map(([key]) => key),
      ...(change.removed === null || change.removed.length === 0 ? {} : { removed: change.removed }),
    },
    ...(change.values.length === 0 ? {} : { payloads: Object.fromEntries(change.values) }),
    state: true,
    writes: [...closing, ...opening],
  };
  return {
    sessions: [{ id: session, mode: "ensure", at }],
    blobs: change.values.flatMap(([, payload]) => payload.blobs),
    writes: change.values.flatMap(([, payload]) => payload.writes),
    events: [event],
    ...(change.guards === undefined || change.guards.length === 0 ? {} : { guards: change.guards }),
  };
}

async function current(storage: Storage, payloads: Payloads, session: string): Promise<Versioned> {
  const [row] = await storage.query("session.get", session);
  if (row === undefined || row.deleted_at !== null) return { value: {}, version: 0 };
  const rows = await storage.query("state.current", session, session, storage.environment.now());
  const { state_seq: version } = decodeRow({ kind: "session", session }, row, { state_seq: whole });
  return { value: await stateOf(session, rows, payloads), version };
}

async function stateOf(session: string, rows: readonly StateRow[], payloads: Payloads): Promise<JsonObject> {
  const entries: [string, Json][] = [];
  for (const row of rows) entries.push([row.key, await readValue(session, row, payloads)]);
  // fromEntries defines own properties, so that a key called __proto__ is just a key.
  return Object.fromEntries(entries);
}

async function readValue(session: string, row: StateRow, payloads: Payloads): Promise<Json> {
  const name = { kind: "state", session, key: row.key, seq: row.seq };
  return decodeRow(name, { value: await payloads.read(withBlob(name, "value", row)) }, { value: json }).value;
}
