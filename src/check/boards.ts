// Derives a session's boards from its log: every change of a board is an event with everything but its texts. Titles,
// notes and labels are not in the log (LG5), so the checker cannot compare them.
import type { JsonObject } from "../contracts/json.ts";
import type { CheckedBoardRow, CheckedTaskRow } from "../contracts/storage/check-queries.ts";
import type { IssueReporter } from "./findings.ts";

type Columns = Readonly<Record<string, unknown>>;

interface Board {
  columns: Columns;
  readonly tasks: Map<string, Columns>;
}

export class BoardProjection {
  readonly #boards = new Map<string, Board>();

  apply(type: string, at: unknown, data: JsonObject): void {
    const id = String(data.board);
    if (type === "board/created") {
      const made = { ...facts(data), ord: this.#boards.size, created_at: at, version: 1 };
      this.#boards.set(id, { columns: made, tasks: newTasks(data.tasks, at) });
      return;
    }
    const board = this.#boards.get(id);
    if (board === undefined) return;
    if (type === "task/updated") {
      const task = board.tasks.get(String(data.task));
      if (task === undefined) return;
      const { status, order: ord, retryCount: retry_count } = data;
      const version = Number(task.version) + 1;
      board.tasks.set(String(data.task), { ...task, status, ord, retry_count, version, updated_at: at });
      return;
    }
    const version = Number(board.columns.version) + 1;
    board.columns = { ...board.columns, ...(type === "board/replaced" ? facts(data) : {}), version };
    if (type === "board/replaced") board.tasks.clear();
    if (type === "task/removed") board.tasks.delete(String(data.task));
    else for (const [task, columns] of newTasks(data.tasks, at)) board.tasks.set(task, columns);
  }

  compare(reporter: IssueReporter, boards: readonly CheckedBoardRow[], tasks: readonly CheckedTaskRow[]): void {
    const missing = new Set(this.#boards.keys());
    for (const row of boards) {
      missing.delete(row.id);
      compareRow(reporter, "boards", row.id, row, this.#boards.get(row.id)?.columns);
    }
    const left = new Map([...this.#boards].map(([id, board]) => [id, new Set(board.tasks.keys())]));
    for (const row of tasks) {
      left.get(row.board_id)?.delete(row.id);
      // The loop above already reported a board without a creation event.
      const board = this.#boards.get(row.board_id);
      if (board !== undefined) compareRow(reporter, "tasks", row.id, row, board.tasks.get(row.id));
    }
    for (const id of missing) reporter.report("event-without-row", [id], { table: "boards" });
    for (const [board, ids] of left) {
      if (missing.has(board)) continue;
      for (const id of ids) reporter.report("event-without-row", [id], { table: "tasks", board });
    }
  }
}

function facts({ agent, maxRetries, parent }: JsonObject): Columns {
  return { agent, max_retries: maxRetries, ...(parent === undefined ? {} : { parent }) };
}

/** An event lists tasks either as ids in order, or as objects with their order and status. */
function newTasks(given: unknown, at: unknown): Map<string, Columns> {
  const tasks: readonly unknown[] = Array.isArray(given) ? given : [];
  return new Map(
    tasks.map((task, i) => {
      const { id, order, status } = (typeof task === "object" && task !== null ? task : { id: task }) as JsonObject;
      const columns = { status: status ?? "planned", ord: order ?? i, retry_count: 0, version: 1 };
      return [String(id), { ...columns, created_at: at, updated_at: at }];
    }),
  );
}

function compareRow(
  reporter: IssueReporter,
  table: "boards" | "tasks",
  id: string,
  row: object,
  logged: Columns | undefined,
): void {
  if (logged === undefined) {
    reporter.report("row-without-event", [id], { table });
    return;
  }
  const found = row as Columns;
  for (const [column, value] of Object.entries(logged)) {
    if ((found[column] ?? null) !== (value ?? null)) reporter.report("row-mismatch", [id], { table, column });
  }
}
