// What is said on stderr, before the agent starts, of work that runs before left on this disk and that is not in the store.
import { HoldfastError } from "../../contracts/errors.ts";
import type { Context } from "../command.ts";
import { quoted } from "../terminal.ts";
import type { UnsavedOptions } from "./leftover.ts";

export interface UnsavedMessages extends Pick<UnsavedOptions, "onUnsaved" | "onAmbiguous"> {
  /** All that were named. */
  readonly sessions: ReadonlySet<string>;
}

/** Each session is named once. */
export function unsavedMessages({ output }: Context, request: string): UnsavedMessages {
  const sessions = new Set<string>();
  const line = (sessionId: string) =>
    `\`holdfast capture --session-id ${sessionId} --request ${quoted(request)}${output.storeOptions}\``;
  return {
    sessions,
    onUnsaved: (sessionId, error) => {
      if (sessions.has(sessionId)) return;
      sessions.add(sessionId);
      const why = error instanceof HoldfastError ? error.message : String(error);
      void output.note(
        `holdfast: what an earlier run left here of session ${sessionId} could not be saved (${why}); the next run tries ` +
          `again, or save it with ${line(sessionId)}`,
      );
    },
    onAmbiguous: (candidates) => {
      for (const one of candidates) sessions.add(one);
      void output.note(
        `holdfast: an earlier run was killed before its session was saved, and any of ${candidates.join(", ")} may be that ` +
          `session; save the right one with ${line("ID")}`,
      );
    },
  };
}
