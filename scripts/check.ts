// Everything that can be said about the code without running it: types, lint and format, layers and tidiness. Each part
// runs even if one before it failed, so that one run shows all there is to mend. `--no-tests` is for `npm test`, which runs
// the tests of layers and tidiness with all others.

import { spawnSync } from "node:child_process";
import * as path from "node:path";

const root = path.resolve(import.meta.dirname, "..");

const parts = [
  { heading: "types: tsc --noEmit", program: "typescript/bin/tsc", flags: ["--noEmit"] },
  {
    heading: "lint and format: biome check . (npm run format mends most of it)",
    program: "@biomejs/biome/bin/biome",
    flags: ["check", ".", "--error-on-warnings"],
  },
  { heading: "layers and tidiness: vitest run test/tidy", program: "vitest/vitest.mjs", flags: ["run", "test/tidy"] },
];

const asked = process.argv.includes("--no-tests") ? parts.filter(({ flags }) => !flags.includes("test/tidy")) : parts;

const failed = asked.filter(({ heading, program, flags }) => {
  console.log(`\n== ${heading}`);
  const file = path.join(root, "node_modules", program);
  const run = spawnSync(process.execPath, [file, ...flags], { cwd: root, stdio: "inherit" });
  if (run.error) console.error(run.error.message);
  return run.status !== 0;
});

for (const { heading } of failed) console.error(`check failed: ${heading}`);
if (failed.length === 0) console.log("\ncheck passed");
process.exitCode = failed.length === 0 ? 0 : 1;
