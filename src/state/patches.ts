// Patches of a session's state. A patch answers with the whole, so it is decided on the whole and guarded by its version.
// Those asked for while one is under way are decided together, each on what the one before it leaves: one read and one
// commit for all of them, in which everyone keeps an event and a version of his own.
import type { Json } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { StateRow } from "../contracts/queries.ts";
import type { Versioned } from "../contracts/state.ts";
import type { Storage } from "../contracts/storage.ts";
import { limitExceeded } from "../core/check.ts";
import { type Decision, decide, type Settled } from "../core/decide.ts";
import { type Change, changeCommit } from "./changes.ts";
import { decodeValue, readSnapshot, readValue, type Value, versionGuard } from "./rows.ts";

/** Patches of one decision; more would hold the event loop longer than others can bear. */
const MOST_TOGETHER = 64;

/** Races lost to other handles before a decision steps back for a while, so that many of them starve none. */
const EAGER_ATTEMPTS = 3;
const LONGEST_BACKOFF_MS = 250;

interface Asked {
  readonly patch: Change;
  readonly resolve: (answer: Versioned) => void;
  readonly reject: (error: unknown) => void;
}

/** What becomes of a patch: the state it leaves, or why it cannot be. */
type Fate = Pick<Versioned, "value"> | { readonly error: unknown };
type Answer = Versioned | { readonly error: unknown };

/** A value of the state, read when somebody wants it. */
type Slot = () => Value | Promise<Value>;

export class Patches {
  readonly #storage: Storage;
  readonly #payloads: Payloads;
  /** Per session, those who wait while another is under way. */
  readonly #waiting = new Map<string, Asked[]>();

  constructor(storage: Storage, payloads: Payloads) {
    this.#storage = storage;
    this.#payloads = payloads;
  }

  add(patch: Change): Promise<Versioned> {
    return new Promise((resolve, reject) => {
      const asked = { patch, resolve, reject };
      const waiting = this.#waiting.get(patch.session);
      if (waiting !== undefined) waiting.push(asked);
      else {
        this.#waiting.set(patch.session, [asked]);
        this.#drain(patch.session);
      }
    });
  }

  async #drain(session: string): Promise<void> {
    const waiting = this.#waiting.get(session) ?? [];
    while (waiting.length > 0) await this.#decide(session, waiting.splice(0, MOST_TOGETHER));
    this.#waiting.delete(session);
  }

  async #decide(session: string, group: readonly Asked[]): Promise<void> {
    const patches = group.map(({ patch }) => patch);
    let attempts = 0;
    try {
      const answers = await decide(this.#storage, async () => {
        if (attempts++ >= EAGER_ATTEMPTS) await this.#stepBack(attempts - EAGER_ATTEMPTS);
        return this.#rule(session, patches);
      });
      for (const [i, answer] of answers.entries()) {
        if ("error" in answer) group[i]?.reject(answer.error);
        else group[i]?.resolve(answer);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  #stepBack(times: number): Promise<void> {
    const { environment } = this.#storage;
    const spread = (environment.random(1)[0] ?? 0) / 255;
    return environment.sleep(Math.min(2 ** times, LONGEST_BACKOFF_MS) * spread);
  }

  async #rule(
    session: string,
    patches: readonly Change[],
  ): Promise<Decision<readonly Answer[]> | Settled<readonly Answer[]>> {
    const { rows, version } = await readSnapshot(this.#storage, session);
    const fates = await this.#fold(session, rows, patches);
    const held = patches.filter((_, i) => !("error" in (fates[i] ?? {})));
    const answer = (events: readonly { readonly seq: number }[]): readonly Answer[] => {
      const seqs = events.values();
      return fates.map((fate) => ("error" in fate ? fate : { ...fate, version: seqs.next().value?.seq ?? 0 }));
    };
    if (held.length === 0) return { answer: answer([]) };
    return {
      commit: changeCommit(held, [versionGuard(session, version)]),
      answer: ({ events }) => answer(events),
    };
  }

  /** Nothing is read of a value that a patch replaces: so a damaged one can be replaced or taken away. */
  async #fold(session: string, rows: readonly StateRow[], patches: readonly Change[]): Promise<readonly Fate[]> {
    const now = this.#storage.environment.now();
    const fates: Fate[] = [];
    let state: ReadonlyMap<string, Slot> = new Map(
      rows.map((row) => [row.key, once(() => readValue(this.#payloads, session, row))]),
    );
    for (const patch of patches) {
      const next = patched(state, patch, now);
      try {
        if (next.size > LIMITS.stateKeys) throw limitExceeded("stateKeys", "the state in keys", next.size);
        const entries: [string, Json][] = [];
        for (const [key, slot] of next) entries.push([key, decodeValue(await slot())]);
        // fromEntries defines own properties, so that a key called __proto__ is just a key.
        fates.push({ value: Object.fromEntries(entries) });
        state = next;
      } catch (error) {
        fates.push({ error });
      }
    }
    return fates;
  }
}

function once(read: () => Promise<Value>): Slot {
  let value: Promise<Value> | undefined;
  return () => {
    value ??= read();
    return value;
  };
}

function patched(state: ReadonlyMap<string, Slot>, patch: Change, now: number): ReadonlyMap<string, Slot> {
  const { session, values, removed, expiresAt } = patch;
  const next = new Map(state);
  for (const key of removed ?? []) next.delete(key);
  for (const { key, bytes } of values) {
    // What is written again stands behind the others, as it will when it is read.
    next.delete(key);
    if (expiresAt === null || expiresAt > now) next.set(key, () => ({ name: { kind: "state", session, key }, bytes }));
  }
  return next;
}
