// Converts rows to boards and tasks, and back.
import type { Guard, Write } from "../contracts/storage/commit.ts";
import type { BoardRow, TaskRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { RowOf } from "../contracts/storage/tables.ts";
import { type Board, TASK_STATUSES, type Task } from "../contracts/tasks.ts";
import { encodeText } from "../core/bytes.ts";
import { decodeRow, oneOf, optional, text, utf8, whole } from "../core/decode.ts";
import { newId } from "../core/new-id.ts";

const BOARD = { agent: text, label: utf8, parent: optional(text), max_retries: whole, created_at: whole };

export function boardOf(row: BoardRow, tasks: readonly Task[]): Board {
  const found = decodeRow({ kind: "board", session: row.session, board: row.id }, row, BOARD);
  return {
    id: row.id,
    session: row.session,
    tasks,
    maxRetries: found.max_retries,
    agent: found.agent,
    label: found.label,
    parent: found.parent,
    createdAt: found.created_at,
  };
}

/** The event that writes the row adds the session's number. */
export function boardColumns(row: BoardRow): RowOf<"boards"> {
  const { session: _, ...columns } = row;
  return columns;
}

const TASK = { title: utf8, status: oneOf(TASK_STATUSES), ord: whole, retry_count: whole, note: utf8 };

export function taskOf(row: TaskRow): Task {
  const found = decodeRow({ kind: "task", board: row.board_id, task: row.id }, row, TASK);
  return {
    id: row.id,
    title: found.title,
    status: found.status,
    order: found.ord,
    retryCount: found.retry_count,
    note: found.note,
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
