// The model's task boards.
import { HoldfastError } from "../../contracts/errors.ts";
import type { Board, Task, Tasks } from "../../contracts/tasks.ts";
import type { ModelBoard, ModelSession, ModelStore } from "./store.ts";

const isTerminal = ({ status }: Task) => status === "succeeded" || status === "abandoned";

export function modelTasks(store: ModelStore): Tasks {
  const boards = () => store.sessions.flatMap((session) => session.boards);
  const boardOf = (id: string) => boards().find((board) => board.id === id);
  const shown = (board: ModelBoard): Board => structuredClone(board);
  const add = (board: ModelBoard, titles: readonly string[]): readonly Task[] => {
    let first = Math.max(-1, ...board.tasks.map(({ order }) => order)) + 1;
    const meaningful = titles.filter((title) => title.trim() !== "");
    const added = meaningful.map((title): Task => {
      const id = `task_${store.next()}`;
      return { id, title, status: "planned", order: first++, retryCount: 0, note: "" };
    });
    board.tasks.push(...added);
    if (added.length > 0) sessionOf(board).seq++;
    return structuredClone(added);
  };
  const sessionOf = (board: ModelBoard): ModelSession => store.existing(board.session);
  /** Returns null if the task does not exist, or if the change returns null. */
  const change = async (boardId: string, taskId: string, how: (task: Task, board: ModelBoard) => Task | null) => {
    const board = boardOf(boardId);
    const index = board?.tasks.findIndex((task) => task.id === taskId) ?? -1;
    const task = board?.tasks[index];
    if (board === undefined || task === undefined) return null;
    const next = how(task, board);
    if (next === null) return null;
    board.tasks[index] = next;
    sessionOf(board).seq++;
    return structuredClone(next);
  };
  return {
    create: async (id, titles, options = {}) => {
      const session = store.ensure(id);
      const agent = options.agent ?? "";
      const old = session.boards.find((board) => board.agent === agent);
      if (old !== undefined && options.ifAbsent === true) throw new HoldfastError("AlreadyExists", `it is ${old.id}`);
      // Options that are not given keep the values of an existing board.
      const { label, parent, maxRetries } = {
        ...(old ?? { label: "", parent: null, maxRetries: 3 }),
        ...options,
      };
      const kept = old ?? { id: `board_${store.next()}`, createdAt: store.now() };
      const facts = { session: session.id, agent, label, parent, maxRetries };
      const board: ModelBoard = { id: kept.id, ...facts, tasks: [], createdAt: kept.createdAt };
      if (old === undefined) session.boards.push(board);
      else session.boards[session.boards.indexOf(old)] = board;
      add(board, titles);
      return shown(board);
    },
    get: async (id) => {
      const board = boardOf(id);
      return board === undefined ? null : shown(board);
    },
    root: async (id) => {
      const all = store.find(id)?.boards ?? [];
      const board = all.find(({ agent }) => agent === "") ?? all[0];
      return board === undefined ? null : shown(board);
    },
    boards: async (id) => (store.find(id)?.boards ?? []).map(shown),
    move: (board, task, status, { note = "", from } = {}) =>
      change(board, task, (old) => {
        if (from !== undefined && old.status !== from) throw new HoldfastError("Conflict", `it is ${old.status}`);
        if (isTerminal(old) && old.status !== status)
          throw new HoldfastError("InvalidTransition", `it is ${old.status}`);
        return { ...old, status, note: note === "" ? old.note : note };
      }),
    add: async (id, titles) => {
      const board = boardOf(id);
      if (board === undefined) throw new HoldfastError("NotFound", `there is no board ${id}`);
      return add(board, titles);
    },
    delete: async (id, task) => {
      const board = boardOf(id);
      const kept = board?.tasks.filter((one) => one.id !== task) ?? [];
      if (board === undefined || kept.length === board.tasks.length) return false;
      board.tasks = kept;
      sessionOf(board).seq++;
      return true;
    },
    retry: (board, task) =>
      change(board, task, (old, { maxRetries }) => {
        if (isTerminal(old)) throw new HoldfastError("InvalidTransition", `it is ${old.status}`);
        if (old.retryCount >= maxRetries) return null;
        return { ...old, status: "in_progress", retryCount: old.retryCount + 1 };
      }),
    forceRetry: (board, task) =>
      change(board, task, (old) => ({ ...old, status: "in_progress", retryCount: 0, note: "" })),
    rename: (board, task, title) => change(board, task, (old) => ({ ...old, title })),
    settle: async (id, to, { agent } = {}) => {
      if (to !== "failed" && to !== "planned") throw new HoldfastError("InvalidArgument", "failed or planned");
      const all = (store.find(id)?.boards ?? []).filter((board) => agent === undefined || board.agent === agent);
      const stuck = all.flatMap(({ id: board, tasks }) =>
        tasks.map(({ id: task, status }) => ({ board, task, status })),
      );
      const open = stuck.filter(({ status }) => status === "in_progress");
      for (const { board, task } of open) await change(board, task, (old) => ({ ...old, status: to }));
      return open.length;
    },
  };
}
