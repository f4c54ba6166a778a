// What the parts of the suite of a SessionStore share: how a store is made, and entries to put into it.
import type {
  ClaudeSessionStore,
  SessionKey,
  SessionStoreEntry,
  SessionStoreOptions,
  SessionsOf,
} from "../../contracts/session-store.ts";

/** What a store is made over. */
export type MakeSessionStore = (over: SessionsOf, options?: SessionStoreOptions) => ClaudeSessionStore;

export const KEY: SessionKey = { projectKey: "-srv-app", sessionId: "0c1d6a5e-0000-4000-8000-000000000001" };
export const NEEDS = ["sessions", "history", "state"] as const;

export function uuid(n: number): string {
  return `00000000-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;
}

export function entryOf(n: number, text = `line ${n}`): SessionStoreEntry {
  return { type: n % 2 === 1 ? "user" : "assistant", uuid: uuid(n), message: { role: "user", content: text }, n };
}
