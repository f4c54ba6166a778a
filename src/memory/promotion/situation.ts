// What a promotion is decided on: the agent's blocks, the memories of the scope, and what earlier promotions did with them.

import { storedBlock } from "../../agents/rows.ts";
import type { Block } from "../../contracts/agents.ts";
import type { Memory } from "../../contracts/memory.ts";
import type { PromotionBlock } from "../../contracts/promotion.ts";
import type { MemoryChangeRow, MemoryRow } from "../../contracts/storage/memory-queries.ts";
import type { Payloads } from "../../contracts/storage/payloads.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import { TimeSlice } from "../../core/time-slice.ts";
import { isExpired, memoryOf } from "../rows.ts";
import { lineFor } from "./plan.ts";
import { blockFor } from "./score.ts";

const LABELS = ["facts", "goals", "scratch"] as const satisfies readonly PromotionBlock[];

export interface TrackedMemory {
  readonly row: MemoryRow;
  readonly memory: Memory;
  readonly line: string;
  /** The block where it belongs by its kind. */
  readonly label: PromotionBlock;
  readonly isHolding: boolean;
  readonly isPinned: boolean;
  /** The block into which its last promotion put it; null: it is in none. */
  readonly blockId: string | null;
  /** It was taken out of its block by hand, and was not confirmed since. */
  readonly isWithdrawn: boolean;
  /** The last time it came into a block or left one. */
  readonly moved: MemoryChangeRow | null;
}

export interface Situation {
  readonly at: number;
  /** Only those that can be edited. */
  readonly blocks: readonly { readonly label: PromotionBlock; readonly block: Block }[];
  /** Also those that do not hold any more, because their lines may still be in blocks. */
  readonly memories: readonly TrackedMemory[];
}

const PAGE = 1000;
/** Also expired ones: nothing has expired at the time 0. */
const EVERY = { now: 0, kind: null, all: 1 };

export async function readSituation(
  { storage, payloads }: { readonly storage: Storage; readonly payloads: Payloads },
  agent: string,
  scope: number,
): Promise<Situation> {
  const at = storage.environment.now();
  const found = await Promise.all(
    (await storage.query("blocks.load", { agent })).map((row) => storedBlock(payloads, row)),
  );
  const blocks = LABELS.flatMap((label) => {
    const block = found.find((one) => one.block.label === label)?.block;
    return block === undefined || block.readOnly ? [] : [{ label, block }];
  });
  const slice = new TimeSlice(storage.environment);
  const memories: TrackedMemory[] = [];
  for (let last = 0; ; ) {
    const rows = await storage.query("memories.list.oldest", { ...EVERY, scope, last, limit: PAGE });
    const upTo = rows.at(-1)?.no ?? last;
    const found = await storage.query("memories.promotions", { scope, after: last, upTo });
    const changes = Map.groupBy(found, ({ memory_id: id }) => id);
    for (const row of rows) {
      if (slice.isSpent) await slice.pause();
      const own = (changes.get(row.id) ?? []).toSorted((a, b) => a.version - b.version);
      memories.push(trackMemory(row, own, at));
    }
    if (rows.length < PAGE) return { at, blocks, memories };
    last = upTo;
  }
}

/** `changes`: the last of each kind that matters for promotion, oldest first. */
function trackMemory(row: MemoryRow, changes: readonly MemoryChangeRow[], at: number): TrackedMemory {
  const memory = memoryOf(row);
  let isPinned = false;
  let isWithdrawn = false;
  let moved: MemoryChangeRow | null = null;
  for (const one of changes) {
    const { change } = one;
    if (change === "pinned" || change === "unpinned") isPinned = change === "pinned";
    else if (change === "saved" || change === "touched") isWithdrawn = false;
    else {
      moved = one;
      isWithdrawn = change === "withdrawn";
    }
  }
  return {
    row,
    memory,
    line: lineFor(memory.content),
    label: blockFor(memory.kind),
    isHolding: isHolding(row, at),
    isPinned,
    blockId: moved?.change === "promoted" ? moved.by_id : null,
    isWithdrawn,
    moved,
  };
}

function isHolding(row: MemoryRow, at: number): boolean {
  const end = Math.min(row.valid_to ?? Number.POSITIVE_INFINITY, row.superseded_from ?? Number.POSITIVE_INFINITY);
  return !isExpired(row, at) && row.valid_from <= at && at < end;
}
