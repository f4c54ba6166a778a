// Reads sessions as a graph: each with its branches, heads, the session that it was derived from, and the sessions that it invoked.
import type { Tree, TreeSession } from "../contracts/archive.ts";
import type { Locator } from "../contracts/locators.ts";
import type { HeadRow } from "../contracts/storage/lineage-queries.ts";
import type { PortableRow } from "../contracts/storage/portable-rows.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { headOf } from "../core/head.ts";
import { type LineageStretch, lineageAt, NOW } from "../core/lineage.ts";
import { findAt } from "../core/session-lookup.ts";
import { countShownMessages } from "../sessions/counts.ts";
import { sessionOf } from "../sessions/describe.ts";
import { invocationOf, versions } from "../sessions/view.ts";

const MOST_HEADS = 10_000;

export async function treeOf(storage: Storage, locator: Locator | null, limit: number): Promise<Tree> {
  const at = locator === null ? null : await findAt(storage, locator);
  if (at !== null && at.head !== null) return treeAtHead(storage, at.head, limit);
  const found = at === null ? await newest(storage, limit + 1) : await sessionsNear(storage, at.session, limit + 1);
  const rows = found.slice(0, limit).toSorted((a, b) => b.no - a.no);
  const sessions: TreeSession[] = [];
  for (const row of rows) sessions.push(await readSession(storage, row));
  return { sessions, more: found.length > limit };
}

async function newest(storage: Storage, limit: number): Promise<readonly SessionRow[]> {
  return storage.query("sessions.list", { last: NOW, status: null, createdAfter: 0, createdBefore: NOW, limit });
}

/** All sessions that are connected, nearest first, in either direction of the edges. Each is listed once, so cycles end. */
async function sessionsNear(storage: Storage, session: SessionRow, limit: number): Promise<readonly SessionRow[]> {
  const found = new Map([[session.id, session]]);
  for (const { no } of found.values()) {
    for (const { id } of await storage.query("session.linked", { session: no })) {
      if (found.size >= limit) return [...found.values()];
      const [row] = found.has(id) ? [] : await storage.query("session.get", { id });
      if (row !== undefined) found.set(id, row);
    }
  }
  return [...found.values()];
}

/** The sessions of a head's lineage, each up to the part that the head includes. Deleted sessions are not shown. */
async function treeAtHead(storage: Storage, head: HeadRow, limit: number): Promise<Tree> {
  const lineage = await lineageAt(storage, { no: head.session_no, branch: head.branch, seq: head.seq });
  const found = [...Map.groupBy(lineage, ({ session }) => session)];
  const sessions: TreeSession[] = [];
  for (const [id, stretches] of found.slice(0, limit)) {
    const [row] = await storage.query("session.get", { id });
    if (row === undefined || row.deleted_at !== null) continue;
    sessions.push(await cutToStretches(storage, await readSession(storage, row), stretches));
  }
  return { sessions, more: found.length > limit };
}

/** `stretches` are the session's ranges, newest first. */
async function cutToStretches(
  storage: Storage,
  whole: TreeSession,
  stretches: readonly LineageStretch[],
): Promise<TreeSession> {
  const upTo = new Map(stretches.map((one) => [one.branch, one.upTo]));
  const isIn = (branch: number, seq: number) => seq <= (upTo.get(branch) ?? 0);
  const branches = whole.branches
    .filter(({ branch }) => upTo.has(branch))
    .map((one) => ({ ...one, heads: one.heads.filter(({ seq }) => isIn(one.branch, seq)) }));
  const invoked = await versions(stretches, (stretch) => storage.query("invocations.at", stretch));
  let messages = 0;
  for (const { no, branch, upTo: end } of stretches) {
    const [counted] = await storage.query("lineage.counts", { session: no, branch, after: 0, upTo: end });
    messages += counted?.messages ?? 0;
  }
  const last = branches.flatMap(({ heads }) => heads).findLast(({ status }) => status === "complete");
  const [newestOne] = stretches;
  return {
    ...whole,
    messages,
    branches,
    invocations: invoked.map(invocationOf).map(shortInvocation),
    seq: newestOne?.upTo ?? whole.seq,
    branch: newestOne?.branch ?? whole.branch,
    head: last?.id ?? null,
  };
}

async function readSession(storage: Storage, row: SessionRow): Promise<TreeSession> {
  const { id, title, status, kind, seq, head, createdAt } = sessionOf(row, []);
  const messages = await countShownMessages(storage, row);
  const parents = await storage.query("archive.branches", { session: row.no, after: 0, upTo: NOW });
  const [made] = await storage.query("archive.derivations", { session: row.no, after: 0, upTo: NOW });
  const heads = (await storage.query("heads.oldest", { session: id, after: 0, limit: MOST_HEADS })).map(headOf);
  const numbers = [...new Set([1, ...parents.map((parent) => Number(parent.branch))])];
  const branches = numbers.map((branch): TreeSession["branches"][number] => {
    const parent = parents.find((one) => one.branch === branch);
    const own = heads.filter((one) => one.branch === branch);
    return { branch, from: parent === undefined ? null : parentOf(parent), heads: own.map(shortHead) };
  });
  const stretches = numbers.map((branch) => ({ session: id, no: row.no, branch, upTo: NOW, horizon: NOW, hides: [] }));
  const invoked = await versions(stretches.toReversed(), (stretch) => storage.query("invocations.at", stretch));
  return {
    id,
    title,
    status,
    kind,
    messages,
    seq,
    head,
    branch: row.branch,
    branches,
    from: made === undefined ? null : derivationOf(made),
    invocations: invoked.map(invocationOf).map(shortInvocation),
    createdAt,
  };
}

function shortInvocation(one: ReturnType<typeof invocationOf>): TreeSession["invocations"][number] {
  const { id, branch, seq, type, status, callee, label } = one;
  return { id, branch, seq, type, status, callee, label };
}

function shortHead({
  id,
  seq,
  status,
  finalSummary,
  at,
}: ReturnType<typeof headOf>): TreeSession["branches"][number]["heads"][number] {
  return { id, seq, status, summary: finalSummary, at };
}

function parentOf({ parent_session, parent_branch, cut_seq }: PortableRow): TreeSession["branches"][number]["from"] {
  return { session: String(parent_session), branch: Number(parent_branch), seq: Number(cut_seq) };
}

function derivationOf(row: PortableRow): TreeSession["from"] {
  return {
    type: row.type as NonNullable<TreeSession["from"]>["type"],
    session: String(row.source_session),
    branch: Number(row.source_branch),
    seq: Number(row.source_seq),
    head: row.source_head === null ? null : String(row.source_head),
  };
}
