// Task boards. Every change is an event of the conversation's log that names tasks and counts, never titles or notes.
// A change of a task guards that task alone, so agents working at once on one board do not stand in each other's way;
// a change of which tasks there are guards the board, and taking tasks away guards each of them.
import { LIMITS } from "../contracts/limits.ts";
import type { BoardRow, TaskRow } from "../contracts/queries.ts";
import type { EventDraft, Storage } from "../contracts/storage.ts";
import { TASK_STATUSES, type Task, type TaskList, type Tasks } from "../contracts/tasks.ts";
import { checkId, checkOneOf, checkRecord, checkText, invalid, limitExceeded } from "../core/check.ts";
import { decide } from "../core/decide.ts";
import { refuseAlias } from "../core/existing.ts";
import type { ResolveSessionId } from "../core/locate.ts";
import { checkAgent, checkTitles, createBoard, noBoard } from "./boards.ts";
import { boardColumns, boardGuard, boardOf, insertTasks, newTasks, putTask, taskGuard, taskOf } from "./rows.ts";
import { changedFields, moveTo, retitle, retry, revive, settled } from "./transitions.ts";

export function createTasks(storage: Storage, resolveSessionId: ResolveSessionId): Tasks {
  // Boards belong to a session as a whole, whatever line it is on.
  const session = async (conversation: string) =>
    resolveSessionId(checkId(conversation, "conversationId"), "boards are kept", "Name the session without the head.");
  return {
    createTaskList: (conversation, titles, options) => createBoard(storage, session, conversation, titles, options),
    getTaskList: (id) => readBoard(storage, id),
    getByConversation: async (conversation) => mainBoard(storage, await session(conversation)),
    getBoardsByConversation: async (conversation) => allBoards(storage, await session(conversation)),
    updateStatus: async (list, task, status, note, options) => {
      const to = checkOneOf(status, "status", TASK_STATUSES);
      const text = note === undefined ? "" : checkText(note, "note", "noteBytes");
      const given = checkRecord(options, "options", ["from"]).from;
      const from = given === undefined ? undefined : checkOneOf(given, "from", TASK_STATUSES);
      return changeTask(storage, list, task, (one) => moveTo(one, to, text, from));
    },
    addTasks: (list, titles) => addTasks(storage, list, titles),
    deleteTask: (list, task) => deleteTask(storage, list, task),
    incrementRetry: (list, task) => changeTask(storage, list, task, (one, board) => retry(one, board.max_retries)),
    forceRetry: (list, task) => changeTask(storage, list, task, revive),
    updateTaskTitle: async (list, task, title) => {
      const text = checkText(title, "title", "titleBytes");
      if (text.trim() === "") throw invalid("title", "a text that is not blank", title);
      return changeTask(storage, list, task, (one) => retitle(one, text));
    },
    settle: async (conversation, to, options) => settle(storage, await session(conversation), to, options),
  };
}

async function readBoard(storage: Storage, taskListId: string): Promise<TaskList | null> {
  const id = checkId(taskListId, "taskListId");
  const [[board], tasks] = await Promise.all([storage.query("board.get", id), storage.query("tasks.byBoard", id)]);
  return board === undefined ? null : boardOf(board, tasks.map(taskOf));
}

async function mainBoard(storage: Storage, session: string): Promise<TaskList | null> {
  const boards = await storage.query("boards.bySession", session);
  if (boards.length === 0) await refuseAlias(storage, session);
  const board = boards.find((one) => one.agent === "") ?? boards[0];
  if (board === undefined) return null;
  return boardOf(board, (await storage.query("tasks.byBoard", board.id)).map(taskOf));
}

async function allBoards(storage: Storage, session: string): Promise<readonly TaskList[]> {
  const [boards, rows] = await Promise.all([
    storage.query("boards.bySession", session),
    storage.query("tasks.bySession", session),
  ]);
  if (boards.length === 0) await refuseAlias(storage, session);
  const tasks = Map.groupBy(rows, (row) => row.board_id);
  return boards.map((board) => boardOf(board, (tasks.get(board.id) ?? []).map(taskOf)));
}

/** `change` answers null when it must not happen, and the same task when there is nothing to write. */
async function changeTask(
  storage: Storage,
  taskListId: string,
  taskId: string,
  change: (task: Task, board: BoardRow) => Task | null,
): Promise<Task | null> {
  const list = checkId(taskListId, "taskListId");
  const id = checkId(taskId, "taskId");
  return decide<Task | null>(storage, async () => {
    const { board, row } = await readTask(storage, list, id);
    if (board === undefined || row === undefined) return { answer: null };
    const task = taskOf(row);
    const next = change(task, board);
    if (next === null || next === task) return { answer: next };
    const at = storage.environment.now();
    const sessions = [{ id: board.session, mode: "existing", at }] as const;
    const events = [updated(board.session, row, task, next, at)];
    return { commit: { sessions, guards: [taskGuard(row)], events }, answer: () => next };
  });
}

async function readTask(
  storage: Storage,
  list: string,
  id: string,
): Promise<{ board: BoardRow | undefined; row: TaskRow | undefined }> {
  const [[board], [row]] = await Promise.all([storage.query("board.get", list), storage.query("task.get", list, id)]);
  return { board, row };
}

function updated(session: string, row: TaskRow, before: Task, after: Task, at: number): EventDraft {
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

async function addTasks(storage: Storage, taskListId: string, given: readonly string[]): Promise<readonly Task[]> {
  const list = checkId(taskListId, "taskListId");
  const titles = checkTitles(given, "titles");
  return decide<readonly Task[]>(storage, async () => {
    const [board] = await storage.query("board.get", list);
    if (board === undefined) throw noBoard(list);
    if (titles.length === 0) return { answer: [] };
    const old = await storage.query("tasks.byBoard", list);
    const total = old.length + titles.length;
    if (total > LIMITS.tasksPerBoard) throw limitExceeded("tasksPerBoard", "the board in tasks", total);
    // Tasks keep their order when others are deleted, so the next is behind the last, not at their count.
    const tasks = newTasks(storage, titles, (old.at(-1)?.ord ?? -1) + 1);
    const at = storage.environment.now();
    const event: EventDraft = {
      session: board.session,
      type: "task/added",
      at,
      data: { board: list, tasks: tasks.map(({ id, order, status }) => ({ id, order, status })) },
      writes: [putNextBoard(board), ...insertTasks(list, tasks, at)],
    };
    const sessions = [{ id: board.session, mode: "existing", at }] as const;
    return { commit: { sessions, guards: [boardGuard(board)], events: [event] }, answer: () => tasks };
  });
}

function putNextBoard(board: BoardRow): NonNullable<EventDraft["writes"]>[number] {
  return { op: "put", table: "boards", row: boardColumns({ ...board, version: board.version + 1 }) };
}

async function deleteTask(storage: Storage, taskListId: string, taskId: string): Promise<boolean> {
  const list = checkId(taskListId, "taskListId");
  const id = checkId(taskId, "taskId");
  return decide<boolean>(storage, async () => {
    const { board, row } = await readTask(storage, list, id);
    if (board === undefined || row === undefined) return { answer: false };
    const at = storage.environment.now();
    const event: EventDraft = {
      session: board.session,
      type: "task/removed",
      at,
      data: { board: list, task: id, status: row.status, order: row.ord, retryCount: row.retry_count },
      writes: [putNextBoard(board), { op: "remove", table: "tasks", row: { board_id: list, id } }],
    };
    const sessions = [{ id: board.session, mode: "existing", at }] as const;
    const guards = [boardGuard(board), taskGuard(row)];
    return { commit: { sessions, guards, events: [event] }, answer: () => true };
  });
}

async function settle(
  storage: Storage,
  session: string,
  status: "failed" | "planned",
  options: { readonly agentId?: string } | undefined,
): Promise<number> {
  const to = checkOneOf(status, "to", ["failed", "planned"]);
  const given = checkRecord(options, "options", ["agentId"]).agentId;
  const agent = given === undefined ? undefined : checkAgent(given, "agentId");
  return decide(storage, async () => {
    const boards = await storage.query("boards.bySession", session);
    if (boards.length === 0) await refuseAlias(storage, session);
    const chosen = new Set(boards.filter((one) => agent === undefined || one.agent === agent).map((one) => one.id));
    const at = storage.environment.now();
    const changes = (await storage.query("tasks.bySession", session))
      .filter((row) => chosen.has(row.board_id))
      .map((row) => ({ row, before: taskOf(row), after: settled(taskOf(row), to) }))
      .filter(({ before, after }) => before.status !== after.status);
    if (changes.length === 0) return { answer: 0 };
    const events = changes.map(({ row, before, after }) => updated(session, row, before, after, at));
    const sessions = [{ id: session, mode: "existing", at }] as const;
    return {
      commit: { sessions, guards: changes.map(({ row }) => taskGuard(row)), events },
      answer: () => changes.length,
    };
  });
}
