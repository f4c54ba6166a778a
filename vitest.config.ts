// Three projects at once: most tests; test/agents with the real coding agents; test/real, whose crash and power-loss tests
// start real processes. The last two mostly wait.

import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const isLong = process.env.HOLDFAST_TEST_LONG === "1";
/** How long a test that hangs may take; no test asserts how fast the machine is. */
const HANG_MS = isLong ? 600_000 : 300_000;
const shared = {
  // Node runs the sources as they are: Vite's module runner takes a fifth more processor time.
  experimental: { viteModuleRunner: false },
  ...{ pool: "forks", testTimeout: HANG_MS, hookTimeout: HANG_MS },
  setupFiles: "test/setup.ts",
} as const;
/** More than there are cores as a rule: many tests wait for a disk, a server or an agent. */
const WORKERS = 5;
const elsewhere = ["**/node_modules/**", "**/dist/**"];
/** Where tests make their files that prove nothing about the disk; see scripts/test.ts. */
const memoryFolder = process.env.HOLDFAST_TEST_MEMORY_FOLDER;
const inMemory = memoryFolder === undefined || memoryFolder === "" ? {} : { TMPDIR: memoryFolder };

/** Those that take longest, longest first: no run should end with one worker in a long file and the others idle. */
const LONG = [
  ...["suites.postgres", "suites.", "agents/run", "agents/remembered", "agents/cli", "test/examples", "test/package"],
  ...["opencode/restore", "conversation/import", "check/flips", "check/columns", "check/export", "blobs/store"],
  ...["loop/loop", "archive/erased", "coding/secrets", "runs/reads", "bad-input", "sim/canaries", "sim/matrix", "docs"],
  ...["agents/opencode", "blobs/growth", "core/decode", "check/", "commands/run", "sim/", "archive/", "recipes/"],
  ...["tombstones", "commands/", "test/real"],
];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = LONG.findIndex((name) => moduleId.includes(name));
      return place < 0 ? LONG.length : place;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongFirst },
    projects: [
      {
        test: {
          ...shared,
          name: "all",
          env: inMemory,
          include: ["src/**/*.test.ts", "test/**/*.test.ts", "bench/**/*.test.ts"],
          exclude: [...elsewhere, "test/real/**", "test/agents/*.test.ts"],
          maxWorkers: WORKERS,
          // A process runs file after file: starting one and loading the sources takes longer than most files do.
          isolate: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...shared,
          name: "real",
          include: ["test/real/**/*.test.ts"],
          exclude: elsewhere,
          maxWorkers: WORKERS,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...shared,
          name: "agents",
          include: ["test/agents/*.test.ts"],
          exclude: elsewhere,
          maxWorkers: WORKERS,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
