// The edges of the graph: branches inside and between sessions, derivations, invocations.
import type {
  CheckedBranchRow,
  CheckedDerivationRow,
  CheckedInvocationRow,
  InvocationHead,
} from "../contracts/check-queries.ts";
import type { JsonObject } from "../contracts/json.ts";
import { plainObject } from "../core/decode.ts";
import { rowId } from "../core/row-id.ts";
import { compare, type Pair } from "./compare.ts";
import { dataOf } from "./ledger.ts";
import { PAGE, rowsOf } from "./pages.ts";
import type { Subject, Survey } from "./subject.ts";
import { branchPair, checkVersion } from "./work.ts";

/** Branches that are known to have a beginning are forgotten beyond this many, and walked again. */
const SOUND_MAX = 1_000_000;

export async function checkBranches(subject: Subject): Promise<void> {
  const { survey, session, look } = subject;
  let standsOn = session.branch === 1;
  for await (const row of rowsOf<CheckedBranchRow>((last) =>
    survey.storage.query("check.branches", session.no, last?.branch ?? 0, PAGE),
  )) {
    survey.count("branches");
    if (row.branch === session.branch) standsOn = true;
    await checkBranch(subject, row);
    if (session.deleted_at === null) compareBranch(subject, row);
  }
  if (!standsOn && session.deleted_at === null) {
    look.report("branch-missing", [session.id], { branch: session.branch });
  }
}

async function checkBranch({ survey, session, look }: Subject, row: CheckedBranchRow): Promise<void> {
  const { branch, parent, parent_branch, parent_deleted, cut_seq } = row;
  const hasBranch = parent_branch === 1 || row.parent_branch_there === 1 || parent_deleted !== null;
  if (parent === null || !hasBranch) {
    look.report("branch-parent-missing", [session.id], { branch, parent, parentBranch: parent_branch });
  } else if (cut_seq > (row.parent_seq ?? 0)) {
    look.report("branch-cut-beyond", [session.id], { branch, parent, cut: cut_seq, end: row.parent_seq });
  }
  if (await isCyclic(survey, session.no, branch)) {
    survey.cyclic.add(session.no);
    look.report("lineage-cycle", [session.id], { branch });
  }
}

async function isCyclic({ storage, sound }: Survey, session: number, branch: number): Promise<boolean> {
  const path = new Set<string>();
  for (let at = { session, branch }; ; ) {
    const key = `${at.session}:${at.branch}`;
    if (path.has(key)) return true;
    if (sound.has(key)) break;
    path.add(key);
    const [up] = await storage.query("check.branch", at.session, at.branch);
    if (up === undefined) break;
    at = { session: up.parent_session_no, branch: up.parent_branch };
  }
  if (sound.size > SOUND_MAX) sound.clear();
  for (const key of path) sound.add(key);
  return false;
}

function compareBranch(subject: Subject, row: CheckedBranchRow): void {
  const isFirst = row.branch === 1;
  compare(subject, row, {
    ...{ table: "branches", seq: row.seq, types: isFirst ? ["session/created"] : ["branch/begun", "head/moved"] },
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
  const { survey, session, look } = subject;
  for await (const row of rowsOf<CheckedDerivationRow>((last) =>
    survey.storage.query("check.derivations", session.no, last?.seq ?? 0, PAGE),
  )) {
    survey.count("derivations");
    const id = rowId(session.id, row.seq);
    if (row.source === null) look.report("derivation-source-missing", [id], {});
    else {
      const isOfSource = row.head !== null && row.head_session === row.source_session_no;
      // The heads of what was deleted may be gone with it.
      if (row.source_head !== null && row.source_deleted === null && !isOfSource) {
        look.report("derivation-head-missing", [id], { source: row.source, head: row.head });
      }
      checkBeginning(subject, id, row);
    }
    if (row.type === "fork" && session.cache_id === null) look.report("cache-id-missing", [session.id], {});
    compare(subject, row, {
      ...{ table: "derivations", seq: row.seq, types: ["derivation/added"] },
      pairs: ({ body, data }) => {
        const source = plainObject.read(data.source) ?? {};
        return [
          ["type", row.type, data.type],
          ["source_session_no", row.source, source.session],
          ["source_branch", row.source_branch, source.branch],
          ["source_seq", row.source_seq, source.seq],
          ...(row.source_deleted === null ? ([["source_head", row.head, source.head]] as const) : []),
          ["at", row.at, body.at],
        ];
      },
    });
  }
}

function checkBeginning({ session, look }: Subject, id: string, row: CheckedDerivationRow): void {
  if (row.parent_session_no === null) {
    look.report("branch-missing", [session.id], { branch: 1 });
    return;
  }
  const same =
    row.parent_session_no === row.source_session_no &&
    row.parent_branch === row.source_branch &&
    row.cut_seq === row.source_seq;
  if (!same) look.report("derivation-mismatch", [id], { source: row.source });
}

const TYPES = ["spawn", "attach"];

export async function checkInvocations(subject: Subject): Promise<void> {
  const { survey, session, look } = subject;
  let before: CheckedInvocationRow | null = null;
  let away: Away = { callee: false, source: false };
  for await (const row of rowsOf<CheckedInvocationRow>((last) =>
    survey.storage.query("check.invocations", session.no, last?.first_seq ?? 0, last?.seq ?? 0, PAGE),
  )) {
    const id = rowId(session.id, row.first_seq);
    if (row.seq === row.first_seq) survey.count("invocations");
    checkVersion(subject, "version-wrong", "invocations", row, before, "running");
    before = row;
    if (!TYPES.includes(row.type)) look.report("invocation-type-invalid", [id], { type: row.type });
    if (row.callee_no !== null && row.callee === null) look.report("invocation-callee-missing", [id], {});
    if (row.source_no !== null && row.source === null) look.report("attach-source-missing", [id], {});
    if (row.call_seq !== null && row.call_type === null) {
      look.report("invocation-call-missing", [id], { call: row.call_seq });
    }
    if (row.call_type === "leaf") {
      look.report("leaf-call-has-invocation", [id, rowId(session.id, row.call_seq ?? 0)], {});
    }
    checkHeads(subject, id, row);
    if (row.seq === row.first_seq) away = await notHere(survey, row);
    const named = away;
    compare(subject, row, {
      ...{ table: "invocations", seq: row.seq, id, types: ["invocation/started", "invocation/finished"] },
      pairs: ({ data }) => [...branchPair(row), ...invocationPairs(row, data, named)],
    });
  }
}

interface Away {
  readonly callee: boolean;
  readonly source: boolean;
}

/** An archive need not bring the sessions that its own names: a link to one that never was here is empty. */
async function notHere({ storage }: Survey, row: CheckedInvocationRow): Promise<Away> {
  const { callee, source } = dataOf(row.event_body)?.data ?? {};
  const isAway = async (no: number | null, id: unknown) =>
    no === null && typeof id === "string" && (await storage.query("session.get", id)).length === 0;
  return {
    callee: await isAway(row.callee_no, callee),
    source: await isAway(row.source_no, plainObject.read(source)?.session),
  };
}

function invocationPairs(row: CheckedInvocationRow, data: JsonObject, away: Away): readonly Pair[] {
  const { first_seq, seq, status } = row;
  if (seq !== first_seq) {
    const isKept = !away.callee && row.callee_deleted === null;
    const head: readonly Pair[] = isKept ? [["callee_head_after", row.callee_after, data.calleeHead]] : [];
    return [["first_seq", first_seq, data.invocation], ["status", status, data.status], ...head];
  }
  const source = plainObject.read(data.source) ?? {};
  const isSourceKept = !away.source && row.source_deleted === null;
  return [
    ["type", row.type, data.type],
    ["status", status, data.status],
    ...(away.callee ? [] : ([["callee_session_no", row.callee, data.callee]] as const)),
    ["call_seq", row.call_seq, data.call],
    ...(away.source ? [] : ([["source_session_no", row.source, source.session]] as const)),
    ...(isSourceKept ? ([["source_head", row.source_head, source.head]] as const) : []),
  ];
}

/** Of each head an invocation names: whose it may be, and whether that one was deleted, with its heads. */
function checkHeads({ session, look }: Subject, id: string, row: CheckedInvocationRow): void {
  const { callee_no, source_no } = row;
  const isGone = row.callee_deleted !== null;
  const sourceGone = row.source_deleted !== null;
  const named: readonly (readonly [InvocationHead, readonly (number | null)[], boolean])[] = [
    ["caller_before", [session.no], false],
    ["caller_after", [session.no], false],
    // Where a callee began by branching from a head, that is the head before.
    ["callee_before", [callee_no, source_no], isGone || sourceGone],
    ["callee_after", [callee_no], isGone],
    ["source_head", [source_no], sourceGone],
  ];
  for (const [name, owners, gone] of named) {
    if (row[`${name}_no`] === null || gone) continue;
    if (row[name] === null) {
      const kind = name === "source_head" ? "attach-source-head-missing" : "invocation-head-missing";
      look.report(kind, [id], { head: name });
    } else if (!owners.includes(row[`${name}_session`])) {
      look.report("invocation-head-foreign", [id, row[name]], { head: name });
    }
  }
}
