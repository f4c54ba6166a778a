// What this machine's OpenCode has of the sessions that are to be put back, what that means for each of them, and how all
// of it becomes again what it was.
import { readFile } from "node:fs/promises";
import { HoldfastError } from "../../contracts/errors.ts";
import { type ExportedSession, parse, readExport } from "./export.ts";
import { failed, type OpenCode, type Row } from "./runner.ts";
import {
  deleteRows,
  deleteSessions,
  deleteTodos,
  fitting,
  insertTodos,
  type SessionRow,
  selectLocal,
  type TodoRow,
  updateSession,
} from "./sql.ts";

export interface LocalSession extends SessionRow {
  readonly messageIds: readonly string[];
  readonly partIds: readonly string[];
  readonly todos: readonly TodoRow[];
}

/** By session id; `ids` are of sessions, or of messages whose sessions are wanted. */
export async function readLocal(runner: OpenCode, ids: readonly string[]): Promise<ReadonlyMap<string, LocalSession>> {
  const local = new Map<string, LocalSession>();
  for (const list of fitting(ids)) {
    for (const row of await runner.rows(selectLocal(list))) local.set(String(row.id), localSession(row));
  }
  return local;
}

function localSession(row: Row): LocalSession {
  return {
    id: String(row.id),
    project_id: String(row.project_id),
    directory: String(row.directory),
    path: typeof row.path === "string" ? row.path : null,
    time_updated: Number(row.time_updated),
    messageIds: listOf(row.messages),
    partIds: listOf(row.parts),
    todos: listOf(row.todos),
  };
}

function listOf<T>(column: unknown): T[] {
  const list: unknown = parse(String(column));
  if (!Array.isArray(list)) throw failed(["db"], "it printed no rows");
  return list;
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

/** These sessions have these tasks and no others. */
export async function writeTodos(
  runner: OpenCode,
  todos: ReadonlyMap<string, readonly TodoRow[]>,
  clear: readonly string[],
): Promise<void> {
  for (const list of fitting(clear)) await runner.rows(deleteTodos(list));
  const rows = [...todos].flatMap(([session_id, list]) => list.map((row) => ({ session_id, ...row })));
  for (const list of fitting(rows)) await runner.rows(insertTodos(list));
}

/**
 * An import does not change what is there. Of a session that is behind, all messages but the last are as they stayed;
 * the last may not have been complete, so it makes room for what became of it. What was there is in the file.
 */
export async function makeRoom(
  runner: OpenCode,
  session: ExportedSession,
  local: LocalSession,
  file: string,
): Promise<void> {
  const last = lastHere(session, local);
  if (last === undefined) return;
  await runner.toFile(["export", session.id], file);
  const copy = readExport(await readFile(file, "utf8"), session.id);
  if ("wrong" in copy) throw failed(["export", session.id], copy.wrong);
  await runner.rows(deleteRows("message", session.id, [last]));
}

function lastHere({ messageIds }: ExportedSession, local: LocalSession): string | undefined {
  const here = new Set(local.messageIds);
  return messageIds.findLast((id) => here.has(id));
}

/** Sessions that were not here are not here again, and the others are as they were. */
export async function rollBack(
  runner: OpenCode,
  touched: readonly ExportedSession[],
  before: ReadonlyMap<string, LocalSession>,
  copyOf: (id: string) => string,
): Promise<void> {
  const added = touched.filter(({ id }) => !before.has(id)).map(({ id }) => id);
  for (const list of fitting(added)) await runner.rows(deleteSessions(list));
  for (const session of touched) {
    const was = before.get(session.id);
    if (was === undefined) continue;
    const copy = await readFile(copyOf(was.id), "utf8").catch(() => null);
    const last = copy === null ? undefined : lastHere(session, was);
    const messages = [...without(session.messageIds, was.messageIds), ...(last === undefined ? [] : [last])];
    for (const list of fitting(messages)) await runner.rows(deleteRows("message", was.id, list));
    const parts = without(session.partIds, was.partIds);
    for (const list of fitting(parts)) await runner.rows(deleteRows("part", was.id, list));
    if (last !== undefined) await runner.text(["import", copyOf(was.id)]);
    const { id, project_id, directory, path, time_updated } = was;
    await runner.rows(updateSession({ id, project_id, directory, path, time_updated }));
    await writeTodos(runner, new Map([[id, was.todos]]), [id]);
  }
}

function without(ids: readonly string[], others: readonly string[]): readonly string[] {
  const known = new Set(others);
  return ids.filter((id) => !known.has(id));
}
