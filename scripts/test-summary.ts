// Sums up a run of `npm test`: the tests that passed, failed and were skipped, and other failures.
import * as path from "node:path";

/** The part of vitest's JSON report that is read here. */
export interface TestReport {
  testResults: {
    name: string;
    status: "passed" | "failed";
    message: string;
    startTime: number;
    endTime: number;
    assertionResults: { fullName: string; status: string }[];
  }[];
}

export interface FinishedTest {
  readonly name: string;
  readonly status: string;
}

export interface TestRun {
  /** vitest's report; undefined if vitest was stopped before it wrote one. */
  readonly report: TestReport | undefined;
  /** Tests in the order in which they ended, also those of a run that was stopped. */
  readonly finished: readonly FinishedTest[];
  readonly vitestCode: number | null;
  readonly isInterrupted: boolean;
  readonly isCi: boolean;
  /** Failures before and besides the tests. */
  readonly problems: readonly string[];
}

export interface TestSummary {
  readonly passed: number;
  readonly failedTests: readonly string[];
  readonly skipped: readonly string[];
  readonly problems: readonly string[];
}

export function summariseRun(run: TestRun, root: string): TestSummary {
  const files = run.report?.testResults ?? [];
  const tests =
    run.report === undefined
      ? run.finished
      : files.flatMap((file) =>
          file.assertionResults.map(({ fullName, status }) => ({ name: fullName.trim(), status })),
        );
  const named = (isWanted: (status: string) => boolean) =>
    tests.filter(({ status }) => isWanted(status)).map(({ name }) => name);
  const failedTests = named((status) => status === "failed");
  const skipped = named((status) => !["passed", "failed"].includes(status));
  const passed = tests.length - failedTests.length - skipped.length;
  const ran = passed + failedTests.length;

  const problems = [...run.problems];
  for (const file of files) {
    const hasFailedTest = file.assertionResults.some((test) => test.status === "failed");
    if (file.status === "failed" && !hasFailedTest) problems.push(`${path.relative(root, file.name)}: ${file.message}`);
  }
  if (run.isCi) {
    const withoutReason = skipped.filter((name) => !/skipped:\s*\S/.test(name));
    problems.push(...withoutReason.map((name) => `skipped in CI without a reason ("skipped: …" in its name): ${name}`));
  }
  if (run.isInterrupted)
    problems.push(`interrupted after ${ran} ${ran === 1 ? "test" : "tests"}; the others did not run`);
  else if (ran === 0) problems.push("no test ran");
  // Errors outside of any test, such as an unhandled rejection, show in vitest's exit code alone.
  const isExplained = problems.length + failedTests.length > 0;
  if (run.vitestCode !== 0 && !isExplained) problems.push(`vitest ended with exit code ${run.vitestCode}`);
  return { passed, failedTests, skipped, problems };
}

/** Reads the lines that scripts/finished-tests.ts wrote; an incomplete last line is left out. */
export function readFinishedTests(lines: string): readonly FinishedTest[] {
  return lines
    .split("\n")
    .slice(0, -1)
    .map((line): FinishedTest => JSON.parse(line));
}

/** Reads the lines that test/processor-time.ts wrote: seconds by file. */
export function readProcessorTimes(lines: string): ReadonlyMap<string, number> {
  const entries = lines
    .split("\n")
    .slice(0, -1)
    .map((line): { readonly file: string; readonly seconds: number } => JSON.parse(line));
  return new Map(entries.map(({ file, seconds }) => [file, seconds]));
}
