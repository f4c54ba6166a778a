// What a handle remembers between commits: where sessions stand and which numbers agents have. None of it is taken on
// trust, for a server may be put back to an older copy under a live handle. A position is fenced by the commit that uses
// it. A number is kept beside the positions written by a transaction that relied on it: where such a position still
// holds, that transaction is part of the server's past, and the number with it.
import type { Commit, Guard } from "../../contracts/storage.ts";
import { type BatchResult, isVouched, type Remembered } from "./commit.ts";
import type { Position } from "./writing.ts";

/** Sessions a handle remembers, and agents of each; the oldest are forgotten. */
const MOST_SESSIONS = 10_000;
const MOST_AGENTS = 100;

interface Known {
  position: Position;
  readonly agents: Map<string, number>;
  /** Guards that held at the position: a few. */
  held: readonly Guard[];
}

const NONE: Known["held"] = [];

export class Memory {
  readonly #sessions = new Map<string, Known>();

  /** What is known of a batch, for it alone: others may learn and forget while it waits for its turn. */
  recall(batch: readonly Commit[]): Remembered {
    const sessions = new Map<string, Position>();
    const agents = new Map<string, number>();
    for (const commit of batch) {
      for (const { id } of commit.sessions ?? []) {
        const known = this.#sessions.get(id);
        if (known === undefined) continue;
        sessions.set(id, known.position);
        // One position of the batch vouches for all of it: the batch happens only if every one of them holds.
        copyNumbers(commit, known.agents, agents);
      }
    }
    const held = (id: string, guard: Guard) => {
      if (!isVouched(guard)) return false;
      const known = this.#sessions.get(id);
      return known !== undefined && isHeld(known.held, guard);
    };
    return { sessions, agents, held };
  }

  learn(batch: readonly Commit[], result: BatchResult): void {
    for (const [i, commit] of batch.entries()) {
      for (const [at, { id }] of (commit.sessions ?? []).entries()) {
        const position = result.sessions.get(id);
        if (position === undefined) continue;
        const known = this.#sessions.get(id) ?? { position, agents: new Map<string, number>(), held: NONE };
        known.position = position;
        if (result.outcomes[i]?.ok === true) known.held = heldAfter(known.held, commit, at === 0);
        copyNumbers(commit, result.agents, known.agents);
        dropOldest(known.agents, MOST_AGENTS);
        this.#keep(id, known);
      }
    }
    dropOldest(this.#sessions, MOST_SESSIONS);
  }

  /** As the newest; only where the oldest will have to go soon does it matter who is. */
  #keep(id: string, known: Known): void {
    if (this.#sessions.size > MOST_SESSIONS / 2) this.#sessions.delete(id);
    this.#sessions.set(id, known);
  }

  forget(batch: readonly Commit[]): void {
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

function dropOldest(known: Map<string, unknown>, most: number): void {
  for (const id of known.keys()) {
    if (known.size <= most) return;
    known.delete(id);
  }
}

/**
 * A commit without guards changes nothing that is vouched for. Any other may: known to hold after it is only what it says
 * itself, or, of the lease, what it asked for as the first session's. So whoever changes a lease must not ask for it by
 * the same guard without saying so.
 */
function heldAfter(held: Known["held"], { guards, holds }: Commit, isFirst: boolean): Known["held"] {
  if (guards === undefined || guards.length === 0) return held;
  if (holds !== undefined) return isFirst ? holds : NONE;
  if (!isFirst) return NONE;
  // A step: it asks for what is known to hold, and nothing else.
  const [only] = guards;
  if (guards.length === 1 && only?.check === "run.epoch") return isHeld(held, only) ? held : guards;
  return guards.filter(({ check }) => check === "run.epoch");
}

function isHeld(held: Known["held"], { check, key, expect }: Guard): boolean {
  for (const one of held) {
    // Of a run's guards the key is its id.
    if (one.check === check && one.key[0] === key[0] && one.key.length === 1 && key.length === 1)
      return one.expect === expect;
  }
  return false;
}
