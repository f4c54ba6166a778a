// holdfast tasks: the Kanban boards of a session. --json prints the field names of the task list contract
// (adapters/task-list.ts). A user can name a session for its root board, and a task by its number on the board.
import { taskListOf } from "../../adapters/task-list.ts";
import { HoldfastError, isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Tasks } from "../../contracts/tasks.ts";
import { type Board, TASK_STATUSES, type Task, type TaskStatus } from "../../contracts/tasks.ts";
import { boardLines } from "../board.ts";
import { type Command, type CommandGroup, checkChoice } from "../command-line.ts";
import { UsageError } from "../failure.ts";
import { findSession, type HeadAdvice } from "../sessions.ts";
import { quoted, safe } from "../terminal.ts";
import { plural } from "../units.ts";

const NAMES = "BOARD is a board's id, or a session's id for its root board. TASK is an id, or the number shown.";

const NO_HEAD_ADVICE: HeadAdvice = (named) =>
  `task boards belong to the session as a whole, not to a head; ` +
  `\`holdfast log ${named} --type task/updated\` shows how tasks changed up to that head`;

const show: Command = {
  name: "show",
  aliases: ["list", "ls"],
  summary: "draw the boards of a session",
  usage: ["tasks [show] SESSION"],
  description: "Draws every board of a session: the root board, and those of sub-agents.",
  options: {},
  operands: [{ name: "SESSION", need: "required" }],
  examples: [{ command: "holdfast tasks chat-1", does: "all boards of one session" }],
  next: "holdfast tasks set BOARD TASK STATUS moves a task; holdfast tasks force-retry BOARD TASK restarts one.",
  run: async (context) => {
    const holdfast = await context.open();
    const named = context.args.operand(0);
    const session = await findSession(holdfast, named, NO_HEAD_ADVICE);
    const boards = await holdfast.tasks.boards(session?.id ?? named);
    if (boards.length === 0 && session === null) throw missing("session", named, "`holdfast sessions` lists them");
    await context.output.answer({ conversation: session?.id ?? named, boards: boards.map(taskListOf) }, () => {
      if (boards.length === 0) return ["no boards"];
      return boards.flatMap((board, i) => [...(i === 0 ? [] : [""]), ...boardLines(board, context.output)]);
    });
    return undefined;
  },
};

const add: Command = {
  name: "add",
  summary: "add tasks, and create the board if there is none",
  usage: ["tasks add SESSION TITLE… [--agent A] [--label TEXT] [--parent A] [--max-retries N]"],
  description:
    "Adds tasks at the end of a board. The board is the session's root board, or that of the agent named. A missing " +
    "board is created with --label, --parent and --max-retries.",
  options: {
    agent: { type: "text", value: "ID", summary: "the board of this agent (default: the root board)" },
    label: { type: "text", summary: "a new board's title" },
    parent: { type: "text", value: "ID", summary: "the agent whose board a new board is under" },
    "max-retries": { type: "number", max: 1_000_000, summary: "how often an agent may retry a task of a new board" },
  },
  operands: [
    { name: "SESSION", need: "required" },
    { name: "TITLE", need: "one-or-more" },
  ],
  examples: [
    { command: "holdfast tasks add chat-1 'find flights' 'book hotel'", does: "two tasks on the root board" },
    { command: "holdfast tasks add chat-1 'compare prices' --agent researcher", does: "on a sub-agent's board" },
  ],
  next: "holdfast tasks SESSION draws the board.",
  run: async (context) => {
    const { args, output } = context;
    const titles = args.operands.slice(1);
    // The API skips blank titles. On the command line a blank title is a mistake, and alone it would create an empty
    // board.
    if (titles.some((title) => title.trim() === "")) throw new UsageError("a TITLE is blank; a task needs a title");
    const holdfast = await context.open();
    const named = args.operand(0);
    const conversation = (await findSession(holdfast, named, NO_HEAD_ADVICE))?.id ?? named;
    const agent = args.text("agent") ?? "";
    const settings = readBoardOptions(args);
    const made = await makeBoard(holdfast, conversation, titles, { ...settings, agent });
    const board = made ?? (await boardOf(holdfast, conversation, agent));
    if (made === null) refuseOtherSettings(board, settings);
    const added = made?.tasks ?? (await holdfast.tasks.add(board.id, titles));
    await output.answer({ board: board.id, created: made !== null, tasks: added }, () => [
      safe`added ${plural(added.length, "task")} to ${made === null ? "board" : "the new board"} ${board.id}`,
    ]);
    return undefined;
  },
};

/**
 * Returns null if the board exists. If several commands add at once, one of them creates the board and the others add
 * to it.
 */
async function makeBoard(
  holdfast: Holdfast,
  conversation: string,
  titles: readonly string[],
  options: NonNullable<Parameters<Tasks["create"]>[2]>,
): Promise<Board | null> {
  try {
    return await holdfast.tasks.create(conversation, titles, { ...options, ifAbsent: true });
  } catch (error) {
    if (!isHoldfastError(error) || error.code !== "AlreadyExists" || error.details.kind !== "board") throw error;
    return null;
  }
}

async function boardOf(holdfast: Holdfast, conversation: string, agent: string): Promise<Board> {
  const boards = await holdfast.tasks.boards(conversation);
  const board = boards.find((one) => one.agent === agent);
  if (board === undefined) throw missing("board", agent || conversation);
  return board;
}

/** An existing board keeps its label, parent and limit, so different values are refused. */
function refuseOtherSettings(board: Board, settings: NonNullable<Parameters<Tasks["create"]>[2]>): void {
  const given = [
    ["--label", settings.label, board.label],
    ["--parent", settings.parent, board.parent],
    ["--max-retries", settings.maxRetries, board.maxRetries],
  ] as const;
  const other = given.find(([, value, actual]) => value !== undefined && value !== actual);
  if (other === undefined) return;
  const [option, , actual] = other;
  const has = actual === null || actual === "" ? "none" : JSON.stringify(actual);
  throw new HoldfastError("AlreadyExists", `${option} is for a new board; this board exists and has ${has}`, {
    hint: `leave ${option} out to add to it`,
    details: { board: board.id, option, actual },
  });
}

function readBoardOptions(args: {
  text(name: string): string | undefined;
  number(name: string): number | undefined;
}): NonNullable<Parameters<Tasks["create"]>[2]> {
  const [label, parent, maxRetries] = [args.text("label"), args.text("parent"), args.number("max-retries")];
  return {
    ...(label === undefined ? {} : { label }),
    ...(parent === undefined ? {} : { parent }),
    ...(maxRetries === undefined ? {} : { maxRetries }),
  };
}

const set: Command = {
  name: "set",
  summary: "change a task's status",
  usage: ["tasks set BOARD TASK STATUS [--from STATUS] [--note TEXT]"],
  description:
    `Changes a task's status: ${TASK_STATUSES.join(", ")}. Succeeded and abandoned are final; only force-retry leads ` +
    `out of them. With --from the change is refused unless the task has that status: if several workers claim one task, ` +
    `one gets it. ${NAMES}`,
  options: {
    from: { type: "text", value: "STATUS", summary: "change the status only if the task has this one now" },
    note: { type: "text", summary: "the reason; an empty text keeps the old note" },
  },
  operands: [
    { name: "BOARD", need: "required" },
    { name: "TASK", need: "required" },
    { name: "STATUS", need: "required" },
  ],
  examples: [
    { command: "holdfast tasks set chat-1 1 in_progress", does: "the first task of the root board" },
    { command: "holdfast tasks set chat-1 2 failed --note 'sold out'", does: "with a note" },
    { command: "holdfast tasks set chat-1 3 in_progress --from planned", does: "claims it, unless another worker has" },
  ],
  run: async (context) => {
    const { args, output } = context;
    const status = readStatus(args.operand(2), "STATUS");
    const expected = args.text("from");
    const from = expected === undefined ? {} : { from: readStatus(expected, "--from") };
    const text = args.text("note");
    const note = text === undefined ? {} : { note: text };
    const holdfast = await context.open();
    const { board, task } = await findTask(holdfast, args.operand(0), args.operand(1));
    const changed = await holdfast.tasks
      .move(board.id, task.id, status, { ...note, ...from })
      .catch((error: unknown) => {
        throw isFinal(error) ? withRetryHint(error, args.operand(0), args.operand(1)) : error;
      });
    if (changed === null) throw missing("task", args.operand(1));
    await output.answer({ board: board.id, task: changed }, () => [safe`${changed.title}: ${changed.status}`]);
    return undefined;
  },
};

/** in-progress is read as in_progress. */
function readStatus(typed: string, what: string): TaskStatus {
  return checkChoice(typed.replaceAll("-", "_"), what, TASK_STATUSES);
}

function isFinal(error: unknown): error is HoldfastError {
  return isHoldfastError(error) && error.code === "InvalidTransition";
}

/** The command with the names that the user gave. */
function forceRetryCommand(board: string, task: string): string {
  return `\`holdfast tasks force-retry ${quoted(board)} ${quoted(task)}\``;
}

function withRetryHint(error: HoldfastError, board: string, task: string): HoldfastError {
  const hint = `${forceRetryCommand(board, task)} restarts it`;
  return new HoldfastError(error.code, error.message, { hint, details: error.details, cause: error });
}

const RETRIED = [
  { name: "BOARD", need: "required" },
  { name: "TASK", need: "required" },
] as const;

const retry: Command = {
  name: "retry",
  summary: "restart a task on behalf of an agent, up to the board's limit",
  usage: ["tasks retry BOARD TASK"],
  description:
    `Restarts a task on behalf of an agent: it increases the retry count, and is refused at the board's limit and for a final ` +
    `task. A person restarts it with force-retry. ${NAMES}`,
  options: {},
  operands: RETRIED,
  examples: [{ command: "holdfast tasks retry chat-1 2", does: "the second task of the root board" }],
  next: "holdfast tasks force-retry BOARD TASK restarts it without a limit.",
  run: async (context) => {
    const holdfast = await context.open();
    const [boardName, taskName] = [context.args.operand(0), context.args.operand(1)];
    const { board, task } = await findTask(holdfast, boardName, taskName);
    const changed = await holdfast.tasks.retry(board.id, task.id).catch((error: unknown) => {
      throw isFinal(error) ? withRetryHint(error, boardName, taskName) : error;
    });
    if (changed === null) {
      throw new HoldfastError("Conflict", `"${task.title}" was retried ${plural(board.maxRetries, "time")} already`, {
        hint: `a person may still retry it: ${forceRetryCommand(boardName, taskName)}`,
        details: { board: board.id, task: task.id, maxRetries: board.maxRetries },
      });
    }
    const count = `retry ${changed.retryCount} of ${board.maxRetries}`;
    await context.output.answer({ board: board.id, task: changed }, () => [
      safe`${changed.title}: ${changed.status}, ${count}`,
    ]);
    return undefined;
  },
};

const forceRetry: Command = {
  name: "force-retry",
  summary: "start a task again as a person does",
  usage: ["tasks force-retry BOARD TASK"],
  description: `Starts a task again as a person does: from any status, with the retry count at 0 and the note cleared. ${NAMES}`,
  options: {},
  operands: RETRIED,
  examples: [{ command: "holdfast tasks force-retry chat-1 2", does: "the second task of the root board" }],
  run: async (context) => {
    const holdfast = await context.open();
    const { board, task } = await findTask(holdfast, context.args.operand(0), context.args.operand(1));
    const changed = await holdfast.tasks.forceRetry(board.id, task.id);
    if (changed === null) throw missing("task", context.args.operand(1));
    await context.output.answer({ board: board.id, task: changed }, () => [safe`${changed.title}: ${changed.status}`]);
    return undefined;
  },
};

async function findTask(
  holdfast: Holdfast,
  boardName: string,
  taskName: string,
): Promise<{ board: Board; task: Task }> {
  const board = (await holdfast.tasks.get(boardName)) ?? (await rootBoard(holdfast, boardName));
  if (board === null) throw missing("board", boardName, "`holdfast tasks SESSION` shows boards with their ids");
  const task = board.tasks.find(({ id }) => id === taskName) ?? taskByNumber(board.tasks, taskName);
  if (task === undefined) throw missing("task", taskName, `\`holdfast tasks ${board.session}\` shows them`);
  return { board, task };
}

async function rootBoard(holdfast: Holdfast, name: string): Promise<Board | null> {
  const session = await findSession(holdfast, name, NO_HEAD_ADVICE);
  return await holdfast.tasks.root(session?.id ?? name);
}

function taskByNumber(tasks: readonly Task[], name: string): Task | undefined {
  return /^#?\d+$/.test(name) ? tasks[Number(name.replace("#", "")) - 1] : undefined;
}

function missing(what: string, name: string, hint?: string): HoldfastError {
  const options = { details: { [what]: name }, ...(hint === undefined ? {} : { hint }) };
  return new HoldfastError("NotFound", `no ${what} "${name}"`, options);
}

export const tasks: CommandGroup = {
  name: "tasks",
  summary: "draw task boards, add tasks, move them",
  usage: [...show.usage, ...add.usage, ...set.usage, ...retry.usage, ...forceRetry.usage],
  description: `A board is the task list of an agent in a session; sub-agents have boards of their own. ${NAMES}`,
  commands: [show, add, set, retry, forceRetry],
  fallback: "show",
  examples: [...show.examples, ...add.examples.slice(0, 1), ...set.examples.slice(0, 1)],
};
