// `npm run torture`: real processes, servers, poolers and files under attack for as long as you like. Each part compares
// everything at its end, and prints what it has done.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { parseArgs } from "node:util";
import { ENGINES } from "../test/real/stores.ts";
import type { TorturePart } from "../test/torture/part.ts";
import { TORTURE_PARTS } from "../test/torture/parts.ts";

const HELP = `npm run torture -- [options]

  --part name       only this part; may be given several times (default: all, one after the other)
  --minutes n       how long all chosen parts take together (default 10); they share it equally
  --engine name     sqlite or postgres, for the parts kill and freeze (default: one after the other)
  --workers n       processes at work at a time (default 3)
  --runs n          runs under way at a time (default 16)
  --dir folder      where the files go (default: the system's temporary folder)
  --help

Parts:
${TORTURE_PARTS.map(({ name, about }) => `  ${name.padEnd(16)}${about}`).join("\n")}
`;

function parse(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      part: { type: "string", multiple: true },
      minutes: { type: "string", default: "10" },
      engine: { type: "string" },
      workers: { type: "string", default: "3" },
      runs: { type: "string", default: "16" },
      dir: { type: "string", default: tmpdir() },
      help: { type: "boolean", default: false },
    },
  });
  const positive = (name: "minutes" | "workers" | "runs") => {
    const value = Number(values[name]);
    if (!(value > 0)) throw new Error(`--${name} ${values[name]} is not a number above 0`);
    return value;
  };
  const engines = ENGINES.filter((one) => values.engine === undefined || values.engine === one);
  if (engines.length === 0) throw new Error(`--engine ${values.engine} is neither sqlite nor postgres`);
  const unknown = values.part?.find((name) => !TORTURE_PARTS.some((part) => part.name === name));
  if (unknown !== undefined)
    throw new Error(`There is no part ${unknown}. The parts are ${TORTURE_PARTS.map(({ name }) => name).join(", ")}.`);
  const parts = TORTURE_PARTS.filter(({ name }) => values.part?.includes(name) ?? true);
  const numbers = { minutes: positive("minutes"), workers: positive("workers"), runs: positive("runs") };
  return { ...numbers, parts, engines, dir: values.dir, help: values.help };
}

type Options = ReturnType<typeof parse>;

/** Whether the part found no fault. */
async function runPart(part: TorturePart, { parts, minutes, engines, workers, runs, dir }: Options): Promise<boolean> {
  const folder = mkdtempSync(path.join(dir, "holdfast-torture-"));
  const progress = (line: string) => process.stderr.write(`  ${line}\n`);
  const ms = (minutes * 60_000) / parts.length;
  const started = performance.now();
  try {
    const lines = await part.run({ folder, ms, engines, workers, runs, progress });
    const seconds = Math.round((performance.now() - started) / 1000);
    for (const line of lines) console.log(`${part.name}: ${line}`);
    process.stderr.write(`  ${part.name} took ${seconds} s\n`);
  } catch (error) {
    console.error(error);
    console.error(`FAILED: ${part.name}; its files are in ${folder}`);
    return false;
  }
  rmSync(folder, { recursive: true, force: true });
  return true;
}

async function main(): Promise<number> {
  const options = parse(process.argv.slice(2));
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const failed: string[] = [];
  for (const part of options.parts) if (!(await runPart(part, options))) failed.push(part.name);
  const held = options.parts.length - failed.length;
  console.log(`${held} parts held, ${failed.length} failed${failed.length === 0 ? "" : `: ${failed.join(", ")}`}`);
  return failed.length === 0 ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
