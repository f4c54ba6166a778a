// Runs: begun, worked on, looked at, and told what to do.

import type { Decision } from "../contracts/decisions.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Page } from "../contracts/json.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { Listed, ListedRunRow, RunRow } from "../contracts/run-queries.ts";
import type {
  AgentDefinition,
  AnyAgent,
  ResumeOptions,
  RunFilter,
  RunInput,
  RunResult,
  Runs,
  WorkerOptions,
} from "../contracts/runs.ts";
import type { ErasedContent } from "../contracts/session-steps.ts";
import type { Storage } from "../contracts/storage.ts";
import {
  checkArray,
  checkBoolean,
  checkId,
  checkInt,
  checkLimit,
  checkOneOf,
  checkOptionalId,
  checkRecord,
  invalid,
} from "../core/check.ts";
import { readCursor, readPairCursor, writeCursor, writePairCursor } from "../core/cursor.ts";
import { newId } from "../core/environment.ts";
import { isHeld } from "../core/held.ts";
import { eventOf } from "../log/log.ts";
import { admitRun, lacksChild } from "./admit.ts";
import { checkAgent, checkSame } from "./agents.ts";
import { loadCheckpoint, runCheckpoint, saveCheckpoint } from "./checkpoints.ts";
import { createRun } from "./create.ts";
import { answerDecision, decisionOf, readDecisions } from "./decisions.ts";
import { deleteCheckpoint, deleteRun } from "./delete.ts";
import { leaseLost } from "./errors.ts";
import { Execution, type ExecutionOptions, type Host } from "./execution.ts";
import { lastOf } from "./journal.ts";
import { atWork, awaitFree, claimRun, releaseRun } from "./lease.ts";
import { namedRun } from "./naming.ts";
import { recoverAll, recoverRun } from "./recover.ts";
import { endingOf, errorOf, resultOf } from "./results.ts";
import { existingRun, refuseEnded, runOf, STATUSES } from "./rows.ts";
import { Tokens } from "./tokens.ts";
import { forkRun, retryRun, rewindRun } from "./travel.ts";
import { cancelRun, deliver, pauseRun, signalRun, steps, unpauseRun } from "./verbs.ts";
import { type Verified, verifyRun } from "./verify.ts";
import { RunWorker } from "./worker.ts";

const FOREVER = Number.MAX_SAFE_INTEGER;
const VERIFIED: readonly Verified[] = ["whole", "checkpoint"];

/** What this handle works on: told when something was asked of it, given back when the handle is closed. */
class Shop {
  readonly host: Host;
  readonly owner: string;
  readonly #executions = new Map<string, Execution>();
  readonly #workers = new Set<RunWorker>();

  constructor(storage: Storage, payloads: Payloads) {
    this.host = { storage, payloads, tokens: new Tokens() };
    this.owner = newId(storage.environment, "worker");
  }

  async work(agent: AgentDefinition, row: RunRow, options: ExecutionOptions = {}): Promise<RunResult> {
    const { storage, payloads } = this.host;
    const execution = new Execution(this.host, agent, row, options);
    this.#executions.set(row.id, execution);
    try {
      await execution.work();
    } finally {
      this.#executions.delete(row.id);
      await releaseRun(this.host, execution.row).catch((error: unknown) =>
        storage.environment.log("warn", "runs.release", { run: row.id, error: String(error) }),
      );
    }
    return resultOf(storage, payloads, await existingRun(storage, row.id));
  }

  worker(agents: readonly AgentDefinition[], settings: ConstructorParameters<typeof RunWorker>[3]): RunWorker {
    const id = newId(this.host.storage.environment, "worker");
    const worker = new RunWorker(this.host, id, agents, settings, () => this.#workers.delete(worker));
    this.#workers.add(worker);
    return worker;
  }

  poke(run: string): void {
    this.#executions.get(run)?.poke();
    for (const worker of this.#workers) worker.poke(run);
  }

  async close(): Promise<void> {
    for (const execution of this.#executions.values()) execution.stop();
    await Promise.all([...this.#workers].map((worker) => worker.stop({ graceMs: 0 })));
  }
}

export function createRuns(
  storage: Storage,
  payloads: Payloads,
): { readonly runs: Runs; readonly close: () => Promise<void> } {
  const shop = new Shop(storage, payloads);
  const { host } = shop;
  const named = (id: string) => namedRun(storage, id);
  const runs: Runs = {
    execute: (agent, input) => execute(shop, agent, input),
    async start(agent, input) {
      return runOf(await createRun(storage, payloads, checkAgent(agent), input, { owner: null }));
    },
    resume: (agent, id, options) => resume(shop, agent, id, options),
    async get(id) {
      const [row] = await storage.query("run.get", await named(id));
      return row === undefined ? null : runOf(row, await errorOf(storage, row));
    },
    list: (filter) => list(storage, filter),
    async steps(id, range) {
      const { iteration } = checkRecord(range, "range", ["iteration"]);
      const asked = iteration === undefined ? undefined : checkInt(iteration, "iteration", 1, FOREVER);
      return steps(storage, await named(id), asked);
    },
    async events(id, range) {
      const given = checkRecord(range, "range", ["after", "limit"]);
      const after = given.after === undefined ? 0 : checkInt(given.after, "after", 0, FOREVER);
      const limit = checkLimit(given.limit, "eventsPage", 1000);
      const run = await existingRun(storage, await named(id));
      const from = Math.max(after, run.first_seq - 1);
      const rows = await storage.query("run.events", run.session_no, run.id, from, lastOf(run), limit);
      return rows.map((row) => eventOf(run.session, row));
    },
    async result(id) {
      const [row] = await storage.query("run.get", await named(id));
      return row === undefined ? null : resultOf(storage, payloads, row);
    },
    signal: async (id, name, payload) => signalRun(storage, payloads, await named(id), name, payload),
    async cancel(id) {
      const run = await cancelRun(storage, payloads, await named(id));
      shop.poke(run.id);
      return run;
    },
    pause: async (id, minutes) => pauseRun(storage, payloads, await named(id), minutes),
    unpause: async (id) => unpauseRun(storage, payloads, await named(id)),
    retry: async (id, input) => retryRun(storage, payloads, await named(id), input),
    fork: async (id, input) => forkRun(storage, payloads, await named(id), input),
    rewind: async (id, input) => rewindRun(storage, payloads, await named(id), input),
    delete: async (id) => deleteRun(storage, payloads, await named(id)),
    recover: async (id, options) => recoverRun(storage, await named(id), checkVerify(options)),
    recoverAll: async (options) => recoverAll(storage, checkVerify(options)),
    createWorker(options) {
      const given = checkRecord(options, "worker", [
        ...["agents", "concurrency", "pollMs", "watch", "allowMismatch", "verify", "erased"],
      ]);
      const agents = checkArray(given.agents, "worker.agents", "batchSlots") as readonly AnyAgent[];
      const whole = (name: "concurrency" | "pollMs", fallback: number, min: number, max: number) =>
        given[name] === undefined ? fallback : checkInt(given[name], `worker.${name}`, min, max);
      const checked = agents.map(checkAgent);
      refuseTwice(checked);
      return shop.worker(checked, {
        ...{ concurrency: whole("concurrency", 16, 1, 10_000), pollMs: whole("pollMs", 1000, 10, 3_600_000) },
        ...{ allowMismatch: given.allowMismatch === true, verify: checkVerify({ verify: given.verify as Verified }) },
        ...{ watch: checkWatch(given.watch), erased: checkErased(given.erased) },
      });
    },
    tokens(options) {
      const given = checkRecord(options, "options", ["run", "signal"]);
      return host.tokens.listen(checkOptionalId(given.run, "run"), given.signal as AbortSignal | undefined);
    },
    async pending(filter) {
      const given = checkRecord(filter, "filter", ["run", "limit"]);
      return (await decisions(storage, payloads, { ...given, answered: false })).items;
    },
    async decisions(filter) {
      return decisions(storage, payloads, checkRecord(filter, "filter", ["run", "answered", "limit", "cursor"]));
    },
    answer: (decision, answer) => answerDecision(storage, payloads, decision, answer),
    async checkpoint(id, iteration) {
      const asked = iteration === undefined ? undefined : checkInt(iteration, "iteration", 1, FOREVER);
      return runCheckpoint(storage, payloads, await existingRun(storage, await named(id)), asked);
    },
    saveCheckpoint: (checkpoint) => saveCheckpoint(storage, payloads, checkpoint),
    loadCheckpoint: async (session, agent) =>
      loadCheckpoint(storage, payloads, checkId(session, "session"), checkId(agent, "agent")),
    deleteCheckpoint: async (session, agent) =>
      deleteCheckpoint(storage, payloads, checkId(session, "session"), checkId(agent, "agent")),
  };
  return { runs, close: () => shop.close() };
}

/** On a session whose run waits or is paused: what it is given is the input. */
async function execute(shop: Shop, given: AnyAgent, input: RunInput): Promise<RunResult> {
  const { storage, payloads } = shop.host;
  const agent = checkAgent(given);
  const session = checkId(checkRecord(input, "run").session, "run.session");
  const [active] = await storage.query("run.active", session);
  if (active !== undefined && isHeld(active)) throw runHeld(active);
  const isAsleep = active !== undefined && (active.status === "waiting" || active.status === "paused");
  // What is nested there works for a run that has ended: the session is not free before it has, too.
  if (!isAsleep || active.nested !== 0) {
    const row = await createRun(storage, payloads, agent, input, { owner: shop.owner });
    const now = await existingRun(storage, row.id);
    // Somebody may have taken it from a process that stood still since.
    if (now.epoch !== row.epoch) throw leaseLost(row);
    return shop.work(agent, now);
  }
  checkSame(active, agent, {});
  const run = await deliver(storage, payloads, active, input.input);
  if (run.status !== "running") return resultOf(storage, payloads, await existingRun(storage, run.id));
  return resume(shop, agent, run.id, undefined);
}

/** A live run is never taken from who works on it. */
async function resume(
  shop: Shop,
  definition: AnyAgent,
  id: string,
  options: ResumeOptions | undefined,
): Promise<RunResult> {
  const { storage, payloads } = shop.host;
  const agent = checkAgent(definition);
  const run = await namedRun(storage, id);
  const given = checkRecord(options, "options", ["allowMismatch", "verify", "erased"]) as ResumeOptions;
  const verify = checkVerify(given);
  const erased = checkErased(given.erased);
  const first = await existingRun(storage, run);
  refuseEnded(first, "there is nothing to resume");
  checkSame(first, agent, given);
  const row = await awaitFree(storage, run);
  if (row === null) throw atWork(await existingRun(storage, run));
  // Whoever was at work has ended it meanwhile.
  if (row.ended_at !== null) return resultOf(storage, payloads, row);
  // Before its time is believed, too: a run that seems to sleep forever would be lost.
  await verifyRun(storage, row, verify);
  if (isHeld(row)) await admitRun(storage, row);
  const now = await existingRun(storage, run);
  const isAsleep = now.wake_at === null || now.wake_at > storage.environment.now();
  // One that is running is only left alone by workers for a while.
  if (isAsleep && (now.status === "waiting" || now.status === "paused") && !(await lacksChild(storage, now))) {
    return resultOf(storage, payloads, now);
  }
  // As it was verified, but for the mark that was taken off.
  return shop.work(agent, await claimRun(storage, { ...row, beat: now.beat }, shop.owner), { erased });
}

function runHeld({ id, session }: RunRow): HoldfastError {
  return new HoldfastError(
    "SessionBusy",
    `the run ${JSON.stringify(id)} of ${JSON.stringify(session)} came with an archive and is held`,
    {
      details: { kind: "run", id, session, held: true },
      hint: "If it does not go on where it came from: runs.resume() or runs.unpause() lets it go on here; runs.cancel() ends it.",
    },
  );
}

function refuseTwice(agents: readonly AgentDefinition[]): void {
  const ids = new Set<string>();
  for (const { id } of agents) {
    if (ids.has(id)) throw invalid("worker.agents", "agents with different ids", id);
    ids.add(id);
  }
}

function checkVerify(options: Pick<ResumeOptions, "verify"> | undefined): Verified {
  const { verify } = checkRecord(options, "options");
  return verify === undefined ? "whole" : checkOneOf(verify, "verify", VERIFIED);
}

function checkErased(erased: unknown): ErasedContent {
  return erased === undefined ? "fail" : checkOneOf(erased, "erased", ["fail", "placeholder"]);
}

function checkWatch(watch: unknown): WorkerOptions["watch"] {
  if (watch !== undefined && typeof watch !== "function") throw invalid("worker.watch", "a function", watch);
  return watch as WorkerOptions["watch"];
}

async function decisions(
  storage: Storage,
  payloads: Payloads,
  given: Readonly<Record<string, unknown>>,
): Promise<Page<Decision>> {
  const run = given.run === undefined ? undefined : await namedRun(storage, given.run as string);
  const answered = given.answered === undefined ? undefined : checkBoolean(given.answered, "filter.answered");
  const limit = checkLimit(given.limit, "page", 100);
  const rows = await readDecisions(storage, run, answered, readPairCursor(given.cursor) ?? [0, 0], limit + 1);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    items: (await Promise.all(page.map((row) => decisionOf(storage, payloads, row)))).filter((one) => one !== null),
    next: rows.length > limit && last !== undefined ? writePairCursor(last.session_no, last.seq) : null,
  };
}

async function list(storage: Storage, filter: RunFilter | undefined) {
  const given = checkRecord(filter, "filter", [
    ...["session", "agent", "status", "createdAfter", "createdBefore", "limit", "cursor"],
  ]);
  const session = checkOptionalId(given.session, "session") ?? null;
  const agent = checkOptionalId(given.agent, "agent") ?? null;
  const status = given.status === undefined ? null : checkOneOf(given.status, "status", STATUSES);
  const limit = checkLimit(given.limit, "page", 100);
  const time = (name: "createdAfter" | "createdBefore", fallback: number) =>
    given[name] === undefined ? fallback : checkInt(given[name], name, 0, FOREVER);
  const params = [
    ...[readCursor(given.cursor) ?? FOREVER, session, session, agent, agent, status, status],
    ...[time("createdAfter", 0), time("createdBefore", FOREVER), limit + 1],
  ] as const;
  const rows = await chosen(storage, params as unknown as Listed, session, agent, status);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const items = page.map((row) => runOf(row, endingOf(row)));
  return { items, next: rows.length > limit && last !== undefined ? writeCursor(last.no) : null };
}

async function chosen(
  storage: Storage,
  params: Listed,
  session: string | null,
  agent: string | null,
  status: string | null,
): Promise<readonly ListedRunRow[]> {
  if (session !== null) return storage.query("runs.bySession", session, ...params);
  if (agent !== null) return storage.query("runs.byAgent", agent, ...params);
  if (status !== null) return storage.query("runs.byStatus", status, ...params);
  return storage.query("runs.list", ...params);
}
