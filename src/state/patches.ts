// Patches of a session's state. A patch returns the whole state, so it is decided on the whole and guarded by its
// version. Patches that arrive while one is running are decided together, each on the result of the one before: one
// read and one commit for all of them, with one event and one version each. They are one entry of the session's queue.
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Versioned } from "../contracts/state.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { StateRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { limitExceeded } from "../core/check.ts";
import { type Decision, decide, type FinalAnswer } from "../core/decide.ts";
import type { SerialQueue } from "../core/serial-queue.ts";
import { type Change, changeCommit, type PreparedValue, type Text, textOf, wholeState } from "./changes.ts";
import { decodeValue, readSnapshot, readValue, type Snapshot, versionGuard } from "./rows.ts";

/** The maximum number of patches in one decision; more would block the event loop for too long. */
const MOST_TOGETHER = 64;

/** How many keys of results are made before the event loop runs. */
const MOST_KEYS = 10_000;

interface PatchRequest {
  readonly change: Omit<Change, "values">;
  readonly values: Promise<readonly PreparedValue[]>;
  /** The version that the caller expects; any version by default. */
  readonly expected: number | undefined;
  readonly resolve: (answer: Versioned) => void;
  readonly reject: (error: unknown) => void;
}

/** The outcome of a patch: the new state, or the error. */
type PatchOutcome = Pick<Versioned, "value"> | { readonly error: unknown };
type Answer = Versioned | { readonly error: unknown };

type GuardedChange = Change & Pick<PatchRequest, "expected">;

/** A value of the state, read on demand. */
type Slot = () => Text | Promise<Text>;

export class PatchQueue {
  readonly #storage: Storage;
  readonly #payloads: Payloads;
  readonly #queue: SerialQueue;
  /** Per session, the queued group that further patches can join, until another change queues behind it. */
  readonly #open = new Map<string, { readonly group: PatchRequest[]; readonly entry: object | undefined }>();

  constructor(storage: Storage, payloads: Payloads, queue: SerialQueue) {
    this.#storage = storage;
    this.#payloads = payloads;
    this.#queue = queue;
  }

  add(
    change: Omit<Change, "values">,
    values: readonly PreparedValue[] | Promise<readonly PreparedValue[]>,
    expected?: number,
  ): Promise<Versioned> {
    return new Promise((resolve, reject) => {
      const request = { change, values: Promise.resolve(values), expected, resolve, reject };
      // The queue entry reports the failure; until then an unhandled rejection must not be raised.
      request.values.catch(() => {});
      const { session } = change;
      const open = this.#open.get(session);
      if (open !== undefined && open.entry === this.#queue.lastEntry(session) && open.group.length < MOST_TOGETHER) {
        open.group.push(request);
        return;
      }
      const group = [request];
      const deciding = this.#queue.run(session, () => {
        if (this.#open.get(session)?.group === group) this.#open.delete(session);
        return this.#decide(session, group);
      });
      this.#open.set(session, { group, entry: this.#queue.lastEntry(session) });
      deciding.catch(reject);
    });
  }

  async #decide(session: string, request: readonly PatchRequest[]): Promise<void> {
    const prepared = await Promise.allSettled(request.map(({ values }) => values));
    const group: { readonly patch: GuardedChange; readonly asked: PatchRequest }[] = [];
    for (const [i, one] of request.entries()) {
      const values = prepared[i];
      if (values?.status !== "fulfilled") one.reject(values?.reason);
      else group.push({ patch: { ...one.change, values: values.value, expected: one.expected }, asked: one });
    }
    if (group.length === 0) return;
    const patches = group.map(({ patch }) => patch);
    try {
      const answers = await decide(this.#storage, () => this.#rule(session, patches));
      for (const [i, answer] of answers.entries()) {
        if ("error" in answer) group[i]?.asked.reject(answer.error);
        else group[i]?.asked.resolve(answer);
      }
    } catch (error) {
      for (const one of group) one.asked.reject(error);
    }
  }

  async #rule(
    session: string,
    patches: readonly GuardedChange[],
  ): Promise<Decision<readonly Answer[]> | FinalAnswer<readonly Answer[]>> {
    const { rows, version } = await readSnapshot(this.#storage, session);
    const outcomes = await this.#fold(session, { rows, version }, patches);
    const held = patches.filter((_, i) => !("error" in (outcomes[i] ?? {})));
    const answer = (events: readonly { readonly seq: number }[]): readonly Answer[] => {
      const seqs = events.values();
      return outcomes.map((outcome) =>
        "error" in outcome ? outcome : { ...outcome, version: seqs.next().value?.seq ?? 0 },
      );
    };
    if (held.length === 0) return { answer: answer([]) };
    return {
      commit: changeCommit(held, [versionGuard(session, version)]),
      answer: ({ events }) => answer(events),
    };
  }

  /** A value that a patch replaces is not read, so a damaged value can be replaced or removed. */
  async #fold(
    session: string,
    { rows, version }: Snapshot,
    patches: readonly GuardedChange[],
  ): Promise<readonly PatchOutcome[]> {
    const now = this.#storage.environment.now();
    const outcomes: PatchOutcome[] = [];
    let keys = 0;
    // The commit gives each patch a version, so that within the group only the first one is known.
    let current: number | null = version ?? 0;
    let state: ReadonlyMap<string, Slot> = new Map(rows.map((row) => [row.key, this.#slotOf(session, row)]));
    for (const patch of patches) {
      const next = patched(state, patch, now);
      try {
        checkVersion(session, current, patch.expected);
        if (next.size > LIMITS.stateKeys) throw limitExceeded("stateKeys", "the state in keys", next.size);
        const texts: Text[] = [];
        for (const slot of next.values()) {
          const text = slot();
          texts.push(text instanceof Promise ? await text : text);
        }
        outcomes.push({ value: wholeState(texts) });
        state = next;
        current = null;
      } catch (error) {
        outcomes.push({ error });
      }
      keys += next.size;
      if (keys < MOST_KEYS) continue;
      keys = 0;
      await new Promise<void>((go) => this.#storage.environment.defer(go));
    }
    return outcomes;
  }

  /** Each value is read and checked once, even if many results contain it. */
  #slotOf(session: string, row: StateRow): Slot {
    let text: Text | Promise<Text> | undefined;
    return () => {
      text ??= readValue(this.#payloads, session, row).then((value) => {
        decodeValue(value);
        text = textOf({ key: row.key, bytes: value.bytes });
        return text;
      });
      return text;
    };
  }
}

/** `actual` null: an earlier patch of the same commit changes the state. */
function checkVersion(session: string, actual: number | null, expected: number | undefined): void {
  if (expected === undefined || expected === actual) return;
  const is = actual === null ? "is changed by a patch before this one" : `has version ${actual}`;
  throw new HoldfastError(
    "Conflict",
    `the state of the session ${JSON.stringify(session)} ${is}; expected was version ${expected}`,
    {
      details: { session, expected, ...(actual === null ? {} : { actual }) },
      hint: "Read the state again with state.getVersioned(), and repeat the patch if it is still right.",
    },
  );
}

function patched(state: ReadonlyMap<string, Slot>, patch: Change, now: number): ReadonlyMap<string, Slot> {
  const { values, removed, expiresAt } = patch;
  const next = new Map(state);
  for (const key of removed ?? []) next.delete(key);
  for (const value of values) {
    // A rewritten key moves to the end, as it will be read.
    next.delete(value.key);
    if (expiresAt !== null && expiresAt <= now) continue;
    const text = textOf(value);
    next.set(value.key, () => text);
  }
  return next;
}
