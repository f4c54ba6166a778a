// Removes the lines of memories from blocks before the memories are erased: from every block into which a promotion ever put them, also if
// the block has another label by now, is read-only, or belongs to other agents. What a block is for does not outweigh an erasure.
import { withValue, writeVersion } from "../../agents/edits.ts";
import { storedBlock } from "../../agents/rows.ts";
import { blockGuard, userGuard } from "../../agents/sharing.ts";
import type { Block } from "../../contracts/agents.ts";
import type { Commit, Guard, Write } from "../../contracts/storage/commit.ts";
import type { PlacementRow } from "../../contracts/storage/memory-queries.ts";
import type { Prepare } from "../../contracts/storage/payloads.ts";
import { decide } from "../../core/decide.ts";
import { decodeRow, utf8 } from "../../core/decode.ts";
import { versionGuard } from "../rows.ts";
import { findScope, type NamedScope, scopeGuard } from "../scopes.ts";
import { lineFor } from "./plan.ts";
import { changeRows, type PromotionStores } from "./promote.ts";

/** What was removed from blocks before an erasure, and what the erasure relies on: that no promotion has changed them since. */
export interface Withdrawal {
  /** Lines that were in blocks, now or earlier: older versions of the blocks still have them. */
  readonly lines: number;
  readonly guards: readonly Guard[];
}

const NO_LINES: Withdrawal = { lines: 0, guards: [] };

/** Memories of a scope by their numbers. */
export interface ErasedNumbers {
  readonly from: number;
  readonly to: number;
  has(no: number): boolean;
}

export const ALL_NUMBERS: ErasedNumbers = { from: 0, to: Number.MAX_SAFE_INTEGER, has: () => true };

/** In a commit of its own: erased words are in no block when the erasure comes. */
export async function withdrawLines(
  stores: PromotionStores,
  named: NamedScope,
  erased: ErasedNumbers,
): Promise<Withdrawal> {
  // Promotion needs an agent.
  if (named.agent === "") return NO_LINES;
  const { storage, payloads } = stores;
  const scope = await findScope(storage, named);
  if (scope === null) return NO_LINES;
  return payloads.preparing((prepare) =>
    decide(storage, async () => {
      // Read first: a promotion after that is noticed, and one before it is seen below.
      const own = await agentGuards(stores, named.agent);
      const placed = await readPlacements(stores, scope, erased);
      const guards = [...own, ...placed.map(({ block }) => versionOf(block))];
      const lines = placed.reduce((sum, { memories }) => sum + memories.length, 0);
      const commit = await commitOf(stores, prepare, { scope, guards, placed });
      if (commit === null) return { answer: { lines, guards: distinct(guards) } };
      // The erasure relies on the versions that this commit writes.
      const after = commit.changed.map(versionOf);
      return { commit: commit.commit, answer: () => ({ lines, guards: distinct([...after, ...guards]) }) };
    }),
  );
}

interface PlacedMemory {
  readonly id: string;
  readonly line: string;
}

interface PlacedBlock {
  readonly block: Block;
  readonly memories: readonly PlacedMemory[];
}

async function readPlacements(
  { storage, payloads }: PromotionStores,
  scope: number,
  { from, to, has }: ErasedNumbers,
): Promise<readonly PlacedBlock[]> {
  const rows = await storage.query("memories.placements", { scope, after: from - 1, upTo: to });
  const found: PlacedBlock[] = [];
  for (const [id, placed] of Map.groupBy(
    rows.filter(({ no }) => has(no)),
    ({ block }) => block,
  )) {
    const [row] = await storage.query("block.get", { id });
    if (row === undefined) continue;
    const { block } = await storedBlock(payloads, row);
    found.push({ block, memories: placed.map(placedMemory) });
  }
  return found;
}

function placedMemory(row: PlacementRow): PlacedMemory {
  const { content } = decodeRow({ kind: "memory", memory: row.id }, row, { content: utf8 });
  return { id: row.id, line: lineFor(content) };
}

function versionOf({ id, version }: Block): Guard {
  return blockGuard(id, version);
}

/** A promotion that comes between would write a block of the agent, or the agent's list of them. */
async function agentGuards({ storage }: PromotionStores, agent: string): Promise<readonly Guard[]> {
  const [row] = await storage.query("agent.get", { id: agent });
  const blocks = await storage.query("blocks.load", { agent });
  return [
    userGuard({ agent, version: row?.version ?? null }),
    ...blocks.flatMap(({ id, version }) => (version === null ? [] : [blockGuard(id, version)])),
  ];
}

function distinct(guards: readonly Guard[]): readonly Guard[] {
  const first = new Map<string, Guard>();
  for (const guard of guards) {
    const key = JSON.stringify([guard.check, guard.key]);
    if (!first.has(key)) first.set(key, guard);
  }
  return [...first.values()];
}

interface WithdrawalPlan {
  readonly scope: number;
  readonly guards: readonly Guard[];
  readonly placed: readonly PlacedBlock[];
}

interface WithdrawalCommit {
  readonly commit: Commit;
  /** As they are after it. */
  readonly changed: readonly Block[];
}

/** null: no block has a line of them now. */
async function commitOf(
  { storage }: PromotionStores,
  prepare: Prepare,
  { scope, guards: known, placed }: WithdrawalPlan,
): Promise<WithdrawalCommit | null> {
  const at = storage.environment.now();
  const edits: Awaited<ReturnType<typeof writeVersion>>[] = [];
  const changed: Block[] = [];
  const guards: Guard[] = [scopeGuard(scope), ...known];
  const moves: Write[] = [];
  for (const { block, memories } of placed) {
    const lines = block.value.split("\n");
    const gone = memories.filter(({ line }) => lines.includes(line));
    if (gone.length === 0) continue;
    const erased = new Set(gone.map(({ line }) => line));
    const next = withValue(block, lines.filter((line) => !erased.has(line)).join("\n"), at);
    edits.push(await writeVersion(prepare, next, "promoted", null));
    changed.push(next);
    for (const { id } of gone) {
      const [row] = await storage.query("memory.get", { id, scope });
      if (row === undefined) continue;
      guards.push(versionGuard(row));
      moves.push(...changeRows(row, ["demoted"], at, block.id));
    }
  }
  if (changed.length === 0) return null;
  const commit: Commit = {
    guards: distinct(guards),
    blobs: edits.flatMap((edit) => edit.blobs),
    uses: edits.flatMap((edit) => edit.uses),
    writes: [...edits.flatMap((edit) => edit.writes), ...moves],
  };
  return { commit, changed };
}
