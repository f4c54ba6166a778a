// A session with all that it spawned or attached, and what these did: what --children means.
import type { Holdfast } from "../contracts/holdfast.ts";

/** The session first; each once. What was erased is not there any more. */
export async function familyOf(holdfast: Holdfast, session: string): Promise<readonly string[]> {
  const family = new Set([session]);
  // A set gives also what is added while it is gone through.
  for (const member of family) {
    const { sessions } = await holdfast.sessions.tree({ session: member }, { limit: 1 });
    const own = sessions.find(({ id }) => id === member);
    for (const { callee } of own?.invocations ?? []) {
      if (callee === null || family.has(callee)) continue;
      if ((await holdfast.sessions.get({ session: callee })) !== null) family.add(callee);
    }
  }
  return [...family];
}
