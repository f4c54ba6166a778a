// Checks the code without running it: types, the API report, lint and format, dead code, layers and tidiness.
// The parts run in parallel, each to its end, so that one run shows all findings. `--no-tests` is for `npm test`,
// which runs the tests of layers and tidiness with all others.
import { spawn } from "node:child_process";
import { constants, setPriority } from "node:os";
import * as path from "node:path";
import { COMPILER } from "./compiler.ts";

interface Part {
  readonly heading: string;
  /** A path from the root. */
  readonly program: string;
  readonly flags: readonly string[];
}

interface Result extends Part {
  readonly output: string;
  readonly seconds: number;
  readonly isPassed: boolean;
}

const root = path.resolve(import.meta.dirname, "..");

/** The compiler's cache of results for unchanged files. */
const TYPES_CACHE = "node_modules/.cache/holdfast/types-7.tsbuildinfo";
/** The compiler's output goes through a pipe. */
const PRETTY = ["--pretty", String(process.stdout.isTTY === true)];

/** The parts; the longest one is first. */
const PARTS: readonly Part[] = [
  {
    heading: "types: tsc --noEmit, with TypeScript 7",
    program: path.relative(root, COMPILER),
    flags: ["-p", ".", "--incremental", "--tsBuildInfoFile", TYPES_CACHE, ...PRETTY],
  },
  { heading: "api-report.md: node scripts/api-report.ts", program: "scripts/api-report.ts", flags: [] },
  {
    heading: "layers and tidiness: vitest run test/tidy",
    program: "node_modules/vitest/vitest.mjs",
    flags: ["run", "test/tidy"],
  },
  {
    heading: "lint and format: biome check . (npm run format mends most of it)",
    program: "node_modules/@biomejs/biome/bin/biome",
    flags: ["check", ".", "--error-on-warnings"],
  },
  {
    heading: "dead code: knip (unused files, exports, types and dependencies; knip.json lists what programs start)",
    program: "node_modules/knip/bin/knip.js",
    flags: ["--no-progress", "--treat-config-hints-as-errors"],
  },
];

function runPart(part: Part): Promise<Result> {
  const started = performance.now();
  const colour = process.stdout.isTTY ? { FORCE_COLOR: "1" } : {};
  const child = spawn(process.execPath, [path.join(root, part.program), ...part.flags], {
    cwd: root,
    env: { ...process.env, ...colour },
    stdio: ["ignore", "pipe", "pipe"],
  });
  // The other parts share the cores that the longest part leaves free, so that they do not make the check longer.
  if (part !== PARTS[0] && child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      resolve({ ...part, output, seconds: (performance.now() - started) / 1000, isPassed: code === 0 });
    });
  });
}

const parts = process.argv.includes("--no-tests") ? PARTS.filter(({ flags }) => !flags.includes("test/tidy")) : PARTS;
const results = await Promise.all(
  parts.map(async (part) => {
    const result = await runPart(part);
    console.log(`\n== ${result.heading}\n${result.output.trimEnd()}\n(${result.seconds.toFixed(1)} s)`);
    return result;
  }),
);

const failed = results.filter(({ isPassed }) => !isPassed);
for (const { heading } of failed) console.error(`check failed: ${heading}`);
if (failed.length === 0) console.log("\ncheck passed");
process.exitCode = failed.length === 0 ? 0 : 1;
