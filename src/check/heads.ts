// Heads: what they name is there; and, derived anew from rows and log, each has the root and the id that it had.

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
import { lineageAt, type Segment } from "../core/lineage.ts";
import { rowId } from "../core/row-id.ts";
import { checkBlob, checkCommitments, compare, type EventContent, isErased } from "./compare.ts";
import { PAGE, rowsOf } from "./pages.ts";
import type { Subject } from "./subject.ts";
import { checkTurnOf } from "./work.ts";

export async function checkHeads(subject: Subject): Promise<void> {
  const { survey, session, look } = subject;
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
    if (row.basis_no !== null && row.basis === null) look.report("head-basis-missing", rows, {});
    else if (row.basis_no !== null && row.basis_session !== session.no) {
      look.report("head-basis-foreign", rows, { basis: row.basis });
    }
    if (row.snapshot_seq !== null && row.snapshot_there === 0) {
      look.report("head-snapshot-missing", rows, { snapshot: rowId(session.id, row.snapshot_seq) });
    }
    checkTurnOf(subject, "heads", row.id, row);
    const final = { name: "final", no: row.final_no, sha256: row.final, salt: row.salt };
    await checkBlob(subject, "heads", row.id, final);
    const said = compare(subject, row, {
      table: "heads",
      seq: row.seq,
      branch: row.branch,
      id: row.id,
      types: ["head/created"],
      // Its id commits to the other columns.
      pairs: ({ body, data }) => [
        ["branch", row.branch, row.event_branch],
        ["turn_seq", row.turn_seq, data.turn],
        ["at", row.at, body.at],
      ],
    });
    if (said === null) continue;
    if (said.data.head !== row.id) {
      look.report("head-id-wrong", rows, { seq: row.seq, published: said.data.head ?? null });
      continue;
    }
    // Of a session that is there, no head loses what it carries: only deleting the session takes it.
    // The salt may be its summary's alone.
    const carried = row.final_no === null && row.final_summary !== null ? { ...final, salt: null } : final;
    if (!isErased(subject, final)) checkCommitments(subject, { table: "heads", id: row.id }, said, [carried]);
    await checkDerived(subject, row, said);
  }
}

async function checkDerived(subject: Subject, row: CheckedHeadRow, said: EventContent): Promise<void> {
  const { survey, session, look } = subject;
  if (!look.isRequested("head-chain-wrong", "head-root-wrong", "head-id-wrong")) return;
  if (row.chain_at === null || !sameBytes(row.chain, row.chain_at)) {
    look.report("head-chain-wrong", [row.id], { seq: row.seq });
    return;
  }
  // Its lineage has no end: nothing can be derived from it.
  if (survey.cyclic.has(session.no)) return;
  const lineage = await lineageAt(survey.storage, { no: session.no, branch: row.branch, seq: row.seq });
  const { root, counts } = await derive(subject, row, said, lineage);
  if (!sameBytes(root, row.root)) {
    survey.recounted.set(row.id, counts);
    look.report("head-root-wrong", [row.id], { seq: row.seq, counts: { ...counts } });
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
  if (id !== row.id) look.report("head-id-wrong", [row.id], { seq, derived: id });
}

async function derive(
  subject: Subject,
  row: CheckedHeadRow,
  { commitments }: EventContent,
  lineage: readonly Segment[],
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
    compaction: compactionOf(stored, before, rowId(session.id, row.seq - 1), survey.recounted),
    // Of a session deleted everywhere, nothing but what the root says is left of it.
    summary: committedSummary(row, session.deleted_at === null ? null : textOr(stored.summary)),
    cacheId: row.cache_id,
  };
  return { root: encodeRoot(facts, stored.v === 1 ? 1 : 2), counts };
}

function textOr(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** By the log, which knows it also when the variables were erased. */
async function committedVars({ survey, session }: Subject, seq: number): Promise<unknown> {
  const [event] = await survey.storage.query("events.at", { session: session.id, seq });
  return plainObject.read(jsonObject.read(event?.body)?.commitments)?.vars;
}

/** A head either keeps the compaction of the one before it, or makes one whose summary is the message before it. */
function compactionOf(
  stored: JsonObject,
  before: HeadRow | null,
  last: string,
  recounted: ReadonlyMap<string, Counts>,
): NonNullable<Context["compaction"]> | null {
  const found = plainObject.read(stored.compaction) as unknown as NonNullable<Context["compaction"]> | undefined;
  if (found !== undefined && found.summary === last) return found;
  if (before === null) return null;
  // Where the one before is damaged, there is nothing to compare with.
  return recounted.has(before.id) ? (found ?? null) : rootOf(before).compaction;
}

/** What the newest head before it counted, and the rows since. */
async function recount(
  { survey, session }: Subject,
  lineage: readonly Segment[],
  stored: JsonObject,
): Promise<{ readonly before: HeadRow | null; readonly counts: Counts }> {
  const { storage, recounted } = survey;
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
    since = addCounts(recounted.get(head.id) ?? countsOf(head), since);
    break;
  }
  // What a deleted session left behind is not all that there was.
  const said = plainObject.read(stored.counts) as Partial<Counts> | undefined;
  return { before, counts: inherits && said !== undefined ? addCounts(NONE, said) : since };
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
