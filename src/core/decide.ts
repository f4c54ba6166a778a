// The loop in which every rule runs: decide on a fresh snapshot, commit, and decide again if a guard failed.
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Commit, Outcome, Refusal } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { randomShare } from "./backoff.ts";
import { toRef } from "./bytes.ts";
import { reservedName } from "./locator.ts";

export type CommittedOutcome = Extract<Outcome, { ok: true }>;

/** The rule has nothing to write: it knows the answer already. */
export interface FinalAnswer<T> {
  readonly answer: T;
}

export interface Decision<T> {
  readonly commit: Commit;
  /** Makes the caller's result from the committed outcome. */
  readonly answer: (committed: CommittedOutcome) => T;
}

/**
 * `rule` reads, and returns an answer or a commit with the guards that it relies on. If a guard is refused, the
 * snapshot was stale, and `rule` is called again. If a session is refused, that is the caller's mistake and becomes a
 * typed error. `onQueued` is called as soon as a commit has its position in the queue.
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
  throw new HoldfastError("Conflict", `other writers changed the same rows ${LIMITS.decideAttempts} times in a row`, {
    retryable: true,
    hint: "Try again. If it happens often, let fewer writers change this row.",
  });
}

/** After this many refusals many writers probably change the same row: later attempts back off with jitter. */
const MANY_REFUSALS = 4;
const SPREAD_MS = 4;

async function spread({ environment }: Storage, attempt: number): Promise<void> {
  if (attempt < MANY_REFUSALS) return;
  await environment.sleep(attempt * SPREAD_MS * randomShare(environment));
}

export function refusalError(refused: Refusal): HoldfastError {
  switch (refused.reason) {
    case "session-exists":
      return new HoldfastError("AlreadyExists", `a session ${quote(refused.session)} exists already`, {
        details: { kind: "session", id: refused.session },
        hint: "Choose another id, or leave it out: then the store makes one.",
      });
    case "session-missing":
      return new HoldfastError("NotFound", `there is no session ${quote(refused.session)}`, {
        details: { kind: "session", id: refused.session },
        hint: "Create it first, or list the sessions with sessions.list().",
      });
    case "session-alias":
      return new HoldfastError(
        "AlreadyExists",
        `${quote(refused.session)} is an alias of a session, not a session's id`,
        {
          details: { kind: "alias", id: refused.session },
          hint: "Use the id: sessions.get() returns it for the alias.",
        },
      );
    case "session-reserved":
      return reservedName(refused.session, "session");
    case "session-deleted":
      return new HoldfastError(
        "SessionDeleted",
        `the session ${quote(refused.session)} was deleted, and its id cannot be used again`,
        {
          details: { kind: "session", id: refused.session },
          hint: "Use a new id.",
        },
      );
    case "session-partial":
      return new HoldfastError(
        "SessionDeleted",
        `the session ${quote(refused.session)} is in this store only in part, as far as other sessions inherit or name it`,
        {
          details: { kind: "session", id: refused.session },
          hint: "Import its own archive to complete it. Until then use another id, or a fork of it in this store.",
        },
      );
    case "blob-missing":
      return new HoldfastError("BlobNotFound", `there is no blob ${toRef(refused.sha256)}`, {
        details: { ref: toRef(refused.sha256) },
        hint: "Store the bytes first. Pin the ref if it must not expire.",
      });
    case "blob-expired":
      return new HoldfastError("BlobExpired", `the blob ${toRef(refused.sha256)} has expired`, {
        details: { ref: toRef(refused.sha256) },
        hint: "Store the bytes again, and pin the ref while you need it.",
      });
    case "parts-missing":
      return new HoldfastError(
        "Conflict",
        "the bytes waited so long for their commit that garbage collection removed them",
        {
          retryable: true,
          hint: "Send them again, and commit within an hour.",
        },
      );
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
