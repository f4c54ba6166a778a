// What torture does to the processes of its load: kill and freeze workers, servers and poolers. Each fault goes on until the
// deadline of its round and leaves everything running.
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { PgBouncer } from "../../scripts/pgbouncer.ts";
import type { PostgresServer } from "../../scripts/postgres.ts";
import type { Child } from "./process.ts";
import { withPostgres } from "./stores.ts";

export interface Tally {
  kills: number;
  serverKills: number;
  poolerKills: number;
  /** Workers that were stopped from outside, at any moment. */
  freezes: number;
  /** Workers that stopped between two round trips of a commit. */
  commitFreezes: number;
  /** Processes of the server that were stopped. */
  backendFreezes: number;
  started: number;
  ended: number;
  signals: number;
  unpauses: number;
  retries: number;
  supplied: number;
  /** Leases that were taken over, of all runs. */
  recoveries: number;
  effects: number;
  acknowledged: number;
  /** Appends of the bystander, and handles that it closed. */
  unrelated: number;
  closes: number;
  /** The longest that one of these took. */
  slowestMs: number;
}

export function emptyTally(): Tally {
  return {
    kills: 0,
    serverKills: 0,
    poolerKills: 0,
    freezes: 0,
    commitFreezes: 0,
    backendFreezes: 0,
    started: 0,
    ended: 0,
    signals: 0,
    unpauses: 0,
    retries: 0,
    supplied: 0,
    recoveries: 0,
    effects: 0,
    acknowledged: 0,
    unrelated: 0,
    closes: 0,
    slowestMs: 0,
  };
}

export function addTally(sum: Tally, more: Tally): void {
  for (const name of Object.keys(sum) as (keyof Tally)[])
    sum[name] = name === "slowestMs" ? Math.max(sum[name], more[name]) : sum[name] + more[name];
}

/** The load, as its faults see it. */
export interface Load {
  readonly url: string;
  /** Whether faults end now. */
  isOver(): boolean;
  /** When they end at the earliest (performance.now()). */
  readonly deadline: number;
  readonly tally: Tally;
  readonly workers: readonly Child[];
  /** Another one in its place. */
  replaceWorker(which: number): void;
  /** Fails unless the store has what these last lines of a worker say. */
  requireAcknowledged(worker: Child): Promise<void>;
}

export type Fault = (load: Load) => Promise<void>;

/** One of them again and again; the others meanwhile go on with what it left. */
export const killWorkers: Fault = async (load) => {
  await Promise.all(load.workers.map((_, which) => killWorker(load, which)));
};

async function killWorker(load: Load, which: number): Promise<void> {
  const { tally } = load;
  while (!load.isOver()) {
    const victim = load.workers[which];
    if (victim === undefined) return;
    // Most of the time while it works, now and then while it starts.
    const soon = new AbortController();
    const over = untilOver(load, soon.signal);
    if (randomInt(8) > 0) await Promise.race([victim.heard("did").catch(() => ""), over]);
    soon.abort();
    await sleep(randomInt(800));
    const { code, signal } = await victim.kill();
    assert.equal(signal, "SIGKILL", `a worker ended by itself (${code}): ${victim.errors}`);
    tally.kills++;
    await load.requireAcknowledged(victim);
    load.replaceWorker(which);
  }
}

async function untilOver(load: Load, signal: AbortSignal): Promise<void> {
  while (!load.isOver() && !signal.aborted) await sleep(50);
}

const SERVER_KILL_MS = 8000;

/** Within so long after its last start, and after half of that at the earliest. */
export function killServer(server: PostgresServer, withinMs = SERVER_KILL_MS): Fault {
  return async ({ deadline, tally }) => {
    while (performance.now() + withinMs < deadline) {
      await sleep(randomInt(withinMs / 2, withinMs));
      await server.kill();
      tally.serverKills++;
      await sleep(randomInt(200));
      await server.restart();
    }
  };
}

const POOLER_KILL_MS = 6000;

export function killPooler(pooler: PgBouncer): Fault {
  return async ({ deadline, tally }) => {
    while (performance.now() + POOLER_KILL_MS < deadline) {
      await sleep(randomInt(POOLER_KILL_MS / 2, POOLER_KILL_MS));
      await pooler.kill();
      tally.poolerKills++;
      await sleep(randomInt(500));
      await pooler.restart();
    }
  };
}

/** For a part of a lease, for several of them, and now and then for longer than the server waits for a silent client (5 s). */
export function randomFreezeMs(leaseMs: number): number {
  const kind = randomInt(10);
  if (kind < 5) return randomInt(Math.ceil(leaseMs * 0.9));
  return kind < 9 ? randomInt(leaseMs, leaseMs * 4) : randomInt(5500, LONGEST_FREEZE_MS);
}

export const LONGEST_FREEZE_MS = 8000;

/** At any moment, from outside (SIGSTOP). */
export function freezeWorkers(leaseMs: number): Fault {
  return async (load) => {
    const { tally, workers } = load;
    await Promise.all(
      workers.map(async (worker) => {
        while (!load.isOver()) {
          await sleep(randomInt(2000));
          worker.signal("SIGSTOP");
          tally.freezes++;
          await sleep(randomFreezeMs(leaseMs));
          worker.signal("SIGCONT");
        }
      }),
    );
  };
}

/** Two processes of the server at a time: what they have locked stays locked, their clients get no answer. */
export function freezeBackends(server: PostgresServer): Fault {
  return async (load) => {
    await Promise.all([freezeBackend(server, load), freezeBackend(server, load)]);
  };
}

async function freezeBackend(server: PostgresServer, load: Load): Promise<void> {
  const { tally } = load;
  while (!load.isOver()) {
    await sleep(randomInt(1000));
    // Most of the time one that works for a client.
    const states = randomInt(4) > 0 ? ["active", "idle in transaction"] : ["idle"];
    const pids = await withPostgres(
      server.url,
      (sql) => sql`SELECT pid FROM pg_stat_activity WHERE application_name = 'holdfast' AND state = ANY(${states})`,
    );
    const pid = Number(pids[randomInt(Math.max(1, pids.length))]?.pid ?? 0);
    if (pid === 0 || !signalProcess(pid, "SIGSTOP")) continue;
    tally.backendFreezes++;
    try {
      await sleep(randomInt(4) === 0 ? randomInt(5000, LONGEST_FREEZE_MS) : randomInt(3000));
    } finally {
      signalProcess(pid, "SIGCONT");
    }
  }
}

/** Whether there was such a process. */
function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}
