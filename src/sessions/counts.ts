// Counts the rows of each kind in a lineage: those that the newest head counted, plus the later ones.
import type { Counts } from "../contracts/heads.ts";
import type { HeadRow } from "../contracts/storage/lineage-queries.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { addCounts, NONE } from "../core/counts.ts";
import { rootOf } from "../core/head.ts";
import { currentLineage, type LineageStretch, type LinePosition, readCurrentLineage } from "../core/lineage.ts";
import { countRows } from "./context-read.ts";

export interface LineageCounts {
  /** The newest head of the lineage, of whichever session. */
  readonly head: HeadRow | null;
  /** The rows after that head. */
  readonly since: Counts;
  readonly counts: Counts;
}

/**
 * Counts the lineage that ends at a position. No head can be added before the position, so both reads use the same
 * head.
 */
export async function countLineage(storage: Storage, { no, branch, seq }: LinePosition): Promise<LineageCounts> {
  const [head = null] = await storage.query("lineage.newestHead", { session: no, branch, upTo: seq });
  const [counted = NONE] = await storage.query("lineage.countsSince", { session: no, branch, upTo: seq });
  const since = addCounts(NONE, counted);
  return { head, since, counts: head === null ? since : addCounts(rootOf(head).counts, since) };
}

/** The number of messages that the session shows now: those on its line and those it inherits, without cleared ones. */
export async function countShownMessages(storage: Storage, { id, messages }: SessionRow): Promise<number> {
  // A session that never branched shows all its messages.
  if ((await readCurrentLineage(storage, id).take(2)).length <= 1) return messages;
  const [counted] = await storage.query("lineage.messages", { session: id });
  if (counted !== undefined && counted.clears === 0) return counted.n;
  return countMessages(storage, await currentLineage(storage, id));
}

/** Counts the messages of a lineage that were not erased. */
export function countMessages(storage: Storage, lineage: readonly LineageStretch[]): Promise<number> {
  const stretches = lineage.map((stretch) => ({ stretch, after: 0 }));
  return countRows(storage, { stretches, summary: undefined, over: [], agent: undefined, keepsErased: false });
}
