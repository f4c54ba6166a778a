// holdfast/task-store: the task boards of a store as the TaskStore of the storage contracts, which has other names: a task list is a
// board, and a conversation is a session. Every call is one call of hf.tasks, with its guarantees.
import type { Holdfast } from "../contracts/holdfast.ts";
import type { Board, Task, TaskStatus } from "../contracts/tasks.ts";
import { type TaskList, taskListOf } from "./task-list.ts";

export type { TaskList } from "./task-list.ts";

/** Each verb does what the verb of hf.tasks in its comment does. */
export interface TaskStore {
  /** create */
  createTaskList(
    conversationId: string,
    taskTitles: readonly string[],
    options?: Partial<Pick<TaskList, "agentId" | "agentLabel" | "parentAgentId" | "maxRetries">> & {
      readonly ifAbsent?: boolean;
    },
  ): Promise<TaskList>;
  /** get */
  getTaskList(taskListId: string): Promise<TaskList | null>;
  /** root */
  getByConversation(conversationId: string): Promise<TaskList | null>;
  /** boards */
  getBoardsByConversation(conversationId: string): Promise<readonly TaskList[]>;
  /** move */
  updateStatus(
    taskListId: string,
    taskId: string,
    status: TaskStatus,
    note?: string,
    options?: { readonly from?: TaskStatus },
  ): Promise<Task | null>;
  /** add */
  addTasks(taskListId: string, titles: readonly string[]): Promise<readonly Task[]>;
  /** delete */
  deleteTask(taskListId: string, taskId: string): Promise<boolean>;
  /** retry, by the agent; null at the limit. */
  incrementRetry(taskListId: string, taskId: string): Promise<Task | null>;
  /** forceRetry, by a person, also of an abandoned task. */
  forceRetry(taskListId: string, taskId: string): Promise<Task | null>;
  /** rename */
  updateTaskTitle(taskListId: string, taskId: string, title: string): Promise<Task | null>;
  /** settle */
  settle(conversationId: string, to: "failed" | "planned", options?: { readonly agentId?: string }): Promise<number>;
}

export function taskStore({ tasks }: Pick<Holdfast, "tasks">): TaskStore {
  return {
    createTaskList: async (conversationId, taskTitles, { agentId, agentLabel, parentAgentId, ...options } = {}) =>
      taskListOf(
        await tasks.create(conversationId, taskTitles, {
          ...(agentId === undefined ? {} : { agent: agentId }),
          ...(agentLabel === undefined ? {} : { label: agentLabel }),
          ...(parentAgentId === undefined ? {} : { parent: parentAgentId }),
          ...options,
        }),
      ),
    getTaskList: async (taskListId) => taskListOrNull(await tasks.get(taskListId)),
    getByConversation: async (conversationId) => taskListOrNull(await tasks.root(conversationId)),
    getBoardsByConversation: async (conversationId) => (await tasks.boards(conversationId)).map(taskListOf),
    updateStatus: (taskListId, taskId, status, note, options) =>
      tasks.move(taskListId, taskId, status, { ...(note === undefined ? {} : { note }), ...options }),
    addTasks: (taskListId, titles) => tasks.add(taskListId, titles),
    deleteTask: (taskListId, taskId) => tasks.delete(taskListId, taskId),
    incrementRetry: (taskListId, taskId) => tasks.retry(taskListId, taskId),
    forceRetry: (taskListId, taskId) => tasks.forceRetry(taskListId, taskId),
    updateTaskTitle: (taskListId, taskId, title) => tasks.rename(taskListId, taskId, title),
    settle: (conversationId, to, { agentId } = {}) =>
      tasks.settle(conversationId, to, agentId === undefined ? {} : { agent: agentId }),
  };
}

function taskListOrNull(board: Board | null): TaskList | null {
  return board === null ? null : taskListOf(board);
}
