// A board with the field names of the TaskStore contract. TaskStore returns it, and `holdfast tasks --json` prints it.
import type { Board, Task } from "../contracts/tasks.ts";

export interface TaskList {
  readonly id: string;
  /** The id of the session. */
  readonly conversationId: string;
  readonly tasks: readonly Task[];
  readonly maxRetries: number;
  /** The agent of the board; "" is the session's root board. */
  readonly agentId: string;
  readonly agentLabel: string;
  readonly parentAgentId: string | null;
  readonly createdAt: number;
}

export function taskListOf({ session, agent, label, parent, ...board }: Board): TaskList {
  return { ...board, conversationId: session, agentId: agent, agentLabel: label, parentAgentId: parent };
}
