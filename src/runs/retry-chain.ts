// A run that takes up another: what that one had done since the checkpoint counts as done, and the step it failed at is
// tried again.
import { HoldfastError } from "../contracts/errors.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { Storage } from "../contracts/storage.ts";
import { plainObject } from "../core/decode.ts";
import { buildStepRecords, decodeEntry, type JournalEntry, readJournal, type StepRecord } from "./journal.ts";
import { existingRun } from "./rows.ts";
import { compareRun } from "./verify.ts";

/** Which run it takes up, as its first event says; null: none. */
export function retriedRun({ data }: Pick<JournalEntry, "data">): JsonObject | null {
  const from = plainObject.read(data.from);
  return from?.retry === true ? from : null;
}

/** Whose draws are its own: of the first of those that took up one another. random() gives the same to all of them. */
export function randomSeed(run: string, created: Pick<JournalEntry, "data">): string {
  const chance = retriedRun(created)?.chance;
  return typeof chance === "string" ? chance : run;
}

/** What the journal has of the iteration that is next. */
export async function readStepRecords(
  storage: Storage,
  row: RunRow,
  retried: JsonObject | null,
): Promise<readonly StepRecord[]> {
  const iteration = row.iteration + 1;
  const own = await readJournal(storage, row, row.checkpoint_seq ?? row.first_seq);
  const past =
    retried === null || Number(retried.iteration) !== row.iteration ? [] : await readRetriedJournal(storage, retried);
  // What was asked there is asked anew, and what was allowed there was allowed there.
  const told = past.filter(({ type }) => type !== "step/asked" && type !== "run/answered");
  const done = withoutLostResult(row.session, told, past);
  const records = [...buildStepRecords(row.session, [...done, ...own]).values()];
  // As that run left them: what it had in doubt may have an end by now.
  const left = [...buildStepRecords(row.session, done).values()];
  const failed = failedAt(left, past);
  for (const one of records) if (one.seq === failed?.seq) one.isRetryPoint = true;
  // Nothing of a step that waited for its approval there has happened: this run begins it, and asks anew.
  const unbegun = new Set(left.filter(({ status }) => status === "asked").map(({ seq }) => seq));
  return records.filter((one) => one.iteration === iteration && !unbegun.has(one.seq));
}

/**
 * A run that failed because a tool's result could not be recorded has done the effect. For the run that takes it up the step
 * is in doubt: it has an intent and no result.
 */
function withoutLostResult(
  session: string,
  told: readonly JournalEntry[],
  past: readonly JournalEntry[],
): readonly JournalEntry[] {
  const failed = failedAt([...buildStepRecords(session, told).values()], past);
  return failed?.end?.data.effectDone === true ? told.filter(({ seq }) => seq !== failed.end?.seq) : told;
}

/** The step that the run taken up failed at: as its end says, or the last thing it did. Any other failure was lived with. */
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

/** The runs whose journal is part of its own: the one it takes up, the one that took up, and so on. */
export async function readRetryChain(storage: Storage, row: RunRow): Promise<readonly RunRow[]> {
  const [created] = await readJournal(storage, row, row.first_seq - 1);
  const from = created === undefined ? null : retriedRun(created);
  if (from === null || Number(from.iteration) !== row.iteration) return [];
  const [past] = await storage.query("run.get", String(from.run));
  if (past !== undefined) return [past, ...(await readRetryChain(storage, past))];
  throw new HoldfastError(
    "Conflict",
    `what the run ${JSON.stringify(row.id)} takes up was deleted: ${JSON.stringify(String(from.run))}`,
    {
      details: { kind: "run", id: row.id, deleted: String(from.run) },
      hint: "runs.fork() goes on from one of its iterations.",
    },
  );
}

/** Its own, and those of the run which that one took up in turn. */
async function readRetriedJournal(storage: Storage, from: JsonObject): Promise<readonly JournalEntry[]> {
  const row = await existingRun(storage, String(from.run));
  const [created, ...journal] = await readJournal(storage, row, row.first_seq - 1);
  // What it had done is told by its row too: from which event on.
  await compareRun(storage, row, created === undefined ? [] : [created, ...journal]);
  const earlier = created === undefined ? null : retriedRun(created);
  const before =
    earlier === null || Number(earlier.iteration) !== row.iteration ? [] : await readRetriedJournal(storage, earlier);
  return [...before, ...journal.filter(({ seq }) => seq > (row.checkpoint_seq ?? row.first_seq))];
}

const PAGE = 100;

/** The id of the run that takes it up, if one does; there is one at most, and perhaps it was deleted. */
export function findRetry(storage: Storage, row: RunRow): Promise<string | null> {
  return findLater(storage, row, (event) => retriedRun(event)?.run === row.id);
}

/** The id of the run that a rewind of the session began in its place, if one did. */
export function findRewind(storage: Storage, row: RunRow): Promise<string | null> {
  return findLater(storage, row, ({ data }) => {
    const from = plainObject.read(data.from);
    return from?.run === row.id && from.session === row.session && from.retry !== true;
  });
}

/** The first run that began in the session after this one ended, and of whose first event that is true. */
async function findLater(
  storage: Storage,
  { session_no, session, seq }: RunRow,
  isMeant: (created: JournalEntry) => boolean,
): Promise<string | null> {
  for (let after = seq; ; ) {
    const later = await storage.query("runs.createdAfter", session_no, after, PAGE);
    for (const event of later) {
      if (isMeant(decodeEntry(session, event))) return event.run;
    }
    after = later.at(-1)?.seq ?? after;
    if (later.length < PAGE) return null;
  }
}

/** Of the runs that took up one another, beginning with this one. */
export async function lastInChain(storage: Storage, row: RunRow): Promise<RunRow> {
  const next = row.ended_at === null ? null : await findRetry(storage, row);
  return next === null ? row : lastInChain(storage, await existingRun(storage, next));
}

/** The run at work for which what this one had done is done. */
export async function findActiveRetry(storage: Storage, row: RunRow): Promise<RunRow | null> {
  const by = await findRetry(storage, row);
  const [next] = by === null ? [] : await storage.query("run.get", by);
  if (next === undefined || next.ended_at === null) return next ?? null;
  return findActiveRetry(storage, next);
}
