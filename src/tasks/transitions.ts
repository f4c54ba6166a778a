// The transitions of a task, as functions from task to task. Succeeded and abandoned are terminal: only a person's
// forceRetry leaves them. A function returns the same task if nothing changes.
import { HoldfastError } from "../contracts/errors.ts";
import type { Task, TaskStatus } from "../contracts/tasks.ts";

const TERMINAL: ReadonlySet<TaskStatus> = new Set(["succeeded", "abandoned"]);

export function isTerminal(status: TaskStatus): boolean {
  return TERMINAL.has(status);
}

/** An empty note keeps the old one. `from` is the status that the caller expects. */
export function moveTo(task: Task, status: TaskStatus, note: string, from?: TaskStatus): Task {
  if (from !== undefined && task.status !== from) throw elsewhere(task, from);
  if (status !== task.status && isTerminal(task.status)) throw terminal(task, status);
  return changed(task, { status, note: note === "" ? task.note : note });
}

/** The agent's retry; null at the limit. */
export function retry(task: Task, maxRetries: number): Task | null {
  if (isTerminal(task.status)) throw terminal(task, "in_progress");
  if (task.retryCount >= maxRetries) return null;
  return changed(task, { status: "in_progress", retryCount: task.retryCount + 1 });
}

/** A person's retry, from any status. */
export function revive(task: Task): Task {
  return changed(task, { status: "in_progress", retryCount: 0, note: "" });
}

export function retitle(task: Task, title: string): Task {
  return changed(task, { title });
}

/** For work that ended without a report: never succeeded, because its success was not recorded. */
export function settled(task: Task, to: "failed" | "planned"): Task {
  return task.status === "in_progress" ? changed(task, { status: to }) : task;
}

/** Drops blank titles; the others stay unchanged. */
export function meaningful(titles: readonly string[]): readonly string[] {
  return titles.filter((title) => title.trim() !== "");
}

/** Names of the fields that differ, for the event, which must not contain the texts. */
export function changedFields(before: Task, after: Task): readonly (keyof Task)[] {
  return (Object.keys(after) as (keyof Task)[]).filter((field) => after[field] !== before[field]);
}

function changed(task: Task, fields: Partial<Task>): Task {
  const next = { ...task, ...fields };
  return changedFields(task, next).length === 0 ? task : next;
}

function elsewhere(task: Task, from: TaskStatus): HoldfastError {
  return new HoldfastError("Conflict", `the task ${task.id} is ${task.status}, not ${from}`, {
    details: { kind: "task", id: task.id, expected: from, actual: task.status },
    hint: "Another worker has moved it: read the board again, and take another task.",
  });
}

function terminal(task: Task, to: TaskStatus): HoldfastError {
  return new HoldfastError(
    "InvalidTransition",
    `the task ${task.id} is ${task.status}, which is terminal, and cannot become ${to}`,
    {
      details: { kind: "task", id: task.id, from: task.status, to },
      hint: "A person can start it again with tasks.forceRetry().",
    },
  );
}
