// TaskStore of the storage contracts, in its own words: Kanban boards, one per (conversation, agent). conversationId is
// what everything else calls a session (its id; never an alias), agentId what everything else calls an agent.
// Promise: row-level updates, so that agents working at once never lose each other's; every change is an event.

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

export interface TaskList {
  readonly id: string;
  /** The id of the session it belongs to. */
  readonly conversationId: string;
  readonly tasks: readonly Task[];
  readonly maxRetries: number;
  /** The agent of the board; "" is the session's root board. */
  readonly agentId: string;
  /** How people see that agent called. */
  readonly agentLabel: string;
  /** The agent that this one works for. */
  readonly parentAgentId: string | null;
  readonly createdAt: number;
}

export interface TaskListOptions {
  /** An agent's id, for a board of its own; the root board "" when not given. It need not be registered. */
  readonly agentId?: string;
  readonly agentLabel?: string;
  readonly parentAgentId?: string | null;
  readonly maxRetries?: number;
  /** AlreadyExists, and nothing is written, when there is such a board: of several concurrent calls, one creates it. */
  readonly ifAbsent?: boolean;
}

export interface MoveOptions {
  /** The status the task must be in; Conflict when it is in another. Of many workers that claim one task, one wins. */
  readonly from?: TaskStatus;
}

export interface Tasks {
  /**
   * conversationId is a session id; the session is made when it is not there. A board that exists already for (session,
   * agent) keeps id and createdAt and gets the new tasks instead of its own.
   */
  createTaskList(conversationId: string, taskTitles: readonly string[], options?: TaskListOptions): Promise<TaskList>;
  getTaskList(taskListId: string): Promise<TaskList | null>;
  /** The session's root board (agent ""), else its oldest board. */
  getByConversation(conversationId: string): Promise<TaskList | null>;
  /** Every board of the session, oldest first. */
  getBoardsByConversation(conversationId: string): Promise<readonly TaskList[]>;
  /** Null when there is no such task. An empty note keeps the old one. InvalidTransition out of a terminal status. */
  updateStatus(
    taskListId: string,
    taskId: string,
    status: TaskStatus,
    note?: string,
    options?: MoveOptions,
  ): Promise<Task | null>;
  addTasks(taskListId: string, titles: readonly string[]): Promise<readonly Task[]>;
  deleteTask(taskListId: string, taskId: string): Promise<boolean>;
  /** The agent's retry: count + 1 and in_progress; null when the limit is reached or there is no such task. */
  incrementRetry(taskListId: string, taskId: string): Promise<Task | null>;
  /** A person's retry: count 0, note cleared, in_progress, even from abandoned. */
  forceRetry(taskListId: string, taskId: string): Promise<Task | null>;
  updateTaskTitle(taskListId: string, taskId: string, title: string): Promise<Task | null>;
  /** When the work of a session ended without saying so: in_progress tasks become failed or planned, never succeeded. */
  settle(conversationId: string, to: "failed" | "planned", options?: { readonly agentId?: string }): Promise<number>;
}
