// Sessions as a graph to look at: each with its branches, heads, what it was made from and what it invoked.
import type { Tree, TreeBranch, TreeSession } from "../contracts/archive.ts";
import type { DerivationType, Locator } from "../contracts/lineage.ts";
import type { PortableRow } from "../contracts/portable.ts";
import type { SessionRow } from "../contracts/queries.ts";
import type { Storage } from "../contracts/storage.ts";
import { checkLimit, checkRecord } from "../core/check.ts";
import { headOf } from "../core/head.ts";
import { NOW } from "../core/lineage.ts";
import { sessionOf } from "../sessions/describe.ts";
import { findAt } from "../sessions/find.ts";
import { invocationOf, versions } from "../sessions/view.ts";

const LIMIT = 100;
const MOST_HEADS = 10_000;

export async function treeOf(storage: Storage, locator: Locator | null, options: unknown): Promise<Tree> {
  const limit = checkLimit(checkRecord(options, "options", ["limit"]).limit, "page", LIMIT);
  const found = locator === null ? await newest(storage, limit + 1) : await linked(storage, locator, limit + 1);
  const rows = found.slice(0, limit).toSorted((a, b) => b.no - a.no);
  const sessions: TreeSession[] = [];
  for (const row of rows) sessions.push(await readSession(storage, row));
  return { sessions, more: found.length > limit };
}

async function newest(storage: Storage, limit: number): Promise<readonly SessionRow[]> {
  return storage.query("sessions.list", NOW, null, null, 0, NOW, limit);
}

/** The nearest first, whichever way the edges go; each once, so that circles end. */
async function linked(storage: Storage, locator: Locator, limit: number): Promise<readonly SessionRow[]> {
  const { session } = await findAt(storage, locator);
  const found = new Map([[session.id, session]]);
  for (const { no } of found.values()) {
    for (const { id } of await storage.query("session.linked", no, no, no, no)) {
      if (found.size >= limit) return [...found.values()];
      const [row] = found.has(id) ? [] : await storage.query("session.get", id);
      if (row !== undefined) found.set(id, row);
    }
  }
  return [...found.values()];
}

async function readSession(storage: Storage, row: SessionRow): Promise<TreeSession> {
  const { id, title, status, kind, messages, seq, head, createdAt } = sessionOf(row, []);
  const parents = await storage.query("archive.branches", row.no, 0, NOW);
  const [made] = await storage.query("archive.derivations", row.no, 0, NOW);
  const heads = (await storage.query("heads.list", id, 0, MOST_HEADS)).map(headOf);
  const numbers = [...new Set([1, ...parents.map((parent) => Number(parent.branch))])];
  const branches = numbers.map((branch): TreeBranch => {
    const parent = parents.find((one) => one.branch === branch);
    const own = heads.filter((one) => one.branch === branch);
    return { branch, from: parent === undefined ? null : parentOf(parent), heads: own.map(shortHead) };
  });
  const stretches = numbers.map((branch) => ({ session: id, no: row.no, branch, upTo: NOW, horizon: NOW, hides: [] }));
  const invoked = await versions(stretches.toReversed(), (...asked) => storage.query("invocations.at", ...asked));
  return {
    ...{ id, title, status, kind, messages, seq, head, branch: row.branch, branches },
    from: made === undefined ? null : derivationOf(made),
    invocations: invoked.map(invocationOf).map(({ id: call, seq: at, branch, type, status: is, callee, label }) => ({
      ...{ id: call, branch, seq: at, type, status: is, callee, label },
    })),
    createdAt,
  };
}

function shortHead({ id, seq, status, finalSummary, at }: ReturnType<typeof headOf>): TreeBranch["heads"][number] {
  return { id, seq, status, summary: finalSummary, at };
}

function parentOf({ parent_session, parent_branch, cut_seq }: PortableRow): TreeBranch["from"] {
  return { session: String(parent_session), branch: Number(parent_branch), seq: Number(cut_seq) };
}

function derivationOf(row: PortableRow): TreeSession["from"] {
  return {
    type: row.type as DerivationType,
    ...{ session: String(row.source_session), branch: Number(row.source_branch), seq: Number(row.source_seq) },
    head: row.source_head === null ? null : String(row.source_head),
  };
}
