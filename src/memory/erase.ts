// Erases memories for good (rule LG6): their rows, their changes, their entries in the indexes. What another memory says of an
// erased one is its id.
import type { Erasure } from "../contracts/history.ts";
import type { Commit, Guard, Write } from "../contracts/storage/commit.ts";
import type { MemoryRow, MemoryTotals } from "../contracts/storage/memory-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { type Decision, decide, type FinalAnswer } from "../core/decide.ts";
import { dropPassageWrites } from "../core/erasure.ts";
import { removeFieldsWrite, removeScopeFieldsWrite } from "../core/metadata-index.ts";
import { changeItemWrites, removeGroupWrites } from "../search/index/item-source.ts";
import type { Withdrawal } from "./promotion/withdraw.ts";
import { versionGuard } from "./rows.ts";
import { findScope, type NamedScope, scopeGuard } from "./scopes.ts";
import type { IndexedMemories } from "./search.ts";

const NOTHING: MemoryTotals = { memories: 0, changes: 0, bytes: 0 };

/** Removes the lines of the memories from blocks; the erasure is decided again if a promotion changes the blocks meanwhile. */
type Withdraw = () => Promise<Withdrawal>;

export async function deleteMemory(
  stores: IndexedMemories,
  named: NamedScope,
  id: string,
  withdraw: (row: MemoryRow) => Promise<Withdrawal>,
): Promise<Erasure> {
  const { storage } = stores;
  const scope = await findScope(storage, named);
  if (scope === null) return reportOf(NOTHING);
  // Also one that has expired: until it is swept, its words are in the store.
  const find = async () => (await storage.query("memory.get", { id, scope }))[0];
  let lines = 0;
  const report = await eraseWith(stores, async () => {
    const found = await find();
    if (found === undefined) return { answer: NOTHING };
    const withdrawn = await withdraw(found);
    lines = Math.max(lines, withdrawn.lines);
    const row = await find();
    if (row === undefined) return { answer: NOTHING };
    const guards = [scopeGuard(scope), versionGuard(row), ...withdrawn.guards];
    return { commit: { guards, writes: removeMemories([row]) }, answer: () => totalsOf([row]) };
  });
  return withLines(report, lines);
}

export async function clearScope(stores: IndexedMemories, named: NamedScope, withdraw: Withdraw): Promise<Erasure> {
  const scope = await findScope(stores.storage, named);
  if (scope === null) return reportOf(NOTHING);
  let lines = 0;
  const report = await eraseWith(stores, async () => {
    const withdrawn = await withdraw();
    lines = Math.max(lines, withdrawn.lines);
    const params = { scope };
    const commit: Commit = {
      solo: true,
      guards: [scopeGuard(scope), ...withdrawn.guards],
      writes: [
        { op: "read", query: "memories.totals", params },
        removeScopeFieldsWrite({ kind: "memories", scope }),
        ...removeGroupWrites("memories", scope),
        ...dropPassageWrites([{ op: "run", statement: "memories.markPassages", params: { group: scope } }]),
        { op: "run", statement: "memories.removeScopeChanges", params },
        { op: "run", statement: "memories.removeScope", params },
      ],
    };
    return { commit, answer: ({ found }) => found?.["memories.totals"]?.[0] ?? NOTHING };
  });
  return withLines(report, lines);
}

/** Memories that one commit of a sweep erases. */
const SWEPT_ROWS = 100;

/** `withdraw` removes the lines of these memories from blocks. */
export async function sweepExpired(
  stores: IndexedMemories,
  isDryRun: boolean,
  withdraw: (rows: readonly MemoryRow[]) => Promise<Withdrawal>,
): Promise<Erasure> {
  const { storage } = stores;
  const now = storage.environment.now();
  let totals = NOTHING;
  let allLines = 0;
  for (let last = { after: 0, afterNo: 0 }; ; ) {
    const page = { now, ...last, limit: SWEPT_ROWS };
    const rows = await storage.query("memories.expired", page);
    const end = rows.at(-1);
    if (end === undefined) break;
    let lines = 0;
    const withdrawRows = async () => {
      const withdrawn = await withdraw(rows);
      lines = Math.max(lines, withdrawn.lines);
      return withdrawn;
    };
    totals = addTotals(totals, isDryRun ? totalsOf(rows) : await eraseExpired(storage, rows, now, withdrawRows));
    allLines += lines;
    last = { after: end.expires_at ?? 0, afterNo: end.no };
  }
  if (!isDryRun && totals.memories > 0) await forgetErased(stores);
  return withLines(reportOf(totals), allLines);
}

/** A memory that was saved again meanwhile may live longer: each is read again with its guard. */
function eraseExpired(
  storage: Storage,
  expired: readonly MemoryRow[],
  now: number,
  withdraw: Withdraw,
): Promise<MemoryTotals> {
  return decide(storage, async () => {
    const withdrawn = await withdraw();
    const found = await Promise.all(
      expired.map(({ id, scope_no: scope }) => storage.query("memory.get", { id, scope })),
    );
    const rows = found.flat().filter(({ expires_at }) => expires_at !== null && expires_at <= now);
    if (rows.length === 0) return { answer: NOTHING };
    const scopes = new Set(rows.map(({ scope_no }) => scope_no));
    const guards: readonly Guard[] = [...[...scopes].map(scopeGuard), ...rows.map(versionGuard), ...withdrawn.guards];
    return { commit: { guards, writes: removeMemories(rows) }, answer: () => totalsOf(rows) };
  });
}

function removeMemories(rows: readonly MemoryRow[]): readonly Write[] {
  const marks = rows.map(
    ({ no, scope_no: group }): Write => ({ op: "run", statement: "memory.markPassages", params: { group, item: no } }),
  );
  return [...rows.flatMap(removeMemory), ...dropPassageWrites(marks)];
}

function removeMemory({ id, no, scope_no: scope }: MemoryRow): readonly Write[] {
  return [
    removeFieldsWrite({ kind: "memories", scope }, no),
    ...changeItemWrites("memories", { group: scope, item: no }, "removed"),
    { op: "run", statement: "memory.removeChanges", params: { id } },
    { op: "run", statement: "memory.remove", params: { id } },
  ];
}

/** Freed pages are overwritten after the commit. */
async function eraseWith(
  stores: IndexedMemories,
  rule: () => Promise<Decision<MemoryTotals> | FinalAnswer<MemoryTotals>>,
): Promise<Erasure> {
  const totals = await decide(stores.storage, rule);
  if (totals.memories > 0) await forgetErased(stores);
  return reportOf(totals);
}

async function forgetErased({ storage, index }: IndexedMemories): Promise<void> {
  index.forget();
  await storage.reclaim();
}

/** Every version of a memory is a change of it. */
function totalsOf(rows: readonly MemoryRow[]): MemoryTotals {
  return rows.reduce(
    (sum, { version, content, value, metadata }) =>
      addTotals(sum, {
        memories: 1,
        changes: version,
        bytes: content.byteLength + (value?.byteLength ?? 0) + (metadata?.byteLength ?? 0),
      }),
    NOTHING,
  );
}

function addTotals(a: MemoryTotals, b: MemoryTotals): MemoryTotals {
  return { memories: a.memories + b.memories, changes: a.changes + b.changes, bytes: a.bytes + b.bytes };
}

function reportOf({ memories, changes, bytes }: MemoryTotals): Erasure {
  return { removed: { memories, changes, bytes }, kept: {} };
}

/** Erased memories had lines in blocks, which older versions of the blocks still have. */
function withLines(report: Erasure, lines: number): Erasure {
  return lines === 0 ? report : { ...report, kept: { ...report.kept, blockLines: lines } };
}
