// Task boards: one for each agent of a session. adapters/task-store.ts offers them under the names of the storage
// contracts (TaskStore). Promise: updates are per row, so that agents that work at the same time never lose each
// other's updates; every change is an event.
import type { At } from "./locators.ts";

export const TASK_STATUSES = ["planned", "in_progress", "blocked", "succeeded", "failed", "abandoned"] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

export interface Task {
  readonly id: string;
  readonly title: string;
  readonly status: TaskStatus;
  readonly order: number;
  readonly retryCount: number;
  readonly note: string;
}

export interface Board {
  readonly id: string;
  readonly session: string;
  /** The agent of the board; "" is the session's root board. */
  readonly agent: string;
  /** The display name of that agent. */
  readonly label: string;
  /** The agent that this agent works for. */
  readonly parent: string | null;
  readonly maxRetries: number;
  readonly tasks: readonly Task[];
  readonly createdAt: number;
}

export interface Tasks {
  /**
   * Creates the session if there is none. If (session, agent) has a board already, it keeps its id and createdAt, and
   * the new tasks replace its tasks.
   */
  create(
    session: At,
    titles: readonly string[],
    options?: Partial<Pick<Board, "label" | "parent" | "maxRetries">> & {
      /** The id of the agent whose board it is; default "", the root board. The agent need not be registered. */
      readonly agent?: string;
      /**
       * AlreadyExists, and nothing is written, if there is such a board. Of several concurrent calls, one creates it.
       */
      readonly ifAbsent?: boolean;
    },
  ): Promise<Board>;
  get(board: string): Promise<Board | null>;
  /** The session's root board (agent ""), or, if there is none, its oldest board. */
  root(session: At): Promise<Board | null>;
  /** Every board of the session, oldest first; at most LIMITS.boardsPerSession. */
  boards(session: At): Promise<readonly Board[]>;
  /**
   * Moves a task to another status; null if there is no such task. InvalidTransition if its status is terminal. An
   * empty note keeps the old one. With `from`, Conflict unless the task has that status: of many workers that claim one
   * task, one wins.
   */
  move(
    board: string,
    task: string,
    status: TaskStatus,
    options?: { readonly note?: string; readonly from?: TaskStatus },
  ): Promise<Task | null>;
  /** Adds the task at the end of the board. */
  add(board: string, titles: readonly string[]): Promise<readonly Task[]>;
  rename(board: string, task: string, title: string): Promise<Task | null>;
  delete(board: string, task: string): Promise<boolean>;
  /** The agent's retry: count + 1 and in_progress; null if the limit is reached or there is no such task. */
  retry(board: string, task: string): Promise<Task | null>;
  /** A person's retry: count 0, note cleared, in_progress, even from abandoned. */
  forceRetry(board: string, task: string): Promise<Task | null>;
  /** For a session whose work ended without a report: in_progress tasks become failed or planned, never succeeded. */
  settle(session: At, to: "failed" | "planned", options?: { readonly agent?: string }): Promise<number>;
}
