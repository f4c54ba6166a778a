// Boards and tasks between their rows and what callers see.
import type { BoardRow, TaskRow } from "../contracts/queries.ts";
import type { RowOf } from "../contracts/rows.ts";
import type { Guard, Storage, Write } from "../contracts/storage.ts";
import type { Task, TaskList, TaskStatus } from "../contracts/tasks.ts";
import { decodeText, encodeText } from "../core/bytes.ts";
import { newId } from "../core/environment.ts";

export function boardOf(row: BoardRow, tasks: readonly Task[]): TaskList {
  return {
    id: row.id,
    conversationId: row.session,
    tasks,
    maxRetries: row.max_retries,
    agentId: row.agent,
    agentLabel: decodeText(row.label),
    parentAgentId: row.parent,
    createdAt: row.created_at,
  };
}

/** The session's number is the event's that writes the row. */
export function boardColumns(row: BoardRow): RowOf<"boards"> {
  const { session: _, ...columns } = row;
  return columns;
}

export function taskOf(row: TaskRow): Task {
  return {
    id: row.id,
    title: decodeText(row.title),
    status: row.status as TaskStatus,
    order: row.ord,
    retryCount: row.retry_count,
    note: decodeText(row.note),
  };
}

export function newTasks(storage: Storage, titles: readonly string[], firstOrder: number): readonly Task[] {
  return titles.map((title, i) => ({
    id: newId(storage.environment, "task"),
    title,
    status: "planned",
    order: firstOrder + i,
    retryCount: 0,
    note: "",
  }));
}

export function insertTasks(board: string, tasks: readonly Task[], at: number): readonly Write[] {
  return tasks.map((task) => ({
    op: "insert",
    table: "tasks",
    row: { ...taskColumns(board, task), version: 1, created_at: at, updated_at: at },
  }));
}

/** The row's next version. */
export function putTask(row: TaskRow, task: Task, at: number): Write {
  const columns = taskColumns(row.board_id, task);
  return {
    op: "put",
    table: "tasks",
    row: { ...columns, version: row.version + 1, created_at: row.created_at, updated_at: at },
  };
}

function taskColumns(board: string, task: Task): RowOf<"tasks"> {
  return {
    board_id: board,
    id: task.id,
    title: encodeText(task.title),
    status: task.status,
    ord: task.order,
    retry_count: task.retryCount,
    note: encodeText(task.note),
  };
}

export function boardGuard(board: BoardRow): Guard {
  return { check: "board.version", key: [board.id], expect: board.version };
}

export function taskGuard(task: TaskRow): Guard {
  return { check: "task.version", key: [task.board_id, task.id], expect: task.version };
}
