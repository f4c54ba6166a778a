// Before anything of a run is replayed (rules LG4, RU9): its session's chain is verified, and the run's row, with its
// signals, questions and checkpoints, is made again from its events and compared. What differs stops the recovery.

import { HoldfastError } from "../contracts/errors.ts";
import type { Anchor } from "../contracts/log.ts";
import type { WholeEventRow } from "../contracts/queries.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { Storage } from "../contracts/storage.ts";
import { toHex } from "../core/bytes.ts";
import { genesis } from "../core/chain.ts";
import { type Difference, PARTS, partDifferences, runDifferences } from "../core/runs-compared.ts";
import { RunsSaid } from "../core/runs-said.ts";
import { checkEvent, FIRST_BRANCH, verifyChain } from "../log/verify.ts";
import { leaseLost } from "./errors.ts";
import { decodeEnvelope, type JournalEntry, lastSeqOf } from "./journal.ts";

const PAGE = 1000;
const UNDEAD: Difference = { kind: "row-mismatch", table: "runs", key: "" };
const KINDS: Readonly<Record<Difference["kind"], string>> = {
  "row-without-event": "the log does not have it",
  "event-without-row": "it is not there",
  "row-mismatch": "it is not what the log says",
};

export type Verified = "whole" | "checkpoint";

/** Its first event, as it says itself. */
export async function verifyRun(storage: Storage, row: RunRow, how: Verified): Promise<Said | undefined> {
  const from = how === "checkpoint" ? await anchorOf(storage, row) : undefined;
  const told = new Told(row);
  // What is read from its beginning on is read once.
  const see = from === undefined ? (event: WholeEventRow) => told.hear(event) : undefined;
  const report = await verifyChain(storage, row.session, from, undefined, see);
  if (!report.ok) throw corrupted(row, report.reason, report.badSeq);
  if (from !== undefined) {
    await verifyFirst(storage, row);
    await tell(storage, row, told);
  }
  await compare(storage, row, told);
  return told.first;
}

/** The log that another run takes something from: who works on it may go on meanwhile, so its row is not compared. */
export async function verifyTaken(storage: Storage, row: RunRow): Promise<void> {
  const report = await verifyChain(storage, row.session, undefined, undefined);
  if (!report.ok) throw corrupted(row, report.reason, report.badSeq);
  const [first] = await storage.query("run.events", row.session_no, row.id, row.first_seq - 1, row.first_seq, 1);
  if (first?.type !== "run/created")
    throw corrupted(row, "the run's first_seq is not what the log says", row.first_seq);
}

/** Its row, signals, questions and checkpoints beside its journal; the log itself was verified. */
export async function compareRun(storage: Storage, row: RunRow, journal: readonly JournalEntry[]): Promise<void> {
  const told = new Told(row);
  for (const entry of journal) told.see(entry, entry.row.branch);
  await compare(storage, row, told);
}

type Said = Pick<JournalEntry, "seq" | "type" | "at" | "agent" | "data">;

/** What the journal makes of the run. Of the events themselves nothing is kept: there may be very many. */
class Told {
  readonly said = new RunsSaid();
  readonly #row: RunRow;
  first: Said | undefined;
  last: number;

  constructor(row: RunRow) {
    this.#row = row;
    this.last = row.first_seq;
  }

  /** One of the session's, which may be of another run or of none. */
  hear({ seq, type, at, branch, body, run, erased_seq }: WholeEventRow): void {
    const { id, session, first_seq } = this.#row;
    if (run !== id || erased_seq !== null || seq < first_seq || seq > lastSeqOf(this.#row)) return;
    const { agent, data } = decodeEnvelope(session, seq, body);
    this.see({ seq, type, at, agent, data }, branch);
  }

  see(event: Said, branch: number): void {
    const { seq, type, at, agent, data } = event;
    this.first ??= event;
    this.last = seq;
    this.said.see({ seq, branch, type, at, run: this.#row.id, agent, data });
  }
}

async function tell(storage: Storage, row: RunRow, told: Told): Promise<void> {
  const { session, session_no, id, first_seq } = row;
  for (let last = first_seq - 1; ; ) {
    const page = await storage.query("run.events", session_no, id, last, lastSeqOf(row), PAGE);
    for (const { seq, type, at, branch, body } of page) {
      const { agent, data } = decodeEnvelope(session, seq, body);
      told.see({ seq, type, at, agent, data }, branch);
    }
    last = page.at(-1)?.seq ?? last;
    if (page.length < PAGE) return;
  }
}

async function compare(storage: Storage, row: RunRow, { said, last }: Told): Promise<void> {
  const wrong = await differs(storage, row, said);
  if (wrong === null) return;
  // Somebody may have gone on with it between the looks.
  const [now] = await storage.query("run.get", row.id);
  const [since] = await storage.query("run.events", row.session_no, row.id, last, lastSeqOf(row), 1);
  if (now?.version !== row.version || since !== undefined) throw leaseLost(row);
  throw corrupted(row, wrong.reason, wrong.seq);
}

/** The event before the checkpoint, which is the first that has to be as it was written; undefined: all of them. */
async function anchorOf(storage: Storage, { session, first_seq, checkpoint_seq }: RunRow): Promise<Anchor | undefined> {
  // A checkpoint that another run left it follows its first event; what that one had done since stands further back.
  if (checkpoint_seq === null || checkpoint_seq <= first_seq + 1) return undefined;
  const [event] = await storage.query("events.at", session, checkpoint_seq - 1);
  return event === undefined ? undefined : { session, seq: event.seq, hash: toHex(event.hash) };
}

/** Its first event, which has its input: that is used in every iteration. */
async function verifyFirst(storage: Storage, row: RunRow): Promise<void> {
  const { session, first_seq } = row;
  const [before] = await storage.query("events.at", session, first_seq - 1);
  const [first, next] = await storage.query("events.whole", session, first_seq - 1, 2);
  const place = before ?? { seq: 0, hash: genesis(session), branch: FIRST_BRANCH };
  const isOne = first !== undefined && next?.seq !== first.seq;
  const wrong = isOne ? checkEvent(first, place) : { reason: "its first event is not there once" };
  if (wrong !== null) throw corrupted(row, wrong.reason, first_seq);
}

/** The first thing that the run's events do not give. */
async function differs(
  storage: Storage,
  row: RunRow,
  said: RunsSaid,
): Promise<{ readonly reason: string; readonly seq: number } | null> {
  const [wrong] =
    said.undead.size > 0 ? [UNDEAD] : [...runDifferences(said, [row]), ...(await ofParts(storage, row, said))];
  if (wrong === undefined) return null;
  const { table, key, column, kind } = wrong;
  if (table === "runs") return { reason: `the run's ${column ?? "first_seq"} is not what the log says`, seq: row.seq };
  const what = column === undefined ? KINDS[kind] : `${column} is not what the log says`;
  return { reason: `the row ${key} of its ${table}: ${what}`, seq: Number(key) };
}

/** Page by page; what was found is not looked for any more. */
async function ofParts(storage: Storage, row: RunRow, said: RunsSaid): Promise<readonly Difference[]> {
  for (const table of PARTS) {
    const missing = said[table];
    for (let last = 0; ; ) {
      const page = await storage.query(`run.${table}`, row.session_no, row.id, last, PAGE);
      const found = partDifferences(table, missing, page);
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
