// Recovery: what a run that was cut off had done, and what nobody knows of it; then it is free to go on.
import { HoldfastError } from "../contracts/errors.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { Recovered, Recovery } from "../contracts/runs.ts";
import type { Storage } from "../contracts/storage.ts";
import { errorOf } from "./errors.ts";
import { stepOf } from "./journal.ts";
import { atWork, awaitFree, freeRun } from "./lease.ts";
import { readStepRecords, retriedRun } from "./retry-chain.ts";
import { existingRun, refuseEnded, runOf } from "./rows.ts";
import { type Verified, verifyRun } from "./verify.ts";

const PAGE = 500;
const AT_A_TIME = 16;
/** Not given back: whoever had it was gone. */
const RECOVERED = { recovered: true };

/** Nothing is changed by looking. */
export async function examine(storage: Storage, row: RunRow, verify: Verified): Promise<Recovery> {
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

export async function recoverRun(storage: Storage, id: string, verify: Verified): Promise<Recovery> {
  const first = await existingRun(storage, id);
  refuseEnded(first, "there is nothing to recover");
  const seen = await awaitFree(storage, id);
  if (seen === null) throw atWork(await existingRun(storage, id));
  refuseEnded(seen, "there is nothing to recover");
  const found = await examine(storage, seen, verify).catch(async (error: unknown) => {
    // Taken by somebody while it was looked at.
    if (error instanceof HoldfastError && error.code === "LeaseLost") throw atWork(await existingRun(storage, id));
    throw error;
  });
  if (seen.owner === null) return found;
  const freed = await freeRun(storage, seen, 0, RECOVERED);
  if (freed === null) throw atWork(await existingRun(storage, id));
  return { ...found, run: runOf(freed) };
}

/** Those that are alive are passed over. */
export async function recoverAll(storage: Storage, verify: Verified): Promise<readonly Recovered[]> {
  const owned: RunRow[] = [];
  for (let last = 0; ; ) {
    const rows = await storage.query("runs.owned", last, PAGE);
    owned.push(...rows);
    last = rows.at(-1)?.no ?? last;
    if (rows.length < PAGE) break;
  }
  // All are watched for their lease at once; then a few are read at a time.
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

async function recovered(storage: Storage, row: RunRow, verify: Verified): Promise<Recovered | null> {
  try {
    const recovery = await examine(storage, row, verify);
    const freed = await freeRun(storage, row, 0, RECOVERED);
    return freed === null ? null : { ...recovery, run: runOf(freed) };
  } catch (error) {
    if (error instanceof HoldfastError && error.retryable) return null;
    return { run: runOf(row), error: errorOf(error) };
  }
}
