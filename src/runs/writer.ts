// Writes a run. Each change of its row is one event that contains the changed columns and their new values, so that the
// row can be derived from the log. The Writer commits for the worker with the lease. The store refuses its commits once
// the lease is lost. If the outcome of a commit was lost with the connection, the Writer searches the log before it
// tries again.
import { HoldfastError } from "../contracts/errors.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import type {
  Cell,
  Commit,
  EventDraft,
  FoundRows,
  Guard,
  Outcome,
  Refusal,
  SessionUse,
  Write,
  WrittenEvent,
} from "../contracts/storage/commit.ts";
import type { Payloads, PreparedPayload } from "../contracts/storage/payloads.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { Slot } from "../contracts/storage/tables.ts";
import { exponentialBackoff } from "../core/backoff.ts";
import { refusalError } from "../core/decide.ts";
import { canonicalJson, commitment } from "../core/hashing.ts";
import type { MUTABLE_COLUMNS } from "../core/run-projection.ts";
import { leaseLost } from "./errors.ts";
import { buildStepRecords, type JournalEntry, readJournal, type StepRecord } from "./journal.ts";
import { existingRun } from "./rows.ts";

const MOST_TRIES = 8;
/** Guards on values that others may change meanwhile; then the change is decided again. */
const RETRIED_CHECKS: ReadonlySet<string> = new Set(["run.version", "runs.newest"]);
const FIRST_WAIT_MS = 20;

/** The parts of a commit besides its events: payloads, and further guards. */
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
  /** Settles when the commit that writes them has ended. */
  #writing: Promise<void> | null = null;

  constructor(storage: Storage, row: RunRow) {
    this.storage = storage;
    this.#row = row;
  }

  get row(): RunRow {
    return this.#row;
  }

  /** Commits events of steps. */
  add(events: readonly EventDraft[], extras?: CommitExtras): Promise<readonly WrittenEvent[]> {
    return this.withPending(async (pending) => {
      this.#refuseEnded();
      const all = pending.length === 0 ? events : [...pending, ...events];
      const outcome = await this.#commit(this.#commitOf(all, extras, [atEpoch(this.#row)]));
      if (!outcome.ok) throw this.#refused(outcome.refused);
      if (outcome.events.length !== all.length) throw new Error("bug: a commit did not return all its events");
      return pending.length === 0 ? outcome.events : outcome.events.slice(pending.length);
    });
  }

  /** Adds an event that nothing relies on yet: the next commit writes it before its own events. */
  addLater(event: EventDraft): void {
    this.#pending.push(event);
  }

  /**
   * Wraps every commit of the run: `commit` writes the pending events before its own. The next work of other branches
   * may depend on them, so the commits of those branches wait for this one. If this commit fails (it throws, or
   * `isWritten` is false), the events are pending again.
   */
  async withPending<T>(
    commit: (pending: readonly EventDraft[]) => Promise<T>,
    isWritten: (result: T) => boolean = () => true,
  ): Promise<T> {
    while (this.#writing !== null) await this.#writing;
    const pending = this.#pending;
    // A copy of the list, because another branch may add to it while this commit is under way.
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
   * Changes the run's row. `make` is called again if others changed the row meanwhile (a signal, a request to cancel);
   * it returns null if there is nothing to change any more.
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

  /** null if others have changed the row since, so that the change is decided again. */
  async #tryMove(
    row: RunRow,
    change: Change,
    pending: readonly EventDraft[],
  ): Promise<(MovedRun & { readonly found: FoundRows }) | null> {
    // Another branch of the iteration may have read a newer row meanwhile.
    if (this.#row.version !== row.version) return null;
    this.#refuseEnded();
    const moved = moveRun(this.#row, change);
    const { before = [], after = [] } = change;
    const events = [...pending, ...before, moved.event, ...after];
    // Guards the epoch too, so that the next steps need not read it again.
    const guards = [atVersion(this.#row), atEpoch(this.#row)];
    const outcome = await this.#commit(this.#commitOf(events, change.extras, guards, moved.holds));
    if (outcome.ok) {
      this.#row = moved.row(outcome.events[pending.length + before.length]?.seq ?? 0);
      return { ...moved, found: outcome.found ?? {} };
    }
    const { refused } = outcome;
    if (refused.reason !== "guard" || !RETRIED_CHECKS.has(refused.guard.check)) throw this.#refused(refused);
    await this.reload();
    return null;
  }

  /** Refuses writes after this writer has written the run's end: an iteration that was left may still make requests. */
  #refuseEnded(): void {
    if (this.#row.ended_at !== null) throw leaseLost(this.#row);
  }

  /** Reads the row again; LeaseLost if this owner does not have the lease any more. */
  async reload(): Promise<RunRow> {
    const row = await existingRun(this.storage, this.#row.id);
    // The version went back: the store was restored from an older copy, without the later work.
    const isOlder = row.version < this.#row.version;
    if (row.epoch !== this.#row.epoch || row.ended_at !== null || isOlder) throw leaseLost(this.#row);
    this.#row = row;
    return row;
  }

  /** The step that the log has by now at a position of this iteration. */
  async findStep(path: string): Promise<StepRecord | undefined> {
    const { row } = this;
    const journal = await readJournal(this.storage, row, row.checkpoint_seq ?? row.first_seq);
    return [...buildStepRecords(row.session, journal).values()].findLast((one) => one.path === path);
  }

  /** Retries errors of the store. Only for work that detects whether it has happened already. */
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
      events,
      ...(holds === undefined ? {} : { holds }),
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

  /** Finds the commit's events in the log. Salts and versions make each of them unique. */
  async #find({ events = [] }: Commit, after: number): Promise<readonly WrittenEvent[] | null> {
    const journal = await readJournal(this.storage, this.#row, after);
    const first = events.findIndex(
      ({ rowPayload: payloadFields, message }) => payloadFields !== undefined || message !== undefined,
    );
    const draft = events[first];
    if (draft === undefined) throw new Error("bug: a commit of a run without an event of its own");
    const found = journal.find((entry) => isSame(entry, draft));
    // An equal event by a worker that has claimed the lease since is not an event of this commit.
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

export type Changes = { readonly [C in (typeof MUTABLE_COLUMNS)[number]]?: RunRow[C] };

export interface Move {
  readonly type: string;
  readonly changes: Changes;
  readonly at: number;
  readonly data?: JsonObject;
  /** The name of the payload that the event carries. */
  readonly payload?: readonly [name: string, payload: PreparedPayload];
  /** This event is the checkpoint to resume from. */
  readonly checkpoint?: boolean;
  readonly writes?: readonly Write[];
}

export interface MovedRun {
  readonly event: EventDraft;
  /** The guards of the next commit under the lease. */
  readonly holds: readonly Guard[];
  /** Makes the row after the change, from the event's seq. */
  readonly row: (seq: number) => RunRow;
}

export function moveRun(row: RunRow, move: Move): MovedRun {
  const { type, changes, at, data, payload, checkpoint, writes } = move;
  const next: RunRow = { ...row, ...changes, version: row.version + 1, updated_at: at };
  const checkpointSeq: Cell = checkpoint === true ? { slot: "seq" } : next.checkpoint_seq;
  const first = update(row, changes, next, checkpointSeq);
  const event: EventDraft = {
    session: row.session,
    type,
    at,
    run: row.id,
    ...payloadFields(payload),
    // Mostly in the order of their names, in which they are hashed.
    data: {
      ...(checkpoint === true ? { checkpoint: true } : {}),
      ...data,
      ...changesData(changes),
      version: next.version,
    },
    writes: writes === undefined ? [first] : [first, ...writes],
  };
  return {
    event,
    holds: [atEpoch(next), atVersion(next)],
    row: (seq) => ({ ...next, seq, checkpoint_seq: checkpoint === true ? seq : next.checkpoint_seq }),
  };
}

/** Columns that are in no index. */
const PROGRESS_COLUMNS: ReadonlySet<string> = new Set(["iteration", "tokens", "cost_usd"]);

/** Most changes touch no indexed column, and use a separate statement. */
function update(row: RunRow, changes: Changes, next: RunRow, checkpointSeq: Cell): Write {
  const { id, version, iteration, tokens, cost_usd, updated_at } = next;
  const seq = { slot: "seq" } as const;
  if (changesOnlyProgress(row, changes)) {
    const params = [version, iteration, checkpointSeq, tokens, cost_usd, seq, updated_at, id];
    return { op: "run", statement: "run.progress", params };
  }
  const { status, epoch, owner, wake_at, waits, cancel, pause_at, stop, ended_at } = next;
  const params: Cell[] = [
    status,
    version,
    epoch,
    owner,
    iteration,
    checkpointSeq,
    wake_at,
    waits,
    cancel,
    pause_at,
    stop,
    tokens,
    cost_usd,
    seq,
    updated_at,
    ended_at,
    id,
  ];
  return { op: "run", statement: "run.move", params };
}

function changesOnlyProgress(row: RunRow, changes: Changes): boolean {
  for (const name in changes) {
    const column = name as keyof Changes;
    if (!PROGRESS_COLUMNS.has(name) && changes[column] !== undefined && changes[column] !== row[column]) return false;
  }
  return true;
}

function changesData(changes: Changes): JsonObject {
  const made: Record<string, Json> = {};
  for (const name in changes) {
    const value = changes[name as keyof Changes];
    if (value !== undefined) made[name] = value;
  }
  return made;
}

/** The fields of an event draft for a payload. */
export function payloadFields(
  payload: readonly [name: string, payload: PreparedPayload] | undefined,
): Pick<EventDraft, "payloads" | "rowPayload"> {
  if (payload === undefined) return { rowPayload: null };
  return { rowPayload: payload[1], payloads: { [payload[0]]: payload[1] } };
}

/** Prepares JSON as a payload: in the event's row, or as a blob if it is long. */
export function carryJson<T>(
  payloads: Payloads,
  bytes: Uint8Array,
  then: (payload: PreparedPayload) => Promise<T>,
): Promise<T> {
  const short = payloads.prepareInline(bytes);
  if (short !== null) return then(short);
  return payloads.preparing(async (prepare) =>
    then(await prepare(bytes, { media: "application/json", utf8: true, inline: true, owned: true })),
  );
}

const NOTHING: Pick<Commit, "blobs" | "writes" | "uses"> = {};

/** What else the commit needs for payloads that are blobs. */
export function payloadExtras(payloads: readonly PreparedPayload[]): Pick<Commit, "blobs" | "writes" | "uses"> {
  if (payloads.every(({ blobs, writes, uses }) => blobs.length + writes.length + uses.length === 0)) return NOTHING;
  return {
    blobs: payloads.flatMap(({ blobs }) => blobs),
    writes: payloads.flatMap(({ writes }) => writes),
    uses: payloads.flatMap(({ uses }) => uses),
  };
}

export function atVersion({ id, version }: RunRow): Guard {
  return { check: "run.version", key: [id], expect: version };
}

export function atEpoch({ id, epoch }: RunRow): Guard {
  return { check: "run.epoch", key: [id], expect: epoch };
}

/** The changes of a requested pause, which begins at the end of the iteration. */
export function pausing({ pause_at, cancel }: RunRow, at: number): Changes {
  if (pause_at === null) return {};
  if (pause_at <= at || cancel === 1) return { pause_at: null };
  return { status: "paused", owner: null, wake_at: pause_at, pause_at: null };
}

/** The row of a question to a person. */
export function insertDecision(run: string, step: number | Slot): Write {
  return { op: "insert", table: "decisions", row: { run, step_seq: step } };
}
