// What OpenCode on this machine has of the sessions that are to be restored, what to do with each, and what a target must do.
import { HoldfastError } from "../../contracts/errors.ts";
import type { ExportedSession } from "./export.ts";
import type { Row } from "./runner.ts";
import { listIn, type SessionRow, type TodoRow } from "./sql.ts";

export interface StoredOpenCodeSession extends SessionRow {
  readonly messageIds: readonly string[];
  readonly partIds: readonly string[];
  readonly todos: readonly TodoRow[];
}

/** Of a row of selectLocal. */
export function readLocalRow(row: Row): StoredOpenCodeSession {
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
export type RestoreAction = "new" | "fewer" | "moved" | "kept";

/** Conflict when here, too, it went on, with messages or parts that the capture does not have. */
export function chooseRestoreAction(
  session: ExportedSession,
  local: StoredOpenCodeSession | undefined,
  cwd: string,
): RestoreAction {
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
export function lastCommonMessage({ messageIds }: ExportedSession, local: StoredOpenCodeSession): string | undefined {
  const here = new Set(local.messageIds);
  return messageIds.findLast((id) => here.has(id));
}

export function without(ids: readonly string[], others: readonly string[]): readonly string[] {
  const known = new Set(others);
  return ids.filter((id) => !known.has(id));
}

/** What is still to be done when the program has imported what it must. */
export interface Completion {
  /** The directory of this machine that the sessions go on in. */
  readonly cwd: string;
  readonly rootId: string;
  /** Imported by the program. */
  readonly imported: readonly ExportedSession[];
  /** To be written as they are. Only a target that stored the root exactly gets any. */
  readonly unwritten: readonly ExportedSession[];
  readonly todos: ReadonlyMap<string, readonly TodoRow[]>;
  /** Sessions whose tasks here are out of date. */
  readonly staleTodos: readonly string[];
}

export interface RestoreTarget {
  /** By session id; `ids` are of sessions, or of messages whose sessions are wanted. */
  read(ids: readonly string[]): Promise<ReadonlyMap<string, StoredOpenCodeSession>>;
  /** Before a session that is here is imported: keeps what an undo needs. `last`: this message makes room for what became of it. */
  prepare(local: StoredOpenCodeSession, last: string | undefined): Promise<void>;
  /** Every message and part of it is here as it was captured. false: not, or that cannot be told. */
  hasExactly(session: ExportedSession): Promise<boolean>;
  complete(completion: Completion): Promise<void>;
  /** Sessions that were not here are not here again, and the others are as they were. */
  undo(touched: readonly ExportedSession[], before: ReadonlyMap<string, StoredOpenCodeSession>): Promise<void>;
}
