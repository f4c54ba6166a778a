// State: the key/value pairs of a session. Every value is a version that is valid until it is replaced.
import type { Json } from "../contracts/json.ts";
import type { State, Versioned } from "../contracts/state.ts";
import type { Guard } from "../contracts/storage/commit.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { STATE_VERBS } from "../contracts/verbs/state.ts";
import { decide, refusalError } from "../core/decide.ts";
import { noteDirectRead } from "../core/direct-reads.ts";
import { SerialQueue } from "../core/serial-queue.ts";
import type { SessionLookup } from "../core/session-lookup.ts";
import { refuseAlias } from "../core/session-lookup.ts";
import { bindVerbs } from "../core/verbs.ts";
import { type Change, changeCommit, type PreparedValue, prepareValues, textOf, wholeState } from "./changes.ts";
import { PatchQueue } from "./patches.ts";
import { decodeValue, readKey, readSnapshot, readValue, versionGuard } from "./rows.ts";

export function createState(storage: Storage, payloads: Payloads, lookup: SessionLookup): State {
  const queue = new SerialQueue();
  const patches = new PatchQueue(storage, payloads, queue);
  return bindVerbs(STATE_VERBS, lookup, {
    async get(session) {
      noteDirectRead("hf.state.get()");
      return (await current(storage, payloads, session)).value;
    },
    async getVersioned(session) {
      noteDirectRead("hf.state.getVersioned()");
      return current(storage, payloads, session);
    },
    async getKey(session, key) {
      noteDirectRead("hf.state.getKey()");
      const row = await readKey(storage, session, key);
      if (row === undefined) await refuseAlias(storage, session);
      return row === undefined ? undefined : decodeValue(await readValue(payloads, session, row));
    },
    async set(session, entries, { ttlMs }) {
      const at = storage.environment.now();
      const expiresAt = expiry(ttlMs, at);
      const replace = (values: readonly PreparedValue[]) =>
        replaced(storage, { session, type: "state/set", at, values, removed: null, expiresAt });
      return payloads.preparing(async (prepare) => {
        const values = prepareValues(prepare, entries);
        // Queued at once, like an append, unless an earlier change is still being prepared.
        if (!(values instanceof Promise) && !queue.isBusy(session)) return replace(values);
        return queue.prepareAndRun(session, Promise.resolve(values), (prepared, release) => {
          const replacing = replace(prepared);
          release();
          return replacing;
        });
      });
    },
    async patch(session, entries, { ttlMs, remove: removed = [], version }) {
      const at = storage.environment.now();
      const change = { session, type: "state/patched", at, removed, expiresAt: expiry(ttlMs, at) } as const;
      return payloads.preparing((prepare) => patches.add(change, prepareValues(prepare, entries), version));
    },
    async compareAndSet(session, expected, entries, { ttlMs }) {
      const at = storage.environment.now();
      const expiresAt = expiry(ttlMs, at);
      return payloads.preparing((prepare) =>
        queue.prepareAndRun(session, Promise.resolve(prepareValues(prepare, entries)), (values) =>
          compareAndSet(storage, expected, { session, type: "state/set", at, values, removed: null, expiresAt }),
        ),
      );
    },
    async clear(session) {
      const at = storage.environment.now();
      const change: Change = { session, type: "state/cleared", at, values: [], removed: null, expiresAt: null };
      await queue.run(session, () => clear(storage, change));
    },
  });
}

/** null if the state has another version by now. */
async function compareAndSet(storage: Storage, expected: number, change: Change): Promise<Versioned | null> {
  const { session, values } = change;
  return decide<Versioned | null>(storage, async () => {
    const [row] = await storage.query("session.get", { id: session });
    const alive = row !== undefined && row.deleted_at === null;
    if ((alive ? row.state_seq : 0) !== expected) return { answer: null };
    const guards: Guard[] = [versionGuard(session, alive ? expected : null)];
    return {
      commit: changeCommit([change], guards),
      answer: ({ events }) => ({ value: wholeState(values.map(textOf)), version: events[0]?.seq ?? 0 }),
    };
  });
}

async function clear(storage: Storage, change: Change): Promise<void> {
  const { session } = change;
  return decide<void>(storage, async () => {
    const [row] = await storage.query("session.get", { id: session });
    if (row === undefined) await refuseAlias(storage, session);
    if (row === undefined || row.deleted_at !== null) return { answer: undefined };
    return { commit: changeCommit([change]), answer: () => undefined };
  });
}

async function replaced(storage: Storage, change: Change): Promise<Versioned> {
  const outcome = await storage.commit(changeCommit([change]));
  if (!outcome.ok) throw refusalError(outcome.refused);
  return { value: wholeState(change.values.map(textOf)), version: outcome.events[0]?.seq ?? 0 };
}

function expiry(ttlMs: number | undefined, at: number): number | null {
  return ttlMs === undefined ? null : at + ttlMs;
}

async function current(storage: Storage, payloads: Payloads, session: string): Promise<Versioned> {
  const { rows, version } = await readSnapshot(storage, session);
  if (version === null) await refuseAlias(storage, session);
  const entries: [string, Json][] = [];
  for (const row of rows) entries.push([row.key, decodeValue(await readValue(payloads, session, row))]);
  // fromEntries defines own properties, so that a key called __proto__ is just a key.
  return { value: Object.fromEntries(entries), version: version ?? 0 };
}
