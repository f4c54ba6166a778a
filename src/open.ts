// The composition root: from a URL to a store. The only place that knows both the rules and the engines.
import { type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { createAgents } from "./agents/agents.ts";
import { createArchives } from "./archive/archives.ts";
import { createCaptures } from "./captures/captures.ts";
import { createChecking } from "./check/check.ts";
import type { Blobs } from "./contracts/blobs.ts";
import type { Environment } from "./contracts/environment.ts";
import { HoldfastError } from "./contracts/errors.ts";
import type { Holdfast, OpenOptions, StoreInfo } from "./contracts/holdfast.ts";
import type { Payloads } from "./contracts/payloads.ts";
import type { Storage } from "./contracts/storage.ts";
import { checkFields, checkInt, checkOneOf, checkRecord } from "./core/check.ts";
import { realEnvironment } from "./core/environment.ts";
import { createFence, FENCE, type Fenced, type Fencing } from "./core/fence.ts";
import { checkFileMode, FILE_MODE } from "./core/file-mode.ts";
import { parseStoreUrl, type StoreTarget } from "./core/store-url.ts";
import { createHistory } from "./history/history.ts";
import { Lifetime } from "./lifetime.ts";
import { createLog } from "./log/log.ts";
import { createTracing } from "./log/trace.ts";
import { createQuerying } from "./query/run.ts";
import { createRuns } from "./runs/runs.ts";
import { createCalls } from "./sessions/calls.ts";
import { createEvals } from "./sessions/evals.ts";
import { createHeads } from "./sessions/heads.ts";
import { createInvocations } from "./sessions/invocations.ts";
import { createLeafCalls } from "./sessions/leaf.ts";
import { createLocate, type Standing, taking } from "./sessions/locate.ts";
import { shrinkRemains } from "./sessions/remains.ts";
import { createSessions } from "./sessions/sessions.ts";
import { createSnapshots } from "./sessions/snapshots.ts";
import { createTurns } from "./sessions/turns.ts";
import { createState } from "./state/state.ts";
import { readStats } from "./stats/stats.ts";
import { createPayloads } from "./storage/blobs/payloads.ts";
import { createBlobs } from "./storage/blobs/store.ts";
import type { Driver } from "./storage/sql/driver.ts";
import { notThere } from "./storage/sql/migrations.ts";
import { openStorage } from "./storage/sql/open-storage.ts";
import { openPostgres } from "./storage/sql/postgres/driver.ts";
import { openSqlite } from "./storage/sql/sqlite/driver.ts";
import { createTasks } from "./tasks/tasks.ts";

const WEEK_MS = 7 * 24 * 3600 * 1000;
const BUSY_MS = 30_000;

interface Settings {
  readonly durability: "full" | "normal";
  readonly busyMs: number;
  readonly poolSize: number;
  readonly blobTtlMs: number | null;
  readonly create: boolean;
  readonly migrate: boolean;
  readonly fileMode: number;
  readonly environment: Environment;
}

const OPTIONS = [
  "durability",
  "blobs",
  "blobTtlMs",
  "history",
  "state",
  "tasks",
  "vectors",
  "graph",
  "memory",
  "create",
  "migrate",
  "busyMs",
  "poolSize",
  "fileMode",
  "environment",
] as const satisfies readonly (keyof OpenOptions)[];

/** Opens a store: a file path (or file: URL), ":memory:", or postgres://…?schema=name. */
export async function open(url: string, options: OpenOptions = {}): Promise<Holdfast> {
  const settings = checkOptions(options);
  const target = parseStoreUrl(url);
  return openDriver(await connect(target, settings), target.shown, settings, options);
}

/** For the simulator: a store on a driver that it made, with what it puts between the rules and storage. */
export async function openOn(
  driver: Driver,
  options: OpenOptions,
  between?: (storage: Storage) => Storage,
): Promise<Holdfast> {
  return openDriver(driver, "simulated", checkOptions(options), options, between);
}

async function openDriver(
  driver: Driver,
  shown: string,
  settings: Settings,
  options: OpenOptions,
  between: (storage: Storage) => Storage = (storage) => storage,
): Promise<Holdfast> {
  const { storage, info, environment, clock } = await openStorage(driver, { ...settings, target: shown });
  return { ...compose(between(storage), info, { ...settings, environment }, options), clock };
}

function compose(
  storage: Storage,
  info: StoreInfo,
  settings: Settings,
  options: OpenOptions,
): Omit<Holdfast, "clock"> & Fencing {
  const payloads = createPayloads(storage, options.blobs);
  const { runs, close: giveBack } = createRuns(storage, payloads);
  const lifetime = new Lifetime(() => storage.close(), giveBack);
  const close = () => lifetime.close();
  const blobs = createBlobs(storage, {
    ttlMs: settings.blobTtlMs,
    ...(options.blobs === undefined ? {} : { backend: options.blobs }),
  });
  const located = createLocate(storage, info);
  const { locate, standing, called } = located;
  const work: Work = { payloads, located, lifetime, history: options.history };
  const sessions = createSessions(storage, payloads, locate, standing);
  return {
    info,
    agents: lifetime.of(createAgents(storage, payloads)),
    ...workOf(storage, work, sessions),
    evals: lifetime.of(evalsOf(storage, payloads, standing)),
    snapshots: lifetime.of(taking(createSnapshots(storage, payloads), standing, { add: "variables are saved" })),
    runs: lifetime.of(runs),
    state: options.state ?? lifetime.of(createState(storage, payloads, called)),
    tasks: options.tasks ?? lifetime.of(createTasks(storage, called)),
    captures: lifetime.of(createCaptures(storage, payloads, blobs, sessions)),
    blobs: lifetime.of(collecting(blobs, storage, payloads)),
    log: lifetime.of(taking(createLog(storage, payloads, locate), standing, { annotate: "a note is added" })),
    ...(options.vectors === undefined ? {} : { vectors: options.vectors }),
    ...(options.graph === undefined ? {} : { graph: options.graph }),
    ...(options.memory === undefined ? {} : { memory: options.memory }),
    ...lifetime.of({ stats: async (asked?: { readonly sessions?: number }) => readStats(storage, asked) }),
    ...lifetime.of(createQuerying(storage)),
    ...lifetime.of(createTracing(storage, locate)),
    ...lifetime.of(createChecking(storage, blobs, locate)),
    ...lifetime.of(createArchives(storage, payloads, locate, () => openScratch(settings))),
    close,
    [Symbol.asyncDispose]: close,
    [FENCE]: (session) =>
      createFence(storage, session, (fenced) =>
        workOf(fenced, work, createSessions(fenced, payloads, locate, standing)),
      ),
  };
}

/** What a collection frees is also what deleted sessions keep for nobody. */
function collecting(blobs: Blobs, storage: Storage, payloads: Payloads): Blobs {
  return {
    ...blobs,
    gc: async (options) => {
      // Before it: a vacuum leaves no trace of what went by then.
      const { bytes = 0 } = options?.dryRun === true ? {} : await shrinkRemains(storage, payloads);
      const report = await blobs.gc(options);
      return { ...report, bytes: report.bytes + bytes };
    },
  };
}

interface Work {
  readonly payloads: Payloads;
  readonly located: ReturnType<typeof createLocate>;
  readonly lifetime: Lifetime;
  readonly history: Holdfast["history"] | undefined;
}

/** A session and the rows of its work, written where it stands. */
function workOf(
  storage: Storage,
  { payloads, located, lifetime, history }: Work,
  sessions: Holdfast["sessions"],
): Fenced {
  const { locate, standing, called } = located;
  const calls = createCalls(storage, payloads);
  const call = "a call is recorded";
  return {
    sessions: lifetime.of(sessions),
    heads: lifetime.of(
      taking(createHeads(storage, payloads, locate), standing, {
        publish: "a head is published",
        compact: "a session is compacted",
      }),
    ),
    turns: lifetime.of(taking(createTurns(storage, payloads), standing, { begin: "a turn begins" })),
    calls: lifetime.of(
      taking({ ...calls, ...createLeafCalls(storage, calls) }, standing, {
        ...{ start: call, add: call, leaf: call, leafAll: call },
      }),
    ),
    invocations: lifetime.of(createInvocations(storage, payloads, locate, standing)),
    history: history ?? lifetime.of(createHistory(storage, payloads, called)),
  };
}

function evalsOf(storage: Storage, payloads: Payloads, standing: Standing): Holdfast["evals"] {
  const evaluation = "an eval is recorded";
  return taking(createEvals(storage, payloads), standing, { start: evaluation, add: evaluation });
}

/** A store in memory that nobody else sees; SQLite also where the store itself is PostgreSQL. */
async function openScratch({ environment, busyMs }: Settings): Promise<Storage> {
  const driver = await openSqlite({ path: ":memory:", durability: "normal", busyMs, environment });
  return (await openStorage(driver, { create: true, migrate: true, environment, target: ":memory:" })).storage;
}

function checkOptions(options: OpenOptions): Settings {
  const given = checkRecord(options, "options");
  checkFields(given, "options", OPTIONS);
  const whole = (name: string, fallback: number, min: number, max: number) =>
    given[name] === undefined ? fallback : checkInt(given[name], name, min, max);
  const ttl = given.blobTtlMs;
  return {
    durability:
      given.durability === undefined ? "full" : checkOneOf(given.durability, "durability", ["full", "normal"]),
    busyMs: whole("busyMs", BUSY_MS, 0, 1e9),
    poolSize: whole("poolSize", 10, 1, 1000),
    blobTtlMs: ttl === undefined ? WEEK_MS : ttl === null ? null : checkInt(ttl, "blobTtlMs", 0, 1e15),
    create: given.create !== false,
    migrate: given.migrate !== false,
    fileMode: given.fileMode === undefined ? FILE_MODE : checkFileMode(given.fileMode, "fileMode"),
    environment: options.environment ?? realEnvironment(),
  };
}

async function connect(target: StoreTarget, settings: Settings): Promise<Driver> {
  if (target.kind === "postgres") return openPostgres({ ...settings, url: target.url, schema: target.schema });
  if (target.path !== ":memory:") {
    const directory = dirname(target.path);
    if (!look(directory)?.isDirectory()) {
      throw new HoldfastError("MissingDirectory", `there is no directory ${directory}`, {
        details: { directory },
        hint: `mkdir -p ${directory}`,
      });
    }
    if (!settings.create && look(target.path) === undefined) throw notThere(target.shown);
  }
  return openSqlite({ ...settings, path: target.path });
}

/** undefined when there is nothing. */
function look(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    throw new HoldfastError("PermissionDenied", `cannot look at ${path}`, {
      details: { path },
      hint: "Check that this user may enter the directories that lead there.",
      cause,
    });
  }
}
