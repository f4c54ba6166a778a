// What this machine's OpenCode has of the sessions that are to be put back, and what that means for each of them.
import { HoldfastError } from "../../contracts/errors.ts";
import type { ExportedSession } from "./export.ts";
import type { Row } from "./runner.ts";
import { listIn, type SessionRow, type TodoRow } from "./sql.ts";

export interface LocalSession extends SessionRow {
  readonly messageIds: readonly string[];
  readonly partIds: readonly string[];
  readonly todos: readonly TodoRow[];
}

/** Of a row of selectLocal. */
export function localSession(row: Row): LocalSession {
  return {
    id: String(row.id),
    project_id: String(row.project_id),
    directory: String(row.directory),
    path: typeof row.path === "string" ? row.path : null,
    time_updated: Number(row.time_updated),
    messageIds: listIn(row.messages),
    partIds: listIn(row.parts),
    todos: listIn(row.todos),
  };
}

/**
 * new: it is not here. fewer: messages of it, or parts of them, are missing here. moved: all are here, in another
 * directory. kept: all are here, and maybe more.
 */
export type State = "new" | "fewer" | "moved" | "kept";

/** Conflict when here, too, it went on, with messages or parts that the capture does not have. */
export function judge(session: ExportedSession, local: LocalSession | undefined, cwd: string): State {
  if (local === undefined) return "new";
  const onlyHere = without(local.messageIds, session.messageIds).length;
  const onlyCaptured = without(session.messageIds, local.messageIds).length;
  const missingParts = without(session.partIds, local.partIds).length;
  // Where it went on here, a part that is missing is one that it did without.
  const hasAll = onlyCaptured === 0 && (missingParts === 0 || onlyHere > 0);
  if (hasAll) return local.directory === cwd ? "kept" : "moved";
  // Of an answer that was cut off here, the capture has the rest; what is here of it is among that.
  const isBehind = onlyCaptured > 0 || without(local.partIds, session.partIds).length === 0;
  if (onlyHere === 0 && isBehind) return "fewer";
  throw new HoldfastError(
    "Conflict",
    `the session ${session.id} went on here and elsewhere, each with other messages`,
    {
      details: { sessionId: session.id, onlyHere, onlyCaptured, missingParts },
      hint: "Nothing was changed. Go on with the one here, or delete it (`opencode session delete`) and restore again.",
    },
  );
}

/**
 * Of a session that is behind, all messages but the last are as they stayed; the last may not have been complete, so it makes room
 * for what became of it.
 */
export function lastHere({ messageIds }: ExportedSession, local: LocalSession): string | undefined {
  const here = new Set(local.messageIds);
  return messageIds.findLast((id) => here.has(id));
}

export function without(ids: readonly string[], others: readonly string[]): readonly string[] {
  const known = new Set(others);
  return ids.filter((id) => !known.has(id));
}
