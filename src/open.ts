// The composition root: makes a store from a URL. Only this file imports both the rules and the engines.
import { type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { OpenClaims } from "./captures/open-claims.ts";
import type { BlobBackend, Blobs } from "./contracts/blobs.ts";
import type { Checking } from "./contracts/check.ts";
import type { Embeddings } from "./contracts/embeddings.ts";
import type { Environment } from "./contracts/environment.ts";
import { HoldfastError } from "./contracts/errors.ts";
import type { Holdfast, OpenOptions, StoreInfo } from "./contracts/holdfast.ts";
import type { Memories } from "./contracts/memory.ts";
import type { Querying } from "./contracts/query.ts";
import type { Searching } from "./contracts/search.ts";
import type { ArchiveVerbs } from "./contracts/sessions.ts";
import type { Payloads } from "./contracts/storage/payloads.ts";
import type { Storage } from "./contracts/storage/storage.ts";
import { type Reindexing, TEXT_LANGUAGES, type TextLanguage } from "./contracts/text-index.ts";
import type { Tracing } from "./contracts/trace.ts";
import type { Vectors } from "./contracts/vectors.ts";
import { CATALOGUE } from "./contracts/verbs/catalogue.ts";
import { ARCHIVE_VERBS, SESSION_VERBS } from "./contracts/verbs/sessions.ts";
import { checkFields, checkInt, checkOneOf, checkRecord } from "./core/check.ts";
import { realEnvironment } from "./core/environment.ts";
import { createFence, FENCE, type Fencing } from "./core/fence.ts";
import { checkFileMode, FILE_MODE } from "./core/file-mode.ts";
import { IndexSchedule } from "./core/index-schedule.ts";
import { LazyModule, type LazyPart, LazyParts, type LazyVerbs, Lifetime } from "./core/lifetime.ts";
import { createSessionLookup, type SessionLookup } from "./core/session-lookup.ts";
import { parseStoreUrl, type StoreTarget } from "./core/store-url.ts";
import { STORED, type StoredCapture, type StoredCaptures } from "./core/stored-capture.ts";
import type { LoadSystemSource } from "./core/system-source.ts";
import { BackgroundEmbeddings, loadEmbedder } from "./embeddings/on-demand.ts";
import { checkEmbeddingSettings, type EmbeddingSettings } from "./embeddings/settings.ts";
import { createHistory } from "./history/history.ts";
import type { Nouns } from "./nouns.ts";
import { createRuns } from "./runs/on-demand.ts";
import { type FileBlobsOptions, fileBlobs } from "./storage/blobs/file.ts";
import { createPayloads } from "./storage/blobs/payloads.ts";
import type { Driver } from "./storage/sql/driver.ts";
import { notThere } from "./storage/sql/migrations.ts";
import { openStorage } from "./storage/sql/store.ts";
import type { VectorsPart } from "./vectors/vectors.ts";

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
  /** null: the handle has no text index. */
  readonly search: { readonly language: TextLanguage } | null;
  readonly embeddings: EmbeddingSettings;
  readonly environment: Environment;
}

const OPTIONS = [
  "durability",
  "blobs",
  "blobTtlMs",
  "history",
  "state",
  "tasks",
  "create",
  "migrate",
  "busyMs",
  "poolSize",
  "fileMode",
  "embedder",
  "embeddings",
  "search",
  "environment",
] as const satisfies readonly (keyof OpenOptions)[];

/** Opens a store: a file path (or file: URL), ":memory:", or postgres://…?schema=name. */
export async function open(url: string, options: OpenOptions = {}): Promise<Holdfast> {
  const settings = checkOptions(options);
  const target = parseStoreUrl(url);
  const background = new BackgroundEmbeddings(await loadEmbedder(options.embedder), settings);
  return openDriver(await connect(target, settings), { shown: target.shown, settings, options, background });
}

/** Makes the value of the option `blobs`. For the command line, which does not load index.ts. */
export function blobsIn(directory: string, options: FileBlobsOptions): BlobBackend {
  return fileBlobs(directory, options);
}

/** For the simulator: opens a store on the simulator's driver. `between` wraps the storage that the rules get. */
export async function openOn(
  driver: Driver,
  options: OpenOptions,
  between?: (storage: Storage) => Storage,
): Promise<Holdfast> {
  const settings = checkOptions(options);
  const background = new BackgroundEmbeddings(await loadEmbedder(options.embedder), settings);
  return openDriver(driver, { shown: "simulated", settings, options, background }, between);
}

interface Opening {
  readonly shown: string;
  readonly settings: Settings;
  readonly options: OpenOptions;
  readonly background: BackgroundEmbeddings;
}

async function openDriver(
  driver: Driver,
  { shown, settings, options, background }: Opening,
  between: (storage: Storage) => Storage = (storage) => storage,
): Promise<Holdfast> {
  const { environment, clock, info, ...opened } = await openStorage(driver, { ...settings, target: shown });
  const schedule = new IndexSchedule(background.watch(between(opened.storage)));
  const { storage } = schedule;
  const lazy = new LazyParts();
  const payloads = createPayloads(storage, options.blobs);
  const system = lazy.part(SYSTEM, ({ createSystemSource }) =>
    createSystemSource(storage, payloads, languageOf(settings), background.meaningOf("memories")),
  );
  const memory = lazy.part(MEMORY, ({ createMemory }) =>
    createMemory(storage, payloads, languageOf(settings), background.meaningOf("memories")),
  );
  const base: Base = {
    storage,
    payloads,
    schedule,
    settings: { ...settings, environment },
    options,
    lookup: createSessionLookup(storage, info),
    systemSource: () => system.load(),
    memory,
    lazy,
    background,
  };
  const composed = compose(info, base);
  // In a simulation no time may pass between a call and its effect, so all code is loaded here.
  if (environment.isTimeSource === true) await lazy.loadAll();
  background.start();
  return { ...composed, clock };
}

/** What every part of a store is created from. */
interface Base {
  readonly storage: Storage;
  readonly schedule: IndexSchedule;
  readonly payloads: Payloads;
  readonly settings: Settings;
  readonly options: OpenOptions;
  readonly lookup: SessionLookup;
  readonly systemSource: LoadSystemSource;
  readonly memory: LazyPart<Memories>;
  readonly lazy: LazyParts;
  readonly background: BackgroundEmbeddings;
}

const NOUNS = new LazyModule(() => import("./nouns.ts"));
const CAPTURES = new LazyModule(() => import("./captures/captures.ts"));
/** Most programs never see a coding agent. */
const CAPTURE_ROWS = new LazyModule(() => import("./captures/rows.ts"));
const CATCH_UP = new LazyModule(() => import("./coding/catch-up.ts"));
const VECTORS = new LazyModule(() => import("./vectors/vectors.ts"));
const TEXT_SEARCH = new LazyModule(() => import("./vectors/text-search.ts"));
const MEMORY = new LazyModule(() => import("./memory/memory.ts"));
const SYSTEM = new LazyModule(() => import("./memory/context-system.ts"));
const UPKEEP = new LazyModule(() => import("./search/upkeep.ts"));
const STATS = new LazyModule(() => import("./stats/stats.ts"));
const QUERY = new LazyModule(() => import("./query/run.ts"));
const SEARCH = new LazyModule(() => import("./search/search.ts"));
const TRACE = new LazyModule(() => import("./log/trace.ts"));
const CHECK = new LazyModule(() => import("./check/check.ts"));
const ARCHIVES = new LazyModule(() => import("./archive/archives.ts"));

type ComposedStore = Omit<Holdfast, "clock"> & Fencing & StoredCaptures;

function compose(info: StoreInfo, base: Base): ComposedStore {
  const { storage, payloads, options, lookup, systemSource, lazy, background } = base;
  const { runs, close: releaseRuns } = createRuns({ storage, payloads, systemSource }, lookup, lazy);
  const claims = new OpenClaims();
  const embeddings = background.create(storage, payloads, lazy);
  const vectors = createVectorVerbs(base);
  const hurry = async () =>
    void (await Promise.all([
      releaseRuns(),
      claims.close(storage.environment),
      vectors.close(),
      background.close(),
      base.schedule.close(),
    ]));
  const lifetime = new Lifetime(() => storage.close(), hurry);
  const close = () => lifetime.close();
  const { history, ...nouns } = createNouns(base);
  const importConversation = async (capture: StoredCapture) => {
    const { catchUpCapture } = await CATCH_UP.load();
    return catchUpCapture(made, capture);
  };
  const captures = lazy.part(CAPTURES, ({ createCaptures }) =>
    createCaptures({ storage, payloads, blobs: nouns.blobs, sessions: nouns.sessions, claims, importConversation }),
  );
  const counted = Object.fromEntries(
    (Object.keys(nouns) as (keyof Nouns)[]).map((name) => [name, lifetime.of<object>(nouns[name], NOUN_VERBS[name])]),
  ) as unknown as typeof nouns;
  const made: ComposedStore = {
    info,
    ...counted,
    sessions: Object.freeze({ ...counted.sessions, ...lifetime.of(createArchiveVerbs(base), ARCHIVE_VERBS) }),
    history: options.history ?? lifetime.of(history, CATALOGUE.history),
    ...(options.state === undefined ? {} : { state: options.state }),
    ...(options.tasks === undefined ? {} : { tasks: options.tasks }),
    runs: lifetime.of(runs, CATALOGUE.runs),
    captures: lifetime.of(
      lazy.members(captures, (part) => part, CATALOGUE.captures),
      CATALOGUE.captures,
    ),
    vectors: lifetime.of(vectors.verbs, CATALOGUE.vectors),
    memory: lifetime.of(
      lazy.members(base.memory, (part) => part, CATALOGUE.memory),
      CATALOGUE.memory,
    ),
    embeddings: lifetime.of(embeddings, CATALOGUE.embeddings),
    ...lifetime.of(createStoreCalls(base, nouns.blobs, embeddings), STORE_VERBS),
    close,
    [Symbol.asyncDispose]: close,
    [FENCE]: (session) =>
      createFence(storage, session, (fenced) => {
        const made = createNouns({ ...base, storage: fenced });
        return {
          sessions: lifetime.of(made.sessions, SESSION_VERBS),
          heads: lifetime.of(made.heads, CATALOGUE.heads),
          turns: lifetime.of(made.turns, CATALOGUE.turns),
          calls: lifetime.of(made.calls, CATALOGUE.calls),
          invocations: lifetime.of(made.invocations, CATALOGUE.invocations),
          history: options.history ?? lifetime.of(made.history, CATALOGUE.history),
        };
      }),
    [STORED]: async (id) => {
      const [row] = await storage.query("capture.get", { id });
      if (row === undefined) return null;
      const { storedCapture } = await CAPTURE_ROWS.load();
      return storedCapture(payloads, row);
    },
  };
  return made;
}

/** The verbs of nouns.ts. */
const NOUN_VERBS = { ...CATALOGUE, sessions: SESSION_VERBS };

/** The code of history is loaded from the start, because most programs append first. */
function createNouns(base: Base): Nouns & Pick<Holdfast, "history"> {
  const { storage, payloads, settings, options, lookup, systemSource, memory, lazy } = base;
  const { blobTtlMs } = settings;
  const part = lazy.part(NOUNS, (module) =>
    module.createNouns({
      storage,
      payloads,
      lookup,
      systemSource,
      memories: () => memory.load(),
      blobTtlMs,
      backend: options.blobs,
    }),
  );
  const noun = <N extends keyof Nouns>(name: N): Nouns[N] =>
    lazy.members<Nouns, Nouns[N]>(part, (nouns) => nouns[name], NOUN_VERBS[name] as LazyVerbs<Nouns[N]>);
  return {
    agents: noun("agents"),
    sessions: noun("sessions"),
    heads: noun("heads"),
    turns: noun("turns"),
    calls: noun("calls"),
    evals: noun("evals"),
    snapshots: noun("snapshots"),
    log: noun("log"),
    invocations: noun("invocations"),
    state: noun("state"),
    tasks: noun("tasks"),
    blobs: noun("blobs"),
    history: lazy.inOrder(createHistory(storage, payloads, lookup)),
  };
}

const { check, trace, query, search, stats, reindex } = CATALOGUE;
const STORE_VERBS = { ...check, ...trace, ...query, ...search, ...stats, ...reindex };

type StoreCalls = Checking & Tracing & Querying & Searching & Reindexing & Pick<Holdfast, "stats">;

/** The verbs of the store itself. The first call of each loads the code that it needs. */
function createStoreCalls(
  { storage, payloads, settings, schedule, lookup, lazy, background }: Base,
  blobs: Blobs,
  embeddings: Embeddings,
): StoreCalls {
  const index = lazy.part(UPKEEP, ({ createUpkeep }) => createUpkeep(storage, payloads, settings.search));
  if (settings.search !== null) schedule.begin(index);
  const stats = lazy.part(STATS, ({ createStats }) => createStats(storage, embeddings));
  const query = lazy.part(QUERY, ({ createQuerying }) => createQuerying(storage));
  const search = lazy.part(SEARCH, ({ createSearching }) =>
    createSearching(
      { storage, payloads, settings: settings.search, meaning: background.meaningOf("messages") },
      lookup,
    ),
  );
  const trace = lazy.part(TRACE, ({ createTracing }) => createTracing(storage, lookup));
  const check = lazy.part(CHECK, ({ createChecking }) => createChecking(storage, blobs, lookup));
  return {
    ...lazy.members(index, ({ verbs }) => verbs, CATALOGUE.reindex),
    ...lazy.members(stats, (part) => part, CATALOGUE.stats),
    ...lazy.members(query, (part) => part, CATALOGUE.query),
    ...lazy.members(search, (part) => part, CATALOGUE.search),
    ...lazy.members(trace, (part) => part, CATALOGUE.trace),
    ...lazy.members(check, (part) => part, CATALOGUE.check),
  };
}

/** `close` ends the work in the background, if there is any. */
function createVectorVerbs({ storage, payloads, settings, lazy, background }: Base): {
  readonly verbs: Vectors;
  close(): Promise<void>;
} {
  let made: VectorsPart | null = null;
  const { search } = settings;
  const embedder = background.queries;
  const texts = lazy.part(TEXT_SEARCH, ({ createTextSearch }) =>
    createTextSearch(storage, search === null ? null : { payloads, language: search.language }, embedder),
  );
  const part = lazy.part(VECTORS, ({ createVectors }) => {
    made = createVectors(storage, payloads, { embedder, texts });
    return made;
  });
  return {
    verbs: lazy.members(part, ({ vectors }) => vectors, CATALOGUE.vectors),
    close: async () => made?.close(),
  };
}

/** The verbs that read whole sessions. The first call of one of them loads their code. */
function createArchiveVerbs({ storage, payloads, settings, lookup, lazy }: Base): ArchiveVerbs {
  const archives = lazy.part(ARCHIVES, ({ createArchives }) =>
    createArchives(storage, payloads, lookup, () => openScratch(settings)),
  );
  return lazy.members(archives, (part) => part, ARCHIVE_VERBS);
}

/** Opens a private store in memory. It is SQLite even if the caller's store is PostgreSQL. */
export async function openScratch({
  environment,
  busyMs = BUSY_MS,
}: Pick<Settings, "environment"> & Partial<Pick<Settings, "busyMs">>): Promise<Storage> {
  const { openSqlite } = await import("./storage/sql/sqlite/driver.ts");
  const driver = await openSqlite({ path: ":memory:", durability: "normal", busyMs, environment });
  return (await openStorage(driver, { create: true, migrate: true, environment, target: ":memory:" })).storage;
}

function checkOptions(options: OpenOptions): Settings {
  const given = checkRecord(options, "options");
  checkFields(given, "options", OPTIONS);
  const whole = (name: string, fallback: number, min: number, max: number) =>
    given[name] === undefined ? fallback : checkInt(given[name], name, min, max);
  const ttl = given.blobTtlMs;
  const search = checkSearch(given.search);
  return {
    durability:
      given.durability === undefined ? "full" : checkOneOf(given.durability, "durability", ["full", "normal"]),
    busyMs: whole("busyMs", BUSY_MS, 0, 1e9),
    poolSize: whole("poolSize", 10, 1, 1000),
    blobTtlMs: ttl === undefined ? WEEK_MS : ttl === null ? null : checkInt(ttl, "blobTtlMs", 0, 1e15),
    create: given.create !== false,
    migrate: given.migrate !== false,
    fileMode: given.fileMode === undefined ? FILE_MODE : checkFileMode(given.fileMode, "fileMode"),
    search,
    embeddings: checkEmbeddingSettings(given.embeddings, search),
    environment: options.environment ?? realEnvironment(),
  };
}

function checkSearch(given: unknown): Settings["search"] {
  if (given === false) return null;
  if (given === undefined) return { language: "english" };
  const search = checkRecord(given, "search");
  checkFields(search, "search", ["language"]);
  const { language } = search;
  return { language: language === undefined ? "english" : checkOneOf(language, "search.language", TEXT_LANGUAGES) };
}

/** The language of a new text index. Without an index of messages, memories are still searched. */
function languageOf({ search }: Settings): TextLanguage {
  return search?.language ?? "english";
}

async function connect(target: StoreTarget, settings: Settings): Promise<Driver> {
  if (target.kind === "postgres") {
    const { openPostgres } = await import("./storage/sql/postgres/driver.ts");
    return openPostgres({ ...settings, url: target.url, schema: target.schema });
  }
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
  const { openSqlite } = await import("./storage/sql/sqlite/driver.ts");
  return openSqlite({ ...settings, path: target.path });
}

/** undefined if nothing has this path. */
function look(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    throw new HoldfastError("PermissionDenied", `cannot read the properties of ${path}`, {
      details: { path },
      hint: "Check that this user may enter the directories that lead there.",
      cause,
    });
  }
}
