// `npm run test:long`: the tests that `npm test` runs with few seeds and cases, in full. Each part runs even if one before it failed;
// the summary at the end has the result of each. It takes about an hour, and continuous integration does not run it.
import { type ChildProcess, spawn } from "node:child_process";
import * as path from "node:path";
import { parseArgs } from "node:util";
import { PARTS, type Part } from "./test-parts.ts";

const HELP = `npm run test:long -- [options]

  --part name   only this part; may be given several times
  --help

Parts:
${PARTS.map(({ name, about }) => `  ${name.padEnd(12)}${about}`).join("\n")}
`;

interface Result {
  readonly part: string;
  readonly seconds: number;
  readonly code: number | null;
  /** The last line that the part printed: its figures. */
  readonly figures: string;
}

const root = path.resolve(import.meta.dirname, "..");
let running: ChildProcess | undefined;
let interrupted = false;

function chooseParts(args: readonly string[]): readonly Part[] | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: { part: { type: "string", multiple: true }, help: { type: "boolean", default: false } },
  });
  if (values.help) return "help";
  const unknown = values.part?.find((name) => !PARTS.some((part) => part.name === name));
  if (unknown !== undefined) {
    throw new Error(`There is no part ${unknown}. The parts are ${PARTS.map(({ name }) => name).join(", ")}.`);
  }
  return PARTS.filter(({ name }) => values.part?.includes(name) ?? true);
}

async function runPart({ name, tests, program }: Part): Promise<Result> {
  const started = performance.now();
  // Vitest and scripts/test.ts print the figures in their last line, and so does the torture.
  const child = spawn(process.execPath, program ? [...program] : ["scripts/test.ts", ...tests], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, HOLDFAST_TEST_LONG: "1" },
  });
  running = child;
  let tail = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    process.stdout.write(text);
    tail = (tail + text).slice(-4096);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const seconds = Math.round((performance.now() - started) / 1000);
  return { part: name, seconds, code, figures: tail.trimEnd().split("\n").at(-1) ?? "" };
}

function describeResult({ part, seconds, code, figures }: Result): string {
  const verdict = code === 0 ? "passed" : "FAILED";
  const time = `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
  return `${part.padEnd(10)}${verdict}  ${time.padStart(12)}  ${figures}`;
}

async function main(): Promise<number> {
  const parts = chooseParts(process.argv.slice(2));
  if (parts === "help") {
    process.stdout.write(HELP);
    return 0;
  }
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      interrupted = true;
      running?.kill(name);
    });
  }
  const results: Result[] = [];
  for (const [i, part] of parts.entries()) {
    if (interrupted) break;
    console.log(`\n== part ${i + 1} of ${parts.length}, ${part.name}: ${part.about}`);
    results.push(await runPart(part));
  }
  console.log("\n== test:long");
  for (const result of results) console.log(describeResult(result));
  const failed = results.filter(({ code }) => code !== 0).length;
  const left = parts.length - results.length;
  console.log(`${results.length - failed} parts passed, ${failed} failed${left > 0 ? `, ${left} not run` : ""}`);
  return failed === 0 && left === 0 ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
