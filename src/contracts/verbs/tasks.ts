// The verbs of tasks.
import {
  BOOLEAN,
  choice,
  ID,
  ID_OR_EMPTY,
  list,
  nullable,
  optional,
  options,
  orElse,
  param,
  read,
  sessionId,
  text,
  whole,
  write,
} from "./vocabulary.ts";

/** Boards belong to a session as a whole, whatever branch it is on. */
const SESSION = param("conversationId", sessionId("boards are kept", "Name the session without the head."));
const BOARD = param("taskListId", ID);
const TASK = param("taskId", ID);
const TITLE = text("titleBytes");
const TITLES = list(TITLE, "tasksPerBoard");
const STATUS = choice(["planned", "in_progress", "blocked", "succeeded", "failed", "abandoned"]);

export const TASK_VERBS = {
  createTaskList: write(
    SESSION,
    param("taskTitles", TITLES),
    param(
      "options",
      options({
        agentId: orElse(ID_OR_EMPTY, ""),
        agentLabel: optional(TITLE),
        parentAgentId: optional(nullable(ID_OR_EMPTY)),
        maxRetries: optional(whole(0, 1_000_000)),
        ifAbsent: orElse(BOOLEAN, false),
      }),
    ),
  ),
  getTaskList: read(BOARD),
  getByConversation: read(SESSION),
  getBoardsByConversation: read(SESSION),
  updateStatus: write(
    BOARD,
    TASK,
    param("status", STATUS),
    param("note", orElse(text("noteBytes"), "")),
    param("options", options({ from: optional(STATUS) })),
  ),
  addTasks: write(BOARD, param("titles", TITLES)),
  deleteTask: write(BOARD, TASK),
  incrementRetry: write(BOARD, TASK),
  forceRetry: write(BOARD, TASK),
  updateTaskTitle: write(BOARD, TASK, param("title", { ...TITLE, isBlankRefused: true })),
  settle: write(
    SESSION,
    param("to", choice(["failed", "planned"])),
    param("options", options({ agentId: optional(ID_OR_EMPTY) })),
  ),
};
