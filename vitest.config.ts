// Two projects: everything that can share the machine, then test/real, whose crash and power-loss tests start real
// processes and are run one file at a time when nothing else is running.

import { defineConfig } from "vitest/config";

const shared = { pool: "forks", testTimeout: 60_000, hookTimeout: 60_000 } as const;
const elsewhere = ["**/node_modules/**", "**/dist/**"];

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...shared,
          name: "all",
          include: ["src/**/*.test.ts", "test/**/*.test.ts", "bench/**/*.test.ts"],
          exclude: [...elsewhere, "test/real/**"],
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...shared,
          name: "real",
          include: ["test/real/**/*.test.ts"],
          exclude: elsewhere,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
