// A throwaway child: its last commit clears its messages from the session.
import type { Payloads } from "../contracts/payloads.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { Cell, EventDraft, FoundRows, Guard, Storage } from "../contracts/storage.ts";
import { existingSession } from "../core/existing.ts";
import { currentLineage } from "../core/lineage.ts";
import { afterwards, clearRow, forgetWrites, releaseWrites, tally } from "../sessions/erase.ts";

/** Of `nested` in a run's row. */
export const FORGETS = 2;

const SCOPES = ["run"] as const;

export interface ClearedMessages {
  readonly events: readonly EventDraft[];
  readonly guards: readonly Guard[];
  readonly afterwards: (payloads: Payloads, found: FoundRows) => Promise<void>;
}

/** null when it has no messages. */
export async function forget(storage: Storage, row: RunRow, at: number): Promise<ClearedMessages | null> {
  const session = await existingSession(storage, row.session);
  const [agent] = await storage.query("agent.get", row.agent);
  if (agent === undefined) return null;
  const where: Cell[] = [session.no, agent.no, row.id, session.seq];
  const [words] = await storage.query("run.inline", session.no, agent.no, row.id, session.seq);
  const [live] = await storage.query("history.countUpTo", session.seq, row.agent, row.session);
  if (words === undefined || words.n === 0) return null;
  const inherits = (await currentLineage(storage, row.session)).some((segment) => segment.session !== row.session);
  return {
    guards: [{ check: "messages.live", key: [session.seq, row.agent, row.session], expect: live?.n ?? 0 }],
    events: [
      {
        ...{ session: row.session, type: "messages/cleared", at, agent: row.agent, run: row.id },
        ...{ data: { count: words.n }, messages: -words.n },
        writes: [
          ...releaseWrites(SCOPES, at, where),
          ...forgetWrites(SCOPES, [{ slot: "seq" }, ...where]),
          ...(inherits ? [clearRow(agent.no, row.id)] : []),
        ],
      },
    ],
    afterwards: (payloads, found) => afterwards(storage, payloads, tally(found, SCOPES, at).later),
  };
}
