// Runs that retry another run: the steps that the retried run has completed since its checkpoint count as done, and the
// step at which it failed is executed again. Runs that retry one another are a retry chain.
import { HoldfastError } from "../contracts/errors.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { plainObject } from "../core/decode.ts";
import {
  buildStepRecords,
  decodeEntry,
  type JournalEntry,
  readJournal,
  retriedRun,
  type StepRecord,
} from "./journal.ts";
import { existingRun } from "./rows.ts";

/**
 * Merges the steps of an iteration that continues one of the retried run, whose completed steps count as done. `own`:
 * the events of this run. `retried`: those of the earlier runs.
 */
export function mergeRetriedSteps(
  session: string,
  own: readonly JournalEntry[],
  retried: readonly JournalEntry[],
): readonly StepRecord[] {
  // A question of the retried run is asked again, and a permission counts only in the run for which it was given.
  const told = retried.filter(({ type }) => type !== "step/asked" && type !== "run/answered");
  const done = withoutLostResult(session, told, retried);
  const records = [...buildStepRecords(session, [...done, ...own]).values()];
  // The steps as the retried run left them; this run may have ended a step that was in doubt there.
  const left = [...buildStepRecords(session, done).values()];
  const failed = failedAt(left, retried);
  for (const one of records) if (one.seq === failed?.seq) one.isRetryPoint = true;
  // A step that waited for approval was not executed: this run begins it, and asks again.
  const unbegun = new Set(left.filter(({ status }) => status === "asked").map(({ seq }) => seq));
  return records.filter((one) => !unbegun.has(one.seq));
}

/**
 * If a run failed because a tool's result could not be recorded, the effect has happened. For the run that retries it,
 * the step is in doubt: it has an intent and no result.
 */
function withoutLostResult(
  session: string,
  told: readonly JournalEntry[],
  past: readonly JournalEntry[],
): readonly JournalEntry[] {
  const failed = failedAt([...buildStepRecords(session, told).values()], past);
  return failed?.end?.data.effectDone === true ? told.filter(({ seq }) => seq !== failed.end?.seq) : told;
}

/**
 * The step at which the retried run failed: the one that its end names, or its last step. After any other failed step
 * the run continued.
 */
function failedAt(records: readonly StepRecord[], past: readonly JournalEntry[]): StepRecord | undefined {
  const end = past.at(-1);
  if (end === undefined) return undefined;
  const at = typeof end.data.at === "string" ? end.data.at : null;
  const last =
    at === null
      ? records.toSorted((a, b) => (a.end?.seq ?? a.seq) - (b.end?.seq ?? b.seq)).at(-1)
      : records.findLast((one) => `${one.iteration}/${one.path}` === at);
  return last?.status === "failed" ? last : undefined;
}

/**
 * The runs whose journals are part of this run's journal: the run that it retries, the run which that one retried, and
 * so on.
 */
export async function readRetryChain(storage: Storage, row: RunRow): Promise<readonly RunRow[]> {
  const [created] = await readJournal(storage, row, row.first_seq - 1);
  const from = created === undefined ? null : retriedRun(created);
  if (from === null || Number(from.iteration) !== row.iteration) return [];
  const [past] = await storage.query("run.get", { id: String(from.run) });
  if (past !== undefined) return [past, ...(await readRetryChain(storage, past))];
  throw new HoldfastError(
    "Conflict",
    `the run ${JSON.stringify(row.id)} retries a run that was deleted: ${JSON.stringify(String(from.run))}`,
    {
      details: { kind: "run", id: row.id, deleted: String(from.run) },
      hint: "Continue from one of its iterations with runs.fork().",
    },
  );
}

const PAGE = 100;

/** The id of the run that retries this one. There is at most one, and it may have been deleted. */
export function findRetry(storage: Storage, row: RunRow): Promise<string | null> {
  return findLater(storage, row, (event) => retriedRun(event)?.run === row.id);
}

/** The id of the run that a rewind of the session began in place of this one. */
export function findRewind(storage: Storage, row: RunRow): Promise<string | null> {
  return findLater(storage, row, ({ data }) => {
    const from = plainObject.read(data.from);
    return from?.run === row.id && from.session === row.session && from.retry !== true;
  });
}

/** The first run that began in the session after this one ended and whose first event matches. */
async function findLater(
  storage: Storage,
  { session_no, session, seq }: RunRow,
  matches: (created: JournalEntry) => boolean,
): Promise<string | null> {
  for (let after = seq; ; ) {
    const later = await storage.query("runs.createdAfter", { session: session_no, after, limit: PAGE });
    for (const event of later) {
      if (matches(decodeEntry(session, event))) return event.run;
    }
    after = later.at(-1)?.seq ?? after;
    if (later.length < PAGE) return null;
  }
}

/** The last run of the chain that begins with this one. */
export async function lastInChain(storage: Storage, row: RunRow): Promise<RunRow> {
  const next = row.ended_at === null ? null : await findRetry(storage, row);
  return next === null ? row : lastInChain(storage, await existingRun(storage, next));
}

/** The unfinished run of the chain, which relies on the completed steps of this one. */
export async function findActiveRetry(storage: Storage, row: RunRow): Promise<RunRow | null> {
  const by = await findRetry(storage, row);
  const [next] = by === null ? [] : await storage.query("run.get", { id: by });
  if (next === undefined || next.ended_at === null) return next ?? null;
  return findActiveRetry(storage, next);
}
