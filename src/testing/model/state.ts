// The model's state.
import { HoldfastError } from "../../contracts/errors.ts";
import type { JsonObject } from "../../contracts/json.ts";
import type { At } from "../../contracts/locators.ts";
import type { State, Versioned } from "../../contracts/state.ts";
import type { ModelSession, ModelStore } from "./store.ts";

export function modelState(store: ModelStore): State {
  const live = (session: At): JsonObject => {
    const slots = [...(store.find(session)?.state ?? [])].filter(([, { expiresAt }]) => expiresAt > store.now());
    return structuredClone(Object.fromEntries(slots.map(([key, { value }]) => [key, value])));
  };
  const versioned = (session: At): Versioned => ({
    value: live(session),
    version: store.find(session)?.stateVersion ?? 0,
  });
  const write = (session: ModelSession, value: JsonObject, ttlMs = Number.POSITIVE_INFINITY): Versioned => {
    const expiresAt = store.now() + ttlMs;
    for (const [key, item] of Object.entries(structuredClone(value)))
      session.state.set(key, { value: item, expiresAt });
    session.stateVersion = ++session.seq;
    return versioned(session.id);
  };
  const replace = (id: At, value: JsonObject, ttlMs: number | undefined): Versioned => {
    const session = store.ensure(id);
    session.state.clear();
    return write(session, value, ttlMs);
  };
  return {
    get: async (session) => live(session),
    getKey: async (session, key) => new Map(Object.entries(live(session))).get(key),
    getVersioned: async (session) => versioned(session),
    set: async (session, value, { ttlMs } = {}) => replace(session, value as JsonObject, ttlMs),
    patch: async (id, patch, { ttlMs, remove = [], version } = {}) => {
      if (version !== undefined && versioned(id).version !== version)
        throw new HoldfastError("Conflict", "another version");
      const session = store.ensure(id);
      for (const key of remove) session.state.delete(key);
      return write(session, patch as JsonObject, ttlMs);
    },
    compareAndSet: async (session, version, value, { ttlMs } = {}) => {
      if (versioned(session).version !== version) return null;
      return replace(session, value as JsonObject, ttlMs);
    },
    clear: async (id) => {
      const session = store.find(id);
      if (session === undefined) return;
      session.state.clear();
      session.stateVersion = ++session.seq;
    },
  };
}
