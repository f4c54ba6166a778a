// One simulation: workers, a client that runs a scenario and a person that answers questions, each a process with a
// its own store on one real SQLite file, with faults; then the invariants are checked. The seed decides everything.
// The file is the store's own, or that of a simulated server.
import type { AgentDefinition, AnyAgent } from "../../contracts/agent-definitions.ts";
import type { AnswerInput, Decision } from "../../contracts/decisions.ts";
import type { Embedder } from "../../contracts/embedders.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Run } from "../../contracts/run-record.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import { sha256Hex } from "../../core/bytes.ts";
import { realEnvironment } from "../../core/environment.ts";
import type { Driver } from "../../storage/sql/driver.ts";
import { faultyBlobs, type SharedBytes, sharedBlobs } from "./blobs.ts";
import { Client, retryWithDeadline, type SimulationClient } from "./client.ts";
import { Disk, onDisk } from "./disk.ts";
import { faultyDriver, type SeenCommit } from "./driver.ts";
import { faultyEmbedder } from "./embedder.ts";
import { engine } from "./engine.ts";
import { type Effect, ExternalEffects, type ObservedEffects } from "./external-effects.ts";
import { type Fault, type FaultKind, Faults } from "./faults.ts";
import { brokenInvariants, readAll } from "./invariants.ts";
import { type PostgresTimeouts, postgresDriver, TIMEOUTS } from "./postgres.ts";
import { type Interference, type Limits, Process, Quiet, rng, Scheduler, Stuck } from "./scheduler.ts";
import { SimulatedServer } from "./server.ts";
import { SimulatedStoreFile } from "./store-file.ts";

export interface Simulation {
  readonly seed: number;
  readonly agents?: readonly AnyAgent[];
  readonly faults?: readonly Fault[];
  /**
   * "sqlite": each process has the file open. "postgres": they are connected to a server, a commit takes several round
   * trips, and a transaction keeps its locks while its process stands still between two of them. "sqlite" when not
   * given.
   */
  readonly engine?: "sqlite" | "postgres";
  /** How many workers (default 2). A worker that dies is replaced by another. */
  readonly workers?: number;
  readonly leaseMs?: number;
  readonly pollMs?: number;
  /** Run from its beginning by another client when the first one died: it must find what is there already. */
  readonly scenario: (client: SimulationClient) => Promise<void>;
  /** Answers questions to people; null: not now. By default, the answers match the real effects. */
  readonly person?: (decision: Decision, external: ObservedEffects) => AnswerInput | null;
  /**
   * The purpose of an effect: a run and its retries have at most one effect per purpose, unless a person or a recorded
   * failure required another. By default the step's path.
   */
  readonly purpose?: (effect: Effect) => string;
  /** The embedder with which a process opens its store, by the process's name. Its calls fail as those of models do. */
  readonly embedder?: (process: string) => Embedder;
  /** Blobs live outside the database, where they can be damaged. */
  readonly blobs?: boolean;
  /**
   * When the simulation is given up: after so many steps, so long by its clock, or so long without anything happening.
   */
  readonly limits?: {
    readonly steps?: number;
    readonly ms?: number;
    readonly quietMs?: number;
    readonly calmMs?: number;
  };
}

/** A planted bug that the simulation must find: between the rules and storage, or around the engine's driver. */
export interface PlantedBug {
  readonly storage?: (storage: Storage) => Storage;
  readonly driver?: (driver: Driver, process: Process) => Driver;
  /** With `engine: "postgres"`: timeouts that the driver fails to set. */
  readonly timeouts?: Partial<PostgresTimeouts>;
}

export interface SimulationReport {
  readonly seed: number;
  /** The violated invariants; empty if all hold. */
  readonly problems: readonly string[];
  /** A hash over the logs of all sessions. */
  readonly eventsHash: string;
  readonly effects: readonly Effect[];
  /** The runs at the end, with the reason why they failed or did not end. */
  readonly runs: readonly Run[];
  /** The order of the commits, as one hash. */
  readonly interleaving: string;
  readonly commits: readonly {
    readonly process: string;
    readonly events: readonly string[];
    readonly ends: readonly string[];
  }[];
  readonly steps: number;
  /** The duration by the clock of the simulation. */
  readonly ms: number;
  readonly fired: Readonly<Partial<Record<FaultKind, number>>>;
  /** The newest entries of the trace. */
  readonly log: readonly string[];
}

/** Processes without faults. */
const SAFE: ReadonlySet<string> = new Set(["observer", "server"]);
/** Short compared with the workers' polling: otherwise most of a simulation would be waiting. */
const LEASE_MS = 10_000;
const POLL_MS = 6000;
const PERSON_MS = 10_000;
const HANDS: ReadonlySet<string> = new Set(["run/claimed", "run/released"]);
/** How much faster time passes for the process that steals leases. */
const THIEF = { haste: 20, pollMs: 500, livesMs: 10_000 };
/** A pause takes an hour at most. */
const LIMITS: Limits = { steps: 400_000, ms: 12 * 3_600_000, quietMs: 4_000_000 };

export function simulate(simulation: Simulation): Promise<SimulationReport> {
  return new Simulator(simulation, {}).play();
}

/** Options for tests of the simulator itself. */
export function simulateWithBug(simulation: Simulation, bug: PlantedBug): Promise<SimulationReport> {
  return new Simulator(simulation, bug).play();
}

class Simulator {
  readonly #simulation: Simulation;
  readonly #bug: PlantedBug;
  #file: SimulatedStoreFile | null = null;
  #server: SimulatedServer | null = null;
  readonly #faults: Faults;
  readonly #disk: Disk;
  readonly #external: ExternalEffects;
  readonly #scheduler: Scheduler;
  readonly #rng: () => number;
  readonly #bytes: SharedBytes = new Map();
  readonly #commits: SeenCommit[] = [];
  readonly #problems: string[] = [];
  readonly #listeners = new Set<{ readonly process: Process; readonly heard: () => void }>();
  #impostors = 0;
  #hasImpostor = false;
  #isClosing = false;

  constructor(simulation: Simulation, bug: PlantedBug) {
    this.#simulation = simulation;
    this.#bug = bug;
    this.#faults = new Faults(simulation.seed, simulation.faults ?? []);
    this.#external = new ExternalEffects(this.#faults);
    this.#rng = rng(simulation.seed, "lives");
    this.#disk = new Disk(this.#faults);
    this.#scheduler = new Scheduler(simulation.seed, ({ name }, what) => this.#interference(name, what));
  }

  #interference(process: string, what: string): Interference | null {
    if (SAFE.has(process)) return null;
    const at = { process, what, names: [] };
    if (this.#faults.strike(["death"], at) !== null) return { kind: "death" };
    const freeze = this.#faults.strike(["freeze"], at);
    return freeze === null ? null : { kind: "freeze", ms: this.#faults.length(freeze) };
  }

  async play(): Promise<SimulationReport> {
    this.#file = await SimulatedStoreFile.acquire(new Process(this.#scheduler, "observer", 0).environment);
    await this.#prepare();
    try {
      await this.#drive();
      const found = await this.#examine();
      await this.#file.reuse();
      return found;
    } catch (error) {
      await this.#file.remove();
      throw error;
    }
  }

  /** Work that takes a varying number of ticks the first time is done before anything is scheduled. */
  async #prepare(): Promise<void> {
    const { workers = 2, engine } = this.#simulation;
    const observed = await this.#placed().connect("observer");
    if (engine === "postgres") {
      this.#server = new SimulatedServer(observed, new Process(this.#scheduler, "server", 0), this.#disk);
      return;
    }
    const names = Array.from({ length: workers }, (_, i) => `worker-${i + 1}`);
    for (const name of ["client", "thief", ...names]) await this.#placed().connect(name);
  }

  async #drive(): Promise<void> {
    const { workers = 2, agents = [], limits = {} } = this.#simulation;
    const over = Promise.withResolvers<void>();
    if (agents.length > 0) {
      for (let i = 1; i <= workers; i++) this.#keepAlive(`worker-${i}`, (process) => this.#work(process));
      this.#keepAlive("person", (process) => this.#answer(process));
    }
    this.#keepAlive("client", async (process) => {
      await this.#scenario(process).catch((error: unknown) =>
        this.#problems.push(`the scenario failed: ${text(error)}`),
      );
      over.resolve();
    });
    const most = { ...LIMITS, ...limits };
    try {
      await this.#driveToEnd(over.promise, most);
      // From here on there are no faults, and every run must end.
      this.#faults.end();
      this.#scheduler.thawAll();
      await this.#scheduler.drive(this.#settled(), most);
    } catch (error) {
      if (!(error instanceof Stuck)) throw error;
      this.#problems.push(error.message);
    }
    this.#isClosing = true;
  }

  /**
   * With `calmMs`, faults end and the simulation continues, to distinguish bad luck from a run that can never continue.
   */
  async #driveToEnd(over: Promise<void>, most: Limits): Promise<void> {
    try {
      await this.#scheduler.drive(over, most);
    } catch (error) {
      if (!(error instanceof Quiet) || most.calmMs === undefined) throw error;
      this.#faults.end();
      this.#scheduler.note(`the faults end: ${error.message}`);
      await this.#scheduler.drive(over, { ...most, quietMs: most.calmMs });
    }
  }

  /** Starts the process, and another one some time after it died. */
  #keepAlive(name: string, live: (process: Process) => Promise<void>, life = 1): void {
    const process: Process = new Process(this.#scheduler, name, life, () => {
      if (this.#isClosing) return;
      const pause = new Process(this.#scheduler, "observer", 0);
      pause.environment.sleep(100 + this.#rng() * LEASE_MS).then(() => this.#keepAlive(name, live, life + 1));
    });
    this.#start(process, live);
  }

  #start(process: Process, live: (process: Process) => Promise<void>): void {
    live(process).catch((error: unknown) => {
      this.#problems.push(`${process.name} failed: ${text(error)}`);
    });
  }

  async #scenario(process: Process): Promise<void> {
    const store = await this.#open(process);
    const { leaseMs = LEASE_MS } = this.#simulation;
    const open = async (name: string) => {
      const other = new Process(this.#scheduler, name, 1);
      return { store: await this.#open(other), kill: () => other.kill("because the scenario says so") };
    };
    const setting = { process, store, agents: this.#agentsIn(process), leaseMs, faults: this.#faults };
    await this.#simulation.scenario(new Client({ ...setting, external: this.#external, open }));
  }

  #agentsIn(process: Process): readonly AgentDefinition[] {
    return (this.#simulation.agents ?? []).map((agent) => this.#external.agentIn(process, agent));
  }

  async #work(process: Process): Promise<void> {
    const { pollMs = POLL_MS } = this.#simulation;
    const store = await this.#open(process);
    store.runs.createWorker({ agents: this.#agentsIn(process), pollMs }).start();
  }

  async #answer(process: Process): Promise<void> {
    const { person = truthful } = this.#simulation;
    const client = new Client({
      process,
      store: await this.#open(process),
      agents: [],
      leaseMs: LEASE_MS,
      faults: this.#faults,
      external: this.#external,
      open: () => Promise.reject(new Error("bug: a person opens no stores")),
    });
    for (;;) {
      const { items } = await client.patiently(() => client.store.runs.pending());
      for (const decision of items) {
        const answer = person(decision, this.#external);
        // The answer is for this question: a second delivery must not answer the next question about the same step.
        if (answer !== null) await client.answer(decision.id, { ...answer, reason: decision.reason });
      }
      await process.environment.sleep(PERSON_MS);
    }
  }

  /** Every process opens its own store, which can also fail. */
  async #open(process: Process): Promise<Holdfast> {
    const { environment } = process;
    const { blobs } = this.#simulation;
    const real = await this.#connect(process);
    const driver = faultyDriver(this.#bug.driver?.(real, process) ?? real, process, this.#faults, {
      committed: (commit) => {
        for (const run of commit.ends) this.#external.ended(run, process);
        this.#committed(commit);
      },
      listen: (onCommit) => {
        const listener = { process, heard: onCommit };
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
    });
    const outside = blobs === true ? { blobs: faultyBlobs(this.#bytes, process, this.#faults) } : {};
    const embedder = this.#simulation.embedder?.(process.name);
    const embeds = embedder === undefined ? {} : { embedder: faultyEmbedder(embedder, process, this.#faults) };
    const options = { durability: "normal", environment, ...outside, ...embeds } as const;
    return retryWithDeadline(environment, () =>
      engine().openOn({ ...driver, close: async () => {} }, options, this.#bug.storage),
    );
  }

  /**
   * A connection of its own for each worker; a worker that dies leaves it to its successor, because a transaction never
   * spans two steps and leaves no trace on it. Readers share one.
   */
  async #connect(process: Process): Promise<Driver> {
    const { name } = process;
    const whose = name === "person" || this.#server !== null ? "observer" : name.replace(/^thief.*/, "thief");
    const driver = await this.#placed().connect(whose);
    if (this.#server === null) return onDisk(driver, process, this.#disk, TIMEOUTS.busyMs);
    return postgresDriver(driver, this.#server, process, this.#faults, { ...TIMEOUTS, ...this.#bug.timeouts });
  }

  #placed(): SimulatedStoreFile {
    if (this.#file === null) throw new Error("bug: nobody connects before there is a place");
    return this.#file;
  }

  #committed(commit: SeenCommit): void {
    this.#commits.push(commit);
    // Heartbeats have no events, and a run that only changes workers makes no progress.
    if (commit.events.some((type) => !HANDS.has(type))) this.#scheduler.stirred();
    this.#scheduler.note(`${commit.process} commits ${commit.events.join(", ") || "without events"}`);
    for (const listener of this.#listeners) {
      if (listener.process.isDead) this.#listeners.delete(listener);
      else if (listener.process.name !== commit.process) listener.heard();
    }
    if (!commit.process.startsWith("worker") || this.#hasImpostor) return;
    const at = { process: commit.process, what: "commit", names: commit.events };
    if (this.#faults.strike(["leaseStolen"], at) !== null) this.#steal();
  }

  /** A worker that considers others dead far too soon. */
  #steal(): void {
    this.#hasImpostor = true;
    const over = () => {
      this.#hasImpostor = false;
    };
    const impostor = new Process(this.#scheduler, `thief-${++this.#impostors}`, 1, over, THIEF.haste);
    this.#start(impostor, async () => {
      const store = await this.#open(impostor);
      store.runs.createWorker({ agents: this.#agentsIn(impostor), pollMs: THIEF.pollMs }).start();
      await impostor.environment.sleep(THIEF.livesMs);
      impostor.kill("after what it stole");
    });
  }

  /** Every run has ended, or waits for a person that does not answer. */
  async #settled(): Promise<void> {
    const process = new Process(this.#scheduler, "observer", 1);
    const store = await this.#open(process);
    for (;;) {
      const { items } = await store.runs.list({ limit: 1000 });
      if (items.every((run) => run.endedAt !== null || this.#isLeft(run))) return;
      await process.environment.sleep(POLL_MS);
    }
  }

  #isLeft({ waitsFor }: Run): boolean {
    return waitsFor.some(({ kind }) => kind === "decision") && this.#simulation.person !== undefined;
  }

  async #examine(): Promise<SimulationReport> {
    const { seed, blobs, purpose } = this.#simulation;
    const { steps, monotonic: ms, log } = this.#scheduler;
    const environment = realEnvironment();
    const driver = await this.#placed().connect("observer");
    const outside = blobs === true ? { blobs: sharedBlobs(this.#bytes) } : {};
    const store = await engine().openOn(driver, { environment, ...outside });
    const found = await readAll(store);
    this.#problems.push(...(await brokenInvariants(store, found, this.#external, purpose)));
    const order = this.#commits.map(({ process }) => process).join(" ");
    return {
      seed,
      problems: this.#problems,
      eventsHash: found.eventsHash,
      effects: this.#external.effects(),
      runs: found.runs,
      interleaving: sha256Hex(order).slice(0, 16),
      commits: this.#commits,
      steps,
      ms,
      fired: this.#faults.fired(),
      log,
    };
  }
}

/** Checks the real effects for the answer. */
function truthful({ step }: Decision, external: ExternalEffects): AnswerInput {
  const done = external.effect(step.idempotencyKey);
  return done === undefined ? { verdict: "retry" } : { verdict: "result", result: done.result };
}

function text(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
