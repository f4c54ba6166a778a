// `npm run sim`: plays seeds of the simulations in test/sim. With one seed it prints what happened; with many it searches, prints for each
// failed seed the command that plays it again, and keeps the seed in test/sim/seeds.json.
import { parseArgs } from "node:util";
import { command, keepSeed, runScenario } from "../test/sim/run-scenario.ts";
import { SCENARIOS, type Scenario } from "../test/sim/scenarios.ts";

const HELP = `npm run sim -- [options]

  --seed n          one seed, with the log of what happened
  --seeds a..b      all of these (default 1..100)
  --scenario name   only this one: ${[...SCENARIOS.keys()].join(", ")}
  --rate r          share of faults, 0 to 1 (default: the scenario's own, and 0.5)
  --forget          do not keep seeds that fail
  --hashes          one line per seed: the hash of its event log and the number of its commits, to compare two versions
  --json            one JSON array of what was found
  --help
`;

interface Report {
  readonly scenario: string;
  readonly rate: number;
  readonly seeds: number;
  readonly failed: readonly { readonly seed: number; readonly problems: readonly string[]; readonly replay: string }[];
  /** How many different orders of commits there were. */
  readonly interleavings: number;
  readonly commits: number;
  readonly faults: Readonly<Record<string, number>>;
}

function parse(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: "string" },
      seeds: { type: "string" },
      scenario: { type: "string" },
      rate: { type: "string" },
      forget: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      hashes: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const range = /^(\d+)\.\.(\d+)$/.exec(
    values.seed === undefined ? (values.seeds ?? "1..100") : `${values.seed}..${values.seed}`,
  );
  if (range === null) throw new Error("--seed is a number, --seeds are two: 1..10000");
  const found = values.scenario === undefined ? [...SCENARIOS.values()] : [SCENARIOS.get(values.scenario)];
  const scenarios = found.filter((one): one is Scenario => one !== undefined);
  if (scenarios.length === 0) throw new Error(`there is no scenario ${values.scenario}; --help names them`);
  const rate = values.rate === undefined ? undefined : Number(values.rate);
  if (rate !== undefined && !(rate >= 0 && rate <= 1)) throw new Error("--rate is a share from 0 to 1");
  const [, first = "", last = ""] = range;
  return { ...values, first: Number(first), last: Number(last), scenarios, rate, isOne: values.seed !== undefined };
}

type Options = ReturnType<typeof parse>;

async function search(scenario: Scenario, rate: number, options: Options): Promise<Report> {
  const { first, last, forget, isOne, hashes } = options;
  const interleavings = new Set<string>();
  const faults: Record<string, number> = {};
  const failed: Report["failed"][number][] = [];
  let commits = 0;
  for (let seed = first; seed <= last; seed++) {
    const found = await runScenario(scenario, seed, rate);
    interleavings.add(found.interleaving);
    commits += found.commits.length;
    for (const [kind, n] of Object.entries(found.fired)) faults[kind] = (faults[kind] ?? 0) + n;
    if (hashes) console.log(`${scenario.name} ${rate} ${seed} ${found.eventsHash} ${found.commits.length}`);
    if (isOne) console.error(`${found.log.join("\n")}\n`);
    if (found.problems.length > 0) {
      const replay = command(scenario, seed, rate);
      failed.push({ seed, problems: found.problems, replay });
      console.error(`\nFAILED ${replay}\n${found.problems.map((problem) => `  ${problem}`).join("\n")}`);
      if (!forget) keepSeed({ scenario: scenario.name, rate, seed });
    }
    progress(`${scenario.name} at ${rate}: ${seed} of ${first}..${last}, ${failed.length} failed`, seed - first + 1);
  }
  if (process.stderr.isTTY) process.stderr.write("\n");
  const seeds = last - first + 1;
  return { scenario: scenario.name, rate, seeds, failed, interleavings: interleavings.size, commits, faults };
}

/** Shows progress: in place on a terminal, elsewhere as a line now and then. */
function progress(line: string, played: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${line} `);
  else if (played % 100 === 0) console.error(line);
}

async function main(): Promise<number> {
  const options = parse(process.argv.slice(2));
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const reports: Report[] = [];
  for (const scenario of options.scenarios) {
    for (const rate of options.rate === undefined ? [scenario.rate, 0.5] : [options.rate]) {
      const report = await search(scenario, rate, options);
      reports.push(report);
      const fired = Object.values(report.faults).reduce((a, b) => a + b, 0);
      const line =
        `${report.scenario} at ${rate}: ${report.seeds} seeds, ${report.failed.length} failed, ` +
        `${report.interleavings} interleavings, ${report.commits} commits, ${fired} faults`;
      (options.json || options.hashes ? console.error : console.log)(line);
    }
  }
  if (options.json) process.stdout.write(`${JSON.stringify(reports, null, 2)}\n`);
  return reports.some(({ failed }) => failed.length > 0) ? 1 : 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
