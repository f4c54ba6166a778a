// The edges of the graph: branches inside and between sessions, derivations, invocations.
import type { JsonObject } from "../contracts/json.ts";
import type {
  CheckedBranchRow,
  CheckedDerivationRow,
  CheckedInvocationRow,
  InvocationHead,
} from "../contracts/storage/check-queries.ts";
import { optional, plainObject, utf8 } from "../core/decode.ts";
import { rowId } from "../core/row-id.ts";
import { type ColumnPair, compare, keptPairs } from "./compare.ts";
import { dataOf } from "./ledger.ts";
import { BEFORE_ALL, PAGE, rowsOf, type VersionParams, versionsOf } from "./pages.ts";
import type { Subject } from "./subject.ts";
import type { Survey } from "./survey.ts";
import { branchPair, checkVersion } from "./work.ts";

/** The check forgets acyclic branches when it knows more than this many, and walks them again. */
const SOUND_MAX = 1_000_000;

export async function checkBranches(subject: Subject): Promise<void> {
  const { survey, session, reporter } = subject;
  let hasCurrentBranch = session.branch === 1;
  for await (const row of rowsOf<CheckedBranchRow>((last) =>
    survey.storage.query("check.branches", { session: session.no, after: last?.branch ?? BEFORE_ALL, limit: PAGE }),
  )) {
    survey.count("branches");
    if (row.branch === session.branch) hasCurrentBranch = true;
    await checkBranch(subject, row);
    compareBranch(subject, row);
  }
  if (!hasCurrentBranch && session.deleted_at === null) {
    reporter.report("branch-missing", [session.id], { branch: session.branch });
  }
}

async function checkBranch({ survey, session, reporter }: Subject, row: CheckedBranchRow): Promise<void> {
  const { branch, parent, parent_branch, parent_deleted, cut_seq } = row;
  const hasBranch = parent_branch === 1 || row.parent_branch_there === 1 || parent_deleted !== null;
  if (parent === null || !hasBranch) {
    reporter.report("branch-parent-missing", [session.id], { branch, parent, parentBranch: parent_branch });
  } else if (cut_seq > (row.parent_seq ?? 0)) {
    reporter.report("branch-cut-beyond", [session.id], { branch, parent, cut: cut_seq, end: row.parent_seq });
  }
  if (await isCyclic(survey, session.no, branch)) {
    survey.cyclicSessions.add(session.no);
    reporter.report("lineage-cycle", [session.id], { branch });
  }
}

export async function isCyclic(
  { storage, acyclicBranches }: Survey,
  session: number,
  branch: number,
): Promise<boolean> {
  const path = new Set<string>();
  for (let at = { session, branch }; ; ) {
    const key = `${at.session}:${at.branch}`;
    if (path.has(key)) return true;
    if (acyclicBranches.has(key)) break;
    path.add(key);
    const [up] = await storage.query("check.branch", { session: at.session, branch: at.branch });
    if (up === undefined) break;
    at = { session: up.parent_session_no, branch: up.parent_branch };
  }
  if (acyclicBranches.size > SOUND_MAX) acyclicBranches.clear();
  for (const key of path) acyclicBranches.add(key);
  return false;
}

function compareBranch(subject: Subject, row: CheckedBranchRow): void {
  const isFirst = row.branch === 1;
  compare(subject, row, {
    table: "branches",
    seq: row.seq,
    branch: row.branch,
    types: isFirst ? ["session/created"] : ["branch/begun", "head/moved"],
    pairs: ({ body, data }) => {
      const from = plainObject.read(data.from) ?? {};
      return [
        ["branch", row.branch, isFirst ? 1 : row.seq],
        ["parent_session_no", row.parent, isFirst ? from.session : subject.session.id],
        ["parent_branch", row.parent_branch, from.branch],
        ["cut_seq", row.cut_seq, from.seq],
        ["at", row.at, body.at],
      ];
    },
  });
}

export async function checkDerivations(subject: Subject): Promise<void> {
  const { survey, session, reporter } = subject;
  for await (const row of rowsOf<CheckedDerivationRow>((last) =>
    survey.storage.query("check.derivations", { session: session.no, after: last?.seq ?? BEFORE_ALL, limit: PAGE }),
  )) {
    survey.count("derivations");
    const id = rowId(session.id, row.seq);
    if (row.source === null) reporter.report("derivation-source-missing", [id], {});
    else {
      const isOfSource = row.head !== null && row.head_session === row.source_session_no;
      // Deleting the source may have deleted its heads.
      if (row.source_head !== null && row.source_deleted === null && !isOfSource) {
        reporter.report("derivation-head-missing", [id], { source: row.source, head: row.head });
      }
      checkBeginning(subject, id, row);
    }
    const isHere = session.deleted_at === null;
    if (row.type === "fork" && session.cache_id === null && isHere)
      reporter.report("cache-id-missing", [session.id], {});
    compare(subject, row, {
      table: "derivations",
      seq: row.seq,
      types: ["derivation/added"],
      pairs: ({ body, data }) => {
        const source = plainObject.read(data.source) ?? {};
        return [
          ["type", row.type, data.type],
          ["source_session_no", row.source, source.session],
          ["source_branch", row.source_branch, source.branch],
          ["source_seq", row.source_seq, source.seq],
          // The source's head stays as long as a session inherits from it, also when the source was deleted.
          ["source_head", row.head, source.head],
          ["at", row.at, body.at],
        ];
      },
    });
  }
}

function checkBeginning({ session, reporter }: Subject, id: string, row: CheckedDerivationRow): void {
  if (row.parent_session_no === null) {
    reporter.report("branch-missing", [session.id], { branch: 1 });
    return;
  }
  const same =
    row.parent_session_no === row.source_session_no &&
    row.parent_branch === row.source_branch &&
    row.cut_seq === row.source_seq;
  if (!same) reporter.report("derivation-mismatch", [id], { source: row.source });
}

const TYPES = ["spawn", "attach"];

export async function checkInvocations(subject: Subject): Promise<void> {
  const { survey, session, reporter } = subject;
  const running = new Map<number, string>();
  const read = (params: VersionParams) => survey.storage.query("check.invocations", params);
  for await (const { row, before } of versionsOf(session.no, read)) {
    const id = rowId(session.id, row.first_seq);
    if (row.seq === row.first_seq) survey.count("invocations");
    checkVersion(subject, row, before, { table: "invocations", begun: "running" });
    const keptColumns = [...branchPair(subject, row, before), ...keptPairs(row, before, KEPT, KEPT_NUMBERS)];
    if (!TYPES.includes(row.type)) reporter.report("invocation-type-invalid", [id], { type: row.type });
    if (row.callee_no !== null && row.callee === null) reporter.report("invocation-callee-missing", [id], {});
    if (row.source_no !== null && row.source === null) reporter.report("attach-source-missing", [id], {});
    if (row.call_seq !== null && row.call_type === null && session.deleted_at === null) {
      reporter.report("invocation-call-missing", [id], { call: row.call_seq });
    }
    if (row.call_type === "leaf") {
      reporter.report("leaf-call-has-invocation", [id, rowId(session.id, row.call_seq ?? 0)], {});
    }
    checkLabel(subject, row);
    checkHeads(subject, id, row);
    const absent = await absentHeads(survey, row);
    compare(subject, row, {
      table: "invocations",
      seq: row.seq,
      branch: row.branch,
      id,
      types: ["invocation/started", "invocation/finished"],
      pairs: ({ data, body }) => [
        ...keptColumns,
        ...timePairs(row, body.at),
        ...invocationPairs(subject, row, data, absent),
      ],
    });
    // The newest version comes last.
    if (row.status === "running" && row.callee !== null) running.set(row.first_seq, row.callee);
    else running.delete(row.first_seq);
  }
  await checkWaiting(subject, running);
}

/** attach() refuses to close a circle, but importing two valid archives of different times can create one. */
async function checkWaiting(
  { survey, session, reporter }: Subject,
  running: ReadonlyMap<number, string>,
): Promise<void> {
  if (running.size === 0) return;
  const waiting = new Set(
    (await survey.storage.query("invocations.waiting", { session: session.id })).map(({ id }) => id),
  );
  for (const [seq, callee] of running) {
    if (waiting.has(callee)) reporter.report("invocation-cycle", [rowId(session.id, seq)], { callee });
  }
}

/** Nothing proves which text a label has, but it must be text. */
function checkLabel({ reporter, session }: Subject, { seq, label }: CheckedInvocationRow): void {
  if (optional(utf8).read(label) !== undefined) return;
  reporter.report("column-unreadable", [rowId(session.id, seq)], { table: "invocations", column: "label" });
}

/** Columns that an invocation's last version repeats from its first. */
const KEPT = ["type", "call_seq", "label", "source_snapshot_seq", "source_fingerprint", "created_at"] as const;
const KEPT_NUMBERS = {
  ...({ callee_session_no: "callee_no", source_session_no: "source_no", source_head: "source_head_no" } as const),
  ...({ caller_head_before: "caller_before_no", callee_head_before: "callee_before_no" } as const),
};

function timePairs(
  { first_seq, seq, created_at, completed_at }: CheckedInvocationRow,
  at: unknown,
): readonly ColumnPair[] {
  const isFirst = seq === first_seq;
  const ended: ColumnPair = ["completed_at", completed_at, isFirst ? null : at];
  return isFirst ? [["created_at", created_at, at], ended] : [ended];
}

/**
 * Heads that the invocation's event names and this store lacks: an archive need not contain the sessions that its
 * sessions name, nor their later events. A head that the store has must belong to the session the row names, and the
 * row must link it.
 */
async function absentHeads({ storage }: Survey, row: CheckedInvocationRow): Promise<ReadonlySet<unknown>> {
  const { calleeHead, source: from } = dataOf(row.event_body)?.data ?? {};
  const source = plainObject.read(from) ?? {};
  const named: readonly (readonly [head: unknown, owner: string | null, isLinked: boolean])[] = [
    [calleeHead, row.callee, row.callee_after_no !== null],
    [source.head, row.source, row.source_head_no !== null],
  ];
  const absent = new Set<unknown>();
  for (const [head, owner, isLinked] of named) {
    if (typeof head !== "string" || isLinked) continue;
    const [stored] = await storage.query("head.get", { id: head });
    if (stored?.session !== owner) absent.add(head);
  }
  return absent;
}

function invocationPairs(
  { ledger }: Subject,
  row: CheckedInvocationRow,
  data: JsonObject,
  absent: ReadonlySet<unknown>,
): readonly ColumnPair[] {
  const { first_seq, seq, status } = row;
  const calleeKept = row.callee_deleted === null;
  // A session that the store knows only by id has no heads and never had any.
  const isName = !calleeKept && row.callee_seq === 0;
  const here = (head: unknown) => (absent.has(head) ? null : head);
  const now = ledger?.headAt(seq);
  if (seq !== first_seq) {
    return [
      ["first_seq", first_seq, data.invocation],
      ["status", status, data.status],
      ...pairsIf(now !== undefined, headPair("caller_head_after", row, "caller_after", now)),
      ...pairsIf(calleeKept, ["callee_head_after", row.callee_after, here(data.calleeHead)]),
      ...pairsIf(isName, headPair("callee_head_after", row, "callee_after", null)),
    ];
  }
  const source = plainObject.read(data.source) ?? {};
  const isSourceKept = row.source_deleted === null;
  // An invocation that continues a session starts at its head; any other starts in a new session.
  const isKnown = row.type === "spawn" || data.mode !== undefined;
  const continues = data.mode === "continue";
  return [
    ["type", row.type, data.type],
    ["status", status, data.status],
    ...pairsIf(now !== undefined, headPair("caller_head_before", row, "caller_before", now)),
    headPair("caller_head_after", row, "caller_after", null),
    headPair("callee_head_after", row, "callee_after", null),
    ["callee_session_no", row.callee, data.callee],
    ...pairsIf(calleeKept && continues, ["callee_head_before", row.callee_before, here(source.head)]),
    ...pairsIf(isName || (isKnown && !continues), headPair("callee_head_before", row, "callee_before", null)),
    ["call_seq", row.call_seq, data.call],
    ["source_session_no", row.source, source.session],
    ...pairsIf(isSourceKept, ["source_head", row.source_head, here(source.head)]),
    ...pairsIf(
      isSourceKept && !absent.has(source.head),
      ["source_snapshot_seq", row.source_snapshot_seq, row.source_head_snapshot],
      ["source_fingerprint", row.source_fingerprint, row.source_head_fingerprint],
    ),
  ];
}

/** Where the event names no head, the row must not contain the number of a deleted head either. */
function headPair(column: string, row: CheckedInvocationRow, name: InvocationHead, logged: unknown): ColumnPair {
  return [column, (logged ?? null) === null ? row[`${name}_no`] : row[name], logged];
}

function pairsIf(isKnown: boolean, ...pairs: readonly ColumnPair[]): readonly ColumnPair[] {
  return isKnown ? pairs : [];
}

/** Checks each head that an invocation names: which sessions it may belong to, and whether that session was deleted. */
function checkHeads({ session, reporter }: Subject, id: string, row: CheckedInvocationRow): void {
  const { callee_no, source_no } = row;
  const isGone = row.callee_deleted !== null;
  const sourceGone = row.source_deleted !== null;
  const named: readonly (readonly [InvocationHead, readonly (number | null)[], boolean])[] = [
    // A deleted caller keeps only the heads that other sessions inherit.
    ["caller_before", [session.no], session.deleted_at !== null],
    ["caller_after", [session.no], session.deleted_at !== null],
    // If the callee began as a fork of the source, this is the source's head.
    ["callee_before", [callee_no, source_no], isGone || sourceGone],
    ["callee_after", [callee_no], isGone],
    ["source_head", [source_no], sourceGone],
  ];
  for (const [name, owners, gone] of named) {
    if (row[`${name}_no`] === null || gone) continue;
    if (row[name] === null) {
      const kind = name === "source_head" ? "attach-source-head-missing" : "invocation-head-missing";
      reporter.report(kind, [id], { head: name });
    } else if (!owners.includes(row[`${name}_session`])) {
      reporter.report("invocation-head-foreign", [id, row[name]], { head: name });
    }
  }
}
