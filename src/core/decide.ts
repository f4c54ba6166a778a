// The loop every rule runs in: decide on a fresh snapshot, commit, and when a guard failed decide again.
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Commit, Outcome, Refusal } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { randomShare } from "./backoff.ts";
import { toRef } from "./bytes.ts";
import { reservedName } from "./locator.ts";

export type CommittedOutcome = Extract<Outcome, { ok: true }>;

/** Nothing to write: the answer is known already. */
export interface FinalAnswer<T> {
  readonly answer: T;
}

export interface Decision<T> {
  readonly commit: Commit;
  /** What the caller gets once the commit happened. */
  readonly answer: (committed: CommittedOutcome) => T;
}

/**
 * `decide` reads and returns a commit with the guards it relied on, or an answer. A refused guard means that the
 * snapshot was stale, so `decide` is called again; a refused session is the caller's mistake and becomes a typed error.
 * `onQueued` is called as soon as a commit has its place in the queue.
 */
export async function decide<T>(
  storage: Storage,
  rule: () => Promise<Decision<T> | FinalAnswer<T>>,
  onQueued?: () => void,
): Promise<T> {
  for (let attempt = 0; attempt < LIMITS.decideAttempts; attempt++) {
    const decision = await rule();
    if (!("commit" in decision)) return decision.answer;
    const committing = storage.commit(decision.commit);
    onQueued?.();
    const outcome = await committing;
    if (outcome.ok) return decision.answer(outcome);
    if (outcome.refused.reason !== "guard") throw refusalError(outcome.refused);
    await spread(storage, attempt);
  }
  throw new HoldfastError("Conflict", `others changed the same rows ${LIMITS.decideAttempts} times in a row`, {
    retryable: true,
    hint: "Try again; if it persists, fewer writers should share this row.",
  });
}

/** Refused so often that many must want the same: from here on they come at different times, further and further apart. */
const MANY_REFUSALS = 4;
const SPREAD_MS = 4;

async function spread({ environment }: Storage, attempt: number): Promise<void> {
  if (attempt < MANY_REFUSALS) return;
  await environment.sleep(attempt * SPREAD_MS * randomShare(environment));
}

export function refusalError(refused: Refusal): HoldfastError {
  switch (refused.reason) {
    case "session-exists":
      return new HoldfastError("AlreadyExists", `there is a session ${quote(refused.session)} already`, {
        details: { kind: "session", id: refused.session },
        hint: "Take another id, or leave it out to be given one.",
      });
    case "session-missing":
      return new HoldfastError("NotFound", `there is no session ${quote(refused.session)}`, {
        details: { kind: "session", id: refused.session },
        hint: "Create it first, or list what there is with sessions.list().",
      });
    case "session-alias":
      return new HoldfastError(
        "AlreadyExists",
        `${quote(refused.session)} is an alias of a session, not a session's id`,
        {
          details: { kind: "alias", id: refused.session },
          hint: "Use the id: sessions.get() tells it for the alias.",
        },
      );
    case "session-reserved":
      return reservedName(refused.session, "session");
    case "session-deleted":
      return new HoldfastError(
        "SessionDeleted",
        `the session ${quote(refused.session)} was deleted; ids are not used again`,
        {
          details: { kind: "session", id: refused.session },
          hint: "Use a new id.",
        },
      );
    case "session-partial":
      return new HoldfastError(
        "SessionDeleted",
        `the session ${quote(refused.session)} is here only in part, as far as others inherit or name it`,
        {
          details: { kind: "session", id: refused.session },
          hint: "Importing its own archive completes it; until then use another id, or a fork of it that is here.",
        },
      );
    case "blob-missing":
      return new HoldfastError("BlobNotFound", `there is no blob ${toRef(refused.sha256)}`, {
        details: { ref: toRef(refused.sha256) },
        hint: "Store the bytes first, or pin the ref so that it does not expire.",
      });
    case "blob-expired":
      return new HoldfastError("BlobExpired", `the blob ${toRef(refused.sha256)} has expired`, {
        details: { ref: toRef(refused.sha256) },
        hint: "Store the bytes again, and pin the ref while you need it.",
      });
    case "parts-missing":
      return new HoldfastError("Conflict", "the bytes waited for their commit for so long that they were collected", {
        retryable: true,
        hint: "Send them again, and do not keep them waiting for more than an hour.",
      });
    case "guard":
      return new HoldfastError("Conflict", `${refused.guard.check} changed in the meantime`, {
        retryable: true,
        details: { check: refused.guard.check, expected: refused.guard.expect, actual: refused.actual },
      });
  }
}

function quote(id: string): string {
  return JSON.stringify(id.length > 80 ? `${id.slice(0, 80)}…` : id);
}
