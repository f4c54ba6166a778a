// A snapshot of units in several parts, as a store has them: the last part is what is pending.
import { joinParts, StoredParts } from "../src/search/index/parts.ts";
import { type PendingUnit, pendingPart } from "../src/search/index/pending.ts";
import type { IndexKind, IndexSnapshot } from "../src/search/index/reader.ts";

export function snapshotOfParts(kind: IndexKind, parts: readonly (readonly PendingUnit[])[]): IndexSnapshot {
  const all = parts.map(pendingPart);
  const pending = all.length > 1 ? (all.at(-1) ?? null) : null;
  return joinParts(kind, new StoredParts(pending === null ? all : all.slice(0, -1)), pending);
}
