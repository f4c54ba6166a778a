// A fence around a session: its commits succeed only as long as no other writer adds to the session's log. It is for
// work of many commits that reads the session once and relies on what it read. If two such pieces of work run at once,
// a commit of one is refused, and that one reads again.
import { HoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { LiveSessions } from "../contracts/sessions.ts";
import type { Commit, Outcome } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { randomShare } from "./backoff.ts";
import { overrideStorage } from "./storage-overrides.ts";

/** The hidden member of an open store that makes fences. It is not public. */
export const FENCE = Symbol("fence");

export interface FencedNouns extends Pick<Holdfast, "history" | "heads" | "turns" | "calls" | "invocations"> {
  readonly sessions: LiveSessions;
}

export interface Fence {
  /** Nouns whose commits to the session are refused with Conflict once another writer has added to its log. */
  readonly stores: FencedNouns;
  /** True if another writer has added to the log, or a commit of this fence happened but its answer was lost. */
  isStale(): Promise<boolean>;
  /** Waits before the next attempt; the wait grows with the number of attempts. */
  pause(attempt: number): Promise<void>;
}

export interface Fencing {
  readonly [FENCE]: (session: string) => Promise<Fence>;
}

const PAUSE_MS = 20;
const LONGEST_MS = 1000;

/** `createFencedNouns` makes the nouns on the storage that it gets. */
export async function createFence(
  storage: Storage,
  session: string,
  createFencedNouns: (storage: Storage) => FencedNouns,
): Promise<Fence> {
  const lengthOf = async () => (await storage.query("session.get", { id: session }))[0]?.seq ?? 0;
  let knownLength = await lengthOf();
  const commitFenced = async (commit: Commit): Promise<Outcome> => {
    const guard = { check: "session.seq", key: [session], expect: knownLength } as const;
    const outcome = await storage.commit({ ...commit, guards: [...(commit.guards ?? []), guard] });
    if (!outcome.ok) {
      if (outcome.refused.reason === "guard" && outcome.refused.guard.check === guard.check) throw overtaken(session);
      return outcome;
    }
    knownLength = outcome.events.findLast((event) => event.session === session)?.seq ?? knownLength;
    return outcome;
  };
  // Each commit relies on the length of the log after the one before it, so they run one after another.
  let last: Promise<unknown> = Promise.resolve();
  const commitSerially = (commit: Commit): Promise<Outcome> => {
    if (!commit.events?.some((event) => event.session === session)) return storage.commit(commit);
    const done = last.then(() => commitFenced(commit));
    last = done.catch(() => {});
    return done;
  };
  return {
    stores: createFencedNouns(overrideStorage(storage, { commit: commitSerially })),
    isStale: async () => (await lengthOf()) !== knownLength,
    pause: (attempt) => pause(storage, attempt),
  };
}

async function pause({ environment }: Storage, attempt: number): Promise<void> {
  await environment.sleep(Math.min(attempt * PAUSE_MS, LONGEST_MS) * randomShare(environment));
}

function overtaken(session: string): HoldfastError {
  return new HoldfastError(
    "Conflict",
    `another writer has added to the log of the session ${JSON.stringify(session)} meanwhile`,
    {
      retryable: true,
      details: { kind: "session", id: session },
      hint: "Try again.",
    },
  );
}
