// Creates a board, or replaces the tasks of an agent's existing board. The board keeps its id and creation time, so
// that references to it stay valid.
import { HoldfastError } from "../contracts/errors.ts";
import type { JsonObject } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Commit, Guard } from "../contracts/storage/commit.ts";
import type { BoardRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { Board, Task } from "../contracts/tasks.ts";
import type { TASK_VERBS } from "../contracts/verbs/tasks.ts";
import type { ValueOf } from "../contracts/verbs/vocabulary.ts";
import { encodeText } from "../core/bytes.ts";
import { limitExceeded } from "../core/check.ts";
import { type Decision, decide } from "../core/decide.ts";
import { newId } from "../core/new-id.ts";
import { boardColumns, boardGuard, boardOf, insertTasks, newTasks, taskGuard } from "./rows.ts";
import { meaningful } from "./transitions.ts";

const DEFAULT_RETRIES = 3;

type BoardColumns = Partial<Pick<BoardRow, "label" | "parent" | "max_retries">>;

export type NewBoard = ValueOf<(typeof TASK_VERBS.create.params)[2]["schema"]>;

export async function createBoard(
  storage: Storage,
  session: string,
  taskTitles: readonly string[],
  { agent, ifAbsent: isNew, ...options }: NewBoard,
): Promise<Board> {
  const titles = meaningful(taskTitles);
  const chosen = columnsOf(options);
  const make = () =>
    decide(storage, async () => {
      const boards = await storage.query("boards.bySession", { session });
      const [known] = await storage.query("session.get", { id: session });
      const tasks = newTasks(storage, titles, 0);
      const board = boards.find((one) => one.agent === agent);
      if (isNew && board !== undefined) throw boardExists(board);
      return board === undefined
        ? addBoard(storage, boards, known !== undefined, { session, agent, ...chosen }, tasks)
        : replaceTasks(storage, { ...board, ...chosen }, tasks);
    });
  // The session was created meanwhile, so the next attempt finds it.
  return make().catch((error: unknown) => {
    if (error instanceof HoldfastError && error.code === "AlreadyExists" && error.details.kind === "session")
      return make();
    throw error;
  });
}

/** Only the given fields: an existing board keeps the others. */
function columnsOf({ label, parent, maxRetries }: Omit<NewBoard, "agent" | "ifAbsent">): BoardColumns {
  return {
    ...(label === undefined ? {} : { label: encodeText(label) }),
    ...(parent === undefined ? {} : { parent }),
    ...(maxRetries === undefined ? {} : { max_retries: maxRetries }),
  };
}

function addBoard(
  storage: Storage,
  boards: readonly BoardRow[],
  isThere: boolean,
  chosen: Pick<BoardRow, "session" | "agent"> & BoardColumns,
  tasks: readonly Task[],
): Decision<Board> {
  if (boards.length >= LIMITS.boardsPerSession) {
    throw limitExceeded("boardsPerSession", "the session in boards", boards.length + 1);
  }
  const at = storage.environment.now();
  const board: BoardRow = {
    label: encodeText(""),
    parent: null,
    max_retries: DEFAULT_RETRIES,
    ...chosen,
    id: newId(storage.environment, "board"),
    ord: (boards.at(-1)?.ord ?? -1) + 1,
    created_at: at,
    version: 1,
  };
  // Also guards the board's position: two concurrent boards must not get the same one.
  const guards: Guard[] = [
    { check: "board.id", key: [board.session, board.agent], expect: null },
    { check: "boards.last", key: [board.session], expect: isThere ? board.ord - 1 : null },
  ];
  const commit: Commit = {
    // A new board is inserted, and refused if it exists by then, because a guard cannot lock a missing row.
    sessions: [{ id: board.session, mode: isThere ? "existing" : "create", at }],
    guards,
    events: [
      {
        session: board.session,
        type: "board/created",
        at,
        data: { ...facts(board), tasks: tasks.map((task) => task.id) },
        writes: [{ op: "insert", table: "boards", row: boardColumns(board) }, ...insertTasks(board.id, tasks, at)],
      },
    ],
  };
  return { commit, answer: () => boardOf(board, tasks) };
}

async function replaceTasks(storage: Storage, board: BoardRow, tasks: readonly Task[]): Promise<Decision<Board>> {
  const old = await storage.query("tasks.byBoard", { board: board.id });
  const at = storage.environment.now();
  const commit: Commit = {
    sessions: [{ id: board.session, mode: "existing", at }],
    guards: [boardGuard(board), ...old.map(taskGuard)],
    events: [
      {
        session: board.session,
        type: "board/replaced",
        at,
        data: { ...facts(board), tasks: tasks.map((task) => task.id), removed: old.map((task) => task.id) },
        writes: [
          { op: "run", statement: "tasks.removeBoard", params: [board.id] },
          { op: "put", table: "boards", row: boardColumns({ ...board, version: board.version + 1 }) },
          ...insertTasks(board.id, tasks, at),
        ],
      },
    ],
  };
  return { commit, answer: () => boardOf(board, tasks) };
}

function facts({ id, agent, max_retries, parent }: BoardRow): JsonObject {
  return { board: id, agent, maxRetries: max_retries, parent };
}

function boardExists({ id, session, agent }: BoardRow): HoldfastError {
  const owner = agent === "" ? "a root board" : `a board of ${JSON.stringify(agent)}`;
  return new HoldfastError("AlreadyExists", `the session ${JSON.stringify(session)} has ${owner} already`, {
    details: { kind: "board", id, session, agent },
    hint: "Add to it with tasks.add().",
  });
}

export function noBoard(id: string): HoldfastError {
  return new HoldfastError("NotFound", `there is no board ${JSON.stringify(id)}`, {
    details: { kind: "board", id },
    hint: "Create a board with tasks.create(), or list a session's boards with tasks.boards().",
  });
}
