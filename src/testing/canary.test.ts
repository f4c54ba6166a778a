// Canaries: stores with one planted bug each. A suite or a property that misses a planted bug would prove nothing.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Holdfast } from "../contracts/holdfast.ts";
import { open } from "../open.ts";
import { adjustableEnvironment, simulatedEnvironment } from "./environment.ts";
import { type Model, naiveModel } from "./model.ts";
import { runPropertySuite } from "./property.ts";
import type { Harness, MakeFixture, SuiteOptions } from "./suite.ts";
import { runHistorySuite } from "./suites/history.ts";
import { runSessionsSuite } from "./suites/sessions.ts";
import { runStateSuite } from "./suites/state.ts";
import { runTasksSuite } from "./suites/tasks.ts";

/** Plants one bug in a store, or in the model. */
type Bug = <S extends Model>(store: S) => S;

const bugs: Readonly<Record<string, Bug>> = {
  "clear takes the messages of all agents": (store) => {
    const { history } = store;
    const clear: typeof history.clear = async (scope) => {
      for (const agent of ["a0", "a1", "helper", "other"]) await history.clear({ ...scope, agent });
      return history.clear(scope);
    };
    return { ...store, history: { ...history, clear } };
  },
  "a key is forgotten": (store) => {
    const { history } = store;
    const append: typeof history.append = async (scope, { key: _, ...message }, options) =>
      history.append(scope, message, options);
    return { ...store, history: { ...history, append } };
  },
  "last comes newest first": (store) => {
    const { history } = store;
    const get: typeof history.get = async (scope, range) => {
      const found = await history.get(scope, range);
      return range?.last === undefined ? found : found.toReversed();
    };
    const session: typeof history.session = async (id, range) => {
      const found = await history.session(id, range);
      return range?.last === undefined ? found : found.toReversed();
    };
    return { ...store, history: { ...history, get, session } };
  },
  "patch replaces the whole": (store) => {
    const { state } = store;
    return { ...store, state: { ...state, patch: (id, value, options) => state.set(id, value, options) } };
  },
  "state never expires": (store) => {
    const { state } = store;
    const patch: typeof state.patch = (id, value, { remove = [] } = {}) => state.patch(id, value, { remove });
    return { ...store, state: { ...state, patch, set: (id, value) => state.set(id, value) } };
  },
  "a finished task can be taken up again": (store) => {
    const { tasks } = store;
    const move: typeof tasks.move = async (board, task, status, options) => {
      const found = (await tasks.get(board))?.tasks.find(({ id }) => id === task);
      if (found?.status === "succeeded") await tasks.forceRetry(board, task);
      return tasks.move(board, task, status, options);
    };
    return { ...store, tasks: { ...tasks, move } };
  },
  "a task that someone else has claimed can be claimed": (store) => {
    const { tasks } = store;
    const move: typeof tasks.move = (board, task, status, { note } = {}) =>
      tasks.move(board, task, status, note === undefined ? {} : { note });
    return { ...store, tasks: { ...tasks, move } };
  },
  "settle says succeeded": (store) => {
    const { tasks } = store;
    const settle: typeof tasks.settle = async (id) => {
      const boards = await tasks.boards(id);
      const open = boards.flatMap((board) => board.tasks.map((task) => ({ board: board.id, ...task })));
      const stuck = open.filter(({ status }) => status === "in_progress");
      for (const task of stuck) await tasks.move(task.board, task.id, "succeeded");
      return stuck.length;
    };
    return { ...store, tasks: { ...tasks, settle } };
  },
  "an alias moves unrequested": (store) => {
    const { sessions } = store;
    const setAlias: typeof sessions.setAlias = (id, name) => sessions.setAlias(id, name, { move: true });
    return { ...store, sessions: { ...sessions, setAlias } };
  },
  "a version that has passed is fine": (store) => {
    const { sessions } = store;
    const update: typeof sessions.update = (id, { version: _, ...patch }) => sessions.update(id, patch);
    return { ...store, sessions: { ...sessions, update } };
  },
};

/** Runs what a suite registers, one after the other, and counts the cases that fail. */
async function failures(register: (options: SuiteOptions & { harness: Harness }) => void): Promise<number> {
  const cases: (() => Promise<void>)[] = [];
  // One list of skips serves four suites here, so not every skip has a case in each.
  const add = (name: string, body: () => Promise<void>) => name.startsWith("every skip") || cases.push(body);
  register({
    harness: { describe: (_, body) => body(), test: Object.assign(add, { skip: () => undefined }) },
    skip: [
      { reason: "the model has none", needs: ["log", "blobs", "agents", "stats", "another", "close"] },
      { reason: "the model believes its callers", tests: ["ST7", "ST8", "ST2 appendMany is all"] },
    ],
  });
  let failed = 0;
  for (const run of cases) await run().catch(() => failed++);
  return failed;
}

async function failuresOfAll(make: MakeFixture): Promise<number> {
  const counts = await Promise.all(
    [runHistorySuite, runSessionsSuite, runStateSuite, runTasksSuite].map((run) =>
      failures((options) => run("canary", make, options)),
    ),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

function makeModel(bug: Bug): MakeFixture {
  return async () => {
    const environment = adjustableEnvironment();
    return { store: bug(naiveModel(environment)), environment, close: async () => undefined };
  };
}

describe("the suites", () => {
  test("let the sound model pass", async () => {
    expect(await failuresOfAll(makeModel((store) => store))).toBe(0);
  });

  test.each(Object.entries(bugs))("find it when %s", async (_, bug) => {
    expect(await failuresOfAll(makeModel(bug))).toBeGreaterThan(0);
  });
});

describe("the property suite", () => {
  test.each(Object.entries(bugs))("finds it when %s", async (_, bug) => {
    const make = async () => {
      const environment = simulatedEnvironment(1);
      const store = await open(":memory:", { environment });
      const broken: Holdfast = bug(store);
      return { store: broken, environment, close: () => store.close() };
    };
    const found = await failures(({ harness }) => {
      runPropertySuite("canary", make, { fc, harness, runs: 300, seed: 9, shrink: false });
    });
    expect(found).toBe(1);
  });
});
