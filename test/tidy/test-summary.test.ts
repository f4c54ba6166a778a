// The summary of `npm test`, also of a run that was interrupted.
import { describe, expect, test } from "vitest";
import { readFinishedTests, summariseRun, type TestRun } from "../../scripts/test-summary.ts";

const RUN: TestRun = {
  report: { testResults: [] },
  finished: [],
  vitestCode: 0,
  isInterrupted: false,
  isCi: false,
  problems: [],
};
const finished = readFinishedTests('{"name":"a","status":"passed"}\n{"name":"b","status":"failed"}\n{"name":"c","sta');

describe("the summary of npm test", () => {
  test("of an interrupted run says so, and counts the tests that ran", () => {
    expect(summariseRun({ ...RUN, report: undefined, finished, isInterrupted: true, vitestCode: null }, "/")).toEqual({
      passed: 1,
      failedTests: ["b"],
      skipped: [],
      problems: ["interrupted after 2 tests; the others did not run"],
    });
    const before = summariseRun({ ...RUN, report: undefined, isInterrupted: true, vitestCode: null }, "/");
    expect(before.problems).toEqual(["interrupted after 0 tests; the others did not run"]);
  });

  test("of a run without tests fails", () => {
    expect(summariseRun(RUN, "/").problems).toEqual(["no test ran"]);
  });

  test("counts a file that does not load, and an exit code that no failed test explains", () => {
    const file = { name: "/repo/a.test.ts", message: "boo", startTime: 0, endTime: 0, assertionResults: [] };
    const ok = { ...file, status: "passed" as const, assertionResults: [{ fullName: "a", status: "passed" }] };
    const broken = { testResults: [ok, { ...file, status: "failed" as const }] };
    expect(summariseRun({ ...RUN, report: broken, vitestCode: 1 }, "/repo").problems).toEqual(["a.test.ts: boo"]);
    expect(summariseRun({ ...RUN, report: { testResults: [ok] }, vitestCode: 1 }, "/repo")).toEqual({
      passed: 1,
      failedTests: [],
      skipped: [],
      problems: ["vitest ended with exit code 1"],
    });
  });
});
