// Making a board, or making an agent's board anew: it keeps its id and its age, so that what points at it stays right.
import { HoldfastError } from "../contracts/errors.ts";
import type { JsonObject } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { BoardRow } from "../contracts/queries.ts";
import type { Commit, Guard, Storage } from "../contracts/storage.ts";
import type { Task, TaskList, TaskListOptions } from "../contracts/tasks.ts";
import { encodeText } from "../core/bytes.ts";
import { checkArray, checkBoolean, checkId, checkInt, checkRecord, checkText, limitExceeded } from "../core/check.ts";
import { type Decision, decide } from "../core/decide.ts";
import { newId } from "../core/new-id.ts";
import { boardColumns, boardGuard, boardOf, insertTasks, newTasks, taskGuard } from "./rows.ts";
import { meaningful } from "./transitions.ts";

const DEFAULT_RETRIES = 3;
const MOST_RETRIES = 1_000_000;

type BoardOptions = Partial<Pick<BoardRow, "label" | "parent" | "max_retries">>;

export async function createBoard(
  storage: Storage,
  find: (conversation: string) => Promise<string>,
  conversation: string,
  taskTitles: readonly string[],
  options: TaskListOptions | undefined,
): Promise<TaskList> {
  const titles = checkTitles(taskTitles, "taskTitles");
  const known = ["agentId", "agentLabel", "parentAgentId", "maxRetries", "ifAbsent"] as const;
  const given = checkRecord(options, "options", known);
  const isNew = given.ifAbsent !== undefined && checkBoolean(given.ifAbsent, "ifAbsent");
  const agent = given.agentId === undefined ? "" : checkAgent(given.agentId, "agentId");
  const chosen = checkOptions(given);
  const session = await find(conversation);
  const make = () =>
    decide(storage, async () => {
      const boards = await storage.query("boards.bySession", session);
      const [known] = await storage.query("session.get", session);
      const tasks = newTasks(storage, titles, 0);
      const board = boards.find((one) => one.agent === agent);
      if (isNew && board !== undefined) throw boardExists(board);
      return board === undefined
        ? addBoard(storage, boards, known !== undefined, { session, agent, ...chosen }, tasks)
        : replaceTasks(storage, { ...board, ...chosen }, tasks);
    });
  // The session was created meanwhile: then it is there for good.
  return make().catch((error: unknown) => {
    if (error instanceof HoldfastError && error.code === "AlreadyExists" && error.details.kind === "session")
      return make();
    throw error;
  });
}

/** The titles that say something, each within its limit. */
export function checkTitles(value: unknown, what: string): readonly string[] {
  const titles = checkArray(value, what, "tasksPerBoard");
  return meaningful(titles.map((title, i) => checkText(title, `${what}[${i}]`, "titleBytes")));
}

/** "" is the conversation itself. */
export function checkAgent(value: unknown, what: string): string {
  return value === "" ? "" : checkId(value, what);
}

/** Only what was given: a board that is made anew keeps the rest. */
function checkOptions(given: Readonly<Record<string, unknown>>): BoardOptions {
  const { agentLabel, parentAgentId, maxRetries } = given;
  return {
    ...(agentLabel === undefined ? {} : { label: encodeText(checkText(agentLabel, "agentLabel", "titleBytes")) }),
    ...(parentAgentId === undefined
      ? {}
      : { parent: parentAgentId === null ? null : checkAgent(parentAgentId, "parentAgentId") }),
    ...(maxRetries === undefined ? {} : { max_retries: checkInt(maxRetries, "maxRetries", 0, MOST_RETRIES) }),
  };
}

function addBoard(
  storage: Storage,
  boards: readonly BoardRow[],
  isThere: boolean,
  chosen: Pick<BoardRow, "session" | "agent"> & BoardOptions,
  tasks: readonly Task[],
): Decision<TaskList> {
  if (boards.length >= LIMITS.boardsPerConversation) {
    throw limitExceeded("boardsPerConversation", "the conversation in boards", boards.length + 1);
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
  // Its place among the others, too: two that are made at once are not both the next.
  const guards: Guard[] = [
    { check: "board.id", key: [board.session, board.agent], expect: null },
    { check: "boards.last", key: [board.session], expect: isThere ? board.ord - 1 : null },
  ];
  const commit: Commit = {
    // What is to be created is refused when it is there by then: a guard cannot hold what is not there yet.
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

async function replaceTasks(storage: Storage, board: BoardRow, tasks: readonly Task[]): Promise<Decision<TaskList>> {
  const old = await storage.query("tasks.byBoard", board.id);
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
  const whose = agent === "" ? "a root board" : `a board of ${JSON.stringify(agent)}`;
  return new HoldfastError("AlreadyExists", `${JSON.stringify(session)} has ${whose} already`, {
    details: { kind: "board", id, session, agent },
    hint: "Add to it with addTasks().",
  });
}

export function noBoard(id: string): HoldfastError {
  return new HoldfastError("NotFound", `there is no task list ${JSON.stringify(id)}`, {
    details: { kind: "board", id },
    hint: "Create one with createTaskList(), or look for it with getByConversation().",
  });
}
