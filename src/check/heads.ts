// Heads: the rows and blobs that a head names exist, and its root and id can be derived again from the rows and the
// log.
import type { Context } from "../contracts/context.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Counts, Head } from "../contracts/heads.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { CheckedHeadRow } from "../contracts/storage/check-queries.ts";
import type { HeadRow } from "../contracts/storage/lineage-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { sameBytes } from "../core/bytes.ts";
import { addCounts, NONE } from "../core/counts.ts";
import { jsonObject, plainObject } from "../core/decode.ts";
import { committedSummary, encodeRoot, type HeadRoot, headId, rootOf } from "../core/head.ts";
import { type LineageStretch, lineageAt } from "../core/lineage.ts";
import { rowId } from "../core/row-id.ts";
import { checkBlob, checkCommitments, compare, type EventContent, isErased } from "./compare.ts";
import { PAGE, rowsOf } from "./pages.ts";
import type { Subject } from "./subject.ts";
import { checkTurnOf } from "./work.ts";

export async function checkHeads(subject: Subject): Promise<void> {
  const { survey, session, reporter } = subject;
  for await (const row of rowsOf<CheckedHeadRow>((last) =>
    survey.storage.query("check.heads", {
      session: session.no,
      afterSeq: last?.seq ?? 0,
      afterNo: last?.no ?? 0,
      limit: PAGE,
    }),
  )) {
    survey.count("heads");
    const rows = [row.id];
    if (row.basis_no !== null && row.basis === null) reporter.report("head-basis-missing", rows, {});
    else if (row.basis_no !== null && row.basis_session !== session.no) {
      reporter.report("head-basis-foreign", rows, { basis: row.basis });
    }
    if (row.snapshot_seq !== null && row.snapshot_there === 0) {
      reporter.report("head-snapshot-missing", rows, { snapshot: rowId(session.id, row.snapshot_seq) });
    }
    checkTurnOf(subject, "heads", row.id, row);
    const final = { name: "final", no: row.final_no, sha256: row.final, salt: row.salt };
    await checkBlob(subject, "heads", row.id, final);
    const logged = compare(subject, row, {
      table: "heads",
      seq: row.seq,
      branch: row.branch,
      id: row.id,
      types: ["head/created"],
      // The head's id commits to the other columns.
      pairs: ({ body, data }) => [
        ["branch", row.branch, row.event_branch],
        ["turn_seq", row.turn_seq, data.turn],
        ["at", row.at, body.at],
      ],
    });
    if (logged === null) continue;
    if (logged.data.head !== row.id) {
      reporter.report("head-id-wrong", rows, { seq: row.seq, published: logged.data.head ?? null });
      continue;
    }
    // A head loses its final value only when its session is deleted.
    // If the head has only a summary, the salt is the summary's.
    const carried = row.final_no === null && row.final_summary !== null ? { ...final, salt: null } : final;
    if (!isErased(subject, final)) checkCommitments(subject, { table: "heads", id: row.id }, logged, [carried]);
    await checkDerived(subject, row, logged);
  }
}

async function checkDerived(subject: Subject, row: CheckedHeadRow, logged: EventContent): Promise<void> {
  const { survey, session, reporter } = subject;
  if (!reporter.isRequested("head-chain-wrong", "head-root-wrong", "head-id-wrong")) return;
  if (row.chain_at === null || !sameBytes(row.chain, row.chain_at)) {
    reporter.report("head-chain-wrong", [row.id], { seq: row.seq });
    return;
  }
  // A cyclic lineage has no end, so nothing can be derived from it.
  if (survey.cyclicSessions.has(session.no)) return;
  const lineage = await lineageAt(survey.storage, { no: session.no, branch: row.branch, seq: row.seq });
  const { root, counts } = await derive(subject, row, logged, lineage);
  if (!sameBytes(root, row.root)) {
    survey.recountedHeads.set(row.id, counts);
    reporter.report("head-root-wrong", [row.id], { seq: row.seq, counts: { ...counts } });
    return;
  }
  const from = lineage.find(({ no }) => no !== session.no);
  const source =
    row.basis !== null || from === undefined ? null : { session: from.session, branch: from.branch, seq: from.upTo };
  const { branch, seq, chain, basis } = row;
  const id = headId({
    session: session.id,
    branch,
    seq,
    chain,
    basis,
    source,
    status: row.status as Head["status"],
    root,
  });
  if (id !== row.id) reporter.report("head-id-wrong", [row.id], { seq, derived: id });
}

async function derive(
  subject: Subject,
  row: CheckedHeadRow,
  { commitments }: EventContent,
  lineage: readonly LineageStretch[],
): Promise<{ readonly root: Uint8Array; readonly counts: Counts }> {
  const { survey, session } = subject;
  const stored = jsonObject.read(row.root) ?? {};
  const { before, counts } = await recount(subject, lineage, stored);
  const vars = row.snapshot_seq === null ? undefined : await committedVars(subject, row.snapshot_seq);
  const facts: HeadRoot = {
    counts,
    final: textOr(commitments.final),
    vars: textOr(vars),
    fingerprint: row.fingerprint,
    compaction: compactionOf(stored, before, rowId(session.id, row.seq - 1), survey.recountedHeads),
    // If the session was deleted everywhere, only the root still has the summary.
    summary: committedSummary(row, session.deleted_at === null ? null : textOr(stored.summary)),
    cacheId: row.cache_id,
  };
  return { root: encodeRoot(facts, stored.v === 1 ? 1 : 2), counts };
}

function textOr(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** Reads the commitment from the log, which has it also when the variables were erased. */
async function committedVars({ survey, session }: Subject, seq: number): Promise<unknown> {
  const [event] = await survey.storage.query("events.at", { session: session.id, seq });
  return plainObject.read(jsonObject.read(event?.body)?.commitments)?.vars;
}

/**
 * A head either keeps the compaction of the head before it, or makes a new one whose summary is the message just before
 * the head.
 */
function compactionOf(
  stored: JsonObject,
  before: HeadRow | null,
  last: string,
  recounted: ReadonlyMap<string, Counts>,
): NonNullable<Context["compaction"]> | null {
  const found = plainObject.read(stored.compaction) as unknown as NonNullable<Context["compaction"]> | undefined;
  if (found !== undefined && found.summary === last) return found;
  if (before === null) return null;
  // If the head before it is damaged, there is nothing to compare with.
  return recounted.has(before.id) ? (found ?? null) : rootOf(before).compaction;
}

/** Adds the rows since the newest earlier head to the counts of that head. */
async function recount(
  { survey, session }: Subject,
  lineage: readonly LineageStretch[],
  stored: JsonObject,
): Promise<{ readonly before: HeadRow | null; readonly counts: Counts }> {
  const { storage, recountedHeads } = survey;
  let since = NONE;
  let before: HeadRow | null = null;
  let inherits = false;
  for (const [i, { no, branch, upTo, session: id }] of lineage.entries()) {
    inherits ||= no !== session.no && (await isDeleted(storage, id));
    const [head] = await storage.query("head.before", { session: no, branch, upTo: i === 0 ? upTo - 1 : upTo });
    const [counted] = await storage.query("lineage.counts", { session: no, branch, after: head?.seq ?? 0, upTo });
    since = addCounts(since, counted ?? NONE);
    if (head === undefined) continue;
    before = head;
    since = addCounts(recountedHeads.get(head.id) ?? countsOf(head), since);
    break;
  }
  // A deleted session keeps only some of its rows, so counting them again would give less.
  const storedCounts = plainObject.read(stored.counts) as Partial<Counts> | undefined;
  return { before, counts: inherits && storedCounts !== undefined ? addCounts(NONE, storedCounts) : since };
}

async function isDeleted(storage: Storage, id: string): Promise<boolean> {
  const [row] = await storage.query("check.session", { id });
  return row !== undefined && row.deleted_at !== null;
}

function countsOf(head: HeadRow): Counts {
  try {
    return rootOf(head).counts;
  } catch (error) {
    if (error instanceof HoldfastError) return NONE;
    throw error;
  }
}
