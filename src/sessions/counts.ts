// How many rows of each kind a lineage holds: what the newest head counted, and what came after it.
import type { Counts } from "../contracts/lineage.ts";
import type { HeadRow } from "../contracts/lineage-queries.ts";
import type { SessionRow } from "../contracts/queries.ts";
import type { Storage } from "../contracts/storage.ts";
import { addCounts, NONE } from "../core/counts.ts";
import { rootOf } from "../core/head.ts";
import { currentLineage, type Segment } from "../core/lineage.ts";
import { countRows } from "./context-read.ts";

export interface Standing {
  /** The newest head of the lineage, of whichever session. */
  readonly head: HeadRow | null;
  /** Since then. */
  readonly since: Counts;
  readonly counts: Counts;
}

/** Where a lineage stands, given from its newest stretch on. */
export async function standing(storage: Storage, lineage: readonly Segment[]): Promise<Standing> {
  let since = NONE;
  for (const { no, branch, upTo } of lineage) {
    const [head] = await storage.query("head.before", no, branch, upTo);
    const [counted] = await storage.query("lineage.counts", no, branch, head?.seq ?? 0, upTo);
    since = addCounts(since, counted ?? NONE);
    if (head !== undefined) return { head, since, counts: addCounts(rootOf(head).counts, since) };
  }
  return { head: null, since, counts: since };
}

/** Messages that the session shows where it stands: of its line and of what it inherits, without what was cleared. */
export async function shownMessages(storage: Storage, { id, messages }: SessionRow): Promise<number> {
  const lineage = await currentLineage(storage, id);
  // One that never branched shows all that it has.
  return lineage.length <= 1 ? messages : countMessages(storage, lineage);
}

/** Those of a lineage that are still there. */
export function countMessages(storage: Storage, lineage: readonly Segment[]): Promise<number> {
  const stretches = lineage.map((segment) => ({ segment, after: 0 }));
  return countRows(storage, { stretches, summary: undefined, over: [], agent: undefined, keepsErased: false });
}
