// Deleting a session (rule LG6): everything it holds goes and a tombstone stays, but for what live forks inherit of it,
// which is kept for them and goes with the last of them.
import type { Erasure } from "../contracts/history.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { Cell, ErasedScope, Found, Guard, Storage, Write } from "../contracts/storage.ts";
import { type Committed, decide } from "../core/decide.ts";
import { lineageAt } from "../core/lineage.ts";
import { afterwards, countRows, type Erased, forgetWrites, releaseWrites, tally } from "./erase.ts";

const SCOPES = ["allMessages", "allState", "allAnnotations", "allWork"] as const satisfies readonly ErasedScope[];
const ROWS = ["turns", "evals", "calls", "snapshots", "heads", "invocations", "derivations", "branches"] as const;

/** What of a session's log is kept for others: up to this seq on this branch. */
export interface Remains {
  readonly branch: number;
  readonly upTo: number;
}

/**
 * Everything the session holds; a tombstone with its id stays. null when there is none. Nothing is decided on what was
 * read before, not even who inherits from it: so it happens also where others never stop writing or forking.
 */
export async function eraseSession(
  storage: Storage,
  payloads: Payloads,
  id: string,
  everywhere: boolean,
): Promise<Erasure | null> {
  const erased = await decide<Erased | null>(storage, async () => {
    const [session] = await storage.query("session.get", id);
    if (session === undefined || session.deleted_at !== null) return { answer: null };
    const at = storage.environment.now();
    return {
      commit: {
        solo: true,
        sessions: [{ id, mode: "existing", at }],
        writes: [...eraseWrites(session.no, at, everywhere), ...tombstoneWrites(session.no, at)],
      },
      answer: ({ found = {} }: Committed) => reportOf(found, at),
    };
  });
  if (erased === null) return null;
  await afterwards(storage, payloads, erased.later);
  const freed = await shrinkRemains(storage, payloads);
  return { removed: sumOf([erased.report.removed, freed]), kept: erased.report.kept };
}

function reportOf(found: Found, at: number): Erased {
  const { blobs, bytes, kept, later } = tally(found, SCOPES, at);
  const words = found["allMessages.words"]?.[0];
  const events = found["remains.events"]?.[0] ?? { n: 0, kept: 0 };
  const work = countRows(found["allWork.erasable"]);
  const removed = {
    messages: words?.n ?? 0,
    events: events.n - events.kept,
    state: countRows(found["allState.erasable"]),
    annotations: countRows(found["allAnnotations.erasable"]),
    ...(work === 0 ? {} : { payloads: work }),
    blobs,
    bytes: bytes + (words?.bytes ?? 0),
  };
  const inherited = found["remains.messages"]?.[0]?.n ?? 0;
  const forOthers = {
    ...(inherited === 0 ? {} : { inherited }),
    ...(events.kept === 0 ? {} : { events: events.kept }),
  };
  return { report: { removed, kept: { tombstone: 1, blobs: kept, ...forOthers } }, later };
}

function sumOf(all: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  const sum: Record<string, number> = {};
  for (const [kind, n] of all.flatMap((one) => Object.entries(one))) sum[kind] = (sum[kind] ?? 0) + n;
  return sum;
}

/** Of the session's own branches, what live forks inherit: from where they branched off, back to its beginning. */
export async function neededOf(storage: Storage, no: number): Promise<readonly Remains[]> {
  const upTo = new Map<number, number>();
  for (const cut of await storage.query("branches.needed", no, no)) {
    for (const segment of await lineageAt(storage, { no, branch: cut.branch, seq: cut.upto })) {
      if (segment.no !== no) break;
      upTo.set(segment.branch, Math.max(upTo.get(segment.branch) ?? 0, segment.upTo));
    }
  }
  return [...upTo].map(([branch, seq]) => ({ branch, upTo: seq }));
}

/** A seq that no log reaches: what is erased everywhere was erased after all that anyone inherits. */
const AFTER_ALL = Number.MAX_SAFE_INTEGER;

function eraseWrites(no: number, at: number, everywhere: boolean): readonly Write[] {
  const where: Cell[] = [no];
  const run = (statement: Extract<Write, { op: "run" }>["statement"], ...params: Cell[]): Write => ({
    ...{ op: "run", statement, params: [...params, no] },
  });
  const release: Write[] = [
    { op: "read", query: "allMessages.words", params: where },
    ...releaseWrites(SCOPES, at, where),
  ];
  const keep: Write = { op: "run", statement: "remains.keep", params: [no, no, no, no, no] };
  // Everywhere: the rows that forks inherit stay, so that these show what was there, and hold nothing any more.
  const forget: Write[] = [
    ...(["Messages", "Evals", "Calls", "Snapshots"] as const).map((kind) => run(`remains.forget${kind}`, AFTER_ALL)),
    run("remains.forgetHeads"),
    run("remains.forgetInvocations"),
    run("remains.forgetState"),
  ];
  return [
    run("remains.clear"),
    ...(everywhere ? [...release, keep, ...forget] : [keep, ...release]),
    { op: "read", query: "remains.messages", params: where },
    { op: "read", query: "remains.events", params: where },
    ...forgetWrites(SCOPES, where),
    ...ROWS.map((table) => run(`${table}.dropAll`)),
    { op: "run", statement: "words.shorten", params: [] },
  ];
}

/** Everything that is left of a session goes, but for its heads, for rows of the same commit that take its place. */
export function replaceWrites(no: number): readonly Write[] {
  const run = (statement: Extract<Write, { op: "run" }>["statement"]): Write => ({
    op: "run",
    statement,
    params: [no],
  });
  return [
    run("remains.clear"),
    run("allMessages.unindex"),
    ...SCOPES.map((scope) => run(`${scope}.release`)),
    ...forgetWrites(SCOPES, [no]),
    ...ROWS.filter((table) => table !== "heads").map((table) => run(`${table}.dropAll`)),
    { op: "run", statement: "words.shorten", params: [] },
  ];
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
    { op: "run", statement: "session.tombstone", params: [at, no] },
  ];
}

/**
 * What deleted sessions keep for forks, as far as nobody inherits it any more. Asked after every deletion, also for those
 * of others: so nothing is left behind by one that was cut off.
 */
async function shrinkRemains(storage: Storage, payloads: Payloads): Promise<Readonly<Record<string, number>>> {
  const freed: Readonly<Record<string, number>>[] = [];
  for (let changed = true; changed; ) {
    changed = false;
    const held = Map.groupBy(await storage.query("remains.list"), (row) => row.session_no);
    for (const [no, rows] of held) {
      const remains = await neededOf(storage, no);
      const isSame =
        remains.length === rows.length &&
        rows.every((row) => remains.some(({ branch, upTo }) => branch === row.branch && upTo === row.upto));
      if (isSame) continue;
      const at = storage.environment.now();
      // As it was read, and locked: an import may be about to count on it.
      const guards = rows.map(
        ({ session, branch, upto }): Guard => ({
          ...{ check: "remains.upto", key: [session, branch], expect: upto },
        }),
      );
      const outcome = await storage.commit({ solo: true, guards, writes: eraseWrites(no, at, false) });
      if (!outcome.ok) continue;
      const { report, later } = reportOf(outcome.found ?? {}, at);
      await afterwards(storage, payloads, later);
      freed.push(report.removed);
      changed = true;
    }
  }
  return sumOf(freed);
}
