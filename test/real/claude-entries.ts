// Entries that several processes write into one transcript, and a fold that shows which of them it has seen, in which order.
import type { FoldSessionSummary, SessionStoreEntry } from "../../src/adapters/claude/entry.ts";

export const KEY = { projectKey: "-srv-app", sessionId: "0c1d6a5e-0000-4000-8000-000000000001" };

export function entryOf(writer: number, n: number): SessionStoreEntry {
  return { type: "user", uuid: `${writer}-${n}`, message: { role: "user", content: `${writer} says ${n}` }, writer, n };
}

export const counted: FoldSessionSummary = (before, key, entries, options) => {
  const seen = String(before?.data.seen ?? "");
  const data = { seen: seen + entries.map(({ uuid }) => `${uuid} `).join("") };
  return { sessionId: key.sessionId, mtime: options?.mtime ?? 0, data };
};
