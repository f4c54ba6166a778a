// Positions of sessions: how an event moves one, and the cache of positions and of agents' row numbers between the commits of
// one handle. The cache is never trusted, because a server may be restored from an older backup under a live handle: a commit
// fences every position it uses. An agent's number is cached with the positions that its transaction wrote: as long as such a
// position still holds, that transaction is part of the server's history, and so is the number.
import type { Counts } from "../../contracts/heads.ts";
import type { Commit, EventDraft, Guard, Outcome, Write } from "../../contracts/storage/commit.ts";
import type { StatementName } from "../../contracts/storage/statement-names.ts";
import { addCounts, NONE } from "../../core/counts.ts";
import type { BranchPosition, NewestHead } from "../../core/head.ts";

/** The position of a session's log: read inside the transaction, or cached and fenced. */
export interface SessionPosition {
  readonly no: number;
  readonly seq: number;
  readonly chain: Uint8Array;
  readonly branch: number;
  readonly messages: number;
  readonly stateSeq: number;
  /** The position of its branch, if known: a head counts the rows since the head before it. */
  readonly branchPosition: BranchPosition | undefined;
}

/** Statements that publish no head and add no rows that heads count. */
const UNCOUNTED_STATEMENTS: ReadonlySet<StatementName> = new Set<StatementName>([
  "run.move",
  "run.progress",
  "run.beat",
  "run.admit",
  "signal.take",
  "decision.answer",
  "session.headTo",
]);

/**
 * The position of a branch after an event, from what the event writes. undefined: it cannot be computed, and the commit that
 * publishes the next head counts the rows.
 */
export function branchPositionAfter(
  before: BranchPosition | undefined,
  draft: EventDraft,
  published: NewestHead | undefined,
): BranchPosition | undefined {
  if (draft.head !== undefined && published !== undefined) {
    return { head: published, since: NONE };
  }
  if (before === undefined) return undefined;
  let since = draft.message === undefined ? before.since : addCounts(before.since, { messages: 1 });
  for (const write of draft.writes ?? []) {
    const added = rowsAddedBy(write);
    if (added === null) return undefined;
    if (added !== NONE) since = addCounts(since, added);
  }
  return since === before.since ? before : { head: before.head, since };
}

/** Rows of later versions carry the seq of the first one, and are not counted again. null: unknown. */
function rowsAddedBy(write: Write): Partial<Counts> | null {
  if (write.op === "run") return UNCOUNTED_STATEMENTS.has(write.statement) ? NONE : null;
  if (write.op !== "insert") return null;
  const { table } = write;
  switch (table) {
    case "snapshots":
      return { snapshots: 1 };
    case "turns":
    case "evals":
    case "calls":
    case "invocations":
      return typeof write.row.first_seq === "object" ? { [table]: 1 } : NONE;
    case "heads":
    case "events":
    case "branches":
      return null;
    default:
      return NONE;
  }
}

/** Whether a commit moves the positions of its branches by its events alone. */
export function changesOnlyByEvents({ writes = [], replaces, restores }: Commit): boolean {
  if (replaces !== undefined || restores !== undefined) return false;
  for (const write of writes) if (rowsAddedBy(write) !== NONE) return false;
  return true;
}

/** What the cache has for one batch: numbers never change; positions are fenced before they are used. */
export interface CachedPositions {
  readonly sessions: Map<string, SessionPosition>;
  readonly agents: Map<string, number>;
  /** Whether a guard held when the session was at its cached position. */
  impliesGuard(session: string, guard: Guard): boolean;
}

/**
 * Guards on what changes only together with an event in the log of the session that a commit names first: if that log has
 * not grown, the guard holds as it did. Every step of a run guards its lease, every checkpoint its version.
 */
const IMPLIED_BY_SESSION: ReadonlySet<string> = new Set(["run.epoch", "run.version"]);

function isImpliedBySession({ check }: Guard): boolean {
  return IMPLIED_BY_SESSION.has(check);
}

export interface BatchResult {
  /**
   * null if the commit relies on something that an earlier commit of the batch changes: it must go into a later batch.
   */
  readonly outcomes: readonly (Outcome | null)[];
  readonly sessions: ReadonlyMap<string, SessionPosition>;
  readonly agents: ReadonlyMap<string, number>;
}

/** How many sessions are cached, and how many agents of each; the oldest are dropped. */
const MOST_SESSIONS = 10_000;
const MOST_AGENTS = 100;

interface CachedSession {
  position: SessionPosition;
  readonly agents: Map<string, number>;
  /** The latest guards that held at the position. */
  guards: readonly Guard[];
}

const NO_GUARDS: CachedSession["guards"] = [];

export class PositionCache {
  readonly #sessions = new Map<string, CachedSession>();

  /** A copy for this batch: other batches may change the cache while it waits for its transaction. */
  lookUp(batch: readonly Commit[]): CachedPositions {
    const sessions = new Map<string, SessionPosition>();
    const agents = new Map<string, number>();
    for (const commit of batch) {
      for (const { id } of commit.sessions ?? []) {
        const session = this.#sessions.get(id);
        if (session === undefined) continue;
        sessions.set(id, session.position);
        // The batch commits only if every position still holds.
        copyNumbers(commit, session.agents, agents);
      }
    }
    const impliesGuard = (id: string, guard: Guard) => {
      if (!isImpliedBySession(guard)) return false;
      const session = this.#sessions.get(id);
      return session !== undefined && includesGuard(session.guards, guard);
    };
    return { sessions, agents, impliesGuard };
  }

  update(batch: readonly Commit[], result: BatchResult): void {
    for (const [i, commit] of batch.entries()) {
      for (const [at, { id }] of (commit.sessions ?? []).entries()) {
        const position = result.sessions.get(id);
        if (position === undefined) continue;
        const session = this.#sessions.get(id) ?? { position, agents: new Map<string, number>(), guards: NO_GUARDS };
        session.position = position;
        if (result.outcomes[i]?.ok === true) session.guards = guardsAfter(session.guards, commit, at === 0);
        copyNumbers(commit, result.agents, session.agents);
        dropOldest(session.agents, MOST_AGENTS);
        this.#putNewest(id, session);
      }
    }
    dropOldest(this.#sessions, MOST_SESSIONS);
  }

  /** Moves the entry to the newest end; the order matters only when the cache is half full. */
  #putNewest(id: string, session: CachedSession): void {
    if (this.#sessions.size > MOST_SESSIONS / 2) this.#sessions.delete(id);
    this.#sessions.set(id, session);
  }

  invalidate(batch: readonly Commit[]): void {
    for (const commit of batch) for (const { id } of commit.sessions ?? []) this.#sessions.delete(id);
  }
}

/** Of the agents a commit names. */
function copyNumbers(commit: Commit, from: ReadonlyMap<string, number>, to: Map<string, number>): void {
  for (const { id } of commit.agents ?? []) copyNumber(id, from, to);
  for (const { agent } of commit.sessions ?? []) if (agent !== undefined) copyNumber(agent, from, to);
}

function copyNumber(agent: string, from: ReadonlyMap<string, number>, to: Map<string, number>): void {
  const no = from.get(agent);
  if (no !== undefined && !to.has(agent)) to.set(agent, no);
}

function dropOldest(entries: Map<string, unknown>, most: number): void {
  for (const id of entries.keys()) {
    if (entries.size <= most) return;
    entries.delete(id);
  }
}

/**
 * A commit without guards changes nothing that a cached guard states. Any other commit may: after it, only the guards in
 * `holds` are known to hold, or, without `holds`, the lease guards of the first session. So a commit that changes a lease
 * and guards by the same lease must set `holds`.
 */
function guardsAfter(
  held: CachedSession["guards"],
  { guards, holds }: Commit,
  isFirst: boolean,
): CachedSession["guards"] {
  if (guards === undefined || guards.length === 0) return held;
  if (holds !== undefined) return isFirst ? holds : NO_GUARDS;
  if (!isFirst) return NO_GUARDS;
  // A step has one guard, its run's lease, which is known to hold.
  const [only] = guards;
  if (guards.length === 1 && only?.check === "run.epoch") return includesGuard(held, only) ? held : guards;
  return guards.filter(({ check }) => check === "run.epoch");
}

function includesGuard(held: CachedSession["guards"], { check, key, expect }: Guard): boolean {
  for (const one of held) {
    // The key of a run's guard is the run's id.
    if (one.check === check && one.key[0] === key[0] && one.key.length === 1 && key.length === 1)
      return one.expect === expect;
  }
  return false;
}
