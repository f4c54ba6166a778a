// Task boards. Every change is an event of the session's log that names tasks and counts, never titles or notes. A
// change of a task guards only that task, so agents that work on one board do not conflict. Adding tasks guards the
// board, and removing tasks guards each of them.
import { LIMITS } from "../contracts/limits.ts";
import type { EventDraft } from "../contracts/storage/commit.ts";
import type { BoardRow, TaskRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { Board, Task, Tasks } from "../contracts/tasks.ts";
import { TASK_VERBS } from "../contracts/verbs/tasks.ts";
import { limitExceeded } from "../core/check.ts";
import { decide } from "../core/decide.ts";
import type { SessionLookup } from "../core/session-lookup.ts";
import { refuseAlias } from "../core/session-lookup.ts";
import { bindVerbs } from "../core/verbs.ts";
import { createBoard, noBoard } from "./boards.ts";
import { boardColumns, boardGuard, boardOf, insertTasks, newTasks, putTask, taskGuard, taskOf } from "./rows.ts";
import { changedFields, meaningful, moveTo, retitle, retry, revive, settled } from "./transitions.ts";

export function createTasks(storage: Storage, lookup: SessionLookup): Tasks {
  return bindVerbs(TASK_VERBS, lookup, {
    create: (session, titles, options) => createBoard(storage, session, titles, options),
    get: (board) => readBoard(storage, board),
    root: (session) => rootBoard(storage, session),
    boards: (session) => allBoards(storage, session),
    move: (board, task, status, { note, from }) =>
      changeTask(storage, board, task, (one) => moveTo(one, status, note, from)),
    add: (board, titles) => addTasks(storage, board, meaningful(titles)),
    rename: (board, task, title) => changeTask(storage, board, task, (one) => retitle(one, title)),
    delete: (board, task) => deleteTask(storage, board, task),
    retry: (board, task) => changeTask(storage, board, task, (one, { max_retries }) => retry(one, max_retries)),
    forceRetry: (board, task) => changeTask(storage, board, task, revive),
    settle: (session, to, { agent }) => closeOpenTasks(storage, session, to, agent),
  });
}

async function readBoard(storage: Storage, id: string): Promise<Board | null> {
  const [[board], tasks] = await Promise.all([
    storage.query("board.get", { id }),
    storage.query("tasks.byBoard", { board: id }),
  ]);
  return board === undefined ? null : boardOf(board, tasks.map(taskOf));
}

async function rootBoard(storage: Storage, session: string): Promise<Board | null> {
  const boards = await storage.query("boards.bySession", { session });
  if (boards.length === 0) await refuseAlias(storage, session);
  const board = boards.find((one) => one.agent === "") ?? boards[0];
  if (board === undefined) return null;
  return boardOf(board, (await storage.query("tasks.byBoard", { board: board.id })).map(taskOf));
}

async function allBoards(storage: Storage, session: string): Promise<readonly Board[]> {
  const [boards, rows] = await Promise.all([
    storage.query("boards.bySession", { session }),
    storage.query("tasks.bySession", { session }),
  ]);
  if (boards.length === 0) await refuseAlias(storage, session);
  const tasks = Map.groupBy(rows, (row) => row.board_id);
  return boards.map((board) => boardOf(board, (tasks.get(board.id) ?? []).map(taskOf)));
}

/** `change` returns null if the change is not allowed, and the same task if there is nothing to write. */
async function changeTask(
  storage: Storage,
  boardId: string,
  id: string,
  change: (task: Task, board: BoardRow) => Task | null,
): Promise<Task | null> {
  return decide<Task | null>(storage, async () => {
    const { board, row } = await readTask(storage, boardId, id);
    if (board === undefined || row === undefined) return { answer: null };
    const task = taskOf(row);
    const next = change(task, board);
    if (next === null || next === task) return { answer: next };
    const at = storage.environment.now();
    const sessions = [{ id: board.session, mode: "existing", at }] as const;
    const events = [updateEvent(board.session, row, task, next, at)];
    return { commit: { sessions, guards: [taskGuard(row)], events }, answer: () => next };
  });
}

async function readTask(
  storage: Storage,
  boardId: string,
  id: string,
): Promise<{ board: BoardRow | undefined; row: TaskRow | undefined }> {
  const [[board], [row]] = await Promise.all([
    storage.query("board.get", { id: boardId }),
    storage.query("task.get", { board: boardId, task: id }),
  ]);
  return { board, row };
}

function updateEvent(session: string, row: TaskRow, before: Task, after: Task, at: number): EventDraft {
  return {
    session,
    type: "task/updated",
    at,
    data: {
      board: row.board_id,
      task: after.id,
      status: after.status,
      order: after.order,
      retryCount: after.retryCount,
      changed: changedFields(before, after),
    },
    writes: [putTask(row, after, at)],
  };
}

async function addTasks(storage: Storage, boardId: string, titles: readonly string[]): Promise<readonly Task[]> {
  return decide<readonly Task[]>(storage, async () => {
    const [board] = await storage.query("board.get", { id: boardId });
    if (board === undefined) throw noBoard(boardId);
    if (titles.length === 0) return { answer: [] };
    const old = await storage.query("tasks.byBoard", { board: boardId });
    const total = old.length + titles.length;
    if (total > LIMITS.tasksPerBoard) throw limitExceeded("tasksPerBoard", "the board in tasks", total);
    // Tasks keep their order numbers when others are deleted, so the next number follows the last task, not their
    // count.
    const tasks = newTasks(storage, titles, (old.at(-1)?.ord ?? -1) + 1);
    const at = storage.environment.now();
    const event: EventDraft = {
      session: board.session,
      type: "task/added",
      at,
      data: { board: boardId, tasks: tasks.map(({ id, order, status }) => ({ id, order, status })) },
      writes: [putNextBoard(board), ...insertTasks(boardId, tasks, at)],
    };
    const sessions = [{ id: board.session, mode: "existing", at }] as const;
    return { commit: { sessions, guards: [boardGuard(board)], events: [event] }, answer: () => tasks };
  });
}

function putNextBoard(board: BoardRow): NonNullable<EventDraft["writes"]>[number] {
  return { op: "put", table: "boards", row: boardColumns({ ...board, version: board.version + 1 }) };
}

async function deleteTask(storage: Storage, boardId: string, id: string): Promise<boolean> {
  return decide<boolean>(storage, async () => {
    const { board, row } = await readTask(storage, boardId, id);
    if (board === undefined || row === undefined) return { answer: false };
    const at = storage.environment.now();
    const event: EventDraft = {
      session: board.session,
      type: "task/removed",
      at,
      data: { board: boardId, task: id, status: row.status, order: row.ord, retryCount: row.retry_count },
      writes: [putNextBoard(board), { op: "remove", table: "tasks", row: { board_id: boardId, id } }],
    };
    const sessions = [{ id: board.session, mode: "existing", at }] as const;
    const guards = [boardGuard(board), taskGuard(row)];
    return { commit: { sessions, guards, events: [event] }, answer: () => true };
  });
}

async function closeOpenTasks(
  storage: Storage,
  session: string,
  to: "failed" | "planned",
  agent: string | undefined,
): Promise<number> {
  return decide(storage, async () => {
    const boards = await storage.query("boards.bySession", { session });
    if (boards.length === 0) await refuseAlias(storage, session);
    const chosen = new Set(boards.filter((one) => agent === undefined || one.agent === agent).map((one) => one.id));
    const at = storage.environment.now();
    const changes = (await storage.query("tasks.bySession", { session }))
      .filter((row) => chosen.has(row.board_id))
      .map((row) => ({ row, before: taskOf(row), after: settled(taskOf(row), to) }))
      .filter(({ before, after }) => before.status !== after.status);
    if (changes.length === 0) return { answer: 0 };
    const events = changes.map(({ row, before, after }) => updateEvent(session, row, before, after, at));
    const sessions = [{ id: session, mode: "existing", at }] as const;
    return {
      commit: { sessions, guards: changes.map(({ row }) => taskGuard(row)), events },
      answer: () => changes.length,
    };
  });
}
