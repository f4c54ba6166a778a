// One process at a time embeds a store's texts, so that no text is paid for twice. Its lease is a fact of the store with a beat that
// counts up; another process takes it when the owner's process is gone, or when the beat has not changed for the lease time on the
// taker's own clock.
import type { Storage } from "../contracts/storage/storage.ts";
import { newId } from "../core/new-id.ts";
import { ownerText } from "../core/run-owner.ts";
import { LeaseWatch } from "../runs/lease-watch.ts";
import { readFact, replaceFact } from "./store-facts.ts";

const NAME = "embedding:lease";
export const LEASE_MS = 15_000;

interface LeaseRecord {
  readonly owner: string;
  readonly epoch: number;
  readonly beat: number;
}

export class EmbeddingLease {
  readonly #storage: Storage;
  readonly #watch: LeaseWatch;
  readonly #owner: string;
  /** The text of the fact while this process has the lease. */
  #held: string | null = null;

  constructor(storage: Storage) {
    this.#storage = storage;
    this.#watch = new LeaseWatch(storage.environment);
    this.#owner = ownerText(storage.environment, newId(storage.environment, "embedder"));
  }

  get isHeld(): boolean {
    return this.#held !== null;
  }

  /** 0 when this process has the lease now; otherwise how long the other owner's lease lasts at most. */
  async claim(): Promise<number> {
    if (this.#held !== null) return 0;
    const text = await readFact(this.#storage, NAME);
    const seen = text === null ? null : decodeLease(text);
    if (seen !== null) {
      const remainingMs = this.#watch.remainingMs({ id: NAME, lease_ms: LEASE_MS, ...seen });
      if (remainingMs > 0) return remainingMs;
    }
    const mine = encodeLease({ owner: this.#owner, epoch: (seen?.epoch ?? 0) + 1, beat: 0 });
    if (!(await replaceFact(this.#storage, NAME, text, mine))) return LEASE_MS;
    this.#held = mine;
    return 0;
  }

  /** False: the lease is another process's by now. */
  async beat(): Promise<boolean> {
    const before = this.#held;
    if (before === null) return false;
    const { beat, ...lease } = decodeLease(before);
    const after = encodeLease({ ...lease, beat: beat + 1 });
    this.#held = (await replaceFact(this.#storage, NAME, before, after)) ? after : null;
    return this.isHeld;
  }

  async release(): Promise<void> {
    const held = this.#held;
    this.#held = null;
    if (held !== null) await replaceFact(this.#storage, NAME, held, null);
  }
}

function encodeLease({ owner, epoch, beat }: LeaseRecord): string {
  return JSON.stringify({ owner, epoch, beat });
}

function decodeLease(text: string): LeaseRecord {
  return JSON.parse(text) as LeaseRecord;
}
