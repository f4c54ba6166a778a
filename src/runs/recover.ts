// Recovery: the only way to take over a run that another worker may have had. It verifies the log, claims the lease,
// and reads from the journal which steps of the next iteration are done and which are in doubt. Verification (rules
// LG4, RU9) recomputes the session's chain, derives the run's row, signals, questions and checkpoints from its events,
// and compares them. A difference stops the recovery.
import { HoldfastError } from "../contracts/errors.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { Anchor } from "../contracts/log.ts";
import type { Recovery, Runs } from "../contracts/runs.ts";
import type { WholeEventRow } from "../contracts/storage/rows.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { toHex } from "../core/bytes.ts";
import { genesis } from "../core/hashing.ts";
import { isHeldRun } from "../core/run-owner.ts";
import { diffPartRows, diffRunRows, PART_TABLES, type RunDifference, RunProjection } from "../core/run-projection.ts";
import { checkEvent, FIRST_BRANCH, verifyChain } from "../log/verify.ts";
import { admitRun } from "./admit.ts";
import { errorOf, leaseLost } from "./errors.ts";
import {
  buildStepRecords,
  decodeEnvelope,
  type JournalEntry,
  lastSeqOf,
  readJournal,
  retriedRun,
  type StepRecord,
  stepOf,
} from "./journal.ts";
import { awaitFree, claimRun, freeRun, isDue, livingWorkerError } from "./lease.ts";
import { mergeRetriedSteps } from "./retry-chain.ts";
import { existingRun, refuseEnded, runOf } from "./rows.ts";

const RUNS_PAGE = 500;
const EVENTS_PAGE = 1000;
const AT_A_TIME = 16;
/** True if the worker is gone and had not released the run. */
const RECOVERED = { recovered: true };
const EVENT_AFTER_END: RunDifference = { kind: "row-mismatch", table: "runs", key: "" };

/** Verifies the log of the run `seen`, and claims the run for `owner`. LeaseLost if the run changed since. */
export async function takeOver(storage: Storage, seen: RunRow, owner: string, verify: VerifyScope): Promise<RunRow> {
  await verifyRun(storage, seen, verify);
  return claimRun(storage, seen, owner);
}

/** The same for a run that may be held or asleep; null if it is not due. */
export async function takeOverWhenDue(
  storage: Storage,
  seen: RunRow,
  owner: string,
  verify: VerifyScope,
): Promise<RunRow | null> {
  if (isHeldRun(seen)) await admitVerified(storage, seen, verify);
  // Verify before trusting the row's wake time: a damaged row could make a run sleep for ever.
  else await verifyRun(storage, seen, verify);
  const now = await existingRun(storage, seen.id);
  if (!(await isDue(storage, now))) return null;
  // The row as it was verified, without the mark of a held run, which was removed.
  return claimRun(storage, { ...seen, beat: now.beat }, owner);
}

/** Verifies a run that came with an archive, and releases it. */
export async function admitVerified(storage: Storage, row: RunRow, verify: VerifyScope): Promise<void> {
  await verifyRun(storage, row, verify);
  await admitRun(storage, row);
}

/** The steps of the next iteration in the journal. `retried`: the run that this one retries, see retriedRun(). */
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

/** The events of the retried run since its checkpoint, and those of the earlier runs of its retry chain. */
async function readRetriedJournal(storage: Storage, from: JsonObject): Promise<readonly JournalEntry[]> {
  const row = await existingRun(storage, String(from.run));
  const [created, ...journal] = await readJournal(storage, row, row.first_seq - 1);
  // The row says where the last iteration began, so it is compared with the log first.
  await compareRun(storage, row, created === undefined ? [] : [created, ...journal]);
  const earlier = created === undefined ? null : retriedRun(created);
  const before =
    earlier === null || Number(earlier.iteration) !== row.iteration ? [] : await readRetriedJournal(storage, earlier);
  return [...before, ...journal.filter(({ seq }) => seq > (row.checkpoint_seq ?? row.first_seq))];
}

/** Reports the steps of a run without changing it. */
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
  if (seen === null) throw livingWorkerError(await existingRun(storage, id));
  refuseEnded(seen, "there is nothing to recover");
  const found = await examine(storage, seen, verify).catch(async (error: unknown) => {
    // Another worker claimed the run meanwhile.
    if (error instanceof HoldfastError && error.code === "LeaseLost")
      throw livingWorkerError(await existingRun(storage, id));
    throw error;
  });
  if (seen.owner === null) return found;
  const freed = await freeRun(storage, seen, 0, RECOVERED);
  if (freed === null) throw livingWorkerError(await existingRun(storage, id));
  return { ...found, run: runOf(freed) };
}

/** Skips runs whose worker is alive. */
export async function recoverAll(
  storage: Storage,
  verify: VerifyScope,
): Promise<readonly Awaited<ReturnType<Runs["recoverAll"]>>[number][]> {
  const owned: RunRow[] = [];
  for (let last = 0; ; ) {
    const rows = await storage.query("runs.owned", { after: last, limit: RUNS_PAGE });
    owned.push(...rows);
    last = rows.at(-1)?.no ?? last;
    if (rows.length < RUNS_PAGE) break;
  }
  // Watches the leases of all runs at once; then reads a few runs at a time.
  const gone = (await Promise.all(owned.map(({ id }) => awaitFree(storage, id).catch(() => null)))).filter(
    (row) => row !== null && row.owner !== null && row.ended_at === null,
  ) as RunRow[];
  const found: Awaited<ReturnType<Runs["recoverAll"]>>[number][] = [];
  for (let at = 0; at < gone.length; at += AT_A_TIME) {
    const some = await Promise.all(gone.slice(at, at + AT_A_TIME).map((row) => recovered(storage, row, verify)));
    found.push(...some.filter((one) => one !== null));
  }
  return found;
}

async function recovered(
  storage: Storage,
  row: RunRow,
  verify: VerifyScope,
): Promise<Awaited<ReturnType<Runs["recoverAll"]>>[number] | null> {
  try {
    const recovery = await examine(storage, row, verify);
    const freed = await freeRun(storage, row, 0, RECOVERED);
    return freed === null ? null : { ...recovery, run: runOf(freed) };
  } catch (error) {
    if (error instanceof HoldfastError && error.retryable) return null;
    return { run: runOf(row), error: errorOf(error) };
  }
}

const KINDS: Readonly<Record<RunDifference["kind"], string>> = {
  "row-without-event": "it is not in the log",
  "event-without-row": "it is missing",
  "row-mismatch": "it does not agree with the log",
};

export type VerifyScope = "whole" | "checkpoint";

/** Returns the run's first event. */
export async function verifyRun(storage: Storage, row: RunRow, how: VerifyScope): Promise<EventFacts | undefined> {
  const from = how === "checkpoint" ? await anchorOf(storage, row) : undefined;
  const replay = new RunReplay(row);
  // A chain that is verified from its beginning is read once for both checks.
  const see = from === undefined ? (event: WholeEventRow) => replay.apply(event) : undefined;
  const report = await verifyChain(storage, row.session, from, undefined, see);
  if (!report.ok) throw corrupted(row, report.reason, report.badSeq);
  if (from !== undefined) {
    await verifyFirst(storage, row);
    await readEvents(storage, row, replay);
  }
  await compare(storage, row, replay);
  return replay.first;
}

/**
 * Verifies the log of a run that another run continues from. A worker may continue the source meanwhile, so its row is
 * not compared.
 */
export async function verifySource(storage: Storage, row: RunRow): Promise<void> {
  const report = await verifyChain(storage, row.session, undefined, undefined);
  if (!report.ok) throw corrupted(row, report.reason, report.badSeq);
  const [first] = await storage.query("run.events", {
    session: row.session_no,
    run: row.id,
    after: row.first_seq - 1,
    upTo: row.first_seq,
    limit: 1,
  });
  if (first?.type !== "run/created")
    throw corrupted(row, "the run's first_seq does not agree with the log", row.first_seq);
}

/** Compares the row, signals, questions and checkpoints with the journal; the log itself was verified before. */
async function compareRun(storage: Storage, row: RunRow, journal: readonly JournalEntry[]): Promise<void> {
  const replay = new RunReplay(row);
  for (const entry of journal) replay.see(entry, entry.row.branch);
  await compare(storage, row, replay);
}

type EventFacts = Pick<JournalEntry, "seq" | "type" | "at" | "agent" | "data">;

/** Derives the run from its events. It does not keep the events, because there may be very many. */
class RunReplay {
  readonly said = new RunProjection();
  readonly #row: RunRow;
  first: EventFacts | undefined;
  last: number;

  constructor(row: RunRow) {
    this.#row = row;
    this.last = row.first_seq;
  }

  /** Applies an event of the session, which may belong to another run or to none. */
  apply({ seq, type, at, branch, body, run, erased_seq }: WholeEventRow): void {
    const { id, session, first_seq } = this.#row;
    if (run !== id || erased_seq !== null || seq < first_seq || seq > lastSeqOf(this.#row)) return;
    const { agent, data } = decodeEnvelope(session, seq, body);
    this.see({ seq, type, at, agent, data }, branch);
  }

  see(event: EventFacts, branch: number): void {
    const { seq, type, at, agent, data } = event;
    this.first ??= event;
    this.last = seq;
    this.said.apply({ seq, branch, type, at, run: this.#row.id, agent, data });
  }
}

async function readEvents(storage: Storage, row: RunRow, replay: RunReplay): Promise<void> {
  const { session, session_no, id, first_seq } = row;
  for (let last = first_seq - 1; ; ) {
    const page = await storage.query("run.events", {
      session: session_no,
      run: id,
      after: last,
      upTo: lastSeqOf(row),
      limit: EVENTS_PAGE,
    });
    for (const { seq, type, at, branch, body } of page) {
      const { agent, data } = decodeEnvelope(session, seq, body);
      replay.see({ seq, type, at, agent, data }, branch);
    }
    last = page.at(-1)?.seq ?? last;
    if (page.length < EVENTS_PAGE) return;
  }
}

async function compare(storage: Storage, row: RunRow, { said, last }: RunReplay): Promise<void> {
  const wrong = await differs(storage, row, said);
  if (wrong === null) return;
  // A worker may have changed the run between the two reads.
  const [now] = await storage.query("run.get", { id: row.id });
  const [since] = await storage.query("run.events", {
    session: row.session_no,
    run: row.id,
    after: last,
    upTo: lastSeqOf(row),
    limit: 1,
  });
  if (now?.version !== row.version || since !== undefined) throw leaseLost(row);
  throw corrupted(row, wrong.reason, wrong.seq);
}

/** The event before the checkpoint, after which the chain is verified; undefined: verify the whole chain. */
async function anchorOf(storage: Storage, { session, first_seq, checkpoint_seq }: RunRow): Promise<Anchor | undefined> {
  // A checkpoint from a retried run follows the first event, and the steps of that run are further back.
  if (checkpoint_seq === null || checkpoint_seq <= first_seq + 1) return undefined;
  const [event] = await storage.query("events.at", { session, seq: checkpoint_seq - 1 });
  return event === undefined ? undefined : { session, seq: event.seq, hash: toHex(event.hash) };
}

/** Verifies the run's first event. It contains the input, which every iteration uses. */
async function verifyFirst(storage: Storage, row: RunRow): Promise<void> {
  const { session, first_seq } = row;
  const [before] = await storage.query("events.at", { session, seq: first_seq - 1 });
  const [first, next] = await storage.query("events.whole", { session, after: first_seq - 1, limit: 2 });
  const place = before ?? { seq: 0, hash: genesis(session), branch: FIRST_BRANCH };
  const isOne = first !== undefined && next?.seq !== first.seq;
  const wrong = isOne ? checkEvent(first, place) : { reason: "its first event does not exist exactly once" };
  if (wrong !== null) throw corrupted(row, wrong.reason, first_seq);
}

/** The first difference between the stored rows and the rows derived from the run's events. */
async function differs(
  storage: Storage,
  row: RunRow,
  said: RunProjection,
): Promise<{ readonly reason: string; readonly seq: number } | null> {
  const [wrong] =
    said.endedTwice.size > 0
      ? [EVENT_AFTER_END]
      : [...diffRunRows(said, [row]), ...(await ofParts(storage, row, said))];
  if (wrong === undefined) return null;
  const { table, key, column, kind } = wrong;
  if (table === "runs")
    return { reason: `the run's ${column ?? "first_seq"} does not agree with the log`, seq: row.seq };
  const what = column === undefined ? KINDS[kind] : `${column} does not agree with the log`;
  return { reason: `the row ${key} of its ${table}: ${what}`, seq: Number(key) };
}

/** Compares page by page, and removes the rows that were found from the missing ones. */
async function ofParts(storage: Storage, row: RunRow, said: RunProjection): Promise<readonly RunDifference[]> {
  for (const table of PART_TABLES) {
    const missing = said[table];
    for (let last = 0; ; ) {
      const page = await storage.query(`run.${table}`, {
        session: row.session_no,
        run: row.id,
        after: last,
        limit: EVENTS_PAGE,
      });
      const found = diffPartRows(table, missing, page);
      if (found.length > 0) return found;
      for (const { seq } of page) missing.delete(seq);
      last = page.at(-1)?.seq ?? last;
      if (page.length < EVENTS_PAGE) break;
    }
    for (const key of missing.keys()) return [{ kind: "event-without-row", table, key }];
  }
  return [];
}

function corrupted(row: RunRow, reason: string, badSeq: number): HoldfastError {
  return new HoldfastError("ExecutionCorrupted", `the run ${JSON.stringify(row.id)} cannot continue: ${reason}`, {
    details: { run: row.id, session: row.session, badSeq },
    hint: "Run `npx holdfast check` to list the damage. Fork the session before it, or restore the store from a backup.",
  });
}
