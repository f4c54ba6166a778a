// State: short-term key/value memory of a session. Every value is a version that holds until it is replaced.
import type { Json, JsonObject } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Payloads, Prepare } from "../contracts/payloads.ts";
import type { State, Versioned } from "../contracts/state.ts";
import type { Commit, Guard, Storage } from "../contracts/storage.ts";
import { checkId, checkInt, checkPlain, checkRecord, checkTags, encodeJson, limitExceeded } from "../core/check.ts";
import { decide } from "../core/decide.ts";
import { refuseAlias } from "../core/existing.ts";
import { type Change, changeCommit, type Given } from "./changes.ts";
import { Patches } from "./patches.ts";
import { decodeValue, readSnapshot, readValue, versionGuard } from "./rows.ts";

export function createState(storage: Storage, payloads: Payloads): State {
  const patches = new Patches(storage, payloads);
  const read = (session: string) => current(storage, payloads, session);
  return {
    get: async (session) => (await read(checkId(session, "session"))).value,
    getVersioned: async (session) => read(checkId(session, "session")),
    async getKey(session, key) {
      const id = checkId(session, "session");
      const [row] = await storage.query("state.key", id, id, checkId(key, "key"), storage.environment.now());
      if (row === undefined) await refuseAlias(storage, id);
      return row === undefined ? undefined : decodeValue(await readValue(payloads, id, row));
    },
    async set(session, value, options) {
      const id = checkId(session, "session");
      return payloads.preparing(async (prepare) => {
        const values = await prepareValues(prepare, value, "state");
        const at = storage.environment.now();
        const expiresAt = expiry(ttlOf(options), at);
        const change: Change = { session: id, type: "state/set", at, values, removed: null, expiresAt };
        return committed(storage, changeCommit([change]), value);
      });
    },
    async patch(session, patch, options) {
      const id = checkId(session, "session");
      return payloads.preparing(async (prepare) => {
        const values = await prepareValues(prepare, patch, "patch");
        const given = checkRecord(options, "options", ["ttlMs", "remove"]);
        const removed = given.remove === undefined ? [] : checkTags(given.remove, "remove", "stateKeys");
        const at = storage.environment.now();
        const expiresAt = expiry(given.ttlMs, at);
        return patches.add({ session: id, type: "state/patched", at, values, removed, expiresAt });
      });
    },
    async compareAndSet(session, version, value, options) {
      const id = checkId(session, "session");
      const expected = checkInt(version, "version", 0, Number.MAX_SAFE_INTEGER);
      return payloads.preparing(async (prepare) => {
        const values = await prepareValues(prepare, value, "state");
        const at = storage.environment.now();
        const expiresAt = expiry(ttlOf(options), at);
        return decide<Versioned | null>(storage, async () => {
          const [row] = await storage.query("session.get", id);
          const alive = row !== undefined && row.deleted_at === null;
          if ((alive ? row.state_seq : 0) !== expected) return { answer: null };
          const guards: Guard[] = [versionGuard(id, alive ? expected : null)];
          return {
            commit: changeCommit([{ session: id, type: "state/set", at, values, removed: null, expiresAt }], guards),
            answer: ({ events }) => ({ value: value as JsonObject, version: events[0]?.seq ?? 0 }),
          };
        });
      });
    },
    async clear(session) {
      const id = checkId(session, "session");
      const at = storage.environment.now();
      await decide<void>(storage, async () => {
        const [row] = await storage.query("session.get", id);
        if (row === undefined || row.deleted_at !== null) return { answer: undefined };
        const change: Change = {
          session: id,
          type: "state/cleared",
          at,
          values: [],
          removed: null,
          expiresAt: null,
        };
        return { commit: changeCommit([change]), answer: () => undefined };
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

function ttlOf(options: unknown): unknown {
  return checkRecord(options, "options", ["ttlMs"]).ttlMs;
}

function expiry(ttl: unknown, at: number): number | null {
  return ttl === undefined ? null : at + checkInt(ttl, "ttlMs", 0, 1e15);
}

async function prepareValues(prepare: Prepare, value: unknown, what: string): Promise<readonly Given[]> {
  const given = checkPlain(value, what);
  const entries = Object.entries(given).filter(([, item]) => item !== undefined);
  if (entries.length > LIMITS.stateKeys) throw limitExceeded("stateKeys", `${what} in keys`, entries.length);
  const prepared: Given[] = [];
  for (const [name, item] of entries) {
    const bytes = encodeJson(item, `${what}.${name.slice(0, 80)}`, "stateValueBytes");
    const key = checkId(name, "state key");
    prepared.push({ key, bytes, payload: await prepare(bytes, { media: "application/json", utf8: true }) });
  }
  return prepared;
}

async function current(storage: Storage, payloads: Payloads, session: string): Promise<Versioned> {
  const { rows, version } = await readSnapshot(storage, session);
  if (version === null) await refuseAlias(storage, session);
  const entries: [string, Json][] = [];
  for (const row of rows) entries.push([row.key, decodeValue(await readValue(payloads, session, row))]);
  // fromEntries defines own properties, so that a key called __proto__ is just a key.
  return { value: Object.fromEntries(entries), version: version ?? 0 };
}
