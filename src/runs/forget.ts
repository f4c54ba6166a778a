// Throwaway children: the last commit of such a run clears its messages from the session.
import type { EventDraft, FoundRows, Guard } from "../contracts/storage/commit.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { clearRow, discardErased, forgetWrites, releaseWrites, tally } from "../core/erasure.ts";
import { currentLineage } from "../core/lineage.ts";
import { existingSession } from "../core/session-lookup.ts";

/** The value of `nested` in the row of a throwaway child. */
export const FORGETS = 2;

const SCOPES = ["run"] as const;

export interface ClearedMessages {
  readonly events: readonly EventDraft[];
  readonly guards: readonly Guard[];
  readonly afterwards: (payloads: Payloads, found: FoundRows) => Promise<void>;
}

/** null if the run has no messages. */
export async function forget(storage: Storage, row: RunRow, at: number): Promise<ClearedMessages | null> {
  const session = await existingSession(storage, row.session);
  const [agent] = await storage.query("agent.get", { id: row.agent });
  if (agent === undefined) return null;
  const where = { session: session.no, agent: agent.no, run: row.id, upTo: session.seq };
  const [words] = await storage.query("run.inline", where);
  const [live] = await storage.query("history.countUpTo", { seq: session.seq, agent: row.agent, session: row.session });
  if (words === undefined || words.n === 0) return null;
  const inherits = (await currentLineage(storage, row.session)).some((segment) => segment.session !== row.session);
  return {
    guards: [{ check: "messages.live", key: [session.seq, row.agent, row.session], expect: live?.n ?? 0 }],
    events: [
      {
        session: row.session,
        type: "messages/cleared",
        at,
        agent: row.agent,
        run: row.id,
        data: { count: words.n },
        messages: -words.n,
        writes: [
          ...releaseWrites(SCOPES, at, where),
          ...forgetWrites(SCOPES, where),
          ...(inherits ? [clearRow(agent.no, row.id)] : []),
        ],
      },
    ],
    afterwards: (payloads, found) => discardErased(storage, payloads, tally(found, SCOPES, at).later),
  };
}
