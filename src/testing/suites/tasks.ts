// The suite of the tasks contract: boards here, what may happen to a task in the file beside.
import assert from "node:assert/strict";
import { LIMITS } from "../../contracts/limits.ts";
import type { Board } from "../../contracts/tasks.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { taskRaceCases } from "./races.ts";
import { taskChangeCases } from "./tasks-change.ts";

export function runTasksSuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  runCases(`tasks: ${name}`, [...boardCases, ...listCases, ...taskChangeCases, ...taskRaceCases], make, options);
}

const titles = (board: Board | null) => board?.tasks.map(({ title }) => title);

const boardCases: readonly Case[] = [
  prove("TA1 a board has its tasks, planned, in the order given", ["tasks"], async ({ tasks }) => {
    const board = await tasks.create("chat", ["one", "two", "three"]);
    assert.equal(board.session, "chat");
    const { agent, label, parent, maxRetries } = board;
    const defaults = { agent: "", label: "", parent: null, maxRetries: 3 };
    assert.deepEqual({ agent, label, parent, maxRetries }, defaults);
    assert.deepEqual(titles(board), ["one", "two", "three"]);
    for (const [order, task] of board.tasks.entries()) {
      const { id: _, title: __, ...rest } = task;
      assert.deepEqual(rest, { status: "planned", order, retryCount: 0, note: "" });
    }
    assert.equal(new Set(board.tasks.map(({ id }) => id)).size, 3);
    assert.deepEqual(await tasks.get(board.id), board);
    assert.deepEqual(await tasks.root("chat"), board);
    assert.deepEqual(await tasks.boards("chat"), [board]);
  }),

  prove("TA1 a board remembers whose it is", ["tasks"], async ({ tasks }) => {
    const options = { agent: "sub", label: "Der Sub-Agent ☂", parent: "", maxRetries: 0 };
    const board = await tasks.create("chat", ["x"], options);
    const { agent, label, parent, maxRetries } = present(await tasks.get(board.id));
    assert.deepEqual({ agent, label, parent, maxRetries }, options);
    const child = await tasks.create("chat", [], { agent: "sub-sub", parent: "sub" });
    assert.equal(child.parent, "sub");
    assert.deepEqual(child.tasks, []);
  }),

  prove("TA1 what is not there is null or empty", ["tasks"], async ({ tasks }) => {
    assert.equal(await tasks.get("nobody"), null);
    assert.equal(await tasks.root("nobody"), null);
    assert.deepEqual(await tasks.boards("nobody"), []);
  }),

  prove("TA1 the conversation's board is the root board, else the oldest", ["tasks"], async ({ tasks }) => {
    const first = await tasks.create("chat", ["a"], { agent: "zeta" });
    const second = await tasks.create("chat", ["b"], { agent: "alpha" });
    assert.deepEqual(await tasks.root("chat"), first);
    const root = await tasks.create("chat", ["c"]);
    assert.deepEqual(await tasks.root("chat"), root);
    const boards = await tasks.boards("chat");
    assert.equal(boards.length, 3);
    assert.deepEqual(new Set(boards.map(({ id }) => id)), new Set([first.id, second.id, root.id]));
  }),

  prove("TA1 boards of a conversation are listed with all their tasks", ["tasks"], async ({ tasks }) => {
    for (const n of range(12)) await tasks.create("chat", [`t${n}`, `u${n}`], { agent: `a${n}` });
    await tasks.create("other", ["elsewhere"]);
    const boards = await tasks.boards("chat");
    assert.equal(boards.length, 12);
    for (const board of boards) assert.deepEqual(await tasks.get(board.id), board);
  }),

  prove("TA1 if 8 callers create a missing board at once, one of them creates it", ["tasks"], async ({ tasks }) => {
    const make = (n: number) => tasks.create("chat", [`t${n}`], { agent: "sub", ifAbsent: true });
    const made = await Promise.allSettled(range(8).map(make));
    const [winner, ...others] = made.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    assert.deepEqual([winner?.tasks.length, others], [1, []]);
    assert.deepEqual(await tasks.boards("chat"), [winner]);
    await refuses("AlreadyExists", () => make(8));
    assert.deepEqual(titles(await tasks.create("chat", ["x"], { agent: "sub", ifAbsent: false })), ["x"]);
  }),

  prove("TA1 creating a board again keeps its id and gives it the new tasks", ["tasks", "clock"], async (nouns) => {
    const { tasks, clock } = nouns;
    const first = await tasks.create("chat", ["one", "two"]);
    await tasks.move(first.id, present(first.tasks[0]).id, "succeeded", { note: "done" });
    await clock.advance(60_000);
    const second = await tasks.create("chat", ["three"], { maxRetries: 5, label: "new" });
    assert.equal(second.id, first.id);
    assert.equal(second.createdAt, first.createdAt);
    assert.deepEqual(titles(second), ["three"]);
    assert.equal(second.maxRetries, 5);
    assert.equal(second.label, "new");
    assert.deepEqual(
      second.tasks.map(({ status, order, retryCount, note }) => ({ status, order, retryCount, note })),
      [{ status: "planned", order: 0, retryCount: 0, note: "" }],
    );
    assert.deepEqual(await tasks.get(first.id), second);
    assert.equal(await tasks.move(first.id, present(first.tasks[1]).id, "blocked"), null, "old tasks are gone");
  }),

  prove("TA1 boards of different agents are apart", ["tasks"], async ({ tasks }) => {
    const one = await tasks.create("chat", ["one"], { agent: "a" });
    const two = await tasks.create("chat", ["two"], { agent: "b" });
    await tasks.create("chat", ["new"], { agent: "a" });
    assert.deepEqual(await tasks.get(two.id), two);
    assert.deepEqual(titles(await tasks.get(one.id)), ["new"]);
    assert.equal(await tasks.move(one.id, present(two.tasks[0]).id, "blocked"), null, "a task is found on its board");
  }),

  prove("TA3 one board created 8 times at once is one board", ["tasks"], async ({ tasks }) => {
    const done = await Promise.all(range(8).map((n) => tasks.create("chat", [`t${n}`])));
    assert.equal(new Set(done.map(({ id }) => id)).size, 1);
    const board = present(await tasks.root("chat"));
    assert.equal(board.tasks.length, 1);
    assert.ok(done.some((one) => one.tasks[0]?.id === board.tasks[0]?.id));
  }),

  prove("TA1 boards go with their conversation", ["tasks", "sessions"], async ({ tasks, sessions }) => {
    const board = await tasks.create("chat", ["one"]);
    const task = present(board.tasks[0]);
    assert.equal(present(await sessions.get("chat")).id, "chat", "a conversation is a session");
    await sessions.delete("chat");
    assert.equal(await tasks.get(board.id), null);
    assert.equal(await tasks.move(board.id, task.id, "blocked"), null);
    await refuses("SessionDeleted", () => tasks.create("chat", ["again"]));
  }),

  prove("ST8 titles and boards over a limit are refused whole", ["tasks"], async ({ tasks }) => {
    await refuses("LimitExceeded", () => tasks.create("chat", ["fine", "x".repeat(LIMITS.titleBytes + 1)]));
    const many = range(LIMITS.tasksPerBoard + 1).map((n) => `t${n}`);
    await refuses("LimitExceeded", () => tasks.create("chat", many));
    assert.equal(await tasks.root("chat"), null);
    const board = await tasks.create("chat", ["one"]);
    await refuses("LimitExceeded", () => tasks.add(board.id, many.slice(1)));
    const note = "x".repeat(LIMITS.noteBytes + 1);
    await refuses("LimitExceeded", () => tasks.move(board.id, present(board.tasks[0]).id, "blocked", { note }));
    assert.deepEqual(await tasks.get(board.id), board);
  }),
];

const listCases: readonly Case[] = [
  prove("TA1 tasks are added at the end", ["tasks"], async ({ tasks }) => {
    const board = await tasks.create("chat", ["one"]);
    const added = await tasks.add(board.id, ["two", "three"]);
    assert.deepEqual(
      added.map(({ title, status, order }) => ({ title, status, order })),
      [
        { title: "two", status: "planned", order: 1 },
        { title: "three", status: "planned", order: 2 },
      ],
    );
    const read = present(await tasks.get(board.id));
    assert.deepEqual(read.tasks, [...board.tasks, ...added]);
    assert.deepEqual(await tasks.add(board.id, []), []);
  }),

  prove("TA1 a deleted task is gone and the others keep their order", ["tasks"], async ({ tasks }) => {
    const board = await tasks.create("chat", ["one", "two", "three"]);
    const [one, two, three] = board.tasks;
    assert.equal(await tasks.delete(board.id, present(two).id), true);
    assert.equal(await tasks.delete(board.id, present(two).id), false);
    assert.equal(await tasks.delete("nobody", present(one).id), false);
    assert.deepEqual(titles(await tasks.get(board.id)), ["one", "three"]);
    const [four] = await tasks.add(board.id, ["four"]);
    assert.ok(present(four).order > present(three).order, "a new task goes behind all that are there");
    assert.deepEqual(titles(await tasks.get(board.id)), ["one", "three", "four"]);
  }),

  prove("TA1 a title can change", ["tasks"], async ({ tasks }) => {
    const board = await tasks.create("chat", ["one", "two"]);
    const [one, two] = board.tasks;
    const renamed = await tasks.rename(board.id, present(one).id, "eins \u0000 😀");
    assert.deepEqual(renamed, { ...present(one), title: "eins \u0000 😀" });
    assert.deepEqual(present(await tasks.get(board.id)).tasks, [renamed, two]);
    assert.equal(await tasks.rename(board.id, "nobody", "x"), null);
    assert.equal(await tasks.rename("nobody", present(one).id, "x"), null);
  }),

  prove("TA3 tasks added at once are all there, each in a place of its own", ["tasks"], async ({ tasks }) => {
    const board = await tasks.create("chat", ["first"]);
    await Promise.all(range(20).map((n) => tasks.add(board.id, [`a${n}`, `b${n}`])));
    const read = present(await tasks.get(board.id));
    assert.equal(read.tasks.length, 41);
    assert.equal(new Set(read.tasks.map(({ order }) => order)).size, 41);
    for (const n of range(20)) {
      const at = present(titles(read)).indexOf(`a${n}`);
      assert.equal(titles(read)?.[at + 1], `b${n}`, "what was added together stands together");
    }
  }),

  prove("TA3 every change is an event", ["tasks", "log"], async ({ tasks, log }) => {
    const board = await tasks.create("chat", ["one"]);
    const task = present(board.tasks[0]);
    await tasks.move(board.id, task.id, "in_progress");
    await tasks.retry(board.id, task.id);
    await tasks.forceRetry(board.id, task.id);
    await tasks.rename(board.id, task.id, "uno");
    await tasks.settle("chat", "planned");
    await tasks.delete(board.id, task.id);
    const types = (await log.read("chat")).map(({ type }) => type);
    assert.deepEqual(types.slice(0, 2), ["session/created", "board/created"]);
    assert.equal(types.filter((type) => type === "task/updated").length, 5);
    assert.equal(types.at(-1), "task/removed");
    assert.equal((await log.verify("chat")).ok, true);
  }),
];
