// Decides what a restore does with each session, from the state that OpenCode on this machine has of it, and defines what a restore
// target must do.
import { HoldfastError } from "../../contracts/errors.ts";
import type { ExportedSession } from "./export.ts";
import type { Row } from "./runner.ts";
import { parseList, type SessionRow, type TodoRow } from "./sql.ts";

export interface StoredOpenCodeSession extends SessionRow {
  readonly messageIds: readonly string[];
  readonly partIds: readonly string[];
  readonly todos: readonly TodoRow[];
}

/** Reads a row that selectLocal() selected. */
export function readLocalRow(row: Row): StoredOpenCodeSession {
  return {
    id: String(row.id),
    project_id: String(row.project_id),
    directory: String(row.directory),
    path: typeof row.path === "string" ? row.path : null,
    time_updated: Number(row.time_updated),
    messageIds: parseList(row.messages),
    partIds: parseList(row.parts),
    todos: parseList(row.todos),
  };
}

/**
 * create: this machine does not have the session. complete: it lacks messages or parts of the session. move: it has all of them, for
 * another directory. keep: it has all of them, and maybe more.
 */
export type RestoreAction = "create" | "complete" | "move" | "keep";

/** Conflict when the session continued on this machine too, with messages or parts that the capture does not have. */
export function chooseRestoreAction(
  session: ExportedSession,
  local: StoredOpenCodeSession | undefined,
  cwd: string,
): RestoreAction {
  if (local === undefined) return "create";
  const onlyHere = idsNotIn(local.messageIds, session.messageIds).length;
  const onlyCaptured = idsNotIn(session.messageIds, local.messageIds).length;
  const missingParts = idsNotIn(session.partIds, local.partIds).length;
  // If the session continued here, OpenCode removed the parts that are missing here.
  const hasAll = onlyCaptured === 0 && (missingParts === 0 || onlyHere > 0);
  if (hasAll) return local.directory === cwd ? "keep" : "move";
  // If an answer was cut off here, the capture has all of its parts.
  const isBehind = onlyCaptured > 0 || idsNotIn(local.partIds, session.partIds).length === 0;
  if (onlyHere === 0 && isBehind) return "complete";
  throw new HoldfastError(
    "Conflict",
    `session ${session.id} continued on this machine and in the capture, with different messages`,
    {
      details: { sessionId: session.id, onlyHere, onlyCaptured, missingParts },
      hint: "Nothing was changed. Continue the session of this machine, or delete it (`opencode session delete`) and restore again.",
    },
  );
}

/**
 * The last message that both have. If this machine lacks messages, that one may be incomplete here, so the restore removes it and imports
 * it again; all messages before it are final.
 */
export function lastCommonMessage({ messageIds }: ExportedSession, local: StoredOpenCodeSession): string | undefined {
  const here = new Set(local.messageIds);
  return messageIds.findLast((id) => here.has(id));
}

export function idsNotIn(ids: readonly string[], others: readonly string[]): readonly string[] {
  const known = new Set(others);
  return ids.filter((id) => !known.has(id));
}

/** The changes that a target makes after OpenCode's program has imported its sessions. */
export interface Completion {
  /** The directory of this machine in which the sessions continue. */
  readonly cwd: string;
  readonly rootId: string;
  /** Sessions that the program imported. */
  readonly imported: readonly ExportedSession[];
  /** Sessions that the target writes itself. Only a target that stored the root session exactly gets any. */
  readonly unwritten: readonly ExportedSession[];
  readonly todos: ReadonlyMap<string, readonly TodoRow[]>;
  /** Ids of sessions with outdated tasks on this machine. */
  readonly staleTodos: readonly string[];
}

export interface RestoreTarget {
  /** Returns sessions by id. An id in `ids` is that of a session, or of a message of the session. */
  read(ids: readonly string[]): Promise<ReadonlyMap<string, StoredOpenCodeSession>>;
  /** Call it before an existing session is imported: it keeps what undo() needs, and removes the message `last`, if one is given. */
  prepare(local: StoredOpenCodeSession, last: string | undefined): Promise<void>;
  /** Whether every message and part is stored as it was captured; false also when the target cannot tell. */
  hasExactly(session: ExportedSession): Promise<boolean>;
  complete(completion: Completion): Promise<void>;
  /** Removes the sessions that the restore added, and resets the others to their state before. */
  undo(touched: readonly ExportedSession[], before: ReadonlyMap<string, StoredOpenCodeSession>): Promise<void>;
}
