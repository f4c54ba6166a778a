// Group commit: what arrives in one turn of the event loop, or while a batch is under way, goes into one transaction
// and is acknowledged when that is durable.
import type { Environment } from "../../contracts/environment.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Commit, Outcome } from "../../contracts/storage.ts";

/** Members of one batch; more would hold the event loop longer than others can bear. */
const MOST_COMMITS = 128;
const MOST_EVENTS = 512;

interface Waiting {
  readonly commit: Commit;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

export class CommitQueue {
  readonly #environment: Environment;
  readonly #write: (batch: readonly Commit[]) => Promise<readonly (Outcome | null)[]>;
  #waiting: Waiting[] = [];
  #running: Promise<void> | null = null;

  /** `write` answers null for a commit that must go in a later batch. */
  constructor(environment: Environment, write: (batch: readonly Commit[]) => Promise<readonly (Outcome | null)[]>) {
    this.#environment = environment;
    this.#write = write;
  }

  push(commit: Commit): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ commit, resolve, reject });
      this.#running ??= new Promise((done) => {
        this.#environment.defer(() => {
          this.#drain().then(done);
        });
      });
    });
  }

  /** Resolves when everything pushed so far is answered. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#take();
      try {
        const outcomes = await this.#write(batch.map((one) => one.commit));
        const later: Waiting[] = [];
        for (const [i, one] of batch.entries()) {
          const outcome = outcomes[i];
          if (outcome === null || outcome === undefined) later.push(one);
          else one.resolve(outcome);
        }
        if (later.length > 0) this.#waiting.unshift(...later);
      } catch (error) {
        await this.#failed(batch, error);
      }
      // Those just acknowledged get a turn to ask for more, so that they share the next batch.
      await new Promise<void>((next) => this.#environment.defer(next));
    }
    this.#running = null;
  }

  #take(): Waiting[] {
    let events = 0;
    let count = 0;
    for (const { commit } of this.#waiting) {
      if (commit.solo && count > 0) break;
      events += commit.events?.length ?? 0;
      if (count > 0 && (count >= MOST_COMMITS || events > MOST_EVENTS)) break;
      count++;
      if (commit.solo) break;
    }
    return this.#waiting.splice(0, count);
  }

  /**
   * One member's trouble is not the others': each is tried alone. Not when the engine was out of reach, for then nobody
   * knows whether the batch happened, and trying again could make it happen twice.
   */
  async #failed(batch: readonly Waiting[], error: unknown): Promise<void> {
    if (batch.length === 1 || (error instanceof HoldfastError && error.retryable)) {
      for (const one of batch) one.reject(error);
      return;
    }
    for (const one of batch) {
      try {
        const [outcome] = await this.#write([one.commit]);
        if (outcome === null || outcome === undefined) throw new Error("bug: a batch of one cannot be put off");
        one.resolve(outcome);
      } catch (own) {
        one.reject(own);
      }
    }
  }
}
