// A reporter of vitest: writes each test to a file when it ends. vitest writes its JSON report only at the end, so after an
// interrupted run only this file says which tests ran.
import { appendFileSync } from "node:fs";
import type { Reporter, TestCase } from "vitest/node";

export default class FinishedTests implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const file = process.env.HOLDFAST_FINISHED_TESTS;
    if (file === undefined) return;
    appendFileSync(file, `${JSON.stringify({ name: test.fullName, status: test.result().state })}\n`);
  }
}
