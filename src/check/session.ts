// Checks one session: its row, its log, and every row that belongs to it.
import type { CheckedSessionRow } from "../contracts/storage/check-queries.ts";
import { rowId } from "../core/row-id.ts";
import { IN_PART } from "../core/session-lookup.ts";
import { sessionOf } from "../sessions/describe.ts";
import { boardOf, taskOf } from "../tasks/rows.ts";
import { checkSessionChecksums } from "./checksums.ts";
import { checkDecoding } from "./decoding.ts";
import { checkBranches, checkDerivations, checkInvocations } from "./edges.ts";
import type { IssueReporter } from "./findings.ts";
import { checkHeads } from "./heads.ts";
import { checkInherited } from "./inherited.ts";
import { KINDS } from "./kinds.ts";
import { type Ledger, readLedger } from "./ledger.ts";
import { checkRow, checkSessionRows, readSessionRows, type SessionRows } from "./row.ts";
import { checkState } from "./state.ts";
import type { Subject } from "./subject.ts";
import type { Survey } from "./survey.ts";
import { checkKeptRanges, checkLiveSession, checkTombstone, readKeptRanges } from "./tombstones.ts";
import { checkCalls, checkClears, checkEvals, checkNotes, checkSnapshots, checkTurns } from "./work.ts";

/** How many events' contents one query looks up. */
const STRETCH = 10_000;

/** Kinds that only the log can prove. */
const BY_LOG = (Object.keys(KINDS) as (keyof typeof KINDS)[]).filter(
  (kind) => KINDS[kind].mode === "deep" && !kind.startsWith("blob-"),
);

export async function checkSession(survey: Survey, reporter: IssueReporter, found: CheckedSessionRow): Promise<void> {
  const isDeep = reporter.isRequested(...BY_LOG);
  await checkSessionChecksums(survey.storage, reporter, found);
  const { session, sessionRows } = isDeep
    ? await readSessionRows(survey.storage, found)
    : { session: found, sessionRows: null };
  if (session.deleted_at !== null) return checkDeleted(survey, reporter, session, sessionRows);
  survey.count("sessions");
  const ledger = isDeep ? await readLedger(survey, reporter, session) : null;
  const subject: Subject = { survey, reporter, session, ledger };
  await checkReading(subject);
  checkCurrentHead(subject);
  await checkRows(subject);
  if (ledger === null) return;
  await checkLedger(subject, ledger, sessionRows);
  await checkLiveSession(subject);
  if (!survey.isSingleSession) return;
  await checkInherited(subject, async (source, logged) => {
    await checkRows(source);
    checkMissing(source, logged);
  });
}

/** Checks a tombstone, and the rows that stay because other sessions inherit them. */
async function checkDeleted(
  survey: Survey,
  reporter: IssueReporter,
  session: CheckedSessionRow,
  sessionRows: SessionRows | null,
): Promise<void> {
  survey.count(session.version === IN_PART ? "partialSessions" : "deletedSessions");
  const kept = await checkKeptRanges(survey, reporter, session);
  const ledger = reporter.isRequested(...BY_LOG) ? await readKeptRanges(survey, reporter, session, kept) : null;
  const subject: Subject = { survey, reporter, session, ledger };
  await checkRows(subject);
  if (ledger === null) return;
  checkTombstone(subject, ledger, sessionRows);
  checkMissing(subject, ledger);
}

async function checkRows(subject: Subject): Promise<void> {
  await checkContents(subject);
  await checkBranches(subject);
  await checkDerivations(subject);
  await checkTurns(subject);
  await checkEvals(subject);
  await checkCalls(subject);
  await checkSnapshots(subject);
  await checkNotes(subject);
  await checkClears(subject);
  await checkState(subject);
  await checkInvocations(subject);
  await checkHeads(subject);
}

/** Checks that callers can read the session, its boards and their tasks. */
async function checkReading({ survey, reporter, session: { id } }: Subject): Promise<void> {
  const { storage } = survey;
  for (const row of await storage.query("session.get", { id })) {
    checkDecoding(reporter, "sessions", id, () => sessionOf(row, []));
  }
  for (const row of await storage.query("boards.bySession", { session: id })) {
    checkDecoding(reporter, "boards", row.id, () => boardOf(row, []));
  }
  for (const row of await storage.query("tasks.bySession", { session: id })) {
    checkDecoding(reporter, "tasks", row.id, () => taskOf(row));
  }
}

function checkCurrentHead({ reporter, session }: Subject): void {
  const { id, no, head_no, head, head_session } = session;
  if (head_no === null) return;
  if (head === null) reporter.report("current-head-missing", [id], {});
  else if (head_session !== no) {
    reporter.report(session.head_derived === 1 ? "derived-moved-source" : "current-head-foreign", [id, head], {});
  } else if (session.head_status === "aborted") reporter.report("current-head-aborted", [id, head], {});
}

/** Finds missing contents after the part of the log that was verified, where they are already known. */
async function checkContents({ survey, reporter, session, ledger }: Subject): Promise<void> {
  const { storage } = survey;
  for (let after = ledger?.wholeUpTo ?? 0; after < session.seq; after += STRETCH) {
    // A deleted session, or one with a wrong seq, may have long gaps.
    const [next] = await storage.query("check.beyond", { session: session.no, end: after });
    if (next?.seq == null) return;
    after = Math.max(after, next.seq - 1);
    for (const row of await storage.query("check.contents", { session: session.no, after, upTo: after + STRETCH })) {
      reporter.report("blob-missing", [rowId(session.id, row.seq)], { table: "events", payload: "content" });
    }
  }
}

/** Checks that each row the log announces exists, and that the session row has the position of the log. */
async function checkLedger(subject: Subject, ledger: Ledger, sessionRows: SessionRows | null): Promise<void> {
  checkMissing(subject, ledger);
  const { expected } = ledger;
  if (expected === null) return;
  checkRow(subject, expected);
  if (sessionRows !== null) await checkSessionRows(subject, expected, sessionRows);
}

function checkMissing({ reporter, session }: Subject, ledger: Ledger): void {
  for (const { seq, table } of ledger.missing()) {
    if (table === "branches") reporter.report("branch-missing", [session.id], { branch: seq });
    else reporter.report("event-without-row", [rowId(session.id, seq)], { table, seq });
  }
}
