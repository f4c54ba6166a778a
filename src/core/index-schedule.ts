// When the text index is written: after so many messages of this handle, in the background. Appends write nothing for the index, and
// searches find what it lacks, so that no caller ever waits for it. The code of the index is loaded when it is first needed.
import type { Environment } from "../contracts/environment.ts";
import type { Commit } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { overrideStorage } from "./storage-overrides.ts";

/** The index of one open store, as a schedule drives it. */
export interface IndexUpkeep {
  /** Writes what is to be written, if at least so many messages are in no segment. It never rejects. */
  run(least: number, load: StoreLoad): Promise<void>;
  /** Forgets texts that are in memory, because some were erased. */
  forget(): void;
  /** Ends work that is under way, between two of its commits. */
  stop(): Promise<void>;
}

/** What the store does while its index is written. */
export interface StoreLoad {
  /** Whether many messages are being written: what they need of the process counts more than the index. */
  isBusy(): boolean;
  /** Whether so many messages are in no segment that a search would take long. */
  isUrgent(): boolean;
}

/** The part of the store that is loaded on demand. */
interface UpkeepPart {
  readonly loaded: { readonly upkeep: IndexUpkeep } | null;
  load(): Promise<{ readonly upkeep: IndexUpkeep }>;
}

const MESSAGES_PER_RUN = 1024;
/** So many messages wait for a pause of the writers. A search that comes before needs about half a second to write them. */
const WAITING_MAX = 16_384;

/** Messages within a window and the one before it with which the store is busy. */
const BUSY_MESSAGES = 64;
const WINDOW_MS = 50;

/** Counts messages in windows of time. */
class WriteRate {
  readonly #environment: Environment;
  #start = 0;
  #count = 0;
  #before = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  add(messages: number): void {
    this.#startWindow();
    this.#count += messages;
  }

  get isBusy(): boolean {
    this.#startWindow();
    return this.#before + this.#count >= BUSY_MESSAGES;
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
  /** Messages since the last run. */
  #messages = 0;
  #isRunning = false;
  #isClosed = false;
  readonly #rate: WriteRate;
  readonly #load: StoreLoad;

  constructor(storage: Storage) {
    this.#rate = new WriteRate(storage.environment);
    this.#load = {
      isBusy: () => this.#rate.isBusy,
      isUrgent: () => this.#messages >= WAITING_MAX,
    };
    this.storage = overrideStorage(storage, {
      commit: (commit) => {
        const committing = storage.commit(commit);
        if (commit.solo === true || this.#hasMessages(commit)) committing.then(() => this.#note(commit), ignore);
        return committing;
      },
    });
  }

  begin(part: UpkeepPart): void {
    this.#part = part;
  }

  #hasMessages({ events }: Commit): boolean {
    for (const { message } of events ?? []) if (message !== undefined) return true;
    return false;
  }

  #note(commit: Commit): void {
    if (erasesMessages(commit)) this.#part?.loaded?.upkeep.forget();
    let added = commit.restores?.length ?? 0;
    for (const { message } of commit.events ?? []) if (message !== undefined) added += 1;
    if (added === 0) return;
    this.#messages += added;
    this.#rate.add(added);
    if (this.#messages >= MESSAGES_PER_RUN && !this.#isRunning && !this.#isClosed) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      while (this.#messages >= MESSAGES_PER_RUN && !this.#isClosed) {
        this.#messages = 0;
        await (await this.#part?.load())?.upkeep.run(MESSAGES_PER_RUN, this.#load);
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

/** Every erasure of what the index has counts an epoch, in its own transaction. */
function erasesMessages({ writes = [], replaces = [], events = [] }: Commit): boolean {
  const all = [writes, replaces, ...events.map((event) => event.writes ?? [])];
  return all.some((some) => some.some((one) => one.op === "run" && one.statement === "index.bump"));
}
