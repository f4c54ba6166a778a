// Verifies what a session inherits: stretches of other sessions' logs, each from the beginning of a branch up to where
// it was continued. A fork is only as valid as these stretches, so verifying the fork also verifies them.
import type { SessionRow, WholeEventRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { sameBytes } from "../core/bytes.ts";
import { genesis } from "../core/hashing.ts";
import { NOW } from "../core/lineage.ts";
import { TimeSlice } from "../core/time-slice.ts";
import { BEGINS_BRANCH, type ChainFault, Clears, checkColumns, checkEvent } from "./verify.ts";

const PAGE = 1000;

/** A stretch of a session's log: of one branch, up to a seq. */
export interface LogStretch {
  readonly session: string;
  readonly branch: number;
  readonly upTo: number;
}

/** For each session, the seq up to which each of its branches is needed. */
export type RequiredRanges = ReadonlyMap<string, ReadonlyMap<number, number>>;

export interface InheritedFault extends ChainFault {
  /** The session whose log has the fault. */
  readonly session: string;
}

/** Collects these stretches and everything that they continue, except in sessions that are included anyway. */
export async function collectRequiredRanges(
  storage: Storage,
  stretches: readonly LogStretch[],
  isThere: (session: string) => boolean,
): Promise<RequiredRanges> {
  const needed = new Map<string, Map<number, number>>();
  const open = [...stretches];
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    const { session, branch, upTo } = next;
    if (isThere(session)) continue;
    const branches = needed.get(session) ?? new Map<number, number>();
    needed.set(session, branches);
    const known = branches.get(branch);
    branches.set(branch, Math.max(known ?? 0, upTo));
    if (known !== undefined) continue;
    const [row] = await storage.query("session.get", { id: session });
    if (row === undefined) continue;
    for (const one of await readParentRanges(storage, row.no, branch - 1, branch)) open.push(one);
  }
  return needed;
}

/** The highest seq that any of the branches needs. A loop, because a session may have very many branches. */
export function lastOf(branches: ReadonlyMap<number, number>): number {
  let last = 0;
  for (const upTo of branches.values()) last = Math.max(last, upTo);
  return last;
}

/** The stretches that branches continue which begin after one seq and not after another. */
async function readParentRanges(
  storage: Storage,
  no: number,
  after: number,
  upTo: number,
): Promise<readonly LogStretch[]> {
  const rows = await storage.query("archive.branches", { session: no, after, upTo });
  return rows.flatMap(({ parent_session: session, parent_branch, cut_seq }) =>
    typeof session === "string" ? [{ session, branch: Number(parent_branch), upTo: Number(cut_seq) }] : [],
  );
}

/** What a session inherits on its branches that begin after a seq. */
export async function readInheritedRanges(
  storage: Storage,
  { id, no }: Pick<SessionRow, "id" | "no">,
  after = 0,
): Promise<RequiredRanges> {
  return collectRequiredRanges(storage, await readParentRanges(storage, no, after, NOW), (session) => session === id);
}

/**
 * The first damage in each session that this one inherits from, on any of its branches that begin after `after`. `of`:
 * only what deleted sessions left, for a caller that checks the others anyway.
 */
export async function* verifyInherited(
  storage: Storage,
  session: Pick<SessionRow, "id" | "no">,
  of: "all" | "deleted",
  after = 0,
): AsyncGenerator<InheritedFault> {
  for (const [id, branches] of await readInheritedRanges(storage, session, after)) {
    const bad = await verifySource(storage, id, branches, of);
    if (bad !== null) yield { session: id, ...bad };
  }
}

async function verifySource(
  storage: Storage,
  id: string,
  branches: ReadonlyMap<number, number>,
  of: "all" | "deleted",
): Promise<ChainFault | null> {
  for (;;) {
    const [row] = await storage.query("session.get", { id });
    if (row === undefined || (of === "deleted" && row.deleted_at === null)) return null;
    const bad = await verifyStretches(storage, row, branches);
    const [now] = bad === null ? [row] : await storage.query("session.get", { id });
    // If the source was deleted meanwhile, verify again what is left of it. This can happen only once.
    if (now?.deleted_at === row.deleted_at) return bad;
  }
}

/**
 * Checks that events are contiguous, that each hash follows from the one before it if that is known, and that columns
 * equal the hashed envelope.
 */
async function verifyStretches(
  storage: Storage,
  source: SessionRow,
  branches: ReadonlyMap<number, number>,
): Promise<ChainFault | null> {
  const end = lastOf(branches);
  const last = new Map<number, number>();
  const clears = new Clears(storage, source.id);
  const slice = new TimeSlice(storage.environment);
  let before: WholeEventRow | null = null;
  for (let seq = 0; seq < end; ) {
    const rows: readonly WholeEventRow[] = await storage.query("events.whole", {
      session: source.id,
      after: seq,
      limit: PAGE,
    });
    for (const event of rows) {
      if (slice.isSpent) await slice.pause();
      const { branch } = event;
      seq = event.seq;
      if (seq <= (branches.get(branch) ?? 0)) {
        const bad = checkPlaced(event, before, last.get(branch), source) ?? (await checkGone(event, clears, source));
        if (bad !== null) return bad;
        last.set(branch, seq);
      }
      before = event;
    }
    if (rows.length < PAGE) break;
  }
  for (const [branch, upTo] of branches) {
    const seq = (last.get(branch) ?? branch - 1) + 1;
    if (seq <= upTo) return { seq, reason: `event ${seq} is missing` };
  }
  return null;
}

/** `last`: the event of its branch that was verified last. */
function checkPlaced(
  event: WholeEventRow,
  before: WholeEventRow | null,
  last: number | undefined,
  source: SessionRow,
): ChainFault | null {
  const { seq, branch } = event;
  const expected = last === undefined ? branch : last + 1;
  if (seq !== expected) return { seq: expected, reason: `event ${expected} is missing` };
  if (seq === branch && seq > 1 && !BEGINS_BRANCH.has(event.type)) return { seq, reason: "the event begins no branch" };
  if (seq === source.seq && !sameBytes(event.hash, source.chain)) {
    return { seq, reason: "the hash differs from the one in the session's row" };
  }
  if (seq === 1) return checkEvent(event, { seq: 0, hash: genesis(source.id), branch });
  // At the beginning of a branch, the events before it on the line that was left may have been removed.
  return before?.seq === seq - 1
    ? checkEvent(event, { seq: before.seq, hash: before.hash, branch })
    : checkColumns(event);
}

/**
 * An erased message needs a clear that erased it. For a deleted session, the clear itself may have been removed too.
 */
async function checkGone(event: WholeEventRow, clears: Clears, source: SessionRow): Promise<ChainFault | null> {
  const { seq, erased_seq: by } = event;
  if (by === null || (await clears.cover(event, by))) return null;
  if (source.deleted_at !== null && by > seq && !(await clears.has(by))) return null;
  return { seq, reason: `the message is missing, and event ${by} did not clear it` };
}
