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
const SESSION = param("session", sessionId("boards are kept", "Name the session without the head."));
const BOARD = param("board", ID);
const TASK = param("task", ID);
const TITLE = text("titleBytes");
const TITLES = param("titles", list(TITLE, "tasksPerBoard"));
const STATUS = choice(["planned", "in_progress", "blocked", "succeeded", "failed", "abandoned"]);

export const TASK_VERBS = {
  create: write(
    SESSION,
    TITLES,
    param(
      "options",
      options({
        agent: orElse(ID_OR_EMPTY, ""),
        label: optional(TITLE),
        parent: optional(nullable(ID_OR_EMPTY)),
        maxRetries: optional(whole(0, 1_000_000)),
        ifAbsent: orElse(BOOLEAN, false),
      }),
    ),
  ),
  get: read(BOARD),
  root: read(SESSION),
  boards: read(SESSION),
  move: write(
    BOARD,
    TASK,
    param("status", STATUS),
    param("options", options({ note: orElse(text("noteBytes"), ""), from: optional(STATUS) })),
  ),
  add: write(BOARD, TITLES),
  rename: write(BOARD, TASK, param("title", { ...TITLE, isBlankRefused: true })),
  delete: write(BOARD, TASK),
  retry: write(BOARD, TASK),
  forceRetry: write(BOARD, TASK),
  settle: write(
    SESSION,
    param("to", choice(["failed", "planned"])),
    param("options", options({ agent: optional(ID_OR_EMPTY) })),
  ),
};
