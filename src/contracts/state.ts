// ShortTermMemory of the storage contracts: key/value state of a session, removed with it.
// Promise: patches of different keys never lose each other; changes of a session through one handle happen in the order of
// the calls, each as it was given at the call; every change is one commit with its event.
import type { Json, JsonableObject, JsonObject } from "./json.ts";
import type { At } from "./locators.ts";

export interface Versioned {
  readonly value: JsonObject;
  /** 0 before the first change; grows with every change. */
  readonly version: number;
}

export interface State {
  /** {} if there is no state. */
  get(session: At): Promise<JsonObject>;
  getKey(session: At, key: string): Promise<Json | undefined>;
  getVersioned(session: At): Promise<Versioned>;
  /** Replaces the whole state. */
  set<T extends object>(
    session: At,
    value: JsonableObject<T>,
    options?: {
      /** Time to live of the keys that this call writes, in milliseconds; without it they do not expire. */
      readonly ttlMs?: number;
    },
  ): Promise<Versioned>;
  /**
   * Replaces the given top-level keys. null is a value like any other; `remove` removes keys. Returns the whole state
   * after this patch, and its version. LimitExceeded if the state would have more than `stateKeys` keys.
   */
  patch<T extends object>(
    session: At,
    patch: JsonableObject<T>,
    options?: {
      /** Time to live of the keys that this call writes, in milliseconds; without it they do not expire. */
      readonly ttlMs?: number;
    } & {
      readonly remove?: readonly string[];
      /** Refuse with Conflict when the state has another version. */
      readonly version?: number;
    },
  ): Promise<Versioned>;
  /** Replaces the whole state if it still has the given version; null if not. */
  compareAndSet<T extends object>(
    session: At,
    version: number,
    value: JsonableObject<T>,
    options?: {
      /** Time to live of the keys that this call writes, in milliseconds; without it they do not expire. */
      readonly ttlMs?: number;
    },
  ): Promise<Versioned | null>;
  clear(session: At): Promise<void>;
}
