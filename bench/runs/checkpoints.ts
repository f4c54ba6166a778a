// Checkpoints: the time of one, the time of loading one, and the recovery of a thousand interrupted runs.
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { AgentDefinition } from "../../src/contracts/agent-definitions.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { realEnvironment } from "../../src/core/environment.ts";
import { open } from "../../src/open.ts";
import { openBare } from "../foundation/floor.ts";
import { alternate, compare, percentile, sample } from "../measure.ts";
import type { Bench } from "../suite.ts";
import { ACT, act, textOf } from "./held-runs.ts";
import { rowsOf, sameRowsOn } from "./rows.ts";
import { readerOf } from "./steps.ts";

const ROUNDS = 7;
const STATE_CHARS = 400;

/** A run with a number of iterations that only end. */
class Laps {
  readonly #hf: Holdfast;
  #wanted = Promise.withResolvers<((now: number) => boolean) | null>();
  #reached = Promise.withResolvers<void>();
  #goesOn: (now: number) => boolean = () => false;
  readonly #working: Promise<unknown>;

  constructor(hf: Holdfast) {
    this.#hf = hf;
    const agent: AgentDefinition = {
      ...ACT,
      id: "bench",
      initial: () => ({ n: 0 }),
      iterate: async (it, state) => {
        const isOver = !(await this.#lap());
        return isOver ? it.done() : it.next({ n: (state as { n: number }).n + 1, text: textOf(STATE_CHARS) });
      },
    };
    this.#working = hf.runs.execute(agent, { session: "laps" });
  }

  /** Called at the beginning of each iteration; waits between two rounds. */
  async #lap(): Promise<boolean> {
    if (this.#goesOn(performance.now())) return true;
    this.#reached.resolve();
    const goesOn = await this.#wanted.promise;
    if (goesOn === null) return false;
    this.#goesOn = goesOn;
    return true;
  }

  async #round(goesOn: (now: number) => boolean): Promise<void> {
    await this.#reached.promise;
    this.#reached = Promise.withResolvers();
    const wanted = this.#wanted;
    this.#wanted = Promise.withResolvers();
    wanted.resolve(goesOn);
    await this.#reached.promise;
  }

  /** Takes one checkpoint. */
  once(): Promise<void> {
    return this.#round(() => false);
  }

  /** Milliseconds from the beginning of an iteration to that of the next. */
  async samples(forMs: number): Promise<readonly number[]> {
    const times: number[] = [];
    const deadline = performance.now() + forMs;
    let last = performance.now();
    await this.#round((now) => {
      times.push(now - last);
      last = now;
      return now < deadline || times.length < 20;
    });
    return times;
  }

  async end(): Promise<void> {
    await this.#reached.promise;
    this.#wanted.resolve(null);
    await this.#working;
    await this.#hf.close();
  }
}

export const sequential: Bench = {
  metrics: ["checkpoint.sequential"],
  async run({ folder, seconds }) {
    const same = path.join(folder, "checkpoint-same.db");
    const filled = new Laps(await open(same));
    for (let n = 0; n < 3; n++) await filled.once();
    const written = await rowsOf(readerOf(same), () => filled.once());
    await filled.end();
    const db = openBare(same);
    const bare = sameRowsOn(db, [written]);
    const laps = new Laps(await open(path.join(folder, "checkpoint.db")));
    const turnMs = (seconds * 1000) / ROUNDS;
    const [ours = [], rows = []] = await alternate(ROUNDS, [
      async () => percentile(await laps.samples(turnMs), 0.5),
      async () => percentile(await sample(turnMs, bare), 0.5),
    ]);
    await laps.end();
    db.close();
    return [
      {
        metric: "checkpoint.sequential",
        unit: "ms",
        ...compare(ours, rows),
        targets: [{ of: "ratio", must: "atMost", limit: 1.5 }],
        note: "p50 from one iteration to the next; baseline: the rows of checkpoint, head and run in one bare commit",
      },
    ];
  },
};

const LOADED_CHARS = 4000;

export const load: Bench = {
  metrics: ["checkpoint.load"],
  async run({ folder, seconds }) {
    const file = path.join(folder, "load.db");
    const hf = await open(file);
    const text = Array.from({ length: LOADED_CHARS / 400 }, () => textOf(400)).join("");
    for (let n = 1; n <= 200; n++) {
      await hf.runs.saveCheckpoint({ session: `s-${n % 10}`, agent: "bench", iteration: n, state: { n, text } });
    }
    const db = new DatabaseSync(file, { readOnly: true });
    const [row] = db.prepare("SELECT session_no, seq FROM checkpoints ORDER BY seq DESC LIMIT 1").all();
    const select = db.prepare(
      "SELECT e.*, b.body FROM events e LEFT JOIN blobs b ON b.no = e.content WHERE e.session_no = ? AND e.seq = ?",
    );
    const turnMs = (seconds * 1000) / ROUNDS;
    const [ours = [], bare = []] = await alternate(ROUNDS, [
      async () => percentile(await sample(turnMs, () => hf.runs.loadCheckpoint("s-1", "bench")), 0.5),
      async () => percentile(await sample(turnMs, () => select.get(Number(row?.session_no), Number(row?.seq))), 0.5),
    ]);
    db.close();
    await hf.close();
    return [
      {
        metric: "checkpoint.load",
        unit: "ms",
        ...compare(ours, bare),
        targets: [{ of: "value", must: "atMost", limit: 1 }],
        note: `p50 of loadCheckpoint, a state of ${LOADED_CHARS} letters; baseline: a bare SELECT of the same row`,
      },
    ];
  },
};

const CUT_OFF = 1000;
const LEASE_MS = 500;

/** Runs whose worker sends no more heartbeats, each with one completed step and one in doubt. */
async function cutOff(file: string): Promise<void> {
  const real = realEnvironment();
  // No heartbeat is ever sent, because no timer runs in this process.
  const environment = { ...real, sleep: () => new Promise<void>(() => {}) };
  const hf = await open(file, { durability: "normal", environment });
  let left = CUT_OFF;
  const all = Promise.withResolvers<void>();
  const agent: AgentDefinition = {
    ...ACT,
    id: "bench",
    tools: {
      ...ACT.tools,
      hang: {
        effect: "idempotent",
        execute: () => {
          if (--left === 0) all.resolve();
          return new Promise(() => {});
        },
      },
    },
    async iterate(it) {
      await it.message({ role: "user", content: textOf(200) });
      await act(it);
      await it.tool("hang");
      return it.done();
    },
  };
  for (let n = 0; n < CUT_OFF; n++) void hf.runs.execute(agent, { session: `cut-${n}`, leaseMs: LEASE_MS });
  await all.promise;
}

export const recover: Bench = {
  metrics: ["recover.1000", "recover.1000.run"],
  async run({ folder }) {
    const file = path.join(folder, "recover.db");
    await cutOff(file);
    const hf = await open(file);
    const start = performance.now();
    const found = await hf.runs.recoverAll();
    const seconds = (performance.now() - start) / 1000;
    const sound = found.filter(
      (one) => "resumeIteration" in one && one.cached.length === 2 && one.inDoubt.length === 1,
    );
    if (sound.length !== CUT_OFF) throw new Error(`${sound.length} of ${found.length} runs were recovered`);
    await hf.close();
    const alone = { baseline: Number.NaN, ratio: Number.NaN };
    const note = `verified, examined and freed, full durability; their lease of ${LEASE_MS} ms is waited for first`;
    return [
      { metric: "recover.1000", unit: "s", value: seconds, ...alone, note },
      {
        metric: "recover.1000.run",
        unit: "ms",
        value: (seconds * 1000 - LEASE_MS) / CUT_OFF,
        ...alone,
        note: "per run, without the lease",
      },
    ];
  },
};
