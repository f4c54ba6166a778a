// State: short-term key/value memory of a session. Every value is a version that holds until it is replaced.
import type { Json } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { State, Versioned } from "../contracts/state.ts";
import type { Guard, Storage } from "../contracts/storage.ts";
import { checkId, checkInt, checkPlain, checkRecord, checkTags, encodeJson, limitExceeded } from "../core/check.ts";
import { decide, refusalError } from "../core/decide.ts";
import { noteDirectRead } from "../core/direct-reads.ts";
import { refuseAlias } from "../core/existing.ts";
import { type ResolveSessionId, SHOWN_AT } from "../core/locate.ts";
import { Turns } from "../core/turns.ts";
import { type Change, changeCommit, type Encoded, type Given, prepareValues, textOf, wholeOf } from "./changes.ts";
import { Patches } from "./patches.ts";
import { decodeValue, readKey, readSnapshot, readValue, versionGuard } from "./rows.ts";

const CHANGED = "state is changed";

export function createState(storage: Storage, payloads: Payloads, resolveSessionId: ResolveSessionId): State {
  const turns = new Turns();
  const patches = new Patches(storage, payloads, turns);
  const idToRead = (session: string) => resolveSessionId(checkId(session, "session"), "state is read", SHOWN_AT);
  // All is checked and encoded before anything is waited for: what the caller does afterwards with its own is its own.
  return {
    async get(session) {
      noteDirectRead("hf.state.get()");
      return (await current(storage, payloads, await idToRead(session))).value;
    },
    async getVersioned(session) {
      noteDirectRead("hf.state.getVersioned()");
      return current(storage, payloads, await idToRead(session));
    },
    async getKey(session, key) {
      noteDirectRead("hf.state.getKey()");
      const asked = checkId(key, "key");
      const id = await idToRead(session);
      const row = await readKey(storage, id, asked);
      if (row === undefined) await refuseAlias(storage, id);
      return row === undefined ? undefined : decodeValue(await readValue(payloads, id, row));
    },
    async set(session, value, options) {
      const name = checkId(session, "session");
      const encoded = encode(value, "state");
      const at = storage.environment.now();
      const expiresAt = expiry(ttlOf(options), at);
      const found = resolveSessionId(name, CHANGED);
      const id = typeof found === "string" ? found : await found;
      const replace = (values: readonly Given[]) =>
        replaced(storage, { session: id, type: "state/set", at, values, removed: null, expiresAt });
      return payloads.preparing(async (prepare) => {
        const values = prepareValues(prepare, encoded);
        // In the queue at once, like an append, unless somebody before it is still on the way.
        if (!(values instanceof Promise) && !turns.taken(id)) return replace(values);
        return turns.take(id, Promise.resolve(values), (prepared, pass) => {
          const replacing = replace(prepared);
          pass();
          return replacing;
        });
      });
    },
    async patch(session, patch, options) {
      const name = checkId(session, "session");
      const encoded = encode(patch, "patch");
      const given = checkRecord(options, "options", ["ttlMs", "remove"]);
      const removed = given.remove === undefined ? [] : checkTags(given.remove, "remove", "stateKeys");
      const at = storage.environment.now();
      const expiresAt = expiry(given.ttlMs, at);
      const found = resolveSessionId(name, CHANGED);
      const id = typeof found === "string" ? found : await found;
      const change = { session: id, type: "state/patched", at, removed, expiresAt } as const;
      return payloads.preparing((prepare) => patches.add(change, prepareValues(prepare, encoded)));
    },
    async compareAndSet(session, version, value, options) {
      const name = checkId(session, "session");
      const expected = checkInt(version, "version", 0, Number.MAX_SAFE_INTEGER);
      const encoded = encode(value, "state");
      const at = storage.environment.now();
      const expiresAt = expiry(ttlOf(options), at);
      const found = resolveSessionId(name, CHANGED);
      const id = typeof found === "string" ? found : await found;
      return payloads.preparing((prepare) =>
        turns.take(id, Promise.resolve(prepareValues(prepare, encoded)), (values) =>
          decide<Versioned | null>(storage, async () => {
            const [row] = await storage.query("session.get", id);
            const alive = row !== undefined && row.deleted_at === null;
            if ((alive ? row.state_seq : 0) !== expected) return { answer: null };
            const guards: Guard[] = [versionGuard(id, alive ? expected : null)];
            return {
              commit: changeCommit([{ session: id, type: "state/set", at, values, removed: null, expiresAt }], guards),
              answer: ({ events }) => ({ value: wholeOf(values.map(textOf)), version: events[0]?.seq ?? 0 }),
            };
          }),
        ),
      );
    },
    async clear(session) {
      const name = checkId(session, "session");
      const at = storage.environment.now();
      const found = resolveSessionId(name, CHANGED);
      const id = typeof found === "string" ? found : await found;
      const change: Change = { session: id, type: "state/cleared", at, values: [], removed: null, expiresAt: null };
      await turns.take(id, Promise.resolve(), () =>
        decide<void>(storage, async () => {
          const [row] = await storage.query("session.get", id);
          if (row === undefined) await refuseAlias(storage, id);
          if (row === undefined || row.deleted_at !== null) return { answer: undefined };
          return { commit: changeCommit([change]), answer: () => undefined };
        }),
      );
    },
  };
}

async function replaced(storage: Storage, change: Change): Promise<Versioned> {
  const outcome = await storage.commit(changeCommit([change]));
  if (!outcome.ok) throw refusalError(outcome.refused);
  return { value: wholeOf(change.values.map(textOf)), version: outcome.events[0]?.seq ?? 0 };
}

function ttlOf(options: unknown): unknown {
  return checkRecord(options, "options", ["ttlMs"]).ttlMs;
}

function expiry(ttl: unknown, at: number): number | null {
  return ttl === undefined ? null : at + checkInt(ttl, "ttlMs", 0, 1e15);
}

function encode(value: unknown, what: string): readonly Encoded[] {
  const given = checkPlain(value, what);
  const entries = Object.entries(given).filter(([, item]) => item !== undefined);
  if (entries.length > LIMITS.stateKeys) throw limitExceeded("stateKeys", `${what} in keys`, entries.length);
  return entries.map(([name, item]) => {
    const bytes = encodeJson(item, `${what}.${name.slice(0, 80)}`, "stateValueBytes");
    return { key: checkId(name, "state key"), bytes };
  });
}

async function current(storage: Storage, payloads: Payloads, session: string): Promise<Versioned> {
  const { rows, version } = await readSnapshot(storage, session);
  if (version === null) await refuseAlias(storage, session);
  const entries: [string, Json][] = [];
  for (const row of rows) entries.push([row.key, decodeValue(await readValue(payloads, session, row))]);
  // fromEntries defines own properties, so that a key resolveSessionId __proto__ is just a key.
  return { value: Object.fromEntries(entries), version: version ?? 0 };
}
