// Tombstones: what deleted sessions keep because others inherit it, and the parts of sessions that came with a fork.
// Finds how much of them is needed, and removes them with the last session that needs them.

import type { Guard } from "../contracts/storage/commit.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { discardErased } from "../core/erasure.ts";
import { lineageAt } from "../core/lineage.ts";
import { IN_PART } from "../core/session-lookup.ts";
import { eraseWrites, reportOf, sumOf } from "./erase-rows.ts";

/** What of a session's log is kept for others: up to this seq on this branch. */
export interface KeptRange {
  readonly branch: number;
  readonly upTo: number;
}

/** Of the session's own branches, what live forks inherit: from where they branched off, back to its beginning. */
export async function findInheritedRanges(storage: Storage, no: number): Promise<readonly KeptRange[]> {
  const upTo = new Map<number, number>();
  for (const cut of await storage.query("branches.needed", { session: no })) {
    for (const segment of await lineageAt(storage, { no, branch: cut.branch, seq: cut.upto })) {
      if (segment.no !== no) break;
      upTo.set(segment.branch, Math.max(upTo.get(segment.branch) ?? 0, segment.upTo));
    }
  }
  return [...upTo].map(([branch, seq]) => ({ branch, upTo: seq }));
}

/** A session, by its number and id. */
export interface SessionRef {
  readonly no: number;
  readonly id: string;
  readonly version: number;
}

export interface Ancestors {
  /** Those of which only what others inherit is here, the nearest first. */
  readonly kept: readonly SessionRef[];
  /** The first that is there, if one is: whatever lies behind it is needed as long as it is. */
  readonly living: readonly SessionRef[];
}

/** The sessions that a session continues; every session does so by its first branch. */
export async function readAncestors(storage: Storage, session: number): Promise<Ancestors> {
  const kept: SessionRef[] = [];
  const seen = new Set([session]);
  for (let at = session; ; ) {
    const [up] = await storage.query("check.branch", { session: at, branch: 1 });
    if (up === undefined || seen.has(up.parent_session_no)) return { kept, living: [] };
    at = up.parent_session_no;
    seen.add(at);
    const [row] = await storage.query("archive.sessions", { session: at });
    if (row === undefined) return { kept, living: [] };
    const known = { no: at, id: String(row.id), version: Number(row.version) };
    if (row.deleted_at === null) return { kept, living: [known] };
    kept.push(known);
  }
}

/** Sessions of which only a part or the name is here, and that invocations of these name. */
export async function readNamedSessions(
  storage: Storage,
  sessions: readonly { readonly no: number }[],
): Promise<readonly SessionRef[]> {
  const names = new Map<number, SessionRef>();
  for (const { no } of sessions) {
    for (const name of await storage.query("session.names", { session: no }))
      names.set(name.no, { ...name, version: IN_PART });
  }
  return [...names.values()];
}

/**
 * Frees what deleted sessions keep for forks and no session inherits any more. A deletion frees it itself; this runs
 * after every deletion and in gc, so that nothing stays that a crash left behind.
 */
export async function shrinkTombstones(
  storage: Storage,
  payloads: Payloads,
): Promise<Readonly<Record<string, number>>> {
  const freed: Readonly<Record<string, number>>[] = [];
  for (let changed = true; changed; ) {
    changed = false;
    const held = Map.groupBy(await storage.query("remains.list", {}), (row) => row.session_no);
    for (const [no, rows] of held) {
      const remains = await findInheritedRanges(storage, no);
      const isSame =
        remains.length === rows.length &&
        rows.every((row) => remains.some(({ branch, upTo }) => branch === row.branch && upTo === row.upto));
      if (isSame) continue;
      const at = storage.environment.now();
      // As it was read, and locked: an import may be about to count on it.
      const guards = rows.map(
        ({ session, branch, upto }): Guard => ({
          check: "remains.upto",
          key: [session, branch],
          expect: upto,
        }),
      );
      const outcome = await storage.commit({ solo: true, guards, writes: eraseWrites(no, at, false) });
      if (!outcome.ok) continue;
      const { report, later } = reportOf(outcome.found ?? {}, at, 1);
      await discardErased(storage, payloads, later);
      freed.push(report.removed);
      changed = true;
    }
  }
  return sumOf(freed);
}
