// The life of a task, without a store.
import { describe, expect, test } from "vitest";
import { TASK_STATUSES, type Task, type TaskStatus } from "../contracts/tasks.ts";
import { changedFields, isTerminal, meaningful, moveTo, retitle, retry, revive, settled } from "./transitions.ts";

const task = (fields: Partial<Task> = {}): Task => ({
  id: "task_1",
  title: "dig",
  status: "planned",
  order: 0,
  retryCount: 0,
  note: "",
  ...fields,
});

const pairs = TASK_STATUSES.flatMap((from) => TASK_STATUSES.map((to): [TaskStatus, TaskStatus] => [from, to]));

describe("a status", () => {
  test("TA1 succeeded and abandoned are terminal, failed is not", () => {
    expect(TASK_STATUSES.filter(isTerminal)).toEqual(["succeeded", "abandoned"]);
  });

  test.each(pairs)("TA1 from %s to %s", (from, to) => {
    const move = () => moveTo(task({ status: from }), to, "");
    if (isTerminal(from) && from !== to) {
      expect(move).toThrow(expect.objectContaining({ code: "InvalidTransition", hint: expect.any(String) }));
    } else {
      expect(move().status).toBe(to);
    }
  });

  test("keeps the note when none is given, and takes a new one also in a terminal status", () => {
    expect(moveTo(task({ note: "why" }), "blocked", "").note).toBe("why");
    expect(moveTo(task({ status: "succeeded", note: "why" }), "succeeded", "because").note).toBe("because");
  });

  test("said again is no change", () => {
    const same = task({ status: "blocked", note: "why" });
    expect(moveTo(same, "blocked", "why")).toBe(same);
    expect(moveTo(same, "blocked", "")).toBe(same);
  });
});

describe("a move from an expected status", () => {
  test.each(pairs)("TA5 %s taken for %s", (actual, from) => {
    const move = () => moveTo(task({ status: actual }), actual, "", from);
    const details = { kind: "task", id: "task_1", expected: from, actual };
    if (from === actual) expect(move().status).toBe(actual);
    else expect(move).toThrow(expect.objectContaining({ code: "Conflict", hint: expect.any(String), details }));
  });

  test("TA5 is a Conflict also if the task has the target status already: another worker moved it", () => {
    const move = () => moveTo(task({ status: "succeeded" }), "in_progress", "", "planned");
    expect(move).toThrow(expect.objectContaining({ code: "Conflict" }));
  });
});

describe("a retry", () => {
  test("TA2 of the agent counts and is null at the limit", () => {
    expect(retry(task({ status: "failed", retryCount: 1, note: "why" }), 2)).toEqual(
      task({ status: "in_progress", retryCount: 2, note: "why" }),
    );
    expect(retry(task({ status: "failed", retryCount: 2 }), 2)).toBeNull();
    expect(retry(task(), 0)).toBeNull();
  });

  test.each(["succeeded", "abandoned"] as const)("TA2 of the agent does not leave %s", (status) => {
    expect(() => retry(task({ status }), 3)).toThrow(expect.objectContaining({ code: "InvalidTransition" }));
  });

  test.each(TASK_STATUSES)("TA2 of a person starts over from %s", (status) => {
    expect(revive(task({ status, retryCount: 9, note: "gave up" }))).toEqual(task({ status: "in_progress" }));
  });
});

test("TA4 tasks in progress become failed or planned, other tasks stay", () => {
  for (const to of ["failed", "planned"] as const) {
    const after = TASK_STATUSES.map((status) => settled(task({ status, note: "why" }), to));
    expect(after.map((one) => one.status)).toEqual(["planned", to, "blocked", "succeeded", "failed", "abandoned"]);
    expect(after.every((one) => one.note === "why")).toBe(true);
  }
});

test("blank titles are dropped, and all others are kept unchanged", () => {
  expect(meaningful(["", " a ", "\n\t", "b"])).toEqual([" a ", "b"]);
});

test("a change is described by the names of its fields", () => {
  expect(changedFields(task(), retitle(task(), "dive"))).toEqual(["title"]);
  expect(changedFields(task({ note: "why" }), revive(task({ note: "why" })))).toEqual(["status", "note"]);
  expect(changedFields(task(), task())).toEqual([]);
});
