// `npm run bench -- <suite>`: runs a suite's benches one after the other and prints what they measured. The figures go
// to standard output, as a table or as one JSON array; everything else goes to standard error.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { parseArgs } from "node:util";
import { captures } from "./captures/suite.ts";
import { foundation } from "./foundation/suite.ts";
import { fileSystemOf, isMemory, machineLine } from "./machine.ts";
import { memory } from "./memory/suite.ts";
import { peers } from "./peers/suite.ts";
import { type Result, toJson, toTable, wrap } from "./report.ts";
import { runs } from "./runs/suite.ts";
import { sessions } from "./sessions/suite.ts";
import { type Bench, chosen, isNamed, type Suite } from "./suite.ts";

const SUITES: Readonly<Record<string, () => Suite>> = { foundation, sessions, runs, captures, memory, peers };

const HELP = `npm run bench -- <suite> [options]

  --json          one JSON array of {metric, value, unit, baseline, ratio, …}
  --only a,b      only these metrics; "append" is all of append.…
  --seconds n     measure each contender of a bench for so long (default 4)
  --dir folder    where the files go (default: the system's temporary folder)
  --data folder   data sets that are not part of the repository (memory)
  --list          the metrics of the suite
  --help

DATABASE_URL     a PostgreSQL server to use instead of starting one

suites: ${Object.entries(SUITES)
  .map(([name, make]) => `${name}: ${make().about}`)
  .join("\n        ")}
`;

interface Options {
  readonly suite: string | undefined;
  readonly json: boolean;
  readonly only: readonly string[];
  readonly seconds: number;
  readonly dir: string;
  readonly data?: string | undefined;
  readonly list: boolean;
  readonly help: boolean;
}

function parse(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      json: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      seconds: { type: "string", default: "4" },
      dir: { type: "string", default: tmpdir() },
      data: { type: "string" },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const seconds = Number(values.seconds);
  if (!(seconds > 0)) throw new Error(`--seconds ${values.seconds} is not a time`);
  const only = values.only.split(",").filter((name) => name !== "");
  return { ...values, only, seconds, suite: positionals[0] };
}

async function main(): Promise<number> {
  const options = parse(process.argv.slice(2));
  const make = options.suite === undefined ? undefined : SUITES[options.suite];
  if (options.help || make === undefined) {
    (options.help ? process.stdout : process.stderr).write(HELP);
    return options.help ? 0 : 2;
  }
  const suite = make();
  if (options.list) {
    process.stdout.write(`${suite.benches.flatMap((bench) => bench.metrics).join("\n")}\n`);
    return 0;
  }
  const benches = chosen(suite.benches, options.only);
  if (benches.length === 0) throw new Error(`no metric is named ${options.only.join(", ")}; see --list`);
  const folder = mkdtempSync(path.join(options.dir, "holdfast-bench-"));
  try {
    return await measure(suite, benches, folder, options);
  } finally {
    await suite.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(
  suite: Suite,
  benches: readonly Bench[],
  folder: string,
  { only, seconds, data, json }: Options,
): Promise<number> {
  if (isMemory(fileSystemOf(folder))) {
    say(`${folder} is memory, not a disk: nothing measured there is durable. Give --dir a folder on a disk.`);
  }
  const isSelected = (metric: string) => isNamed(metric, only);
  const results: Result[] = [];
  let failed = 0;
  const began = performance.now();
  for (const bench of benches) {
    const start = performance.now();
    try {
      const measured = await bench.run({ folder, seconds, data, say, isSelected });
      results.push(...measured.filter((result) => isSelected(result.metric)));
      say(`${bench.metrics.join(", ")}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
    } catch (error) {
      failed++;
      console.error(`${bench.metrics.join(", ")} failed:`, error);
    }
  }
  const machine = wrap(
    machineLine({ folder, pragmas: suite.pragmas, postgres: suite.postgresVersion(), peers: suite.peers }),
    80,
  );
  if (json) {
    for (const line of machine) say(line);
    process.stdout.write(`${toJson(results)}\n`);
  } else process.stdout.write(`${[...toTable(results), "", ...machine].join("\n")}\n`);
  say(`${((performance.now() - began) / 1000).toFixed(0)} s in all`);
  return failed === 0 ? 0 : 1;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
