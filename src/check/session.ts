// One session: its row, its log, and every row that belongs to it.
import type { CheckedSessionRow } from "../contracts/storage/check-queries.ts";
import { rowId } from "../core/row-id.ts";
import { IN_PART } from "../core/session-lookup.ts";
import { sessionOf } from "../sessions/describe.ts";
import { boardOf, taskOf } from "../tasks/rows.ts";
import { checkSessionChecksums } from "./checksums.ts";
import { checkDecoding } from "./decoding.ts";
import { checkBranches, checkDerivations, checkInvocations } from "./edges.ts";
import type { SecondLook } from "./findings.ts";
import { checkHeads } from "./heads.ts";
import { checkInherited } from "./inherited.ts";
import { KINDS } from "./kinds.ts";
import { type Ledger, readLedger } from "./ledger.ts";
import { checkRow, checkSessionRows, readSessionRows, type SessionRows } from "./row.ts";
import { checkState } from "./state.ts";
import type { Subject } from "./subject.ts";
import type { Survey } from "./survey.ts";
import { checkKeptRanges, checkLiving, checkTombstone, readKeptRanges } from "./tombstones.ts";
import { checkCalls, checkClears, checkEvals, checkNotes, checkSnapshots, checkTurns } from "./work.ts";

/** Events whose contents are looked for at once. */
const STRETCH = 10_000;

/** Kinds that need the log. */
const BY_LOG = (Object.keys(KINDS) as (keyof typeof KINDS)[]).filter(
  (kind) => KINDS[kind].mode === "deep" && !kind.startsWith("blob-"),
);

export async function checkSession(survey: Survey, look: SecondLook, found: CheckedSessionRow): Promise<void> {
  const isDeep = look.isRequested(...BY_LOG);
  await checkSessionChecksums(survey.storage, look, found);
  const { session, beside } = isDeep ? await readSessionRows(survey.storage, found) : { session: found, beside: null };
  if (session.deleted_at !== null) return checkDeleted(survey, look, session, beside);
  survey.count("sessions");
  const ledger = isDeep ? await readLedger(survey, look, session) : null;
  const subject: Subject = { survey, look, session, ledger };
  await checkReading(subject);
  checkCurrentHead(subject);
  await checkRows(subject);
  if (ledger === null) return;
  await checkLedger(subject, ledger, beside);
  await checkLiving(subject);
  if (!survey.alone) return;
  await checkInherited(subject, async (source, said) => {
    await checkRows(source);
    checkMissing(source, said);
  });
}

/** A tombstone, and what is left behind it because others inherit it. */
async function checkDeleted(
  survey: Survey,
  look: SecondLook,
  session: CheckedSessionRow,
  beside: SessionRows | null,
): Promise<void> {
  survey.count(session.version === IN_PART ? "partialSessions" : "deletedSessions");
  const kept = await checkKeptRanges(survey, look, session);
  const ledger = look.isRequested(...BY_LOG) ? await readKeptRanges(survey, look, session, kept) : null;
  const subject: Subject = { survey, look, session, ledger };
  await checkRows(subject);
  if (ledger === null) return;
  checkTombstone(subject, ledger, beside);
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

/** The session, its boards and their tasks can be read as callers read them. */
async function checkReading({ survey, look, session: { id } }: Subject): Promise<void> {
  const { storage } = survey;
  for (const row of await storage.query("session.get", { id })) {
    checkDecoding(look, "sessions", id, () => sessionOf(row, []));
  }
  for (const row of await storage.query("boards.bySession", { session: id })) {
    checkDecoding(look, "boards", row.id, () => boardOf(row, []));
  }
  for (const row of await storage.query("tasks.bySession", { session: id })) {
    checkDecoding(look, "tasks", row.id, () => taskOf(row));
  }
}

function checkCurrentHead({ look, session }: Subject): void {
  const { id, no, head_no, head, head_session } = session;
  if (head_no === null) return;
  if (head === null) look.report("current-head-missing", [id], {});
  else if (head_session !== no) {
    look.report(session.head_derived === 1 ? "derived-moved-source" : "current-head-foreign", [id, head], {});
  } else if (session.head_status === "aborted") look.report("current-head-aborted", [id, head], {});
}

/** Contents that are not there. As far as the log was read and verified, that is known already. */
async function checkContents({ survey, look, session, ledger }: Subject): Promise<void> {
  const { storage } = survey;
  for (let after = ledger?.wholeUpTo ?? 0; after < session.seq; after += STRETCH) {
    // Of a deleted session, or where the seq is wrong, there may be long gaps.
    const [next] = await storage.query("check.beyond", { session: session.no, end: after });
    if (next?.seq == null) return;
    after = Math.max(after, next.seq - 1);
    for (const row of await storage.query("check.contents", { session: session.no, after, upTo: after + STRETCH })) {
      look.report("blob-missing", [rowId(session.id, row.seq)], { table: "events", payload: "content" });
    }
  }
}

/** What the log announced and no row contains, and the position that the session row has. */
async function checkLedger(subject: Subject, ledger: Ledger, beside: SessionRows | null): Promise<void> {
  checkMissing(subject, ledger);
  const { expected } = ledger;
  if (expected === null) return;
  checkRow(subject, expected);
  if (beside !== null) await checkSessionRows(subject, expected, beside);
}

function checkMissing({ look, session }: Subject, ledger: Ledger): void {
  for (const { seq, table } of ledger.missing()) {
    if (table === "branches") look.report("branch-missing", [session.id], { branch: seq });
    else look.report("event-without-row", [rowId(session.id, seq)], { table, seq });
  }
}
