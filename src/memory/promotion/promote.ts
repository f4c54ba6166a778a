// Promotes memories into core blocks. A promotion, with the new versions of the blocks and a change of each memory that came or went, is
// one commit, guarded by the versions that it was decided on. The changes of memories are the record of what is where.

import { withValue, writeVersion } from "../../agents/edits.ts";
import { blockGuard } from "../../agents/sharing.ts";
import type { Block } from "../../contracts/agents.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { MemoryChange } from "../../contracts/memory.ts";
import type {
  DemotedMemory,
  PromotionBlock,
  PromotionExplanation,
  PromotionReport,
} from "../../contracts/promotion.ts";
import type { Write } from "../../contracts/storage/commit.ts";
import type { MemoryRow } from "../../contracts/storage/memory-queries.ts";
import type { Payloads, Prepare } from "../../contracts/storage/payloads.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import { type Decision, decide } from "../../core/decide.ts";
import { insertChange, isExpired, putMemory, versionGuard, writable } from "../rows.ts";
import { findScope, type NamedScope, noMemory, scopeGuard } from "../scopes.ts";
import { findOtherNamespace, otherNamespace } from "./other-namespaces.ts";
import { type BlockPlan, type Candidate, planBlock } from "./plan.ts";
import { NEEDED_SCORE, scoreMemory, shownScore } from "./score.ts";
import { readSituation, type Situation, type TrackedMemory } from "./situation.ts";

export interface PromotionStores {
  readonly storage: Storage;
  readonly payloads: Payloads;
}

const NOTHING: PromotionReport = { promoted: [], demoted: [], kept: 0, blocks: [] };

export async function promoteMemories(
  stores: PromotionStores,
  scope: NamedScope,
  isDryRun: boolean,
): Promise<PromotionReport> {
  const report = await change(stores, scope, async (situation) => {
    const plans = situation.blocks.map(({ block, label }) => ({
      block,
      label,
      plan: planBlock(block.value, block.limit, candidatesFor(situation, label)),
    }));
    return { plans, isDryRun };
  });
  return report ?? NOTHING;
}

export async function undoPromotion(stores: PromotionStores, scope: NamedScope): Promise<PromotionReport> {
  const report = await change(stores, scope, async (situation) => {
    const last = lastPromotion(situation);
    if (last.length === 0) throw nothingToUndo(scope);
    const undone = new Set(last.map(({ row }) => row.id));
    const { memories, at } = situation;
    const expired = new Set(memories.filter(({ row }) => isExpired(row, at)).map(({ row }) => row.id));
    const plans = situation.blocks.map(({ block, label }) => {
      const all = candidatesFor(situation, label);
      // What is in the block and was not changed by the promotion stays as it is.
      const candidates = all.flatMap((one): Candidate[] => {
        // No read finds what has expired: its line does not come back.
        const excluded = expired.has(one.id) ? "ended" : null;
        if (undone.has(one.id)) return [{ ...one, isPinned: true, excluded: one.isInBlock ? "undone" : excluded }];
        return one.isInBlock ? [{ ...one, isPinned: true, excluded }] : [];
      });
      return { block, label, plan: planBlock(block.value, block.limit, candidates) };
    });
    return { plans, isDryRun: false, isUndo: true };
  });
  if (report === null) throw nothingToUndo(scope);
  return report;
}

/** The memories that the newest promotion moved, and that were not moved since. */
function lastPromotion({ memories }: Situation): readonly TrackedMemory[] {
  const moved = memories.filter(({ moved: last }) => last !== null && last.change !== "withdrawn");
  const newest = Math.max(...moved.map(({ moved: last }) => last?.at ?? 0));
  return moved.filter(({ moved: last }) => last?.at === newest);
}

function nothingToUndo({ agent, namespace }: NamedScope): HoldfastError {
  return new HoldfastError("Conflict", `there is no promotion of the agent ${JSON.stringify(agent)} to take back`, {
    details: { agent, namespace },
    hint: "memory.history() lists the changes of a memory, agents.blockVersions() those of a block.",
  });
}

interface PlannedBlock {
  readonly block: Block;
  readonly label: PromotionBlock;
  readonly plan: BlockPlan;
}

interface PlannedPromotion {
  readonly plans: readonly PlannedBlock[];
  readonly isDryRun: boolean;
  readonly isUndo?: boolean;
}

/** null: promotion is off, because the agent has no such blocks or no memories. */
async function change(
  { storage, payloads }: PromotionStores,
  named: NamedScope,
  plan: (situation: Situation) => Promise<PlannedPromotion>,
): Promise<PromotionReport | null> {
  const scope = await findScope(storage, named);
  if (scope === null) return null;
  return payloads.preparing((prepare) =>
    decide<PromotionReport | null>(storage, async () => {
      const situation = await readSituation({ storage, payloads }, named.agent, scope);
      if (situation.blocks.length === 0) return { answer: null };
      const { plans, isDryRun, isUndo = false } = await plan(situation);
      for (const one of plans) await refuseOtherNamespaces(storage, named, one);
      const report = reportOf(plans);
      const isSame = report.promoted.length + report.demoted.length === 0;
      if (isSame || isDryRun) return { answer: report };
      return commitOf(prepare, { situation, scope, plans, isUndo, report });
    }),
  );
}

/** The block's guard holds until the commit that no other promotion came between. */
async function refuseOtherNamespaces(
  storage: Storage,
  { agent, namespace }: NamedScope,
  { block, label, plan }: PlannedBlock,
): Promise<void> {
  if (plan.promoted.length === 0) return;
  const other = await findOtherNamespace(storage, block, namespace);
  if (other !== null) throw otherNamespace(label, agent, other, namespace);
}

interface PromotionCommit {
  readonly situation: Situation;
  readonly scope: number;
  readonly plans: readonly PlannedBlock[];
  readonly isUndo: boolean;
  readonly report: PromotionReport;
}

async function commitOf(
  prepare: Prepare,
  { situation, scope, plans, isUndo, report }: PromotionCommit,
): Promise<Decision<PromotionReport>> {
  const { at } = situation;
  const changed = plans.filter(({ block, plan }) => plan.value !== block.value);
  const edits = await Promise.all(
    changed.map(({ block, plan }) => writeVersion(prepare, withValue(block, plan.value, at), "promoted", null)),
  );
  const rows = new Map(situation.memories.map(({ row }) => [row.id, row]));
  const moves = plans.flatMap(({ block, plan }) => movesOf(plan, block.id, isUndo));
  const touched = moves.flatMap(({ id }) => rows.get(id) ?? []);
  const commit = {
    guards: [
      scopeGuard(scope),
      ...touched.map(versionGuard),
      ...plans.map(({ block }) => blockGuard(block.id, block.version)),
    ],
    blobs: edits.flatMap((edit) => edit.blobs),
    uses: edits.flatMap((edit) => edit.uses),
    writes: [
      ...edits.flatMap((edit) => edit.writes),
      ...moves.flatMap(({ id, changes, block }) => {
        const row = rows.get(id);
        return row === undefined ? [] : changeRows(row, changes, at, block);
      }),
    ],
  };
  return { commit, answer: () => report };
}

type ChangeKind = MemoryChange["change"];

interface MemoryMove {
  readonly id: string;
  readonly block: string;
  readonly changes: readonly ChangeKind[];
}

function movesOf(plan: BlockPlan, block: string, isUndo: boolean): readonly MemoryMove[] {
  return [
    ...plan.promoted.map(({ id }) => ({
      id,
      block,
      changes: isUndo ? (["promoted", "pinned"] as const) : (["promoted"] as const),
    })),
    ...plan.demoted.map(({ candidate, reason }) => ({
      id: candidate.id,
      block,
      changes: [reason === "undone" || reason === "edited" ? ("withdrawn" as const) : ("demoted" as const)],
    })),
  ];
}

/** Each change is a version of the memory. */
export function changeRows(
  row: MemoryRow,
  changes: readonly ChangeKind[],
  at: number,
  by: string | null,
): readonly Write[] {
  const next = { ...writable(row), version: row.version + changes.length };
  return [
    putMemory(next),
    ...changes.map((change, i) => insertChange({ id: row.id, version: row.version + i + 1 }, { change, at, by })),
  ];
}

function reportOf(plans: readonly PlannedBlock[]): PromotionReport {
  return {
    promoted: plans.flatMap(({ label, plan }) =>
      plan.promoted.map(({ id, score }) => ({ memory: id, block: label, score: shownScore(score) })),
    ),
    demoted: plans.flatMap(({ label, plan }) =>
      plan.demoted.map(({ candidate: { id, score }, reason }): DemotedMemory => {
        return { memory: id, block: label, score: shownScore(score), reason };
      }),
    ),
    kept: plans.reduce((sum, { plan }) => sum + plan.kept.length + plan.promoted.length, 0),
    blocks: plans
      .filter(({ block, plan }) => plan.value !== block.value)
      .map(({ label, block }) => ({ label, version: block.version + 1 })),
  };
}

function candidatesFor({ memories, blocks, at }: Situation, label: PromotionBlock): readonly Candidate[] {
  const block = blocks.find((one) => one.label === label)?.block;
  return memories
    .filter((one) => one.label === label || (one.blockId !== null && one.blockId === block?.id))
    .map((one): Candidate => {
      const isInBlock = one.blockId !== null && one.blockId === block?.id;
      const { score } = scoreMemory(one.memory, at, isInBlock);
      const { isPinned, line, row } = one;
      const excluded = exclusionOf(one, score);
      return { id: row.id, line, score, isPinned, isInBlock, excluded, supersededBy: row.superseded_by };
    });
}

function exclusionOf(
  { isHolding, isPinned, isWithdrawn }: TrackedMemory,
  score: number,
): DemotedMemory["reason"] | null {
  if (!isHolding) return "ended";
  if (isPinned) return null;
  if (isWithdrawn) return "edited";
  return score < NEEDED_SCORE ? "score" : null;
}

export async function explainPromotion(
  stores: PromotionStores,
  scope: NamedScope,
  id: string,
): Promise<PromotionExplanation> {
  const no = await findScope(stores.storage, scope);
  const situation = no === null ? null : await readSituation(stores, scope.agent, no);
  const tracked = situation?.memories.find(({ row }) => row.id === id);
  if (situation === null || tracked === undefined) throw noMemory(scope, id);
  const { label, isPinned, memory } = tracked;
  const held = situation.blocks.find(
    ({ block }) => block.id === tracked.blockId && block.value.split("\n").includes(tracked.line),
  );
  const { score, signals } = scoreMemory(memory, situation.at, held !== undefined);
  return {
    memory: id,
    block: held?.label ?? null,
    pinned: isPinned,
    score: shownScore(score),
    needed: shownScore(NEEDED_SCORE),
    signals,
    reason: reasonFor(situation, tracked, label, await otherOf(stores, scope, situation, label)),
  };
}

async function otherOf(
  { storage }: PromotionStores,
  { namespace }: NamedScope,
  { blocks }: Situation,
  label: PromotionBlock,
): Promise<string | null> {
  const block = blocks.find((one) => one.label === label)?.block;
  return block === undefined ? null : findOtherNamespace(storage, block, namespace);
}

/** `other`: the namespace whose lines the block has. */
function reasonFor(situation: Situation, tracked: TrackedMemory, label: PromotionBlock, other: string | null): string {
  const target = situation.blocks.find((one) => one.label === label);
  if (target === undefined)
    return `The agent has no block ${label} that can be edited, where a ${tracked.memory.kind} belongs.`;
  const plan = planBlock(target.block.value, target.block.limit, candidatesFor(situation, label));
  const has = (list: readonly Candidate[]) => list.some(({ id }) => id === tracked.row.id);
  if (has(plan.kept))
    return tracked.isPinned
      ? `It is in the block ${label}, pinned.`
      : `It is in the block ${label}, and its score keeps it there.`;
  if (has(plan.promoted) && other !== null)
    return `The block ${label} has lines of the namespace ${JSON.stringify(other)}, and takes none of another one.`;
  if (has(plan.promoted)) return `The next promotion puts it into the block ${label}.`;
  if (has(plan.crowded)) return `The block ${label} has no room for it beside lines that come first.`;
  if (!tracked.isHolding) return "It does not hold any more: it was superseded, has ended, or has not begun.";
  const excluded = exclusionOf(
    tracked,
    scoreMemory(tracked.memory, situation.at, tracked.blockId === target.block.id).score,
  );
  if (excluded === "edited") return `It left the block ${label} and stays out until it is confirmed again or pinned.`;
  if (excluded === "score") return `Its score is too low for the block ${label}.`;
  return `The block ${label} has a line with the same words.`;
}

/** Pins the memory, or ends that; false: it is so already. */
export async function setPin(
  stores: PromotionStores,
  scope: NamedScope,
  id: string,
  isPinned: boolean,
): Promise<boolean> {
  const { storage } = stores;
  return decide(storage, async () => {
    const no = await findScope(storage, scope);
    const situation = no === null ? null : await readSituation(stores, scope.agent, no);
    const tracked = situation?.memories.find(({ row }) => row.id === id);
    if (no === null || situation === null || tracked === undefined) throw noMemory(scope, id);
    if (tracked.isPinned === isPinned) return { answer: false };
    if (isPinned && tracked.row.superseded_by !== null) {
      throw new HoldfastError("Conflict", `memory ${id} was superseded, and no promotion puts it into a block`, {
        hint: `Pin ${tracked.row.superseded_by}, which took its place, or bring the memory back with memory.undo() first.`,
        details: { memory: id, supersededBy: tracked.row.superseded_by },
      });
    }
    const writes = changeRows(tracked.row, [isPinned ? "pinned" : "unpinned"], situation.at, null);
    return { commit: { guards: [scopeGuard(no), versionGuard(tracked.row)], writes }, answer: () => true };
  });
}
