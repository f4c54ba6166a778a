// Before anything of a run is replayed (rules LG4, RU9): its session's chain is verified, and the run's row is made again
// from its events and compared. What differs stops the recovery.
import { HoldfastError } from "../contracts/errors.ts";
import type { Anchor } from "../contracts/log.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { Storage } from "../contracts/storage.ts";
import { toHex } from "../core/bytes.ts";
import { differing, runColumns } from "../core/runs-compared.ts";
import { RunsSaid } from "../core/runs-said.ts";
import { verifyChain } from "../log/verify.ts";
import { leaseLost } from "./errors.ts";
import { type Entry, readJournal } from "./journal.ts";

export type Verified = "whole" | "checkpoint";

export async function verifyRun(storage: Storage, row: RunRow, how: Verified): Promise<readonly Entry[]> {
  const from = how === "checkpoint" ? await anchorOf(storage, row) : undefined;
  const report = await verifyChain(storage, row.session, from, undefined);
  if (!report.ok) throw corrupted(row, report.reason, report.badSeq);
  const journal = await readJournal(storage, row, row.first_seq - 1);
  await compareRun(storage, row, journal);
  return journal;
}

/** Its row beside its journal; the log itself was verified. */
export async function compareRun(storage: Storage, row: RunRow, journal: readonly Entry[]): Promise<void> {
  const wrong = differs(row, journal);
  if (wrong === null) return;
  // Somebody may have moved it between the two looks.
  const [now] = await storage.query("run.get", row.id);
  if (now?.version !== row.version) throw leaseLost(row);
  throw corrupted(row, `the run's ${wrong} is not what the log says`, row.seq);
}

async function anchorOf(storage: Storage, { session, checkpoint_seq }: RunRow): Promise<Anchor | undefined> {
  if (checkpoint_seq === null) return undefined;
  const [event] = await storage.query("events.at", session, checkpoint_seq);
  return event === undefined ? undefined : { session, seq: checkpoint_seq, hash: toHex(event.hash) };
}

/** The first column that the run's events do not give. */
function differs(row: RunRow, journal: readonly Entry[]): string | null {
  const said = new RunsSaid();
  const { id: run } = row;
  for (const { seq, type, at, agent, data, row: event } of journal) {
    said.see({ seq, branch: event.branch, type, at, run, agent, data });
  }
  const columns = said.runs.get(run);
  if (columns === undefined || said.undead.size > 0) return "first_seq";
  return differing(runColumns(row), columns)[0] ?? null;
}

function corrupted(row: RunRow, reason: string, badSeq: number): HoldfastError {
  return new HoldfastError("ExecutionCorrupted", `the run ${JSON.stringify(row.id)} cannot go on: ${reason}`, {
    details: { run: row.id, session: row.session, badSeq },
    hint: "`holdfast check` names the damage; fork the session before it, or restore it from a backup.",
  });
}
