// Deletes a session (rule LG6): its content is erased, and a tombstone stays. Parts that live forks inherit are kept,
// and erased with the last of these forks.
import { HoldfastError } from "../contracts/errors.ts";
import type { Erasure } from "../contracts/history.ts";
import type { Cell, Guard, SessionUse, Write } from "../contracts/storage/commit.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { type CommittedOutcome, type Decision, decide, type FinalAnswer } from "../core/decide.ts";
import { discardErased, type ErasureOutcome } from "../core/erasure.ts";
import { whileIdle } from "../core/session-guards.ts";
import { IN_PART } from "../core/session-lookup.ts";
import { eraseWrites, reportOf, sumOf } from "./erase-rows.ts";
import { readAncestors, readNamedSessions, shrinkTombstones } from "./tombstones.ts";

/**
 * Erases the session; a tombstone with its id stays. null if there is no such session. The commit relies on nothing
 * that was read before, not even on which sessions inherit from it, so it also succeeds beside constant writes and
 * forks. Only an unfinished run prevents it (SessionBusy), because the run's effects would be recorded nowhere. It also
 * frees parts of deleted sessions that were kept only for this one. For a session that was deleted before, or was never
 * here as a whole, `everywhere` erases the parts that are kept for others.
 */
export async function eraseSession(
  storage: Storage,
  payloads: Payloads,
  id: string,
  everywhere: boolean,
): Promise<Erasure | null> {
  let isKnown = false;
  const erased = await decide<ErasureOutcome | null>(storage, async () => {
    const [session] = await storage.query("session.get", { id });
    isKnown = session !== undefined;
    if (session === undefined) return { answer: null };
    return session.deleted_at === null
      ? eraseLiving(storage, session, everywhere)
      : eraseRest(storage, session, everywhere);
  });
  if (!isKnown) return null;
  if (erased !== null) await discardErased(storage, payloads, erased.later);
  const freed = await shrinkTombstones(storage, payloads);
  if (erased !== null) return { removed: sumOf([erased.report.removed, freed]), kept: erased.report.kept };
  return Object.values(freed).some((n) => n > 0) ? { removed: freed, kept: { tombstone: 1, blobs: 0 } } : null;
}

async function eraseLiving(
  storage: Storage,
  session: SessionRow,
  everywhere: boolean,
): Promise<Decision<ErasureOutcome>> {
  const { id, no } = session;
  const idle = await whileIdle(storage, id);
  const at = storage.environment.now();
  const { kept, living } = await readAncestors(storage, no);
  const names = await readNamedSessions(storage, [session, ...kept]);
  const others = new Set([...kept, ...living, ...names].map((one) => one.id));
  return {
    commit: {
      solo: true,
      // All commits lock sessions in the same order. This commit also locks sessions of which nothing may be left, so
      // that no other commit relies on them meanwhile.
      sessions: [
        { id, mode: "existing", at },
        ...[...others].map((one): SessionUse => ({ id: one, mode: "lock", at })),
      ],
      // Decide again if a kept session was imported whole since, or a living one was deleted since.
      guards: [
        idle,
        ...kept.map((one): Guard => ({ check: "session.tombstone", key: [one.id], expect: one.version })),
        ...living.map((one): Guard => ({ check: "session.tombstone", key: [one.id], expect: null })),
      ],
      writes: [
        ...eraseWrites(no, at, everywhere),
        { op: "read", query: "remains.messages", params: { session: no } },
        ...tombstoneWrites(no, at),
        // The nearest ancestor first: after it is freed, the ones before it may not be needed either.
        ...kept.flatMap((one) => eraseWrites(one.no, at, false)),
        ...[...kept, ...names].map((one): Write => ({ op: "run", statement: "session.forget", params: [one.no] })),
      ],
    },
    answer: ({ found = {} }: CommittedOutcome) => reportOf(found, at, 1),
  };
}

/** Erases the parts that others inherit from a session that was deleted or is here in part. */
async function eraseRest(
  storage: Storage,
  session: SessionRow,
  everywhere: boolean,
): Promise<Decision<ErasureOutcome | null> | FinalAnswer<null>> {
  const { id, no, version } = session;
  const isPart = version === IN_PART;
  const isKept = (await storage.query("archive.remains", { session: no })).length > 0;
  if (!isKept && isPart) return forgetName(storage, session);
  if (!isKept || !everywhere) return { answer: null };
  const at = storage.environment.now();
  return {
    commit: {
      solo: true,
      sessions: [{ id, mode: "lock", at }],
      guards: [{ check: "session.tombstone", key: [id], expect: version }],
      writes: eraseWrites(no, at, true),
    },
    answer: ({ found = {} }: CommittedOutcome) => reportOf(found, at, isPart ? 0 : 1),
  };
}

/** How many naming sessions an error lists. */
const NAMED = 10;

/** Removes a session of which only the id is here, if no other session names it. */
async function forgetName(storage: Storage, { id, no }: SessionRow): Promise<Decision<ErasureOutcome>> {
  const namers = (await storage.query("session.namers", { session: no, limit: NAMED })).map((one) => one.id);
  if (namers.length > 0) {
    const names = namers.map((one) => JSON.stringify(one)).join(", ");
    throw new HoldfastError(
      "Conflict",
      `only the name of the session ${JSON.stringify(id)} is in this store, and ${names} names it`,
      {
        details: { kind: "session", id, namedBy: namers },
        hint: "The name is removed with the last session that names it. Import the session's own archive to get it.",
      },
    );
  }
  const at = storage.environment.now();
  return {
    commit: {
      solo: true,
      sessions: [{ id, mode: "lock", at }],
      guards: [{ check: "session.tombstone", key: [id], expect: IN_PART }],
      writes: [{ op: "run", statement: "session.forget", params: [no] }],
    },
    answer: () => ({
      report: { removed: { messages: 0, names: 1, blobs: 0, bytes: 0 }, kept: { blobs: 0 } },
      later: [],
    }),
  };
}

function tombstoneWrites(no: number, at: number): readonly Write[] {
  const where: Cell[] = [no];
  return [
    { op: "run", statement: "tasks.removeAll", params: where },
    { op: "run", statement: "boards.removeAll", params: where },
    ...(["runs", "signals", "decisions", "checkpoints"] as const).map(
      (table): Write => ({ op: "run", statement: `${table}.removeAll`, params: where }),
    ),
    { op: "run", statement: "session.untag", params: where },
    { op: "run", statement: "session.unalias", params: where },
    { op: "run", statement: "session.tombstone", params: [at, at, no] },
  ];
}
