// Clears history: erases the messages of an agent, or of one of its runs (rule LG6).
import type { Erasure } from "../contracts/history.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { decide } from "../core/decide.ts";
import { clearRow, discardErased, type ErasureOutcome, forgetWrites, releaseWrites, tally } from "../core/erasure.ts";
import { currentLineage } from "../core/lineage.ts";
import { whileIdle } from "../core/session-guards.ts";
import type { AgentScope } from "./append.ts";
import { messageRowsAt } from "./at.ts";

const NOTHING: Erasure = { removed: { messages: 0, blobs: 0, bytes: 0 }, kept: { blobs: 0 } };

export async function eraseMessages(
  storage: Storage,
  payloads: Payloads,
  scope: AgentScope,
  run: string | undefined,
): Promise<Erasure> {
  const erased = await decide<ErasureOutcome | null>(storage, async () => {
    const [session] = await storage.query("session.get", { id: scope.session });
    const [agent] = await storage.query("agent.get", { id: scope.agent });
    if (session === undefined || session.deleted_at !== null || agent === undefined) return { answer: null };
    const upTo = session.seq;
    // Counted before the inline content: if another clear happens in between, the guard fails.
    const live = await countLive(storage, scope, upTo);
    const at = storage.environment.now();
    const [inline] =
      run === undefined
        ? await storage.query("messages.inline", { session: session.no, agent: agent.no, upTo })
        : await storage.query("run.inline", { session: session.no, agent: agent.no, run, upTo });
    const inherited = await inheritedBy(storage, scope, run);
    if (inline === undefined || (inline.n === 0 && inherited.live === 0)) return { answer: null };
    const scopes = [run === undefined ? "messages" : "run"] as const;
    const where = { session: session.no, agent: agent.no, run: run ?? "", upTo };
    return {
      commit: {
        solo: true,
        sessions: [{ id: scope.session, mode: "existing", at }],
        agents: [{ id: scope.agent, at }],
        // Messages appended from now on stay. Another clear of the same messages makes this decision run again.
        guards: [
          await whileIdle(storage, scope.session),
          { check: "messages.live", key: [upTo, scope.agent, scope.session], expect: live },
        ],
        events: [
          {
            session: scope.session,
            type: "messages/cleared",
            at,
            agent: scope.agent,
            ...(run === undefined ? {} : { run }),
            data: { count: inline.n },
            messages: -inline.n,
            writes: [
              ...releaseWrites(scopes, at, where),
              ...forgetWrites(scopes, where),
              ...(inherited.any ? [clearRow({ agent: scope.agent }, run)] : []),
            ],
          },
        ],
      },
      answer: ({ found = {} }) => reportErased(tally(found, scopes, at), inline, inherited.live),
    };
  });
  if (erased !== null) await discardErased(storage, payloads, erased.later);
  return erased?.report ?? NOTHING;
}

function reportErased(
  { blobs, bytes, kept, later }: ReturnType<typeof tally>,
  inline: { readonly n: number; readonly bytes: number },
  inherited: number,
): ErasureOutcome {
  const removed = { messages: inline.n, blobs, bytes: bytes + inline.bytes };
  return { report: { removed, kept: { blobs: kept, ...(inherited === 0 ? {} : { inherited }) } }, later };
}

/** Messages of other sessions that this session inherits: a clear hides them here, and does not erase them. */
async function inheritedBy(
  storage: Storage,
  { session, agent }: AgentScope,
  run: string | undefined,
): Promise<{ readonly any: boolean; readonly live: number }> {
  const others = (await currentLineage(storage, session)).filter((stretch) => stretch.session !== session);
  let live = 0;
  for (const stretch of others) {
    const rows = await messageRowsAt(storage, [stretch]);
    live += rows.filter(
      (row) => row.erased_seq === null && row.agent === agent && (run === undefined || row.run === run),
    ).length;
  }
  // A session also shows inherited messages that their own session has erased, as placeholders.
  return { any: others.length > 0, live };
}

async function countLive(storage: Storage, scope: AgentScope, upTo: number): Promise<number> {
  const [row] = await storage.query("history.countUpTo", { seq: upTo, agent: scope.agent, session: scope.session });
  return row?.n ?? 0;
}
