// Checks tombstones: ranges of a deleted session's log that other sessions inherit, or that were imported with a fork.
// Each starts at the beginning of a branch and keeps the rows of its events. The rows that other sessions read through
// them are compared like the rows of a living session; what only the deleted part of the log could prove stays unknown.
import type { CheckKind } from "../contracts/check.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { CheckedEventRow, CheckedSessionRow } from "../contracts/storage/check-queries.ts";
import type { WholeEventRow } from "../contracts/storage/rows.ts";
import { sameBytes } from "../core/bytes.ts";
import { genesis } from "../core/hashing.ts";
import { rowId } from "../core/row-id.ts";
import { IN_PART } from "../core/session-lookup.ts";
import { BEGINS_BRANCH, type ChainFault, checkColumns, checkEvent } from "../log/verify.ts";
import { findInheritedRanges } from "../sessions/tombstones.ts";
import { isCyclic } from "./edges.ts";
import type { IssueReporter } from "./findings.ts";
import { checkContent, dataOf, type KeptRanges, Ledger, LedgerReader } from "./ledger.ts";
import { BEFORE_ALL, PAGE, rowsOf } from "./pages.ts";
import type { SessionRows } from "./row.ts";
import type { Subject } from "./subject.ts";
import type { Survey } from "./survey.ts";

/** The erased_seq of a row that was erased with its session, also for the sessions that inherit it. */
const EVERYWHERE = Number.MAX_SAFE_INTEGER;

export async function checkKeptRanges(
  survey: Survey,
  reporter: IssueReporter,
  session: CheckedSessionRow,
): Promise<KeptRanges> {
  const { storage } = survey;
  const rows = await storage.query("archive.remains", { session: session.no });
  const kept = new Map(rows.map(({ branch, upto }) => [Number(branch), Number(upto)]));
  // A lineage without a beginning does not say which ranges it needs.
  for (const { branch } of await storage.query("branches.needed", { session: session.no })) {
    if (await isCyclic(survey, session.no, branch)) return kept;
  }
  const needs = new Map((await findInheritedRanges(storage, session.no)).map(({ branch, upTo }) => [branch, upTo]));
  for (const branch of new Set([...needs.keys(), ...kept.keys()])) {
    const [needed, upto] = [needs.get(branch) ?? 0, kept.get(branch) ?? 0];
    if (upto < needed) reporter.report("remains-short", [session.id], { branch, needed, kept: upto });
    if (upto > needed) reporter.report("remains-left", [session.id], { table: "remains", branch, needed, kept: upto });
  }
  return kept;
}

/** Checks that a living session has no kept ranges: it has all of its log. */
export async function checkLiveSession({ survey, reporter, session }: Subject): Promise<void> {
  const rows = await survey.storage.query("archive.remains", { session: session.no });
  if (rows.length > 0) reporter.report("remains-left", [session.id], { table: "remains" });
}

/** The columns that are NULL in a tombstone. */
const EMPTY = ["agent_no", "request", "tags", "origin", "cache_id", "head_no", "title"] as const;

export function checkTombstone(
  { reporter, session }: Subject,
  { birth, end }: Ledger,
  sessionRows: SessionRows | null,
): void {
  const { described, ...columns } = session;
  const found: Readonly<Record<string, unknown>> = { ...columns, title: described === 1 ? "" : null };
  const logged: Record<string, unknown> = { ...Object.fromEntries(EMPTY.map((column) => [column, null])), ...birth };
  logged.messages = 0;
  // A session that was imported in part with a fork, and never deleted here, has no position of its own.
  if (session.version === IN_PART) Object.assign(logged, { status: "open", branch: 1, state_seq: 0 });
  for (const column of Object.keys(logged)) {
    if ((found[column] ?? null) !== logged[column])
      reporter.report("row-mismatch", [session.id], { table: "sessions", column });
  }
  if (end > session.seq) reporter.report("log-beyond-end", [session.id], { seq: end });
  const left = {
    boards: sessionRows?.boards,
    captures: sessionRows?.captures,
    session_tags: sessionRows?.tags,
    ...sessionRows?.runs,
  };
  for (const [table, rows] of Object.entries(left)) {
    if (rows !== undefined && rows.length > 0) reporter.report("remains-left", [session.id], { table });
  }
}

export async function readKeptRanges(
  survey: Survey,
  reporter: IssueReporter,
  session: CheckedSessionRow,
  kept: KeptRanges,
): Promise<Ledger> {
  const { storage, count } = survey;
  const stretches = new KeptRangesReader(reporter, session, kept);
  const clears: ErasedEventRow[] = [];
  for await (const event of rowsOf<WholeEventRow>((last) =>
    storage.query("events.whole", { session: session.id, after: last?.seq ?? BEFORE_ALL, limit: PAGE }),
  )) {
    if (!stretches.add(event)) continue;
    count("events");
    if (event.role !== null && event.content !== null) survey.contents.add(event.content, event.chars);
    if (event.erased_seq !== null && event.erased_seq !== EVERYWHERE) clears.push(event as ErasedEventRow);
  }
  stretches.end();
  for await (const event of rowsOf<CheckedEventRow>((last) =>
    storage.query("check.events", { session: session.no, after: last?.seq ?? BEFORE_ALL, limit: PAGE }),
  )) {
    if (event.content === null || !stretches.covers(event.seq)) continue;
    checkContent(reporter, session, event);
    await survey.checkBlobOnce?.(reporter, rowId(session.id, event.seq), event.content);
  }
  for (const event of clears) stretches.checkErased(event);
  const { reader, covered } = stretches;
  const end = [...kept.values()].reduce((most, upto) => Math.max(most, upto), 0);
  return new Ledger(end, null, reader, { kept, covered });
}

export function tombstoneKind({ reason }: ChainFault): CheckKind {
  if (reason.endsWith("missing")) return "seq-gap";
  return reason.startsWith("the hash") ? "chain-broken" : "event-mismatch";
}

type ErasedEventRow = WholeEventRow & { readonly erased_seq: number };

class KeptRangesReader {
  readonly reader = new LedgerReader("remains");
  /** Seqs whose event is stored and verified. */
  readonly covered = new Set<number>();
  readonly #reporter: IssueReporter;
  readonly #session: CheckedSessionRow;
  readonly #kept: KeptRanges;
  /** The last verified event of each branch. */
  readonly #last = new Map<number, number>();
  readonly #broken = new Set<number>();
  readonly #clears = new Map<number, JsonObject>();
  /** For each clear: how many message rows name it as the event that erased them. */
  readonly #erasedCounts = new Map<number, number>();
  #previous: WholeEventRow | null = null;
  #hasReportedRows = false;

  constructor(reporter: IssueReporter, session: CheckedSessionRow, kept: KeptRanges) {
    this.#reporter = reporter;
    this.#session = session;
    this.#kept = kept;
  }

  covers(seq: number): boolean {
    return this.covered.has(seq);
  }

  /** Returns whether the event is kept for other sessions and verified. */
  add(event: WholeEventRow): boolean {
    const before = this.#previous;
    this.#previous = event;
    const { seq, branch } = event;
    if (seq > (this.#kept.get(branch) ?? 0)) {
      if (!this.#hasReportedRows) this.#reporter.report("remains-left", [this.#session.id], { table: "events", seq });
      this.#hasReportedRows = true;
      return false;
    }
    if (this.#broken.has(branch)) return false;
    const wrong = this.#check(event, before);
    if (wrong !== null) {
      this.#broken.add(branch);
      this.#reporter.report(tombstoneKind(wrong), [rowId(this.#session.id, wrong.seq)], { ...wrong });
      return false;
    }
    this.#last.set(branch, seq);
    this.#count(event);
    this.covered.add(seq);
    this.reader.apply(event, seq === 1 || before?.seq === seq - 1);
    return true;
  }

  /**
   * Compares the number of erased messages with the count that the clear records. If events before the clear are missing, the number may be
   * lower.
   */
  #count({ seq, type, body, erased_seq: by }: WholeEventRow): void {
    if (by !== null) this.#erasedCounts.set(by, (this.#erasedCounts.get(by) ?? 0) + 1);
    if (type !== "messages/cleared") return;
    const clear = dataOf(body);
    this.#clears.set(seq, clear?.body ?? {});
    const found = this.#erasedCounts.get(seq) ?? 0;
    const elsewhere = seq - 1 - this.covered.size;
    const logged = Number(clear?.data.count);
    if (found <= logged && logged <= found + elsewhere) return;
    const details = { table: "events", column: "erased_seq", found };
    this.#reporter.report("row-mismatch", [rowId(this.#session.id, seq)], details);
  }

  #check(event: WholeEventRow, before: WholeEventRow | null): ChainFault | null {
    const { seq, branch } = event;
    const begins = seq === branch;
    const last = this.#last.get(branch);
    if (!begins && last !== seq - 1) {
      const missing = last === undefined ? branch : last + 1;
      return { seq: missing, reason: `event ${missing} is missing` };
    }
    if (begins && seq > 1 && !BEGINS_BRANCH.has(event.type)) return { seq, reason: "the event begins no branch" };
    if (seq === this.#session.seq && !sameBytes(event.hash, this.#session.chain)) {
      return { seq, reason: "the hash is not the one that the session's row has" };
    }
    // The event before the first of a branch may be gone, and its hash with it.
    const follows = before?.seq === seq - 1 && this.covers(before.seq);
    if (seq > 1 && !follows) return checkColumns(event);
    const hash = seq === 1 || before === null ? genesis(this.#session.id) : before.hash;
    return checkEvent(event, { seq: seq - 1, hash, branch });
  }

  /** Reports ranges that end too early. */
  end(): void {
    for (const [branch, upto] of this.#kept) {
      const last = this.#last.get(branch);
      if (last === upto || this.#broken.has(branch)) continue;
      const seq = last === undefined ? branch : last + 1;
      this.#reporter.report("seq-gap", [rowId(this.#session.id, seq)], { seq, reason: `event ${seq} is missing` });
    }
  }

  /** Checks that a clear explains an erased message; a clear after the kept range may be missing. */
  checkErased({ seq, agent, run, erased_seq: by }: ErasedEventRow): void {
    const clear = this.#clears.get(by);
    const isLogged =
      clear === undefined
        ? by > seq && !this.covers(by)
        : by > seq && clear.agent === agent && (clear.run === undefined || clear.run === run);
    if (isLogged) return;
    const reason = `the message is gone, and event ${by} is not what cleared it`;
    this.#reporter.report("event-mismatch", [rowId(this.#session.id, seq)], { seq, reason });
  }
}
