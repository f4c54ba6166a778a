// Verification before a replay (rules LG4, RU9): the session's chain is verified, and the run's row, with its signals, questions and
// checkpoints, is derived from its events and compared. A difference stops the recovery.

import { HoldfastError } from "../contracts/errors.ts";
import type { Anchor } from "../contracts/log.ts";
import type { WholeEventRow } from "../contracts/storage/rows.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { toHex } from "../core/bytes.ts";
import { genesis } from "../core/chain.ts";
import { diffPartRows, diffRunRows, PART_TABLES, type RunDifference } from "../core/run-diff.ts";
import { RunProjection } from "../core/run-projection.ts";
import { checkEvent, FIRST_BRANCH, verifyChain } from "../log/verify.ts";
import { leaseLost } from "./errors.ts";
import { decodeEnvelope, type JournalEntry, lastSeqOf } from "./journal.ts";

const PAGE = 1000;
const UNDEAD: RunDifference = { kind: "row-mismatch", table: "runs", key: "" };
const KINDS: Readonly<Record<RunDifference["kind"], string>> = {
  "row-without-event": "the log does not have it",
  "event-without-row": "it is not there",
  "row-mismatch": "it is not what the log says",
};

export type VerifyScope = "whole" | "checkpoint";

/** Returns the run's first event. */
export async function verifyRun(storage: Storage, row: RunRow, how: VerifyScope): Promise<EventFacts | undefined> {
  const from = how === "checkpoint" ? await anchorOf(storage, row) : undefined;
  const replay = new RunReplay(row);
  // A chain that is read from its beginning is read once, for both purposes.
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

/** The log that another run continues from. A worker may go on with it meanwhile, so its row is not compared. */
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
    throw corrupted(row, "the run's first_seq is not what the log says", row.first_seq);
}

/** Compares the row, signals, questions and checkpoints with the journal; the log itself was verified before. */
export async function compareRun(storage: Storage, row: RunRow, journal: readonly JournalEntry[]): Promise<void> {
  const replay = new RunReplay(row);
  for (const entry of journal) replay.see(entry, entry.row.branch);
  await compare(storage, row, replay);
}

type EventFacts = Pick<JournalEntry, "seq" | "type" | "at" | "agent" | "data">;

/** The run as its events give it. The events themselves are not kept: there may be very many. */
class RunReplay {
  readonly said = new RunProjection();
  readonly #row: RunRow;
  first: EventFacts | undefined;
  last: number;

  constructor(row: RunRow) {
    this.#row = row;
    this.last = row.first_seq;
  }

  /** An event of the session, which may be of another run or of none. */
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
      limit: PAGE,
    });
    for (const { seq, type, at, branch, body } of page) {
      const { agent, data } = decodeEnvelope(session, seq, body);
      replay.see({ seq, type, at, agent, data }, branch);
    }
    last = page.at(-1)?.seq ?? last;
    if (page.length < PAGE) return;
  }
}

async function compare(storage: Storage, row: RunRow, { said, last }: RunReplay): Promise<void> {
  const wrong = await differs(storage, row, said);
  if (wrong === null) return;
  // A worker may have gone on with it between the two reads.
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

/** The event before the checkpoint, from which on the chain is verified; undefined: all of it. */
async function anchorOf(storage: Storage, { session, first_seq, checkpoint_seq }: RunRow): Promise<Anchor | undefined> {
  // A checkpoint taken from a retried run follows the first event; what that run had done since is further back.
  if (checkpoint_seq === null || checkpoint_seq <= first_seq + 1) return undefined;
  const [event] = await storage.query("events.at", { session, seq: checkpoint_seq - 1 });
  return event === undefined ? undefined : { session, seq: event.seq, hash: toHex(event.hash) };
}

/** The run's first event has its input, which every iteration uses. */
async function verifyFirst(storage: Storage, row: RunRow): Promise<void> {
  const { session, first_seq } = row;
  const [before] = await storage.query("events.at", { session, seq: first_seq - 1 });
  const [first, next] = await storage.query("events.whole", { session, after: first_seq - 1, limit: 2 });
  const place = before ?? { seq: 0, hash: genesis(session), branch: FIRST_BRANCH };
  const isOne = first !== undefined && next?.seq !== first.seq;
  const wrong = isOne ? checkEvent(first, place) : { reason: "its first event is not there once" };
  if (wrong !== null) throw corrupted(row, wrong.reason, first_seq);
}

/** The first difference between the rows and what the run's events give. */
async function differs(
  storage: Storage,
  row: RunRow,
  said: RunProjection,
): Promise<{ readonly reason: string; readonly seq: number } | null> {
  const [wrong] =
    said.endedTwice.size > 0 ? [UNDEAD] : [...diffRunRows(said, [row]), ...(await ofParts(storage, row, said))];
  if (wrong === undefined) return null;
  const { table, key, column, kind } = wrong;
  if (table === "runs") return { reason: `the run's ${column ?? "first_seq"} is not what the log says`, seq: row.seq };
  const what = column === undefined ? KINDS[kind] : `${column} is not what the log says`;
  return { reason: `the row ${key} of its ${table}: ${what}`, seq: Number(key) };
}

/** Page by page; what was found is removed from the rows that are missing. */
async function ofParts(storage: Storage, row: RunRow, said: RunProjection): Promise<readonly RunDifference[]> {
  for (const table of PART_TABLES) {
    const missing = said[table];
    for (let last = 0; ; ) {
      const page = await storage.query(`run.${table}`, {
        session: row.session_no,
        run: row.id,
        after: last,
        limit: PAGE,
      });
      const found = diffPartRows(table, missing, page);
      if (found.length > 0) return found;
      for (const { seq } of page) missing.delete(seq);
      last = page.at(-1)?.seq ?? last;
      if (page.length < PAGE) break;
    }
    for (const key of missing.keys()) return [{ kind: "event-without-row", table, key }];
  }
  return [];
}

function corrupted(row: RunRow, reason: string, badSeq: number): HoldfastError {
  return new HoldfastError("ExecutionCorrupted", `the run ${JSON.stringify(row.id)} cannot go on: ${reason}`, {
    details: { run: row.id, session: row.session, badSeq },
    hint: "`npx holdfast check` names the damage; fork the session before it, or restore it from a backup.",
  });
}
