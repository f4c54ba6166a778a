// The position of a branch after an event, computed from what the event writes: its newest head, and the number of rows
// since. If it cannot be computed, the position is unknown, and the commit that publishes the next head counts the
// rows.
import type { Counts } from "../../contracts/heads.ts";
import type { Commit, EventDraft, Write } from "../../contracts/storage/commit.ts";
import type { StatementName } from "../../contracts/storage/statement-names.ts";
import { addCounts, NONE } from "../../core/counts.ts";
import type { BranchPosition, NewestHead } from "../../core/head.ts";

/** Neither rows that heads count nor heads. */
const UNCOUNTED_STATEMENTS: ReadonlySet<StatementName> = new Set<StatementName>([
  ...(["run.move", "run.goOn", "run.beat", "run.admit", "signal.take", "decision.answer", "session.headTo"] as const),
]);

export function branchPositionAfter(
  before: BranchPosition | undefined,
  draft: EventDraft,
  published: NewestHead | undefined,
): BranchPosition | undefined {
  if (draft.branches === true) return undefined;
  if (draft.head !== undefined && published !== undefined) {
    return { head: published, since: NONE };
  }
  if (before === undefined) return undefined;
  let since = draft.message === undefined ? before.since : addCounts(before.since, { messages: 1 });
  for (const write of draft.writes ?? []) {
    const added = rowsAddedBy(write);
    if (added === null) return undefined;
    if (added !== NONE) since = addCounts(since, added);
  }
  return since === before.since ? before : { head: before.head, since };
}

/** Rows of later versions carry the seq of the first one, and are not counted again. null: unknown. */
function rowsAddedBy(write: Write): Partial<Counts> | null {
  if (write.op === "run") return UNCOUNTED_STATEMENTS.has(write.statement) ? NONE : null;
  if (write.op !== "insert") return null;
  const { table } = write;
  switch (table) {
    case "snapshots":
      return { snapshots: 1 };
    case "turns":
    case "evals":
    case "calls":
    case "invocations":
      return typeof write.row.first_seq === "object" ? { [table]: 1 } : NONE;
    case "heads":
    case "events":
    case "branches":
      return null;
    default:
      return NONE;
  }
}

/** Whether all that a commit does to its sessions' standing is done by its events. */
export function changesOnlyByEvents({ writes = [], replaces, restores }: Commit): boolean {
  if (replaces !== undefined || restores !== undefined) return false;
  for (const write of writes) if (rowsAddedBy(write) !== NONE) return false;
  return true;
}
