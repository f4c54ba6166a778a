// A load for torture: workers in processes of their own meet faults (torture-faults.ts), while a director begins runs, signals
// them, ends their pauses and answers their questions. The director knows from what happened outside whether a step did. In
// the end everything is compared with what was acknowledged and with what happened.
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { writeFileSync } from "node:fs";
import * as path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isHoldfastError } from "../../src/contracts/errors.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { Json } from "../../src/contracts/json.ts";
import type { Run } from "../../src/contracts/run-record.ts";
import { open } from "../../src/open.ts";
import { type Child, Children } from "./process.ts";
import { agentsOf, KINDS, type Kind, readEffects, resultOf } from "./torture-agents.ts";
import { compare } from "./torture-compare.ts";
import { emptyTally, type Fault, type Load, randomFreezeMs, type Tally } from "./torture-faults.ts";
import type { WorkerArguments } from "./torture-worker.ts";

export interface TortureOptions {
  readonly url: string;
  /** For the file of effects; the caller removes it. */
  readonly folder: string;
  /** What happens to its processes. */
  readonly faults: readonly Fault[];
  /** How long; then what was begun is let end. */
  readonly faultMs: number;
  /** On a slow machine the faults go on after `faultMs` until this is true, for at most LONGER_MS. */
  readonly isEnough?: (tally: Tally) => boolean;
  /** The share of commits with several round trips in which a worker stops; on PostgreSQL only. */
  readonly commitFreezes?: number;
  readonly workers?: number;
  /** Runs under way at a time. */
  readonly runs?: number;
  readonly progress?: (line: string) => void;
}

/** A run that was begun, and what it was given. */
export interface Begun {
  readonly kind: Kind;
  readonly n: number;
  readonly session: string;
  word: Json;
}

/** Short: a worker that was killed is missed soon. */
export const LEASE_MS = 700;
/** Of a child, looked for as soon as it is dead. */
const LAST_LINES = 6;
/** For what is left to end after the last fault. */
const PATIENCE_MS = 120_000;
const LONGER_MS = 120_000;

export class Torture {
  readonly #options: TortureOptions;
  readonly #children: Children;
  readonly #effects: string;
  readonly begun = new Map<string, Begun>();
  /** Of children: "did run iteration name", "said session seq". */
  readonly known = new Set<string>();
  /** By step key: how often a person said that it shall be done again. */
  readonly retried = new Map<string, number>();
  readonly tally: Tally = emptyTally();
  #workers: Child[] = [];

  constructor(options: TortureOptions) {
    this.#options = options;
    this.#children = new Children(options.folder);
    this.#effects = path.join(options.folder, `effects-${randomInt(1e9)}`);
    writeFileSync(this.#effects, "");
  }

  /** Makes faults for its time, lets everything end, and compares. */
  async run(): Promise<Tally> {
    const store = await open(this.#options.url);
    try {
      // One that ends by itself leaves its compiled code to the others, which start faster with it.
      const first = this.#start();
      first.say("stop");
      await first.done();
      this.#workers = Array.from({ length: this.#options.workers ?? 3 }, () => this.#start());
      const deadline = performance.now() + this.#options.faultMs;
      const load = this.#load(store, deadline);
      await Promise.all([...this.#options.faults.map((fault) => fault(load)), this.#direct(store, load)]);
      await this.#stop();
      await this.#reckon(store);
      return this.tally;
    } finally {
      await this.#children.end();
      await store.close();
    }
  }

  #load(store: Holdfast, deadline: number): Load {
    const { url, isEnough = () => true } = this.#options;
    let isOver = false;
    return {
      url,
      deadline,
      isOver: () => {
        const now = performance.now();
        isOver ||= now > deadline && (isEnough(this.tally) || now > deadline + LONGER_MS);
        return isOver;
      },
      tally: this.tally,
      workers: this.#workers,
      replaceWorker: (which) => {
        this.#workers[which] = this.#start();
      },
      requireAcknowledged: (worker) => this.#requireAcknowledged(store, worker.lines.slice(-LAST_LINES)),
    };
  }

  #start(): Child {
    const { url, commitFreezes = 0 } = this.#options;
    const args: WorkerArguments = { url, effects: this.#effects, commitFreezes };
    const child = this.#children.start({
      script: "torture-worker.ts",
      args: { ...args },
      onLine: (line) => {
        if (line === "frozen") this.#thaw(child);
        else if (line !== "ready") this.known.add(line);
      },
    });
    return child;
  }

  /** It has stopped inside a commit. */
  #thaw(child: Child): void {
    this.tally.commitFreezes++;
    void sleep(randomFreezeMs(LEASE_MS)).then(() => child.signal("SIGCONT"));
  }

  /**
   * What was acknowledged to it in its last moments is there at once, before another worker can have done it again:
   * they wait for its lease.
   */
  async #requireAcknowledged({ runs, log }: Holdfast, lines: readonly string[]): Promise<void> {
    for (const line of lines) {
      const [word, what = "", at = "", name] = line.split(" ");
      await this.#surely(async () => {
        const isThere =
          word === "said"
            ? (await log.read(what, { after: Number(at) - 1, limit: 1 })).some(({ type }) => type === "message/added")
            : word !== "did" ||
              (await runs.steps(what, { iteration: Number(at) })).some(
                (step) => step.name === name && step.status === "done",
              );
        assert.ok(isThere, `acknowledged, and not there: ${line}`);
      }, []);
    }
  }

  /** Drains those that are left; they must end well. */
  async #stop(): Promise<void> {
    for (const worker of this.#workers) worker.say("stop");
    await Promise.all(this.#workers.map((worker) => worker.done()));
  }

  async #direct(store: Holdfast, load: Load): Promise<void> {
    const { runs: atOnce = 10, progress } = this.#options;
    let last = Number.POSITIVE_INFINITY;
    for (let said = performance.now(); ; await sleep(60)) {
      const open = await this.#attend(store);
      this.tally.ended = this.tally.started - open.length;
      if (performance.now() - said > 5000) {
        said = performance.now();
        const counted = Object.entries(this.tally).filter(([, count]) => count > 0);
        progress?.(`${counted.map(([name, count]) => `${name} ${count}`).join(", ")}, ${open.length} open`);
      }
      const isOver = load.isOver();
      if (isOver && last === Number.POSITIVE_INFINITY) last = performance.now() + PATIENCE_MS;
      if (!isOver && open.length < atOnce) await this.#begin(store);
      if (isOver && open.length === 0) return;
      if (performance.now() > last) {
        const left = open.map(({ id, status, owner, epoch, waitsFor }) => ({ id, status, owner, epoch, waitsFor }));
        throw new Error(`these runs do not end: ${JSON.stringify(left)}\n${this.#workers.map((one) => one.errors)}`);
      }
    }
  }

  async #begin(store: Holdfast): Promise<void> {
    const n = ++this.tally.started;
    const kind = KINDS[n % KINDS.length] ?? "clerk";
    const id = `run-${path.basename(this.#effects)}-${n}`;
    const session = `session-${id}`;
    const agent = agentsOf(this.#effects, () => undefined)[kind];
    this.begun.set(id, { kind, n, session, word: null });
    // Acknowledged or not: the second try says so when the first one had happened.
    await this.#surely(async () => {
      await store.runs.start(agent, { session, id, input: { n }, leaseMs: LEASE_MS });
    }, ["AlreadyExists", "SessionBusy"]);
  }

  /** Again while the store is out of reach; these codes say that it had happened. */
  async #surely(work: () => Promise<void>, happened: readonly string[]): Promise<boolean> {
    for (;;) {
      try {
        await work();
        return true;
      } catch (error) {
        if (!isHoldfastError(error)) throw error;
        if (happened.includes(error.code)) return false;
        if (!error.retryable) throw error;
        await sleep(30);
      }
    }
  }

  /** Those that have not ended; a run that waits for something gets it. */
  async #attend({ runs, log }: Holdfast): Promise<readonly Run[]> {
    let open: readonly Run[] = [];
    await this.#surely(async () => {
      const pages = ["running", "recovering", "waiting", "paused"] as const;
      open = (await Promise.all(pages.map((status) => runs.list({ status, limit: 200 })))).flatMap(
        ({ items }) => items,
      );
    }, []);
    for (const run of open) {
      if (run.status === "paused" && randomInt(4) === 0) {
        if (await this.#surely(async () => void (await runs.unpause(run.id)), ["InvalidTransition"]))
          this.tally.unpauses++;
      }
      const own = this.begun.get(run.id);
      if (own?.kind !== "waiter" || own.word !== null || randomInt(6) > 0) continue;
      // Also before it waits. A signal that may have been delivered is looked for first, or it would be a second one.
      own.word = { told: own.n };
      await this.#surely(async () => {
        const events = await log.read(run.session, { limit: 1000 });
        if (!events.some(({ type }) => type === "run/signalled")) await runs.signal(run.id, "go", own.word);
      }, []);
      this.tally.signals++;
    }
    await this.#surely(() => this.#answer(runs), []);
    return open;
  }

  async #answer(runs: Holdfast["runs"]): Promise<void> {
    for (const { id, step, input } of (await runs.pending({ limit: 100 })).items) {
      const { idempotencyKey: key, name } = step;
      const isDone = readEffects(this.#effects).some((one) => one.key === key);
      // It had to fail twice first, which cannot be seen from outside: tried again.
      const supplies = isDone && name !== "fails";
      if (!supplies) this.retried.set(key, (this.retried.get(key) ?? 0) + 1);
      const answer = supplies
        ? { verdict: "result" as const, result: resultOf(name, input) }
        : { verdict: "retry" as const };
      await this.#surely(async () => {
        await runs.answer(id, { ...answer, by: "torture" });
        this.tally[supplies ? "supplied" : "retries"]++;
      }, ["Conflict", "InvalidTransition", "NotFound"]);
    }
  }

  async #reckon(store: Holdfast): Promise<void> {
    const effects = readEffects(this.#effects);
    const { ended, recoveries } = await compare(store, this, effects);
    Object.assign(this.tally, { ended, recoveries, effects: effects.length, acknowledged: this.known.size });
  }
}
