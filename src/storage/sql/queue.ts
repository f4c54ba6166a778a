// Group commit: commits that arrive in one tick of the event loop, or while a batch is running, go into one transaction
// and are acknowledged when that is durable. Where an engine has several lanes, a batch that is stuck behind another
// transaction's lock holds up only the commits that touch the same rows.
import type { Environment } from "../../contracts/environment.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Commit, Outcome } from "../../contracts/storage/commit.ts";
import { guardKey } from "./commit-verdicts.ts";
import type { CommitLanes } from "./driver.ts";

/** The maximum number of commits in a batch; more would block the event loop for too long. */
const MOST_COMMITS = 128;
const MOST_EVENTS = 512;
/** A batch that is under way for this long is stuck: other batches no longer wait for it. */
const STUCK_MS = 100;
/** How long a batch of several commits waits for locks: if one of them is stuck, the others continue without it. */
const SHARED_WAIT_MS = 200;

interface Waiting {
  readonly commit: Commit;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
  readonly since: number;
  /**
   * Commits that did not get their locks and touch the same rows: they are tried together, and with no other commit.
   */
  group: object | null;
}

interface Batch {
  readonly members: readonly Waiting[];
  readonly since: number;
  /** What its members touch; made when it is first needed. */
  footprint: ReadonlySet<string> | null;
}

export type WriteBatch = (batch: readonly Commit[], waitMs?: number) => Promise<readonly (Outcome | null)[]>;

export class CommitQueue {
  readonly #environment: Environment;
  readonly #write: WriteBatch;
  readonly #lanes: CommitLanes | null;
  #waiting: Waiting[] = [];
  readonly #running = new Set<Batch>();
  #isStarting = false;
  #isWatching = false;
  #idle: (() => void)[] = [];

  /** `write` returns null for a commit that must go into a later batch. */
  constructor(environment: Environment, write: WriteBatch, lanes?: CommitLanes) {
    this.#environment = environment;
    this.#write = write;
    this.#lanes = lanes === undefined || lanes.most < 2 ? null : lanes;
  }

  push(commit: Commit): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const since = this.#lanes === null ? 0 : this.#clock(this.#lanes);
      this.#waiting.push({ commit, resolve, reject, since, group: null });
      if (this.#isFree()) this.#startLater();
      else this.#watch();
    });
  }

  /** Resolves when everything pushed so far is answered. */
  async idle(): Promise<void> {
    while (this.#running.size > 0 || this.#waiting.length > 0) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
  }

  /**
   * In a later macrotask, so that callers of acknowledged commits can queue further ones, which share the next batch.
   */
  #startLater(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    this.#environment.defer(() => {
      this.#isStarting = false;
      this.#start();
    });
  }

  #start(): void {
    const members = this.#take();
    if (members.length > 0) {
      const batch: Batch = { members, since: this.#environment.monotonic(), footprint: null };
      this.#running.add(batch);
      void this.#run(batch).then(() => {
        this.#running.delete(batch);
        this.#startLater();
      });
      if (this.#waiting.length > 0) this.#watch();
    } else if (this.#running.size === 0 && this.#waiting.length === 0) {
      for (const resolve of this.#idle.splice(0)) resolve();
    }
  }

  /** Checks after a while whether the batches under way are stuck, so that others may start. */
  #watch(): void {
    if (this.#lanes === null || this.#isWatching) return;
    this.#isWatching = true;
    this.#environment.sleep(STUCK_MS).then(() => {
      this.#isWatching = false;
      if (this.#waiting.length === 0) return;
      if (this.#isFree()) this.#start();
      if (this.#running.size > 0 && this.#waiting.length > 0) this.#watch();
    });
  }

  /** Whether another batch may start: all that run are stuck, and there is a lane. */
  #isFree(): boolean {
    if (this.#running.size === 0) return true;
    if (this.#lanes === null || this.#running.size >= this.#lanes.most) return false;
    const now = this.#environment.monotonic();
    for (const { since } of this.#running) if (now - since < STUCK_MS) return false;
    return true;
  }

  #take(): readonly Waiting[] {
    if (!this.#isFree()) return [];
    const first = this.#waiting[0];
    if (this.#running.size > 0 || first?.group) return this.#takeApart();
    let events = 0;
    let count = 0;
    for (const { commit, group } of this.#waiting) {
      if (count > 0 && (commit.solo || group !== null)) break;
      events += commit.events?.length ?? 0;
      if (count > 0 && (count >= MOST_COMMITS || events > MOST_EVENTS)) break;
      count++;
      if (commit.solo) break;
    }
    return this.#waiting.splice(0, count);
  }

  /** The next commits that share nothing with batches under way or with earlier waiting commits. */
  #takeApart(): readonly Waiting[] {
    const busy = new Set<string>();
    for (const batch of this.#running) {
      batch.footprint ??= footprintOf(batch.members);
      for (const key of batch.footprint) busy.add(key);
    }
    const taken: Waiting[] = [];
    const left: Waiting[] = [];
    let events = 0;
    for (const one of this.#waiting) {
      const touched = footprintOf([one]);
      const [first] = taken;
      const size = one.commit.events?.length ?? 0;
      const fits =
        first === undefined ||
        (first.group === one.group &&
          !first.commit.solo &&
          !one.commit.solo &&
          taken.length < MOST_COMMITS &&
          events + size <= MOST_EVENTS);
      if (fits && isDisjoint(touched, busy)) {
        taken.push(one);
        events += size;
      } else {
        left.push(one);
        for (const key of touched) busy.add(key);
      }
    }
    this.#waiting = left;
    return taken;
  }

  async #run({ members }: Batch): Promise<void> {
    try {
      const outcomes = await this.#write(
        members.map((one) => one.commit),
        this.#waitMs(members),
      );
      const later: Waiting[] = [];
      for (const [i, one] of members.entries()) {
        const outcome = outcomes[i];
        if (outcome === null || outcome === undefined) later.push(one);
        else one.resolve(outcome);
      }
      if (later.length > 0) this.#waiting.unshift(...later);
    } catch (error) {
      if (this.#lanes !== null && error instanceof HoldfastError && error.code === "StoreBusy") {
        this.#locked(members, error, this.#lanes);
      } else await this.#failed(members, error);
    }
  }

  /** How long a commit has waited, without time in which this process was suspended. */
  #clock({ stoodStillMs }: CommitLanes): number {
    return this.#environment.monotonic() - (stoodStillMs?.() ?? 0);
  }

  /** Commits of one group, and a commit alone, wait until the oldest of them has waited long enough. */
  #waitMs(members: readonly Waiting[]): number | undefined {
    if (this.#lanes === null) return undefined;
    const [first] = members;
    if (first === undefined || (members.length > 1 && first.group === null) || first.commit.settled) {
      return Math.min(SHARED_WAIT_MS, this.#lanes.waitMs);
    }
    const left = first.since + this.#lanes.waitMs - this.#clock(this.#lanes);
    return Math.min(this.#lanes.waitMs, Math.max(left, SHARED_WAIT_MS));
  }

  /** Nothing of the batch happened: commits that have waited long enough fail, the others are tried again, apart. */
  #locked(members: readonly Waiting[], error: HoldfastError, lanes: CommitLanes): void {
    const { waitMs } = lanes;
    const now = this.#clock(lanes);
    // A commit that was only in one batch with a stuck one has not been tried yet. One that needs a table alone makes
    // all later commits of all processes wait: it fails at once.
    const isOver = ({ commit, group, since }: Waiting) =>
      commit.settled === true || ((members.length === 1 || group !== null) && now - since >= waitMs);
    for (const one of members) if (isOver(one)) one.reject(error);
    const again = members.filter((one) => !isOver(one));
    setGroups(again);
    this.#waiting.unshift(...again);
  }

  /**
   * One member's failure must not fail the others: each is tried alone. Not when the engine was out of reach, because
   * then it is unknown whether the batch happened, and trying again could make it happen twice.
   */
  async #failed(batch: readonly Waiting[], error: unknown): Promise<void> {
    if (batch.length === 1 || (error instanceof HoldfastError && error.retryable)) {
      for (const one of batch) one.reject(error);
      return;
    }
    for (const one of batch) {
      try {
        const [outcome] = await this.#write([one.commit], this.#waitMs([one]));
        if (outcome === null || outcome === undefined) throw new Error("bug: a batch of one cannot be put off");
        one.resolve(outcome);
      } catch (own) {
        one.reject(own);
      }
    }
  }
}

/** Sessions, and what guards look at: the order of commits that share one of these is kept. */
function footprintOf(members: readonly Waiting[]): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const { commit } of members) {
    for (const { id } of commit.sessions ?? []) keys.add(`session ${id}`);
    for (const event of commit.events ?? []) keys.add(`session ${event.session}`);
    for (const guard of commit.guards ?? []) keys.add(guardKey(guard));
  }
  return keys;
}

function isDisjoint(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  for (const key of some) if (others.has(key)) return false;
  return true;
}

/** Members that share anything, also through others, are one group. */
function setGroups(members: readonly Waiting[]): void {
  const groups: { keys: Set<string>; group: object }[] = [];
  for (const one of members) {
    const keys = new Set(footprintOf([one]));
    const group = {};
    one.group = group;
    for (const other of groups.filter((each) => !isDisjoint(each.keys, keys))) {
      for (const key of other.keys) keys.add(key);
      for (const each of members) if (each.group === other.group) each.group = group;
      groups.splice(groups.indexOf(other), 1);
    }
    groups.push({ keys, group });
  }
}
