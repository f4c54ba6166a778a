// Tasks suite: what may happen to a task. Succeeded and abandoned are terminal; only a person's forceRetry leads out.
import assert from "node:assert/strict";
import { TASK_STATUSES, type Task, type TaskStatus, type Tasks } from "../../contracts/tasks.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";

const TERMINAL: readonly TaskStatus[] = ["succeeded", "abandoned"];

async function oneTask(tasks: Tasks, maxRetries = 3): Promise<{ board: string; task: Task }> {
  const board = await tasks.create("chat", ["one"], { maxRetries });
  return { board: board.id, task: present(board.tasks[0]) };
}

async function read(tasks: Tasks, board: string): Promise<Task> {
  return present(present(await tasks.get(board)).tasks[0]);
}

export const taskChangeCases: readonly Case[] = [
  prove("TA1 a task moves between all statuses that are not terminal", ["tasks"], async ({ tasks }) => {
    const { board, task } = await oneTask(tasks);
    const living = TASK_STATUSES.filter((status) => !TERMINAL.includes(status));
    for (const from of living) {
      for (const to of living) {
        await tasks.move(board, task.id, from);
        const moved = await tasks.move(board, task.id, to);
        assert.deepEqual(moved, { ...task, status: to });
        assert.deepEqual(await read(tasks, board), moved);
      }
    }
  }),

  prove("TA1 no status leads out of succeeded or abandoned", ["tasks"], async ({ tasks }) => {
    for (const terminal of TERMINAL) {
      const { board, task } = await oneTask(tasks);
      const ended = present(await tasks.move(board, task.id, terminal, { note: "the end" }));
      for (const to of TASK_STATUSES.filter((status) => status !== terminal)) {
        await refuses("InvalidTransition", () => tasks.move(board, task.id, to), `${terminal} to ${to}`);
      }
      assert.deepEqual(await read(tasks, board), ended);
    }
  }),

  prove("TA1 failed is not terminal", ["tasks"], async ({ tasks }) => {
    const { board, task } = await oneTask(tasks);
    await tasks.move(board, task.id, "failed", { note: "oops" });
    assert.equal(present(await tasks.move(board, task.id, "in_progress")).status, "in_progress");
  }),

  prove("TA1 an empty note keeps the old one", ["tasks"], async ({ tasks }) => {
    const { board, task } = await oneTask(tasks);
    assert.equal(present(await tasks.move(board, task.id, "blocked", { note: "waits for Ada" })).note, "waits for Ada");
    assert.equal(present(await tasks.move(board, task.id, "in_progress")).note, "waits for Ada");
    assert.equal(present(await tasks.move(board, task.id, "in_progress", { note: "" })).note, "waits for Ada");
    assert.equal(present(await tasks.move(board, task.id, "in_progress", { note: "goes on" })).note, "goes on");
  }),

  prove("TA1 a task that is not there is null", ["tasks"], async ({ tasks }) => {
    const { board, task } = await oneTask(tasks);
    assert.equal(await tasks.move(board, "nobody", "blocked"), null);
    assert.equal(await tasks.move("nobody", task.id, "blocked"), null);
    assert.equal(await tasks.retry(board, "nobody"), null);
    assert.equal(await tasks.forceRetry(board, "nobody"), null);
    assert.equal(await tasks.forceRetry("nobody", task.id), null);
    assert.deepEqual(await read(tasks, board), task);
  }),

  prove("TA2 increment_retry counts and gives null at the limit", ["tasks"], async ({ tasks }) => {
    const { board, task } = await oneTask(tasks, 2);
    await tasks.move(board, task.id, "failed", { note: "first try" });
    const once = present(await tasks.retry(board, task.id));
    assert.deepEqual(once, { ...task, status: "in_progress", retryCount: 1, note: "first try" });
    await tasks.move(board, task.id, "failed");
    assert.equal(present(await tasks.retry(board, task.id)).retryCount, 2);
    const failed = present(await tasks.move(board, task.id, "failed"));
    assert.equal(await tasks.retry(board, task.id), null);
    assert.deepEqual(await read(tasks, board), failed, "at the limit nothing changes");
  }),

  prove("TA2 a board without retries gives none", ["tasks"], async ({ tasks }) => {
    const { board, task } = await oneTask(tasks, 0);
    assert.equal(await tasks.retry(board, task.id), null);
    assert.deepEqual(await read(tasks, board), task);
  }),

  prove("TA2 increment_retry does not lead out of a terminal status", ["tasks"], async ({ tasks }) => {
    for (const terminal of TERMINAL) {
      const { board, task } = await oneTask(tasks);
      const ended = present(await tasks.move(board, task.id, terminal));
      await refuses("InvalidTransition", () => tasks.retry(board, task.id));
      assert.deepEqual(await read(tasks, board), ended);
    }
  }),

  prove("TA2 force_retry starts afresh from every status", ["tasks"], async ({ tasks }) => {
    for (const status of TASK_STATUSES) {
      const { board, task } = await oneTask(tasks);
      await tasks.retry(board, task.id);
      await tasks.move(board, task.id, status, { note: "old note" });
      const revived = await tasks.forceRetry(board, task.id);
      assert.deepEqual(revived, { ...task, status: "in_progress", retryCount: 0, note: "" });
      assert.deepEqual(await read(tasks, board), revived);
    }
  }),

  prove("TA2 retries taken at once never pass the limit", ["tasks"], async ({ tasks }) => {
    const { board, task } = await oneTask(tasks, 3);
    const done = await Promise.all(range(12).map(() => tasks.retry(board, task.id)));
    const nouns = done.flatMap((one) => one?.retryCount ?? []);
    assert.deepEqual(nouns.toSorted(), [1, 2, 3]);
    assert.equal((await read(tasks, board)).retryCount, 3);
  }),

  prove("TA3 two updates of different tasks at once both hold", ["tasks"], async ({ tasks }) => {
    const board = await tasks.create(
      "chat",
      range(32).map((n) => `t${n}`),
    );
    await Promise.all(board.tasks.map(({ id }, n) => tasks.move(board.id, id, "in_progress", { note: `note ${n}` })));
    const after = present(await tasks.get(board.id));
    assert.deepEqual(
      after.tasks,
      board.tasks.map((task, n) => ({ ...task, status: "in_progress", note: `note ${n}` })),
    );
  }),

  prove("TA3 agents on two handles never lose each other's updates", ["tasks", "another"], async (nouns) => {
    const handles = [nouns.tasks, (await nouns.another()).tasks];
    const board = await nouns.tasks.create(
      "chat",
      range(40).map((n) => `t${n}`),
    );
    await Promise.all(
      board.tasks.map(({ id }, n) => present(handles[n % 2]).move(board.id, id, "succeeded", { note: `${n}` })),
    );
    for (const tasks of handles) {
      const read = present(await tasks.get(board.id));
      assert.deepEqual(
        read.tasks.map(({ status, note }) => `${status} ${note}`),
        range(40).map((n) => `succeeded ${n}`),
      );
    }
  }),

  prove("TA3 status, title and list change at once without loss", ["tasks"], async ({ tasks }) => {
    const { board, task } = await oneTask(tasks);
    await Promise.all([
      tasks.move(board, task.id, "blocked", { note: "note" }),
      tasks.rename(board, task.id, "renamed"),
      tasks.add(board, ["two"]),
    ]);
    const after = present(await tasks.get(board));
    assert.deepEqual(after.tasks[0], { ...task, status: "blocked", note: "note", title: "renamed" });
    assert.equal(after.tasks[1]?.title, "two");
  }),

  prove("TA5 a task moves from the status it is expected in, and from no other", ["tasks"], async ({ tasks }) => {
    for (const status of TASK_STATUSES) {
      const { board, task } = await oneTask(tasks);
      const moved = present(await tasks.move(board, task.id, status, { note: "where it is" }));
      for (const from of TASK_STATUSES.filter((one) => one !== status)) {
        const claim = () => tasks.move(board, task.id, "in_progress", { note: "mine", from });
        const { retryable } = await refuses("Conflict", claim, `${status} claimed as ${from}`);
        assert.equal(retryable, false, "it does not help to ask again");
      }
      assert.deepEqual(await read(tasks, board), moved, "nothing was written");
      if (TERMINAL.includes(status)) continue;
      const claimed = await tasks.move(board, task.id, "in_progress", { note: "mine", from: status });
      assert.deepEqual(claimed, { ...task, status: "in_progress", note: "mine" });
    }
  }),

  prove("TA5 an expected status leads out of no end, and finds no task that is not there", ["tasks"], async (nouns) => {
    const { tasks } = nouns;
    for (const from of TERMINAL) {
      const { board, task } = await oneTask(tasks);
      await tasks.move(board, task.id, from);
      await refuses("InvalidTransition", () => tasks.move(board, task.id, "planned", { from }));
      assert.equal(await tasks.move(board, "nobody", "in_progress", { from: "planned" }), null);
    }
  }),

  prove("TA5 if twenty callers claim a task at once, one of them gets it", ["tasks", "log"], async ({ tasks, log }) => {
    const { board, task } = await oneTask(tasks);
    const claims = range(20).map((n) => tasks.move(board, task.id, "in_progress", { note: `${n}`, from: "planned" }));
    const done = await Promise.allSettled(claims);
    const held = done.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const lost = done.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
    assert.equal(held.length, 1, `the task was claimed ${held.length} times`);
    for (const reason of lost) await refuses("Conflict", () => Promise.reject(reason));
    assert.deepEqual(await read(tasks, board), held[0]);
    assert.equal((await log.read("chat", { types: ["task/updated"] })).length, 1);
  }),

  prove("TA4 settle ends what is in progress and touches nothing else", ["tasks"], async ({ tasks }) => {
    for (const to of ["failed", "planned"] as const) {
      const board = await tasks.create("chat", [...TASK_STATUSES]);
      for (const { id, title } of board.tasks) {
        if (title !== "planned") await tasks.move(board.id, id, title as TaskStatus, { note: "noted" });
      }
      const sub = await tasks.create("chat", ["sub"], { agent: "sub" });
      await tasks.move(sub.id, present(sub.tasks[0]).id, "in_progress");
      const before = present(await tasks.get(board.id));
      assert.equal(await tasks.settle("chat", to), 2);
      const after = present(await tasks.get(board.id));
      const expected = before.tasks.map((task) => (task.status === "in_progress" ? { ...task, status: to } : task));
      assert.deepEqual(after.tasks, expected);
      assert.equal((await read(tasks, sub.id)).status, to);
      assert.equal(await tasks.settle("chat", to), 0);
    }
  }),

  prove("TA4 settle of one agent leaves the boards of others", ["tasks"], async ({ tasks }) => {
    const boards: string[] = [];
    for (const agent of ["", "a", "b"]) {
      const board = await tasks.create("chat", ["one"], { agent });
      await tasks.move(board.id, present(board.tasks[0]).id, "in_progress");
      boards.push(board.id);
    }
    assert.equal(await tasks.settle("chat", "failed", { agent: "a" }), 1);
    const statuses = await Promise.all(boards.map(async (board) => (await read(tasks, board)).status));
    assert.deepEqual(statuses, ["in_progress", "failed", "in_progress"]);
    assert.equal(await tasks.settle("chat", "failed", { agent: "nobody" }), 0);
    assert.equal(await tasks.settle("unknown", "failed"), 0);
  }),

  prove("TA4 nothing is ever settled as succeeded", ["tasks"], async ({ tasks }) => {
    const { board, task } = await oneTask(tasks);
    const moved = await tasks.move(board, task.id, "in_progress");
    await refuses("InvalidArgument", () => tasks.settle("chat", "succeeded" as "failed"));
    assert.deepEqual(await read(tasks, board), moved);
  }),
];
