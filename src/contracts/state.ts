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
  /** {} when there is none. */
  get(session: At): Promise<JsonObject>;
  getKey(session: At, key: string): Promise<Json | undefined>;
  getVersioned(session: At): Promise<Versioned>;
  /** Replaces the whole. */
  set<T extends object>(
    session: At,
    value: JsonableObject<T>,
    options?: {
      /** Keys written by this call are gone after so many milliseconds; never when not given. */
      readonly ttlMs?: number;
    },
  ): Promise<Versioned>;
  /**
   * Replaces the given top-level keys; a key given as null keeps null, `remove` takes keys away. Answers with the whole as
   * this patch left it, and its own version. LimitExceeded when the whole would have more than `stateKeys` keys.
   */
  patch<T extends object>(
    session: At,
    patch: JsonableObject<T>,
    options?: {
      /** Keys written by this call are gone after so many milliseconds; never when not given. */
      readonly ttlMs?: number;
    } & { readonly remove?: readonly string[] },
  ): Promise<Versioned>;
  /** Replaces the whole if the version is still the one given; null when it is not. */
  compareAndSet<T extends object>(
    session: At,
    version: number,
    value: JsonableObject<T>,
    options?: {
      /** Keys written by this call are gone after so many milliseconds; never when not given. */
      readonly ttlMs?: number;
    },
  ): Promise<Versioned | null>;
  clear(session: At): Promise<void>;
}
