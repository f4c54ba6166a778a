// Caches, between the commits of one handle, the positions of sessions and the row numbers of agents. The cache is never
// trusted, because a server may be restored from an older backup under a live handle. A commit fences every position it
// uses. An agent's number is cached with the positions that its transaction wrote: as long as such a position still
// holds, that transaction is part of the server's history, and so is the number.
import type { Commit, Guard } from "../../contracts/storage/commit.ts";
import { type BatchResult, type CachedPositions, isImpliedBySession } from "./commit.ts";
import type { SessionPosition } from "./writing.ts";

/** How many sessions are cached, and how many agents of each; the oldest are dropped. */
const MOST_SESSIONS = 10_000;
const MOST_AGENTS = 100;

interface CachedSession {
  position: SessionPosition;
  readonly agents: Map<string, number>;
  /** Guards that held at the position: a few. */
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
        // One position implies the others: the batch commits only if every one of them holds.
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
