// How many rows of each kind a lineage holds: what the newest head counted, and what came after it.
import type { Counts } from "../contracts/heads.ts";
import type { HeadRow } from "../contracts/storage/lineage-queries.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { addCounts, NONE } from "../core/counts.ts";
import { rootOf } from "../core/head.ts";
import { currentLineage, type LinePosition, readCurrentLineage, type Segment } from "../core/lineage.ts";
import { countRows } from "./context-read.ts";

export interface LineageCounts {
  /** The newest head of the lineage, of whichever session. */
  readonly head: HeadRow | null;
  /** Since then. */
  readonly since: Counts;
  readonly counts: Counts;
}

/** What the lineage that ends at a position holds. No head is added behind a position: both reads see the same one. */
export async function countLineage(storage: Storage, { no, branch, seq }: LinePosition): Promise<LineageCounts> {
  const [head = null] = await storage.query("lineage.newestHead", { session: no, branch, upTo: seq });
  const [counted = NONE] = await storage.query("lineage.countsSince", { session: no, branch, upTo: seq });
  const since = addCounts(NONE, counted);
  return { head, since, counts: head === null ? since : addCounts(rootOf(head).counts, since) };
}

/** Messages that the session shows at its current position: of its line and of what it inherits, without what was cleared. */
export async function countShownMessages(storage: Storage, { id, messages }: SessionRow): Promise<number> {
  // One that never branched shows all that it has.
  if ((await readCurrentLineage(storage, id).take(2)).length <= 1) return messages;
  const [counted] = await storage.query("lineage.messages", { session: id });
  if (counted !== undefined && counted.clears === 0) return counted.n;
  return countMessages(storage, await currentLineage(storage, id));
}

/** Those of a lineage that are still there. */
export function countMessages(storage: Storage, lineage: readonly Segment[]): Promise<number> {
  const stretches = lineage.map((segment) => ({ segment, after: 0 }));
  return countRows(storage, { stretches, summary: undefined, over: [], agent: undefined, keepsErased: false });
}
