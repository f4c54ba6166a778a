// Changes in the commit that ends a run: it wakes a waiting parent, clears the messages of a throwaway child, and
// cancels the run's children.
import type { EventDraft, FoundRows, Guard } from "../contracts/storage/commit.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { waitsFor } from "../core/run-waits.ts";
import { type ClearedMessages, FORGETS, forget } from "./forget.ts";
import { findActiveRetry } from "./retry-chain.ts";
import { isAtWork } from "./rows.ts";
import { atVersion, type CommitExtras, type Move, moveRun } from "./writer.ts";

export interface RunEnding {
  /** Events before the run's own last event. */
  readonly before: readonly EventDraft[];
  readonly after: readonly EventDraft[];
  readonly extras: Pick<CommitExtras, "guards" | "sessions" | "solo" | "wakes">;
  readonly afterwards: (payloads: Payloads, found: FoundRows) => Promise<void>;
}

export async function endEvents(storage: Storage, row: RunRow, at: number): Promise<RunEnding> {
  const own = await throwaway(storage, row, at);
  const woken = await wakeParent(storage, row, at);
  const below = await cancelChildren(storage, row, at);
  const forgotten = [...(own === null ? [] : [own]), ...below.forgotten];
  const after = [...woken.events, ...below.events];
  const others = new Set(after.map(({ session }) => session).filter((id) => id !== row.session));
  return {
    before: own?.events ?? [],
    after,
    extras: {
      guards: [...woken.guards, ...below.guards, ...forgotten.flatMap(({ guards }) => guards)],
      sessions: [...others].map((id) => ({ id, mode: "existing", at })),
      ...(forgotten.length === 0 ? {} : { solo: true }),
      ...(woken.events.length === 0 ? {} : { wakes: true }),
    },
    // Distinct, so that the commit checks each guard once.
    afterwards: async (payloads, found) => forgotten[0]?.afterwards(payloads, found),
  };
}

/** Cancels a run that no worker has. */
export function cancelChange(at: number): Move {
  return {
    type: "run/cancelled",
    at,
    data: { error: { code: "Aborted", message: "the run was cancelled" } },
    changes: {
      status: "cancelled",
      owner: null,
      wake_at: null,
      waits: null,
      pause_at: null,
      stop: "cancelled",
      cancel: 1,
      ended_at: at,
    },
  };
}

interface CancelledChildren {
  readonly events: readonly EventDraft[];
  readonly guards: readonly Guard[];
  readonly forgotten: readonly ClearedMessages[];
}

/**
 * Cancels all descendants. If a worker has a child, the worker notices with its next heartbeat and ends it; other
 * children end at once.
 */
async function cancelChildren(storage: Storage, { id }: RunRow, at: number): Promise<CancelledChildren> {
  const events: EventDraft[] = [];
  const guards: Guard[] = [];
  const forgotten: ClearedMessages[] = [];
  for (const child of await storage.query("runs.children", { parent: id })) {
    if (child.ended_at !== null) continue;
    guards.push(atVersion(child));
    if (isAtWork(child)) {
      if (child.cancel === 0) events.push(moveRun(child, { type: "run/cancelling", at, changes: { cancel: 1 } }).event);
    } else {
      const left = await throwaway(storage, child, at);
      if (left !== null) forgotten.push(left);
      events.push(...(left?.events ?? []), moveRun(child, cancelChange(at)).event);
    }
    const below = await cancelChildren(storage, child, at);
    for (const event of below.events) events.push(event);
    for (const guard of below.guards) guards.push(guard);
    for (const one of below.forgotten) forgotten.push(one);
  }
  return { events, guards, forgotten };
}

async function throwaway(storage: Storage, row: RunRow, at: number): Promise<ClearedMessages | null> {
  return row.nested === FORGETS ? forget(storage, row, at) : null;
}

async function wakeParent(storage: Storage, child: RunRow, at: number): Promise<Omit<CancelledChildren, "forgotten">> {
  const [first] = child.parent === null ? [] : await storage.query("run.get", { id: child.parent });
  if (first === undefined) return { events: [], guards: [] };
  const [parent, guards] =
    first.ended_at === null ? [first, [atVersion(first)]] : await findActiveParent(storage, first);
  if (!waitsFor(parent, { kind: "run", run: child.id })) return { events: [], guards };
  const { event } = moveRun(parent, {
    type: "run/woken",
    at,
    data: { child: child.id },
    changes: { status: "running", wake_at: 0, waits: null },
  });
  return { events: [event], guards };
}

/**
 * The run that retries the ended parent, because it may wait for the child. The guard refuses a further retry
 * meanwhile.
 */
async function findActiveParent(storage: Storage, parent: RunRow): Promise<readonly [RunRow, readonly Guard[]]> {
  const [newest] = await storage.query("runs.newest", { session: parent.session });
  const heir = (await findActiveRetry(storage, parent)) ?? parent;
  const guard: Guard = { check: "runs.newest", key: [parent.session], expect: newest?.value ?? null };
  return [heir, [atVersion(heir), guard]];
}
