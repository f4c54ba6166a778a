// Prints a task board: columns side by side when the terminal is wide enough for their titles, otherwise one list
// grouped by status.
import { type Board, TASK_STATUSES, type Task, type TaskStatus } from "../contracts/tasks.ts";
import type { Output } from "./output.ts";
import type { Style } from "./terminal.ts";
import { padEnd, safeLine, wrap } from "./terminal.ts";
import { plural } from "./units.ts";

const COLUMN_MIN = 22;
const GAP = 2;

interface NumberedTask {
  readonly task: Task;
  /** The number that users type: `holdfast tasks set BOARD 2 succeeded`. */
  readonly number: number;
}

export function boardLines(board: Board, output: Output): string[] {
  const { style } = output;
  const title = board.agent === "" ? board.label || "root board" : board.label || board.agent;
  const parent = board.parent === null ? "" : `, child of ${board.parent || "the root board"}`;
  const head = `${style.heading(safeLine(title))} ${style.faint(safeLine(`${board.id}${parent}`))}`;
  if (board.tasks.length === 0) return [head, "  no tasks"];
  const groups = groupByStatus(board.tasks);
  const width = Math.floor((output.width - GAP * (groups.length - 1)) / groups.length);
  // In a file or a pipe, and if the columns would be too narrow, a list reads better.
  const body =
    output.width !== Number.POSITIVE_INFINITY && width >= COLUMN_MIN && groups.length > 1
      ? asColumns(groups, Math.min(width, 40), output)
      : asList(groups, output);
  const done = board.tasks.filter(({ status }) => status === "succeeded").length;
  return [head, ...body, style.faint(`${done} of ${plural(board.tasks.length, "task")} succeeded`)];
}

type Group = readonly [TaskStatus, readonly NumberedTask[]];

function groupByStatus(tasks: readonly Task[]): Group[] {
  const numbered = tasks.map((task, i) => ({ task, number: i + 1 }));
  return TASK_STATUSES.map((status): Group => [status, numbered.filter(({ task }) => task.status === status)]).filter(
    ([, group]) => group.length > 0,
  );
}

function paint(status: TaskStatus, text: string, style: Style): string {
  if (status === "succeeded") return style.good(text);
  if (status === "failed") return style.bad(text);
  if (status === "in_progress" || status === "blocked") return style.warn(text);
  return style.faint(text);
}

function heading([status, group]: Group): string {
  return `${status.replace("_", " ").toUpperCase()} (${group.length})`;
}

function asColumns(groups: readonly Group[], width: number, { style }: Output): string[] {
  const columns = groups.map((group) => [heading(group), ...group[1].flatMap((one) => taskLines(one, width))]);
  const height = Math.max(...columns.map((lines) => lines.length));
  return Array.from({ length: height }, (_, row) =>
    columns
      .map((lines, c) => {
        const cell = padEnd(lines[row] ?? "", width);
        const status = groups[c]?.[0];
        return row === 0 && status !== undefined ? paint(status, cell, style) : cell;
      })
      .join(" ".repeat(GAP))
      .trimEnd(),
  );
}

function asList(groups: readonly Group[], { style, width }: Output): string[] {
  return groups.flatMap((group) => [
    paint(group[0], heading(group), style),
    ...group[1].flatMap((one) => taskLines(one, width - 2)).map((line) => `  ${line}`),
  ]);
}

function taskLines({ task, number }: NumberedTask, width: number): string[] {
  const label = `${number}. `;
  const indent = " ".repeat(label.length);
  const retries = task.retryCount === 0 ? "" : ` (retry ${task.retryCount})`;
  const title = wrap(safeLine(task.title) + retries, width - label.length);
  const note = task.note === "" ? [] : wrap(`» ${safeLine(task.note)}`, width - label.length);
  return [...title.map((line, i) => (i === 0 ? label : indent) + line), ...note.map((line) => indent + line)];
}
