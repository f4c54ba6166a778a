// Task boards: one for each agent of a session. adapters/task-store.ts gives them the names of the storage contracts (TaskStore).
// Promise: row-level updates, so that agents working at once never lose each other's; every change is an event.
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
  /** The name of that agent for people. */
  readonly label: string;
  /** The agent that this one works for. */
  readonly parent: string | null;
  readonly maxRetries: number;
  readonly tasks: readonly Task[];
  readonly createdAt: number;
}

export interface Tasks {
  /**
   * The session is created when it is not there. A board that exists already for (session, agent) keeps id and createdAt and gets
   * the new tasks instead of its own.
   */
  create(
    session: At,
    titles: readonly string[],
    options?: Partial<Pick<Board, "label" | "parent" | "maxRetries">> & {
      /** An agent's id, for a board of its own; the root board "" when not given. It need not be registered. */
      readonly agent?: string;
      /** AlreadyExists, and nothing is written, when there is such a board: of several concurrent calls, one creates it. */
      readonly ifAbsent?: boolean;
    },
  ): Promise<Board>;
  get(board: string): Promise<Board | null>;
  /** The session's root board (agent ""), else its oldest board. */
  root(session: At): Promise<Board | null>;
  /** Every board of the session, oldest first; at most LIMITS.boardsPerSession. */
  boards(session: At): Promise<readonly Board[]>;
  /**
   * Null when there is no such task. InvalidTransition out of a terminal status. An empty note keeps the old one. `from` is the
   * status that the task must be in, Conflict when it is in another: of many workers that claim one task, one wins.
   */
  move(
    board: string,
    task: string,
    status: TaskStatus,
    options?: { readonly note?: string; readonly from?: TaskStatus },
  ): Promise<Task | null>;
  /** At the end of the board. */
  add(board: string, titles: readonly string[]): Promise<readonly Task[]>;
  rename(board: string, task: string, title: string): Promise<Task | null>;
  delete(board: string, task: string): Promise<boolean>;
  /** The agent's retry: count + 1 and in_progress; null when the limit is reached or there is no such task. */
  retry(board: string, task: string): Promise<Task | null>;
  /** A person's retry: count 0, note cleared, in_progress, even from abandoned. */
  forceRetry(board: string, task: string): Promise<Task | null>;
  /** When the work of a session ended without saying so: in_progress tasks become failed or planned, never succeeded. */
  settle(session: At, to: "failed" | "planned", options?: { readonly agent?: string }): Promise<number>;
}
