// The deterministic scheduler: simulated processes on one virtual clock. Whatever a process waits for (a timer, its
// slot at the store, a tool) waits here; one operation at a time continues, and the seed decides which of the ready
// ones.
import { setImmediate as macrotask } from "node:timers/promises";
import type { Environment, LogLevel, Processes } from "../../contracts/environment.ts";
import { encodeText, sha256 } from "../../core/bytes.ts";
import { xorshift128 } from "../environment.ts";

/** 2026-01-01T00:00:00Z: a plausible time, the same in every simulation. */
const START_MS = 1_767_225_600_000;

interface ReadyTask {
  /** null: the simulation itself, which has no faults. */
  readonly process: Process | null;
  readonly what: string;
  readonly go: () => void;
}

interface SleepingTask extends ReadyTask {
  readonly due: number;
}

/** A fault of a process instead of its next step: it dies, or freezes for so long. */
export type Interference = { readonly kind: "death" } | { readonly kind: "freeze"; readonly ms: number };

/** When an unfinished simulation is given up. */
export interface Limits {
  readonly steps: number;
  /** By the simulation's clock. */
  readonly ms: number;
  /** After so long without a commit that makes progress. */
  readonly quietMs: number;
  /**
   * For rates at which chance alone can keep a run from making progress for `quietMs`: then the faults end, frozen
   * processes stay frozen, and the simulation is given up when nothing happens for so long without faults. When not
   * given, it is given up at once.
   */
  readonly calmMs?: number;
}

/** A number from 0 to 1, a different stream for every name. */
export function rng(seed: number, name: string): () => number {
  const next = xorshift128(new DataView(sha256(encodeText(`${seed} ${name}`)).buffer).getUint32(0));
  return () => next() / 2 ** 32;
}

export class Scheduler {
  readonly seed: number;
  readonly #rng: () => number;
  #ready: ReadyTask[] = [];
  /** Sleepers by their due time. */
  #sleeping: SleepingTask[] = [];
  /** The next steps of frozen processes. */
  readonly #frozen = new Map<Process, ReadyTask[]>();
  #monotonic = 0;
  #steps = 0;
  #stirredAt = 0;
  /** Called before each step of a process. */
  readonly #interfere: (process: Process, what: string) => Interference | null;
  /** The newest entries of the trace. */
  readonly log: string[] = [];
  /** Every process that ever was, by its pid. */
  readonly #enrolled: Process[] = [];

  constructor(seed: number, interfere: (process: Process, what: string) => Interference | null = () => null) {
    this.seed = seed;
    this.#rng = rng(seed, "scheduler");
    this.#interfere = interfere;
  }

  get monotonic(): number {
    return this.#monotonic;
  }

  get steps(): number {
    return this.#steps;
  }

  /** Notes that the simulation made progress. */
  stirred(): void {
    this.#stirredAt = this.#monotonic;
  }

  note(text: string): void {
    this.log.push(`${(this.#monotonic / 1000).toFixed(3)} ${text}`);
    if (this.log.length > 2000) this.log.splice(0, 1000);
  }

  /** Runs until the promise is settled. Throws if nothing is left to do before, or it takes too long. */
  async drive(goal: Promise<unknown>, limits: Limits): Promise<void> {
    let isOver = false;
    this.stirred();
    const over = () => {
      isOver = true;
    };
    goal.then(over, over);
    for (;;) {
      // All code that the last step resumed runs until it waits again; before time passes, real asynchronous work also
      // completes.
      await (this.#ready.length > 0 ? settled() : macrotask());
      if (isOver) return;
      if (this.#ready.length === 0 && !this.#wake()) throw new Stuck("nothing is left to do, and it is not over");
      if (this.#steps++ >= limits.steps) throw new Stuck(`it is not over after ${limits.steps} steps`);
      if (this.#monotonic >= limits.ms) throw new Stuck(`it is not over after ${limits.ms} ms of its time`);
      if (this.#monotonic - this.#stirredAt >= limits.quietMs)
        throw new Quiet(`nothing happened for ${limits.quietMs} ms`);
      this.#step();
    }
  }

  #step(): void {
    const [chosen] = this.#ready.splice(Math.floor(this.#rng() * this.#ready.length), 1);
    if (chosen === undefined || chosen.process?.isDead) return;
    const frozen = chosen.process === null ? undefined : this.#frozen.get(chosen.process);
    if (frozen !== undefined) frozen.push(chosen);
    else if (chosen.process === null || !this.#isStopped(chosen.process, chosen)) chosen.go();
  }

  #isStopped(process: Process, item: ReadyTask): boolean {
    const interference = this.#interfere(process, item.what);
    if (interference?.kind === "death") process.kill(`at ${item.what}`);
    if (interference?.kind === "freeze") {
      process.freeze(interference.ms, item.what);
      this.#frozen.get(process)?.push(item);
    }
    return interference !== null;
  }

  /** Freezes the process for so long; its timers and answers arrive when it continues. */
  freeze(process: Process, ms: number): void {
    if (this.#frozen.has(process)) return;
    this.#frozen.set(process, []);
    const go = () => this.#thaw(process);
    this.#insert({ process: null, what: "thaw", go, due: this.#monotonic + Math.max(0, ms) });
  }

  #thaw(process: Process): void {
    const held = this.#frozen.get(process);
    this.#frozen.delete(process);
    for (const item of held ?? []) this.ready(item);
  }

  /** Lets all frozen processes continue now. */
  thawAll(): void {
    for (const process of [...this.#frozen.keys()]) this.#thaw(process);
  }

  /** Moves the clock to the next sleeper; false when there is none. */
  #wake(): boolean {
    const [first] = this.#sleeping;
    if (first === undefined) return false;
    this.#monotonic = Math.max(this.#monotonic, first.due);
    const later = this.#sleeping.findIndex(({ due }) => due > this.#monotonic);
    this.#ready.push(...this.#sleeping.splice(0, later === -1 ? this.#sleeping.length : later));
    return true;
  }

  ready(item: ReadyTask): void {
    if (item.process?.isDead !== true) this.#ready.push(item);
  }

  sleep(process: Process, ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      if (process.isDead) return;
      if (signal?.aborted) return resolve();
      const go = () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      };
      const sleeping: SleepingTask = { process, what: "timer", go, due: this.#monotonic + Math.max(0, ms) };
      const abort = () => {
        this.#sleeping = this.#sleeping.filter((one) => one !== sleeping);
        this.#ready = this.#ready.filter((one) => one !== sleeping);
        if (!process.isDead) resolve();
      };
      this.#insert(sleeping);
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  #insert(sleeping: SleepingTask): void {
    const after = this.#sleeping.findIndex(({ due }) => due > sleeping.due);
    this.#sleeping.splice(after === -1 ? this.#sleeping.length : after, 0, sleeping);
  }

  /** Drops all pending steps of a dead process. */
  forget(process: Process): void {
    this.#ready = this.#ready.filter((one) => one.process !== process);
    this.#sleeping = this.#sleeping.filter((one) => one.process !== process);
    this.#frozen.delete(process);
  }

  /**
   * The processes that one of them sees on its machine: there are two machines, so some deaths are known and others are
   * not.
   */
  processesOf(process: Process): Processes {
    const host = `machine-${(process.name.codePointAt(process.name.length - 1) ?? 0) % 2}`;
    this.#enrolled.push(process);
    const identity = `${host}/${this.#enrolled.length}/0/0/0/${this.seed}`;
    return {
      self: () => identity,
      liveness: (other) => {
        const [where, pid] = other.split("/");
        const found = this.#enrolled[Number(pid) - 1];
        if (where !== host || found === undefined) return "unknown";
        return found.isDead ? "gone" : "alive";
      },
    };
  }
}

/**
 * Once no promise has anything to do any more: Node sees to ticks after all of them, and much sooner than to its event
 * loop.
 */
function settled(): Promise<void> {
  return new Promise((go) => process.nextTick(go));
}

/** The simulation cannot end. */
export class Stuck extends Error {}

/** The simulation made no progress for too long. */
export class Quiet extends Stuck {}

/** One process of the simulation. Nothing that a dead process waits for ever resolves, so its code stops. */
export class Process {
  readonly name: string;
  readonly environment: Environment;
  readonly #scheduler: Scheduler;
  readonly #onDeath: (() => void)[];
  #isDead = false;
  #skew = 0;

  /** `haste`: how much faster the process's clock runs. */
  constructor(scheduler: Scheduler, name: string, life: number, onDeath: () => void = () => {}, haste = 1) {
    this.name = name;
    this.#scheduler = scheduler;
    this.#onDeath = [onDeath];
    const random = rng(scheduler.seed, `${name} ${life}`);
    this.environment = {
      now: () => START_MS + Math.floor(scheduler.monotonic + this.#skew),
      monotonic: () => scheduler.monotonic * haste,
      random: (bytes) => Uint8Array.from({ length: bytes }, () => Math.floor(random() * 256)),
      sleep: (ms, signal) => scheduler.sleep(this, ms, signal),
      defer: (run) => scheduler.ready({ process: this, what: "macrotask", go: run }),
      log: (level, event, fields) => this.#log(level, event, fields),
      processes: scheduler.processesOf(this),
    };
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  #log(level: LogLevel, event: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.#scheduler.note(`${this.name} ${level} ${event} ${JSON.stringify(fields)}`);
  }

  /** Waits until the scheduler selects the process among all that are ready. */
  schedule(what: string): Promise<void> {
    return new Promise((go) => this.#scheduler.ready({ process: this, what, go }));
  }

  kill(why: string): void {
    if (this.#isDead) return;
    this.#isDead = true;
    this.#scheduler.note(`${this.name} dies ${why}`);
    this.#scheduler.forget(this);
    for (const then of this.#onDeath) then();
  }

  /** Calls it when the process dies. */
  whenDead(then: () => void): void {
    this.#onDeath.push(then);
  }

  /** Freezes the process's timers and answers for so long, as under SIGSTOP; its connections stay open. */
  freeze(ms: number, at: string): void {
    this.#scheduler.note(`${this.name} stands still for ${Math.round(ms)} ms at ${at}`);
    this.#scheduler.freeze(this, ms);
  }

  /** Moves only the process's wall clock. */
  jump(ms: number): void {
    this.#scheduler.note(`${this.name} wall clock jumps by ${ms} ms`);
    this.#skew += ms;
  }
}

/** A promise that never settles: the answer for a dead process. */
export function never(): Promise<never> {
  return new Promise(() => {});
}
