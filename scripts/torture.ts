// `npm run torture`: real workers on a real store, killed with -9 for as long as you like, round after round; each round ends
// with everything compared. What it found is printed in the end.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { parseArgs } from "node:util";
import { schemaOn } from "../test/real/places.ts";
import { type Tally, Torture } from "../test/real/torture.ts";
import { type PostgresServer, startPostgres } from "./postgres.ts";

const HELP = `npm run torture -- [options]

  --minutes n       how long, of each engine (default 5)
  --engine name     sqlite or postgres (default: one after the other)
  --workers n       processes at work at a time (default 3)
  --runs n          runs under way at a time (default 16)
  --dir folder      where the files go (default: the system's temporary folder)
  --help
`;

/** Long enough for runs to be killed many times, short enough to be compared often. */
const ROUND_MS = 45_000;

const ENGINES = ["sqlite", "postgres"] as const;
type Engine = (typeof ENGINES)[number];

function parse(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: "string", default: "5" },
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
  return { ...values, engines, minutes: positive("minutes"), workers: positive("workers"), runs: positive("runs") };
}

type Options = ReturnType<typeof parse>;

/** On one store from beginning to end. */
async function torture(engine: Engine, folder: string, { minutes, workers, runs }: Options): Promise<Tally> {
  const server: PostgresServer | undefined = engine === "postgres" ? await startPostgres() : undefined;
  const url = server === undefined ? path.join(folder, "torture.db") : schemaOn(server.url);
  const sum = {} as Record<string, number>;
  const end = performance.now() + minutes * 60_000;
  try {
    for (let round = 1; performance.now() < end; round++) {
      const killMs = Math.min(ROUND_MS, Math.max(1000, end - performance.now()));
      const progress = (line: string) => process.stderr.write(`  ${line}\n`);
      const more = server === undefined ? {} : { server };
      const tally = await new Torture({ url, folder, killMs, workers, runs, progress, ...more }).run();
      for (const [name, count] of Object.entries(tally)) sum[name] = (sum[name] ?? 0) + count;
      process.stderr.write(`${engine}, round ${round}: ${told(tally)}\n`);
    }
    return sum as unknown as Tally;
  } finally {
    await server?.stop();
  }
}

function told(tally: Tally): string {
  const { kills, serverKills, started, ended, recoveries, supplied, retries, effects, acknowledged } = tally;
  return (
    `${kills} workers and ${serverKills} servers killed; ${started} runs begun, ${ended} ended with their children, ` +
    `${recoveries} recoveries, ${supplied + retries} decisions (${retries} retries); ${effects} effects, none too many; ` +
    `${acknowledged} acknowledged, all there; ${tally.signals} signals, ${tally.unpauses} pauses ended; check is clean`
  );
}

async function main(): Promise<number> {
  const options = parse(process.argv.slice(2));
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  for (const engine of options.engines) {
    const folder = mkdtempSync(path.join(options.dir, "holdfast-torture-"));
    try {
      console.log(`${engine}: ${told(await torture(engine, folder, options))}`);
    } catch (error) {
      console.error(error);
      console.error(`FAILED on ${engine}; what it left is in ${folder}`);
      return 1;
    }
    rmSync(folder, { recursive: true, force: true });
  }
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
