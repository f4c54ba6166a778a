// Walks lists that come in pages.
import { isHoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { Page } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Session } from "../contracts/session.ts";

interface Place {
  readonly cursor?: string;
}

/**
 * Every session there is, newest first. One that is erased meanwhile may still be visited. With `damaged`, a session
 * whose row cannot be read is told to it by its id, and the walk goes on.
 */
export async function eachSession(
  holdfast: Holdfast,
  visit: (session: Session) => Promise<void>,
  damaged?: (id: string, why: string) => Promise<void>,
): Promise<void> {
  let limit: number = LIMITS.page;
  for (let place: Place | undefined = {}; place !== undefined; ) {
    try {
      const page: Page<Session> = await holdfast.sessions.list({ limit, ...place });
      for (const session of page.items) await visit(session);
      place = page.next === null ? undefined : { cursor: page.next };
    } catch (error) {
      const bad = damaged === undefined ? undefined : damagedSession(error);
      if (damaged === undefined || bad === undefined) throw error;
      // One by one up to the bad one, and on in pages behind it.
      if (limit > 1) limit = 1;
      else {
        await damaged(bad.session, bad.why);
        place = bad.next === null ? undefined : { cursor: bad.next };
        limit = LIMITS.page;
      }
    }
  }
}

interface Damaged {
  readonly session: string;
  readonly why: string;
  /** Of the page behind it; null when it was not met in a list. */
  readonly next: string | null;
}

export function damagedSession(error: unknown): Damaged | undefined {
  if (!isHoldfastError(error) || error.code !== "StoreCorrupted") return undefined;
  const { kind, session, next } = error.details;
  if (kind !== "session" || typeof session !== "string") return undefined;
  return { session, why: error.message, next: typeof next === "string" ? next : null };
}
