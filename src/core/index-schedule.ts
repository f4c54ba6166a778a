// When the text index is written: after so many messages, memories or documents of this handle, in the background. Appends write nothing
// for the index, and searches find what it lacks, so that no caller ever waits for it. The code of the index is loaded when it is
// first needed.
import type { Environment } from "../contracts/environment.ts";
import type { Commit, Write } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { overrideStorage } from "./storage-overrides.ts";

/** What has an index of its own. */
export type IndexedKind = "messages" | "memories" | "documents";

/** The indexes of one open store, as a schedule drives them. */
export interface IndexUpkeep {
  /** Writes what is to be written, if at least so many items of the kind are in no segment. It never rejects. */
  run(kind: IndexedKind, least: number, load: StoreLoad): Promise<void>;
  /** Forgets texts of the kind that are in memory, because some were erased. */
  forget(kind: IndexedKind): void;
  /** Ends work that is under way, between two of its commits. */
  stop(): Promise<void>;
}

/** What the store does while its index is written. */
export interface StoreLoad {
  /** Whether much is being written: what that needs of the process counts more than the index. */
  isBusy(): boolean;
  /** Whether so many items are in no segment that a search would take long. */
  isUrgent(): boolean;
}

/** The part of the store that is loaded on demand. */
interface UpkeepPart {
  readonly loaded: { readonly upkeep: IndexUpkeep } | null;
  load(): Promise<{ readonly upkeep: IndexUpkeep }>;
}

const KINDS: readonly IndexedKind[] = ["messages", "memories", "documents"];
const ITEMS_PER_RUN = 1024;
/** So many items wait for a pause of the writers. A search that comes before needs about half a second to write them. */
const WAITING_MAX = 16_384;

/** Items within a window and the one before it with which the store is busy. */
const BUSY_ITEMS = 64;
const WINDOW_MS = 50;

/** Counts items in windows of time. */
class WriteRate {
  readonly #environment: Environment;
  #start = 0;
  #count = 0;
  #before = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  add(items: number): void {
    this.#startWindow();
    this.#count += items;
  }

  get isBusy(): boolean {
    this.#startWindow();
    return this.#before + this.#count >= BUSY_ITEMS;
  }

  #startWindow(): void {
    const now = this.#environment.monotonic();
    const windows = (now - this.#start) / WINDOW_MS;
    if (windows < 1) return;
    this.#before = windows < 2 ? this.#count : 0;
    this.#count = 0;
    this.#start = now;
  }
}

export class IndexSchedule {
  /** The storage for all rules: its commits are counted. */
  readonly storage: Storage;
  #part: UpkeepPart | null = null;
  /** New items since the last run. */
  readonly #added: Record<IndexedKind, number> = { messages: 0, memories: 0, documents: 0 };
  #isRunning = false;
  #isClosed = false;
  readonly #rate: WriteRate;
  readonly #load: StoreLoad;

  constructor(storage: Storage) {
    this.#rate = new WriteRate(storage.environment);
    this.#load = {
      isBusy: () => this.#rate.isBusy,
      isUrgent: () => KINDS.some((kind) => this.#added[kind] >= WAITING_MAX),
    };
    this.storage = overrideStorage(storage, {
      commit: (commit) => {
        const committing = storage.commit(commit);
        if (concernsIndex(commit)) committing.then(({ ok }) => ok && this.#note(commit), ignore);
        return committing;
      },
    });
  }

  begin(part: UpkeepPart): void {
    this.#part = part;
  }

  #note(commit: Commit): void {
    for (const kind of erasedKinds(commit)) this.#part?.loaded?.upkeep.forget(kind);
    let messages = commit.restores?.length ?? 0;
    for (const { message } of commit.events ?? []) if (message !== undefined) messages += 1;
    this.#count("messages", messages);
    for (const write of commit.writes ?? []) {
      const kind = addedKind(write);
      if (kind !== null) this.#count(kind, 1);
    }
    if (this.#nextKind() !== undefined && !this.#isRunning && !this.#isClosed) void this.#run();
  }

  #count(kind: IndexedKind, added: number): void {
    if (added === 0) return;
    this.#added[kind] += added;
    this.#rate.add(added);
  }

  #nextKind(): IndexedKind | undefined {
    return KINDS.find((kind) => this.#added[kind] >= ITEMS_PER_RUN);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      for (let kind = this.#nextKind(); kind !== undefined && !this.#isClosed; kind = this.#nextKind()) {
        this.#added[kind] = 0;
        await (await this.#part?.load())?.upkeep.run(kind, ITEMS_PER_RUN, this.#load);
      }
    } catch {
      // The code could not be loaded: searches say so.
    } finally {
      this.#isRunning = false;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#part?.loaded?.upkeep.stop();
  }
}

function ignore(): void {}

/** Every commit of messages passes here. */
function concernsIndex({ solo, events = [], writes = [] }: Commit): boolean {
  if (solo === true) return true;
  for (const { message } of events) if (message !== undefined) return true;
  for (const write of writes) if (addedKind(write) !== null || erasedKind(write) !== null) return true;
  return false;
}

/** What a write adds to the items that are in no segment. */
function addedKind(write: Write): IndexedKind | null {
  if (write.op === "run") return write.statement === "memory.addIndexItem" ? "memories" : null;
  if (write.op !== "put" || write.table !== "index_items" || write.row.segment !== null) return null;
  return kindOf(write.row.kind);
}

/** Every erasure of what the index has counts an epoch, in its own transaction. */
function erasedKind(write: Write): IndexedKind | null {
  if (write.op !== "run" || write.statement !== "index.bump") return null;
  return "kind" in write.params ? kindOf(write.params.kind) : null;
}

function kindOf(value: unknown): IndexedKind | null {
  return KINDS.find((kind) => kind === value) ?? null;
}

function erasedKinds({ writes = [], replaces = [], events = [] }: Commit): ReadonlySet<IndexedKind> {
  const kinds = new Set<IndexedKind>();
  for (const some of [writes, replaces, ...events.map((event) => event.writes ?? [])]) {
    for (const write of some) {
      const kind = erasedKind(write);
      if (kind !== null) kinds.add(kind);
    }
  }
  return kinds;
}
