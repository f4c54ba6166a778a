// The verbs of runs: begin them, work on them, read them, and change their course.

import type { Decision } from "../contracts/decisions.ts";
import type { Page } from "../contracts/json.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { ListedRunRow, RunListParams } from "../contracts/run-queries.ts";
import type { RunResult } from "../contracts/run-results.ts";
import type { ResumeOptions } from "../contracts/run-waits.ts";
import type { RunFilter, Runs } from "../contracts/runs.ts";
import type { Storage } from "../contracts/storage.ts";
import type { Worker } from "../contracts/workers.ts";
import {
  checkBoolean,
  checkId,
  checkInt,
  checkLimit,
  checkOneOf,
  checkOptionalId,
  checkOrder,
  checkRecord,
} from "../core/check.ts";
import { readCursor, readPairCursor, writeCursor, writePairCursor } from "../core/cursor.ts";
import { eventOf } from "../log/log.ts";
import { checkAgent, checkVerify } from "./agents.ts";
import { findOrCreateRun } from "./begin.ts";
import { loadCheckpoint, runCheckpoint, saveCheckpoint } from "./checkpoints.ts";
import { answerDecision, decisionOf, readDecisions } from "./decisions.ts";
import { deleteCheckpoint, deleteRun } from "./delete.ts";
import { executeRun, resumeRun } from "./execute.ts";
import { lastSeqOf } from "./journal.ts";
import { LocalWorkers } from "./local-workers.ts";
import { readQuestions } from "./questions.ts";
import { recoverAll, recoverRun } from "./recover.ts";
import { endingOf, errorOf, existingRun, namedRun, resultOf, runOf, STATUSES } from "./rows.ts";
import type { Tokens } from "./tokens.ts";
import { forkRun, retryRun, rewindRun } from "./travel.ts";
import { cancelRun, pauseRun, signalRun, steps, unpauseRun } from "./verbs.ts";
import type { VerifyScope } from "./verify.ts";
import type { CheckedWorker } from "./worker-options.ts";

const FOREVER = Number.MAX_SAFE_INTEGER;

/** All verbs of runs except those that need no loaded code, see on-demand.ts. */
export interface LoadedRuns extends Omit<Runs, "createWorker" | "tokens"> {
  createWorker(checked: CheckedWorker, id: string): Worker;
  close(): Promise<void>;
}

export function loadRuns(storage: Storage, payloads: Payloads, tokens: Tokens): LoadedRuns {
  const workers = new LocalWorkers(storage, payloads, tokens);
  const { host } = workers;
  const named = (id: string) => namedRun(storage, id);
  return {
    execute: (agent, input, options) => executeRun(workers, agent, input, options) as Promise<RunResult<never>>,
    async start(agent, input) {
      const { row } = await findOrCreateRun(host, checkAgent(agent), input, null, null);
      return runOf(row, await errorOf(storage, row), storage.environment);
    },
    resume: (agent, id, options) => resumeRun(workers, agent, id, options) as Promise<RunResult<never>>,
    async get(id) {
      const [row] = await storage.query("run.get", await named(id));
      if (row === undefined) return null;
      const [error, questions] = [await errorOf(storage, row), await readQuestions(storage, row)];
      return runOf(row, error, storage.environment, questions);
    },
    list: (filter) => list(storage, filter),
    async steps(id, range) {
      const given = checkRecord(range, "range", ["iteration", "io"]);
      const { iteration } = given;
      return steps(storage, payloads, await named(id), {
        ...(iteration === undefined ? {} : { iteration: checkInt(iteration, "iteration", 1, FOREVER) }),
        io: given.io !== undefined && checkBoolean(given.io, "io"),
      });
    },
    async events(id, range) {
      const given = checkRecord(range, "range", ["after", "limit"]);
      const after = given.after === undefined ? 0 : checkInt(given.after, "after", 0, FOREVER);
      const limit = checkLimit(given.limit, "eventsPage", 1000);
      const run = await existingRun(storage, await named(id));
      const from = Math.max(after, run.first_seq - 1);
      const rows = await storage.query("run.events", run.session_no, run.id, from, lastSeqOf(run), limit);
      return rows.map((row) => eventOf(run.session, row));
    },
    async result(id) {
      const [row] = await storage.query("run.get", await named(id));
      return row === undefined ? null : resultOf(storage, payloads, row);
    },
    signal: async (id, name, payload) => signalRun(storage, payloads, await named(id), name, payload),
    async cancel(id) {
      const run = await cancelRun(storage, payloads, await named(id));
      workers.checkNow(run.id);
      return run;
    },
    pause: async (id, minutes) => pauseRun(storage, payloads, await named(id), minutes),
    unpause: async (id) => unpauseRun(storage, payloads, await named(id)),
    retry: async (id, input) => retryRun(storage, payloads, await named(id), input),
    fork: async (id, input) => forkRun(storage, payloads, await named(id), input),
    rewind: async (id, input) => rewindRun(storage, payloads, await named(id), input),
    delete: async (id) => deleteRun(storage, payloads, await named(id)),
    recover: async (id, options) => recoverRun(storage, await named(id), verifyOf(options)),
    recoverAll: async (options) => recoverAll(storage, verifyOf(options)),
    async pending(filter) {
      const given = checkRecord(filter, "filter", ["run", "limit", "order"]);
      return (await decisions(storage, payloads, { ...given, answered: false })).items;
    },
    async decisions(filter) {
      return decisions(
        storage,
        payloads,
        checkRecord(filter, "filter", ["run", "answered", "limit", "cursor", "order"]),
      );
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
    createWorker: ({ agents, settings }, id) => workers.createWorker(agents, settings, id),
    close: () => workers.close(),
  };
}

function verifyOf(options: Pick<ResumeOptions, "verify"> | undefined): VerifyScope {
  return checkVerify(checkRecord(options, "options", ["verify"]).verify);
}

async function decisions(
  storage: Storage,
  payloads: Payloads,
  given: Readonly<Record<string, unknown>>,
): Promise<Page<Decision>> {
  const run = given.run === undefined ? undefined : await namedRun(storage, given.run as string);
  const answered = given.answered === undefined ? undefined : checkBoolean(given.answered, "filter.answered");
  const limit = checkLimit(given.limit, "page", 100);
  const order = checkOrder(given.order);
  const rows = await readDecisions(storage, run, answered, order, readPairCursor(given.cursor), limit + 1);
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
  const rows = await chosen(storage, params as unknown as RunListParams, session, agent, status);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const items = page.map((row) => runOf(row, endingOf(row), storage.environment));
  return { items, next: rows.length > limit && last !== undefined ? writeCursor(last.no) : null };
}

async function chosen(
  storage: Storage,
  params: RunListParams,
  session: string | null,
  agent: string | null,
  status: string | null,
): Promise<readonly ListedRunRow[]> {
  if (session !== null) return storage.query("runs.bySession", session, ...params);
  if (agent !== null) return storage.query("runs.byAgent", agent, ...params);
  if (status !== null) return storage.query("runs.byStatus", status, ...params);
  return storage.query("runs.list", ...params);
}
