// Recovery, the one way to a run that another worker may have had: its log is verified, its lease is claimed, and its journal says
// which steps of the next iteration are done and which are in doubt.
import { HoldfastError } from "../contracts/errors.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { Recovered, Recovery } from "../contracts/runs.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { isHeldRun } from "../core/imported-runs.ts";
import { admitRun } from "./admit.ts";
import { errorOf } from "./errors.ts";
import { buildStepRecords, readJournal, retriedRun, type StepRecord, stepOf } from "./journal.ts";
import { atWork, awaitFree, draftClaim, freeRun } from "./lease.ts";
import { isDue } from "./lease-watch.ts";
import { mergeRetriedSteps, readRetriedJournal } from "./retry-chain.ts";
import { existingRun, refuseEnded, runOf } from "./rows.ts";
import { type VerifyScope, verifyRun } from "./verify.ts";

const PAGE = 500;
const AT_A_TIME = 16;
/** The run was not released by its worker, which is gone. */
const RECOVERED = { recovered: true };

/** Claims a run that `seen` shows, for `owner`, after its log was verified. LeaseLost when anything changed since. */
export async function takeOver(storage: Storage, seen: RunRow, owner: string, verify: VerifyScope): Promise<RunRow> {
  await verifyRun(storage, seen, verify);
  const { commit, claimed } = draftClaim(storage, seen, owner);
  return claimed(await storage.commit(commit));
}

/** The same for a run that may be held or asleep; null: there is nothing to do for it now. */
export async function takeOverWhenDue(
  storage: Storage,
  seen: RunRow,
  owner: string,
  verify: VerifyScope,
): Promise<RunRow | null> {
  if (isHeldRun(seen)) await admitVerified(storage, seen, verify);
  // Verified before its row is trusted to say when it wakes: a run that seems to sleep for ever would be lost.
  else await verifyRun(storage, seen, verify);
  const now = await existingRun(storage, seen.id);
  if (!(await isDue(storage, now))) return null;
  // As it was verified, except for the mark of a held run, which was removed.
  const { commit, claimed } = draftClaim(storage, { ...seen, beat: now.beat }, owner);
  return claimed(await storage.commit(commit));
}

/** Lets a run that came with an archive go on here. */
export async function admitVerified(storage: Storage, row: RunRow, verify: VerifyScope): Promise<void> {
  await verifyRun(storage, row, verify);
  await admitRun(storage, row);
}

/** What the journal has of the next iteration. `retried`: the run that this one retries, see retriedRun(). */
export async function readStepRecords(
  storage: Storage,
  row: RunRow,
  retried: JsonObject | null,
): Promise<readonly StepRecord[]> {
  const iteration = row.iteration + 1;
  const own = await readJournal(storage, row, row.checkpoint_seq ?? row.first_seq);
  const isFirst = retried !== null && Number(retried.iteration) === row.iteration;
  const earlier = isFirst ? await readRetriedJournal(storage, retried) : [];
  const records =
    earlier.length === 0
      ? [...buildStepRecords(row.session, own).values()]
      : mergeRetriedSteps(row.session, own, earlier);
  return records.filter((one) => one.iteration === iteration);
}

/** Changes nothing. */
async function examine(storage: Storage, row: RunRow, verify: VerifyScope): Promise<Recovery> {
  const created = await verifyRun(storage, row, verify);
  const records = await readStepRecords(storage, row, created === undefined ? null : retriedRun(created));
  const step = (one: (typeof records)[number]) => stepOf(row.session, row.id, one);
  const open = records.filter(({ status, kind }) => status === "started" && (kind === "tool" || kind === "model"));
  const asked = records.filter(({ status }) => status === "asked");
  return {
    run: runOf(row),
    resumeIteration: row.iteration + 1,
    cached: records.filter(({ status }) => status === "done" || status === "failed").map(step),
    inDoubt: open.map(step),
    asked: asked.map(step),
    needsPerson:
      asked.some(({ isAllowed }) => !isAllowed) ||
      open.some(({ isAllowed, data }) => !isAllowed && data.repeatable !== true),
  };
}

export async function recoverRun(storage: Storage, id: string, verify: VerifyScope): Promise<Recovery> {
  const first = await existingRun(storage, id);
  refuseEnded(first, "there is nothing to recover");
  const seen = await awaitFree(storage, id);
  if (seen === null) throw atWork(await existingRun(storage, id));
  refuseEnded(seen, "there is nothing to recover");
  const found = await examine(storage, seen, verify).catch(async (error: unknown) => {
    // Another worker claimed it meanwhile.
    if (error instanceof HoldfastError && error.code === "LeaseLost") throw atWork(await existingRun(storage, id));
    throw error;
  });
  if (seen.owner === null) return found;
  const freed = await freeRun(storage, seen, 0, RECOVERED);
  if (freed === null) throw atWork(await existingRun(storage, id));
  return { ...found, run: runOf(freed) };
}

/** Runs whose worker is alive are left alone. */
export async function recoverAll(storage: Storage, verify: VerifyScope): Promise<readonly Recovered[]> {
  const owned: RunRow[] = [];
  for (let last = 0; ; ) {
    const rows = await storage.query("runs.owned", { after: last, limit: PAGE });
    owned.push(...rows);
    last = rows.at(-1)?.no ?? last;
    if (rows.length < PAGE) break;
  }
  // The leases of all are watched at once; then a few runs are read at a time.
  const gone = (await Promise.all(owned.map(({ id }) => awaitFree(storage, id).catch(() => null)))).filter(
    (row) => row !== null && row.owner !== null && row.ended_at === null,
  ) as RunRow[];
  const found: Recovered[] = [];
  for (let at = 0; at < gone.length; at += AT_A_TIME) {
    const some = await Promise.all(gone.slice(at, at + AT_A_TIME).map((row) => recovered(storage, row, verify)));
    found.push(...some.filter((one) => one !== null));
  }
  return found;
}

async function recovered(storage: Storage, row: RunRow, verify: VerifyScope): Promise<Recovered | null> {
  try {
    const recovery = await examine(storage, row, verify);
    const freed = await freeRun(storage, row, 0, RECOVERED);
    return freed === null ? null : { ...recovery, run: runOf(freed) };
  } catch (error) {
    if (error instanceof HoldfastError && error.retryable) return null;
    return { run: runOf(row), error: errorOf(error) };
  }
}
