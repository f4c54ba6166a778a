// Deletes runs and saved checkpoints: their payloads are erased, and their events stay in the log.
import { HoldfastError } from "../contracts/errors.ts";
import type { Commit, Write } from "../contracts/storage/commit.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { DiscardedRow } from "../contracts/storage/rows.ts";
import type { ScopeParams } from "../contracts/storage/statement-names.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { decide } from "../core/decide.ts";
import { discardErased, forgetWrites, releaseWrites, tally } from "../core/erasure.ts";
import { findActiveRetry } from "./retry-chain.ts";
import { atVersion } from "./writer.ts";

/** null if there was nothing to erase. */
type DiscardedRows = readonly DiscardedRow[] | null;

export async function deleteRun(storage: Storage, payloads: Payloads, id: string): Promise<boolean> {
  return commitErasure(storage, payloads, async () => {
    const [row] = await storage.query("run.get", { id });
    if (row === undefined) return null;
    if (row.ended_at === null) {
      throw new HoldfastError("InvalidTransition", `the run ${JSON.stringify(id)} has not ended: it is ${row.status}`, {
        details: { kind: "run", id, status: row.status },
        hint: "Cancel it first.",
      });
    }
    const [parent] = row.parent === null ? [] : await storage.query("run.get", { id: row.parent });
    // A parent that has not ended may still read its child's result.
    if (parent !== undefined && parent.ended_at === null) throw isTakenUp(id, parent.id, "spawned");
    const [newest] = await storage.query("runs.newest", { session: row.session });
    const by = await findActiveRetry(storage, row);
    if (by !== null) throw isTakenUp(id, by.id, "takes up");
    const [agent] = await storage.query("agent.get", { id: row.agent });
    const where = { session: row.session_no, run: id, from: row.first_seq, upTo: row.seq };
    const drop = (statement: "runs.drop" | "signals.drop" | "decisions.drop"): Write => ({
      op: "run",
      statement,
      params: [id],
    });
    return {
      session: row.session,
      scope: "journal",
      where,
      // Guards that no other run begins to retry this one meanwhile.
      guards: [atVersion(row), { check: "runs.newest", key: [row.session], expect: newest?.value ?? null }],
      event: { type: "run/deleted", data: { run: id } },
      drops: [
        drop("signals.drop"),
        drop("decisions.drop"),
        { op: "run", statement: "checkpoints.drop", params: [row.session_no, agent?.no ?? 0, id] },
        drop("runs.drop"),
      ],
    };
  });
}

function isTakenUp(id: string, by: string, how: string): HoldfastError {
  return new HoldfastError(
    "Conflict",
    `the run ${JSON.stringify(by)} ${how} the run ${JSON.stringify(id)} and needs its journal`,
    {
      details: { kind: "run", id, by },
      hint: "Delete it after that run has ended.",
    },
  );
}

export async function deleteCheckpoint(
  storage: Storage,
  payloads: Payloads,
  session: string,
  agent: string,
): Promise<boolean> {
  return commitErasure(storage, payloads, async () => {
    const [last] = await storage.query("checkpoint.last", { session, agent, run: "" });
    const [owner] = await storage.query("session.get", { id: session });
    const [known] = await storage.query("agent.get", { id: agent });
    if (last === undefined || owner === undefined || known === undefined) return null;
    const where = { session: owner.no, agent: known.no };
    return {
      session,
      scope: "saved",
      where,
      // Deletes only the checkpoint that was read, and not one that is saved meanwhile.
      guards: [{ check: "checkpoint.last", key: [agent, session], expect: last.seq }],
      event: { type: "checkpoint/deleted", agent, data: {} },
      drops: [{ op: "run", statement: "checkpoints.dropSaved", params: [owner.no, known.no] }],
    };
  });
}

type Erasure = { [S in "journal" | "saved"]: ErasureOf<S> }["journal" | "saved"];

interface ErasureOf<S extends "journal" | "saved"> {
  readonly session: string;
  readonly scope: S;
  readonly where: ScopeParams[S];
  readonly guards: NonNullable<Commit["guards"]>;
  readonly event: { readonly type: string; readonly agent?: string; readonly data: { readonly run?: string } };
  readonly drops: readonly Write[];
}

async function commitErasure(
  storage: Storage,
  payloads: Payloads,
  make: () => Promise<Erasure | null>,
): Promise<boolean> {
  const later = await decide<DiscardedRows>(storage, async () => {
    const made = await make();
    if (made === null) return { answer: null };
    const { session, scope, where, guards, event, drops } = made;
    const at = storage.environment.now();
    const { agent } = event;
    return {
      commit: {
        solo: true,
        sessions: [{ id: session, mode: "existing", at }],
        guards,
        ...(agent === undefined ? {} : { agents: [{ id: agent, at }] }),
        events: [
          {
            session,
            at,
            ...event,
            writes: [...releaseWrites([scope], at, where), ...forgetWrites([scope], where), ...drops],
          },
        ],
      },
      answer: ({ found = {} }) => tally(found, [scope], at).later,
    };
  });
  if (later === null) return false;
  await discardErased(storage, payloads, later);
  return true;
}
