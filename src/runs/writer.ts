// What a worker writes for a run it has the lease of. Every commit holds only while the lease does; one whose outcome was
// lost with the connection is looked for in the log before it is tried again, so that nothing is written twice.
import { HoldfastError } from "../contracts/errors.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type {
  Commit,
  EventDraft,
  Found,
  Guard,
  Outcome,
  Refusal,
  SessionUse,
  Storage,
  WrittenEvent,
} from "../contracts/storage.ts";
import { canonicalJson } from "../core/canonical.ts";
import { commitment } from "../core/chain.ts";
import { refusalError } from "../core/decide.ts";
import { leaseLost } from "./errors.ts";
import { buildStepRecords, type JournalEntry, readJournal, type StepRecord } from "./journal.ts";
import { atEpoch, atVersion, type Move, type Moved, moveRun } from "./moves.ts";
import { existingRun } from "./rows.ts";

const MOST_TRIES = 8;
/** What others may change beside it; what was decided on it is decided anew. */
const ASKED_AGAIN: ReadonlySet<string> = new Set(["run.version", "runs.newest"]);
const FIRST_WAIT_MS = 20;

/** Besides the events: what they carry, and what else the commit relies on. */
export type Beside = Pick<
  Commit,
  "blobs" | "writes" | "uses" | "guards" | "holds" | "agents" | "sessions" | "solo" | "wakes"
>;

export interface Change extends Move {
  readonly beside?: Beside;
  readonly before?: readonly EventDraft[];
  readonly after?: readonly EventDraft[];
}

export class Writer {
  readonly storage: Storage;
  #row: RunRow;
  /** Events of recorded reads, which go with the next commit. */
  #held: EventDraft[] = [];
  /** Ends with the commit that takes them along. */
  #taking: Promise<void> | null = null;

  constructor(storage: Storage, row: RunRow) {
    this.storage = storage;
    this.#row = row;
  }

  get row(): RunRow {
    return this.#row;
  }

  /** Events of steps. */
  add(events: readonly EventDraft[], beside?: Beside): Promise<readonly WrittenEvent[]> {
    return this.withHeld(async (held) => {
      this.#refuseEnded();
      const all = held.length === 0 ? events : [...held, ...events];
      const outcome = await this.#commit(this.#commitOf(all, beside, [atEpoch(this.#row)]));
      if (!outcome.ok) throw this.#refused(outcome.refused);
      if (outcome.events.length !== all.length) throw new Error("bug: a commit did not tell of all its events");
      return held.length === 0 ? outcome.events : outcome.events.slice(held.length);
    });
  }

  /** An event that nothing relies on yet: written in front of the next ones, in their commit. */
  hold(event: EventDraft): void {
    this.#held.push(event);
  }

  /**
   * For every commit of the run: `commit` writes the events that are held in front of its own. Whatever another branch of the
   * iteration does next may follow from them, so its commit waits for the one that takes them along; when that one comes
   * to nothing (it throws, or is not `isWritten`), they are held again.
   */
  async withHeld<T>(
    commit: (held: readonly EventDraft[]) => Promise<T>,
    isWritten: (result: T) => boolean = () => true,
  ): Promise<T> {
    while (this.#taking !== null) await this.#taking;
    const held = this.#held;
    // Never the list itself: another branch may add to it while this commit is under way.
    if (held.length === 0) return commit([]);
    this.#held = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#taking = promise;
    let isTaken = false;
    try {
      const result = await commit(held);
      isTaken = isWritten(result);
      return result;
    } finally {
      if (!isTaken) this.#held = [...held, ...this.#held];
      this.#taking = null;
      resolve();
    }
  }

  /**
   * A change of the run's row. `make` is asked again when others changed it meanwhile (a signal, a request to cancel); null:
   * there is nothing to change any more.
   */
  async move(
    make: (row: RunRow) => Promise<Change | null> | Change | null,
  ): Promise<(Moved & { readonly found: Found }) | null> {
    for (;;) {
      const row = this.#row;
      const change = await make(row);
      if (change === null) return null;
      const moved = await this.withHeld(
        (held) => this.#tryMove(row, change, held),
        (done) => done !== null,
      );
      if (moved !== null) return moved;
    }
  }

  /** null: it was decided on a row that others have changed since, and is decided anew. */
  async #tryMove(
    row: RunRow,
    change: Change,
    held: readonly EventDraft[],
  ): Promise<(Moved & { readonly found: Found }) | null> {
    // Who looked meanwhile may have read another.
    if (this.#row.version !== row.version) return null;
    this.#refuseEnded();
    const moved = moveRun(this.#row, change);
    const { before = [], after = [] } = change;
    const events = [...held, ...before, moved.event, ...after];
    // The epoch too: then the steps that follow need not ask for it again.
    const asked = [atVersion(this.#row), atEpoch(this.#row)];
    const outcome = await this.#commit(this.#commitOf(events, change.beside, asked, moved.holds));
    if (outcome.ok) {
      this.#row = moved.row(outcome.events[held.length + before.length]?.seq ?? 0);
      return { ...moved, found: outcome.found ?? {} };
    }
    const { refused } = outcome;
    if (refused.reason !== "guard" || !ASKED_AGAIN.has(refused.guard.check)) throw this.#refused(refused);
    await this.reload();
    return null;
  }

  /** It has written the end itself: what an iteration that was left still asks for is not to follow it. */
  #refuseEnded(): void {
    if (this.#row.ended_at !== null) throw leaseLost(this.#row);
  }

  /** The row as it is now; LeaseLost when it is not ours any more. */
  async reload(): Promise<RunRow> {
    const row = await existingRun(this.storage, this.#row.id);
    // A version that went back is of a store that was put back to an older copy: what was done since is not in it.
    const isOlder = row.version < this.#row.version;
    if (row.epoch !== this.#row.epoch || row.ended_at !== null || isOlder) throw leaseLost(this.#row);
    this.#row = row;
    return row;
  }

  /** The step at a place of this iteration that the log has by now. */
  async findStep(path: string): Promise<StepRecord | undefined> {
    const { row } = this;
    const journal = await readJournal(this.storage, row, row.checkpoint_seq ?? row.first_seq);
    return [...buildStepRecords(row.session, journal).values()].findLast((one) => one.path === path);
  }

  /** Tried again while the store has trouble; for what finds out by itself whether it has happened. */
  async patiently<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof HoldfastError) || !error.retryable || tries >= MOST_TRIES) throw error;
        await this.storage.environment.sleep(FIRST_WAIT_MS * 2 ** (tries - 1));
      }
    }
  }

  #commitOf(
    events: readonly EventDraft[],
    beside: Beside | undefined,
    asked: readonly Guard[],
    holds = beside?.holds,
  ): Commit {
    const at = events[0]?.at ?? this.storage.environment.now();
    const own: SessionUse = { id: this.#row.session, mode: "existing", at };
    return {
      ...beside,
      sessions: beside?.sessions === undefined ? [own] : [own, ...beside.sessions],
      guards: beside?.guards === undefined ? asked : [...asked, ...beside.guards],
      ...{ events, ...(holds === undefined ? {} : { holds }) },
    };
  }

  #refused(refused: Refusal): HoldfastError {
    const isFence = refused.reason === "guard" && refused.guard.check === "run.epoch";
    return isFence ? leaseLost(this.#row) : refusalError(refused);
  }

  async #commit(commit: Commit): Promise<Outcome> {
    const { environment } = this.storage;
    const after = this.#row.seq;
    for (let tries = 1, isOpen = false; ; tries++) {
      try {
        if (isOpen) {
          const found = await this.#find(commit, after);
          if (found !== null) return { ok: true, events: found };
        }
        return await this.storage.commit(commit);
      } catch (error) {
        if (!(error instanceof HoldfastError) || !error.retryable || tries >= MOST_TRIES) throw error;
        isOpen = true;
        await environment.sleep(FIRST_WAIT_MS * 2 ** (tries - 1));
      }
    }
  }

  /** The commit's events, when they are in the log: salts and versions make each unlike any other. */
  async #find({ events = [] }: Commit, after: number): Promise<readonly WrittenEvent[] | null> {
    const journal = await readJournal(this.storage, this.#row, after);
    const first = events.findIndex(({ journal: carried, message }) => carried !== undefined || message !== undefined);
    const draft = events[first];
    if (draft === undefined) throw new Error("bug: a commit of a run without an event of its own");
    const found = journal.find((entry) => isSame(entry, draft));
    // What whoever took the lease wrote in the same words is not ours.
    const lost = journal.find(({ data }) => Number(data.epoch ?? 0) > this.#row.epoch);
    if (found === undefined || (lost !== undefined && lost.seq < found.seq)) return null;
    // Those of one commit and session follow each other.
    return events.map(({ session }, i) => ({ session, seq: found.seq - first + i, hash: new Uint8Array() }));
  }
}

function isSame(entry: JournalEntry, draft: EventDraft): boolean {
  if (entry.type !== draft.type || canonicalJson(entry.data) !== canonicalJson(draft.data ?? {})) return false;
  const made = Object.entries(draft.payloads ?? {}).map(([name, { salt, sha256 }]) => [name, commitment(salt, sha256)]);
  return canonicalJson(entry.commitments) === canonicalJson(Object.fromEntries(made));
}
