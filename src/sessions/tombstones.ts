// Tombstones: the parts of deleted sessions that others inherit, and the parts of sessions that were imported with a
// fork. Finds which parts are still needed, and removes the others.
import type { Guard } from "../contracts/storage/commit.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { discardErased } from "../core/erasure.ts";
import { lineageAt } from "../core/lineage.ts";
import { IN_PART } from "../core/session-lookup.ts";
import { eraseWrites, reportOf, sumOf } from "./erase-rows.ts";

/** A part of a session's log that is kept for others: up to this seq on this branch. */
export interface KeptRange {
  readonly branch: number;
  readonly upTo: number;
}

/** The ranges of the session's own branches that live forks inherit: from where they branched off back to the beginning. */
export async function findInheritedRanges(storage: Storage, no: number): Promise<readonly KeptRange[]> {
  const upTo = new Map<number, number>();
  for (const cut of await storage.query("branches.needed", { session: no })) {
    for (const stretch of await lineageAt(storage, { no, branch: cut.branch, seq: cut.upto })) {
      if (stretch.no !== no) break;
      upTo.set(stretch.branch, Math.max(upTo.get(stretch.branch) ?? 0, stretch.upTo));
    }
  }
  return [...upTo].map(([branch, seq]) => ({ branch, upTo: seq }));
}

/** The number and the id of a session. */
export interface SessionRef {
  readonly no: number;
  readonly id: string;
  readonly version: number;
}

export interface Ancestors {
  /** Sessions of which only inherited parts are here, the nearest first. */
  readonly kept: readonly SessionRef[];
  /** The first ancestor that exists as a whole, if there is one. It needs all ancestors before it. */
  readonly living: readonly SessionRef[];
}

/** The sessions that a session continues. Every session continues another one only with its first branch. */
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
 * Frees the parts of deleted sessions that no session inherits any more. Normally the deletion of the last heir frees
 * them; this function runs after every deletion and in gc, and also frees what a crash left behind.
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
      // Guarded and locked, because an import may be about to rely on it.
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
