// Walks lists that come in pages.
import type { Holdfast } from "../contracts/holdfast.ts";
import type { Page } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Session } from "../contracts/sessions.ts";

/** Every session there is, newest first. One that is erased meanwhile may still be visited. */
export async function eachSession(holdfast: Holdfast, visit: (session: Session) => Promise<void>): Promise<void> {
  for (let cursor: { readonly cursor?: string } | undefined = {}; cursor !== undefined; ) {
    const page: Page<Session> = await holdfast.sessions.list({ limit: LIMITS.page, ...cursor });
    for (const session of page.items) await visit(session);
    cursor = page.next === null ? undefined : { cursor: page.next };
  }
}
