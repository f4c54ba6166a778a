// Walks sessions: all sessions of a store, page by page, or one session and all that it invoked.
import { isHoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { Page } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Session } from "../contracts/session.ts";

interface PageStart {
  readonly cursor?: string;
}

/**
 * Visits every session, newest first; it may still visit a session that is erased meanwhile. If a session's row cannot
 * be read, it calls `onDamaged` with the id and continues; without `onDamaged` it fails.
 */
export async function eachSession(
  holdfast: Holdfast,
  visit: (session: Session) => Promise<void>,
  onDamaged?: (id: string, why: string) => Promise<void>,
): Promise<void> {
  let limit: number = LIMITS.page;
  for (let start: PageStart | undefined = {}; start !== undefined; ) {
    try {
      const page: Page<Session> = await holdfast.sessions.list({ limit, ...start });
      for (const session of page.items) await visit(session);
      start = page.next === null ? undefined : { cursor: page.next };
    } catch (error) {
      const bad = onDamaged === undefined ? undefined : readDamagedSession(error);
      if (onDamaged === undefined || bad === undefined) throw error;
      // The walk reads one by one up to the damaged session, then continues in pages after it.
      if (limit > 1) limit = 1;
      else {
        await onDamaged(bad.session, bad.why);
        start = bad.next === null ? undefined : { cursor: bad.next };
        limit = LIMITS.page;
      }
    }
  }
}

interface DamagedSession {
  readonly session: string;
  readonly why: string;
  /** The cursor of the page after the session; null if the session was not read from a list. */
  readonly next: string | null;
}

export function readDamagedSession(error: unknown): DamagedSession | undefined {
  if (!isHoldfastError(error) || error.code !== "StoreCorrupted") return undefined;
  const { kind, session, next } = error.details;
  if (kind !== "session" || typeof session !== "string") return undefined;
  return { session, why: error.message, next: typeof next === "string" ? next : null };
}

/**
 * Returns the ids of a session and of all sessions that it invoked, directly or through others, without erased ones.
 */
export async function listWithInvoked(holdfast: Holdfast, session: string): Promise<readonly string[]> {
  const found = new Set([session]);
  // The loop also visits members that it adds to the set.
  for (const member of found) {
    const { sessions } = await holdfast.sessions.tree({ session: member }, { limit: 1 });
    const own = sessions.find(({ id }) => id === member);
    for (const { callee } of own?.invocations ?? []) {
      if (callee === null || found.has(callee)) continue;
      if ((await holdfast.sessions.get({ session: callee })) !== null) found.add(callee);
    }
  }
  return [...found];
}
