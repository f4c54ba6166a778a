// Which commits of a batch can happen, judged by what was read before any of them.
import type { Commit, Guard, Refusal } from "../../contracts/storage/commit.ts";
import { toHex } from "../../core/bytes.ts";
import { isReserved } from "../../core/locator.ts";
import type { Param } from "./driver.ts";
import type { SessionPosition } from "./positions.ts";

export interface LockedSession {
  readonly position: SessionPosition;
  /** Why the session accepts no events: it was deleted, or is here only in part. */
  readonly gone: "session-deleted" | "session-partial" | null;
}

export interface CommitSnapshot {
  readonly sessions: Map<string, LockedSession>;
  readonly agents: Map<string, number>;
  /** The names that are aliases: no session may be created with such a name. */
  readonly aliases: ReadonlySet<string>;
  /** When each blob of the batch expires. */
  readonly blobs: Map<string, number>;
  readonly guards: Map<string, Param>;
}

/** Values that any commit which uses a session may change without a guard. */
const MOVING: ReadonlySet<string> = new Set([
  "state.version",
  "session.seq",
  "session.branch",
  "session.head",
  "run.active",
  "runs.newest",
]);

/** Guards that only lock a row whose value never changes: commits of one batch share the lock. */
const LOCKS: ReadonlySet<string> = new Set(["memory.scope"]);

export type Verdict = "accepted" | "later" | Refusal;

/**
 * Guards were read before anything of the batch was written, so a commit with guards must not share the batch with an
 * earlier one that may change what it relied on: it waits for the next batch, and is the first there. A commit that
 * changes a guarded row guards it too; only what MOVING names is changed without a guard, and a session is created by
 * any commit that uses it. The same holds for a commit that publishes a head: what the head counts was read beside the
 * guards.
 */
export function judgeCommits(batch: readonly Commit[], snapshot: CommitSnapshot): Verdict[] {
  const touched = new Set<string>();
  const created = new Set<string>();
  const named = new Set<string>();
  return batch.map((commit) => {
    const guards = (commit.guards ?? []).filter(({ check }) => !LOCKS.has(check)).map(guardKey);
    const names = (commit.guards ?? []).flatMap(namedBy);
    const sessions = (commit.sessions ?? []).map((use) => `session ${use.id}`);
    const alone = (commit.guards ?? []).some(({ check }) => MOVING.has(check)) || publishes(commit).length > 0;
    if (guards.some((key) => touched.has(key))) return "later";
    if (names.some((name) => created.has(name))) return "later";
    if (alone && sessions.some((key) => touched.has(key))) return "later";
    const refusal = refuse(commit, snapshot, created);
    if (refusal !== null) return refusal;
    const creates = (commit.sessions ?? []).filter((use) => use.mode !== "lock" && !snapshot.sessions.has(use.id));
    if (creates.some((use) => named.has(use.id))) return "later";
    for (const name of names) named.add(name);
    for (const key of [...guards, ...sessions, ...(commit.guards ?? []).flatMap(leaseOf)]) touched.add(key);
    for (const use of creates) created.add(use.id);
    return "accepted";
  });
}

function refuse(commit: Commit, snapshot: CommitSnapshot, created: ReadonlySet<string>): Refusal | null {
  for (const use of commit.sessions ?? []) {
    if (use.mode === "lock") continue;
    const found = snapshot.sessions.get(use.id);
    const exists = found !== undefined || created.has(use.id);
    if (found?.gone) return { reason: found.gone, session: use.id };
    if ((use.mode === "create" || use.mode === "restore") && exists)
      return { reason: "session-exists", session: use.id };
    if (use.mode === "existing" && !exists) return { reason: "session-missing", session: use.id };
    if (!exists && snapshot.aliases.has(use.id)) return { reason: "session-alias", session: use.id };
    // Archives keep the ids they have.
    if (!exists && use.mode !== "restore" && isReserved(use.id)) return { reason: "session-reserved", session: use.id };
  }
  // Guards are checked before blobs: if both fail, the blob may be gone because the guarded value changed, and the rule
  // must decide again.
  for (const guard of commit.guards ?? []) {
    const actual = snapshot.guards.get(guardKey(guard)) ?? null;
    if (actual !== guard.expect) return { reason: "guard", guard, actual: actual as number | string | null };
  }
  for (const [sha256, , holds] of commit.uses ?? []) {
    const until = snapshot.blobs.get(toHex(sha256));
    if (until === undefined) return { reason: holds === "parts" ? "parts-missing" : "blob-missing", sha256 };
    if (holds === undefined && until <= (commit.sessions?.[0]?.at ?? 0)) return { reason: "blob-expired", sha256 };
  }
  return null;
}

export function guardKey(guard: Guard): string {
  return JSON.stringify([guard.check, ...guard.key.map((part) => (part instanceof Uint8Array ? toHex(part) : part))]);
}

/** A commit that guards a run's version may change its lease, too. */
function leaseOf({ check, key, expect }: Guard): string[] {
  return check === "run.version" ? [guardKey({ check: "run.epoch", key, expect })] : [];
}

/** The name a guard keeps free of sessions. */
export function namedBy({ check, key, expect }: Guard): string[] {
  return check === "session.id" && expect === null ? [String(key[0])] : [];
}

export function publishes({ events }: Commit): string[] {
  return (events ?? []).flatMap(({ session, head }) => (head === undefined ? [] : [session]));
}
