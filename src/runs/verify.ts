// Before anything of a run is replayed (rules LG4, RU9): its session's chain is verified, and the run's row is made again
// from its events and compared. What differs stops the recovery.
import { HoldfastError } from "../contracts/errors.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import type { Anchor } from "../contracts/log.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { Storage } from "../contracts/storage.ts";
import { toHex } from "../core/bytes.ts";
import { canonicalJson } from "../core/canonical.ts";
import { jsonObject } from "../core/decode.ts";
import { verifyChain } from "../log/verify.ts";
import { type Entry, readJournal } from "./journal.ts";
import { MOVABLE } from "./moves.ts";

export type Verified = "whole" | "checkpoint";

export async function verifyRun(storage: Storage, row: RunRow, how: Verified): Promise<readonly Entry[]> {
  const from = how === "checkpoint" ? await anchorOf(storage, row) : undefined;
  const report = await verifyChain(storage, row.session, from, undefined);
  if (!report.ok) throw corrupted(row, report.reason, report.badSeq);
  const journal = await readJournal(storage, row, row.first_seq - 1);
  const wrong = differs(row, journal);
  if (wrong !== null) throw corrupted(row, `the run's ${wrong} is not what the log says`, row.seq);
  return journal;
}

async function anchorOf(storage: Storage, { session, checkpoint_seq }: RunRow): Promise<Anchor | undefined> {
  if (checkpoint_seq === null) return undefined;
  const [event] = await storage.query("events.at", session, checkpoint_seq);
  return event === undefined ? undefined : { session, seq: checkpoint_seq, hash: toHex(event.hash) };
}

/** The first column that the run's events do not give. */
export function differs(row: RunRow, journal: readonly Entry[]): string | null {
  const [created] = journal;
  if (created?.type !== "run/created" || created.seq !== row.first_seq) return "first_seq";
  const { data } = created;
  const now: Record<string, Json> = {
    ...{ status: "running", epoch: 0, owner: null, iteration: 0, wake_at: 0, waits: null, cancel: 0, stop: null },
    ...{ tokens: 0, cost_usd: null, ended_at: null, version: 1, checkpoint_seq: null, seq: created.seq },
    ...{ owner: data.owner ?? null, epoch: data.epoch ?? 0, updated_at: created.at, created_at: created.at },
    ...{ agent_version: data.agentVersion ?? null, toolset: data.toolset ?? null, priority: data.priority ?? null },
    ...{ parent: data.parent ?? null, nested: data.nested ?? null, limits: data.limits ?? null, pause_at: null },
    ...{ lease_ms: data.leaseMs ?? null },
  };
  for (const entry of journal.slice(1)) if (typeof entry.data.version === "number") apply(now, entry);
  const limits = jsonObject.read(row.limits) ?? null;
  const stored: Readonly<Record<string, unknown>> = { ...row, limits, toolset: toHex(row.toolset) };
  return Object.keys(now).find((name) => !isSame(now[name] ?? null, stored[name])) ?? null;
}

function apply(now: Record<string, Json>, { seq, at, data }: Entry): void {
  for (const name of MOVABLE) if (data[name] !== undefined) now[name] = data[name] as Json;
  now.version = data.version as number;
  now.seq = seq;
  now.updated_at = at;
  if (data.checkpoint === true) now.checkpoint_seq = seq;
}

function isSame(said: Json, stored: unknown): boolean {
  if (said === null || typeof said !== "object") return said === (stored ?? null);
  return canonicalJson(said) === canonicalJson(stored as JsonObject);
}

function corrupted(row: RunRow, reason: string, badSeq: number): HoldfastError {
  return new HoldfastError("ExecutionCorrupted", `the run ${JSON.stringify(row.id)} cannot go on: ${reason}`, {
    details: { run: row.id, session: row.session, badSeq },
    hint: "`holdfast check` names the damage; fork the session before it, or restore it from a backup.",
  });
}
