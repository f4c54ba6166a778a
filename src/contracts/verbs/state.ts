// The verbs of state.
import { ID, optional, options, param, read, sessionId, set, whole, write } from "./vocabulary.ts";

const ttlMs = optional(whole(0, 1e15));
const CHANGED = sessionId("state is changed");
const READ = sessionId(
  "state is read",
  "sessions.at() shows messages and state at a head; sessions.fork() continues from one.",
);
const VALUE = { kind: "entries", keys: "stateKeys", values: "stateValueBytes" } as const;

export const STATE_VERBS = {
  get: read(param("session", READ)),
  getKey: read(param("session", READ), param("key", ID)),
  getVersioned: read(param("session", READ)),
  set: write(param("session", CHANGED), param("state", VALUE), param("options", options({ ttlMs }))),
  patch: write(
    param("session", CHANGED),
    param("patch", VALUE),
    param("options", options({ ttlMs, remove: optional(set(ID, "stateKeys")), version: optional(whole()) })),
  ),
  compareAndSet: write(
    param("session", CHANGED),
    param("version", whole()),
    param("state", VALUE),
    param("options", options({ ttlMs })),
  ),
  clear: write(param("session", CHANGED)),
};
