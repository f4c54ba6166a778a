// A fence around a session: commits behind it succeed only as long as no other writer adds to the session's log. It is
// for work of many commits that reads the session once and then relies on what it read: if two such works meet, a
// commit of one is refused, and that work reads again.
import { HoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { LiveSessions } from "../contracts/sessions.ts";
import type { Commit, Outcome } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { randomShare } from "./backoff.ts";
import { overrideStorage } from "./storage-overrides.ts";

/** Where an open store keeps the way to its fences. Its users know nothing of it. */
export const FENCE = Symbol("fence");

export interface FencedNouns extends Pick<Holdfast, "history" | "heads" | "turns" | "calls" | "invocations"> {
  readonly sessions: LiveSessions;
}

export interface Fence {
  /** Their commits to the session are refused with a Conflict once another writer has added to it. */
  readonly stores: FencedNouns;
  /** Another writer has added to it, or one of its own commits happened without an answer. */
  isStale(): Promise<boolean>;
  /** Until the next attempt: the longer, the more there were. */
  pause(attempt: number): Promise<void>;
}

export interface Fencing {
  readonly [FENCE]: (session: string) => Promise<Fence>;
}

const PAUSE_MS = 20;
const LONGEST_MS = 1000;

/** `made` are the nouns on a storage that is given to it. */
export async function createFence(
  storage: Storage,
  session: string,
  made: (storage: Storage) => FencedNouns,
): Promise<Fence> {
  const lengthOf = async () => (await storage.query("session.get", { id: session }))[0]?.seq ?? 0;
  let known = await lengthOf();
  const once = async (commit: Commit): Promise<Outcome> => {
    const guard = { check: "session.seq", key: [session], expect: known } as const;
    const outcome = await storage.commit({ ...commit, guards: [...(commit.guards ?? []), guard] });
    if (!outcome.ok) {
      if (outcome.refused.reason === "guard" && outcome.refused.guard.check === guard.check) throw overtaken(session);
      return outcome;
    }
    known = outcome.events.findLast((event) => event.session === session)?.seq ?? known;
    return outcome;
  };
  // Each relies on where the one before it left the log.
  let last: Promise<unknown> = Promise.resolve();
  const commitSerially = (commit: Commit): Promise<Outcome> => {
    if (!commit.events?.some((event) => event.session === session)) return storage.commit(commit);
    const done = last.then(() => once(commit));
    last = done.catch(() => {});
    return done;
  };
  return {
    stores: made(overrideStorage(storage, { commit: commitSerially })),
    isStale: async () => (await lengthOf()) !== known,
    pause: (attempt) => pause(storage, attempt),
  };
}

async function pause({ environment }: Storage, attempt: number): Promise<void> {
  await environment.sleep(Math.min(attempt * PAUSE_MS, LONGEST_MS) * randomShare(environment));
}

function overtaken(session: string): HoldfastError {
  return new HoldfastError("Conflict", `another writer has added to ${JSON.stringify(session)} meanwhile`, {
    retryable: true,
    details: { kind: "session", id: session },
    hint: "Try again.",
  });
}
