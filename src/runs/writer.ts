// What a worker writes for a run whose lease it has. The store refuses a commit once the lease is lost. A commit whose outcome was
// lost with the connection is looked up in the log before it is tried again, so that nothing is written twice.

import { HoldfastError } from "../contracts/errors.ts";
import type {
  Commit,
  EventDraft,
  FoundRows,
  Guard,
  Outcome,
  Refusal,
  SessionUse,
  WrittenEvent,
} from "../contracts/storage/commit.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { exponentialBackoff } from "../core/backoff.ts";
import { canonicalJson } from "../core/canonical.ts";
import { commitment } from "../core/chain.ts";
import { refusalError } from "../core/decide.ts";
import { leaseLost } from "./errors.ts";
import { buildStepRecords, type JournalEntry, readJournal, type StepRecord } from "./journal.ts";
import { atEpoch, atVersion, type Move, type MovedRun, moveRun } from "./moves.ts";
import { existingRun } from "./rows.ts";

const MOST_TRIES = 8;
/** Guards on what others may change meanwhile: the change is then decided again. */
const DECIDED_AGAIN: ReadonlySet<string> = new Set(["run.version", "runs.newest"]);
const FIRST_WAIT_MS = 20;

/** What a commit holds besides its events: their payloads, and what else it relies on. */
export type CommitExtras = Pick<
  Commit,
  "blobs" | "writes" | "uses" | "guards" | "holds" | "agents" | "sessions" | "solo" | "wakes"
>;

export interface Change extends Move {
  readonly extras?: CommitExtras;
  readonly before?: readonly EventDraft[];
  readonly after?: readonly EventDraft[];
}

export class Writer {
  readonly storage: Storage;
  #row: RunRow;
  /** Events of recorded reads, which the next commit writes. */
  #pending: EventDraft[] = [];
  /** Ends with the commit that writes them. */
  #writing: Promise<void> | null = null;

  constructor(storage: Storage, row: RunRow) {
    this.storage = storage;
    this.#row = row;
  }

  get row(): RunRow {
    return this.#row;
  }

  /** Events of steps. */
  add(events: readonly EventDraft[], extras?: CommitExtras): Promise<readonly WrittenEvent[]> {
    return this.withPending(async (pending) => {
      this.#refuseEnded();
      const all = pending.length === 0 ? events : [...pending, ...events];
      const outcome = await this.#commit(this.#commitOf(all, extras, [atEpoch(this.#row)]));
      if (!outcome.ok) throw this.#refused(outcome.refused);
      if (outcome.events.length !== all.length) throw new Error("bug: a commit did not tell of all its events");
      return pending.length === 0 ? outcome.events : outcome.events.slice(pending.length);
    });
  }

  /** An event that nothing relies on yet: the next commit writes it in front of its own. */
  addLater(event: EventDraft): void {
    this.#pending.push(event);
  }

  /**
   * For every commit of the run: `commit` writes the pending events in front of its own. Whatever another branch of the iteration
   * does next may follow from them, so its commit waits for the one that writes them. If that one fails (it throws, or is
   * not `isWritten`), they are pending again.
   */
  async withPending<T>(
    commit: (pending: readonly EventDraft[]) => Promise<T>,
    isWritten: (result: T) => boolean = () => true,
  ): Promise<T> {
    while (this.#writing !== null) await this.#writing;
    const pending = this.#pending;
    // Never the list itself: another branch may add to it while this commit is under way.
    if (pending.length === 0) return commit([]);
    this.#pending = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#writing = promise;
    let isDone = false;
    try {
      const result = await commit(pending);
      isDone = isWritten(result);
      return result;
    } finally {
      if (!isDone) this.#pending = [...pending, ...this.#pending];
      this.#writing = null;
      resolve();
    }
  }

  /**
   * A change of the run's row. `make` is called again when others changed the row meanwhile (a signal, a request to cancel);
   * null: there is nothing to change any more.
   */
  async move(
    make: (row: RunRow) => Promise<Change | null> | Change | null,
  ): Promise<(MovedRun & { readonly found: FoundRows }) | null> {
    for (;;) {
      const row = this.#row;
      const change = await make(row);
      if (change === null) return null;
      const moved = await this.withPending(
        (pending) => this.#tryMove(row, change, pending),
        (done) => done !== null,
      );
      if (moved !== null) return moved;
    }
  }

  /** null: others have changed the row since, so the change is decided again. */
  async #tryMove(
    row: RunRow,
    change: Change,
    pending: readonly EventDraft[],
  ): Promise<(MovedRun & { readonly found: FoundRows }) | null> {
    // Another part of the iteration may have read a newer row meanwhile.
    if (this.#row.version !== row.version) return null;
    this.#refuseEnded();
    const moved = moveRun(this.#row, change);
    const { before = [], after = [] } = change;
    const events = [...pending, ...before, moved.event, ...after];
    // The epoch too: then the steps that follow need not check it again.
    const guards = [atVersion(this.#row), atEpoch(this.#row)];
    const outcome = await this.#commit(this.#commitOf(events, change.extras, guards, moved.holds));
    if (outcome.ok) {
      this.#row = moved.row(outcome.events[pending.length + before.length]?.seq ?? 0);
      return { ...moved, found: outcome.found ?? {} };
    }
    const { refused } = outcome;
    if (refused.reason !== "guard" || !DECIDED_AGAIN.has(refused.guard.check)) throw this.#refused(refused);
    await this.reload();
    return null;
  }

  /** This writer has written the run's end: nothing that an iteration which was left still asks for may follow it. */
  #refuseEnded(): void {
    if (this.#row.ended_at !== null) throw leaseLost(this.#row);
  }

  /** The row as it is now; LeaseLost when the lease is not ours any more. */
  async reload(): Promise<RunRow> {
    const row = await existingRun(this.storage, this.#row.id);
    // The version went back: the store was restored from an older copy, without what was done since.
    const isOlder = row.version < this.#row.version;
    if (row.epoch !== this.#row.epoch || row.ended_at !== null || isOlder) throw leaseLost(this.#row);
    this.#row = row;
    return row;
  }

  /** The step that the log has by now at a place of this iteration. */
  async findStep(path: string): Promise<StepRecord | undefined> {
    const { row } = this;
    const journal = await readJournal(this.storage, row, row.checkpoint_seq ?? row.first_seq);
    return [...buildStepRecords(row.session, journal).values()].findLast((one) => one.path === path);
  }

  /** Retries while the store has trouble. For work that finds out by itself whether it has happened. */
  async retrying<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof HoldfastError) || !error.retryable || tries >= MOST_TRIES) throw error;
        await this.storage.environment.sleep(exponentialBackoff(tries - 1, FIRST_WAIT_MS));
      }
    }
  }

  #commitOf(
    events: readonly EventDraft[],
    extras: CommitExtras | undefined,
    own: readonly Guard[],
    holds = extras?.holds,
  ): Commit {
    const at = events[0]?.at ?? this.storage.environment.now();
    const session: SessionUse = { id: this.#row.session, mode: "existing", at };
    return {
      ...extras,
      sessions: extras?.sessions === undefined ? [session] : [session, ...extras.sessions],
      guards: extras?.guards === undefined ? own : [...own, ...extras.guards],
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
        await environment.sleep(exponentialBackoff(tries - 1, FIRST_WAIT_MS));
      }
    }
  }

  /** The commit's events, when they are in the log: salts and versions make each of them unique. */
  async #find({ events = [] }: Commit, after: number): Promise<readonly WrittenEvent[] | null> {
    const journal = await readJournal(this.storage, this.#row, after);
    const first = events.findIndex(
      ({ journal: payloadFields, message }) => payloadFields !== undefined || message !== undefined,
    );
    const draft = events[first];
    if (draft === undefined) throw new Error("bug: a commit of a run without an event of its own");
    const found = journal.find((entry) => isSame(entry, draft));
    // The same event written by a worker that took the lease since is not ours.
    const lost = journal.find(({ data }) => Number(data.epoch ?? 0) > this.#row.epoch);
    if (found === undefined || (lost !== undefined && lost.seq < found.seq)) return null;
    // Events of one commit and session follow each other.
    return events.map(({ session }, i) => ({ session, seq: found.seq - first + i, hash: new Uint8Array() }));
  }
}

function isSame(entry: JournalEntry, draft: EventDraft): boolean {
  if (entry.type !== draft.type || canonicalJson(entry.data) !== canonicalJson(draft.data ?? {})) return false;
  const made = Object.entries(draft.payloads ?? {}).map(([name, { salt, sha256 }]) => [name, commitment(salt, sha256)]);
  return canonicalJson(entry.commitments) === canonicalJson(Object.fromEntries(made));
}
