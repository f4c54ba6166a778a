// The verbs of runs, bound to their declarations: begin, execute, read, and control runs.
import type { Decision } from "../contracts/decisions.ts";
import type { Page } from "../contracts/json.ts";
import type { Run } from "../contracts/run-record.ts";
import type { Runs } from "../contracts/runs.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { ListedRunRow, RunListParams } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { RUN_CALLS } from "../contracts/verbs/runs.ts";
import type { ValuesOf } from "../contracts/verbs/vocabulary.ts";
import type { Worker } from "../contracts/workers.ts";
import { type ListOrder, listStart, readPage } from "../core/cursor.ts";
import type { SessionLookup } from "../core/session-lookup.ts";
import { bindVerbs } from "../core/verbs.ts";
import { eventOf } from "../log/log.ts";
import { checkAgent } from "./agents.ts";
import { describeRun, findOrCreateRun } from "./begin.ts";
import { loadCheckpoint, runCheckpoint, saveCheckpoint } from "./checkpoints.ts";
import { answerDecision, decisionOf, decisionsStart, readDecisions } from "./decisions.ts";
import { deleteCheckpoint, deleteRun } from "./delete.ts";
import { executeRun, LocalWorkers, resumeRun } from "./execute.ts";
import type { RunHost } from "./iteration-host.ts";
import { lastSeqOf } from "./journal.ts";
import { recoverAll, recoverRun } from "./recover.ts";
import { endingOf, errorOf, existingRun, namedRun, readQuestions, resultOf, runOf } from "./rows.ts";
import { forkRun, retryRun, rewindRun } from "./travel.ts";
import { cancelRun, pauseRun, signalRun, steps, unpauseRun } from "./verbs.ts";
import type { CheckedWorker } from "./worker.ts";

/** All verbs of runs except the synchronous ones, see on-demand.ts. */
export interface LoadedRuns extends Pick<Runs, keyof typeof RUN_CALLS> {
  createWorker(settings: CheckedWorker, id: string): Worker;
  close(): Promise<void>;
}

export function loadRuns(host: RunHost, lookup: SessionLookup): LoadedRuns {
  const workers = new LocalWorkers(host);
  return {
    ...bindRuns(host.storage, host.payloads, lookup, workers),
    createWorker: (settings, id) => workers.createWorker(settings, id),
    close: () => workers.close(),
  };
}

type RunCalls = Pick<Runs, keyof typeof RUN_CALLS>;

function bindRuns(storage: Storage, payloads: Payloads, lookup: SessionLookup, workers: LocalWorkers): RunCalls {
  const named = (id: string) => namedRun(storage, id);
  return bindVerbs<RunCalls, typeof RUN_CALLS>(
    RUN_CALLS,
    lookup,
    {
      execute: (agent, run, options) => executeRun(workers, agent, run, options),
      async start(agent, run) {
        const { row } = await findOrCreateRun(workers.host, agent, describeRun(run), null, null);
        return runOf(row, await errorOf(storage, row), storage.environment);
      },
      resume: (agent, id, options) => resumeRun(workers, agent, id, options),
      get: async (id) => getRun(storage, await named(id)),
      list: (filter) => listRuns(storage, filter),
      steps: async (id, range) => steps(storage, payloads, await named(id), range),
      async events(id, { after, limit }) {
        const run = await existingRun(storage, await named(id));
        const from = Math.max(after, run.first_seq - 1);
        const rows = await storage.query("run.events", {
          session: run.session_no,
          run: run.id,
          after: from,
          upTo: lastSeqOf(run),
          limit,
        });
        return rows.map((row) => eventOf(run.session, row));
      },
      async result(id) {
        const [row] = await storage.query("run.get", { id: await named(id) });
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
      retry: (id, input) => retryRun(storage, payloads, id, input),
      fork: (id, input) => forkRun(storage, payloads, id, input),
      rewind: (id, input) => rewindRun(storage, payloads, id, input),
      delete: async (id) => deleteRun(storage, payloads, await named(id)),
      recover: async (id, { verify }) => recoverRun(storage, await named(id), verify),
      recoverAll: ({ verify }) => recoverAll(storage, verify),
      pending: (filter) => listDecisions(storage, payloads, "runs.pending", { ...filter, answered: false }),
      decisions: (filter) => listDecisions(storage, payloads, "runs.decisions", filter),
      answer: (decision, answer) => answerDecision(storage, payloads, decision, answer),
      checkpoint: async (id, iteration) =>
        runCheckpoint(storage, payloads, await existingRun(storage, await named(id)), iteration),
      saveCheckpoint: (checkpoint) => saveCheckpoint(storage, payloads, checkpoint),
      loadCheckpoint: (session, agent) => loadCheckpoint(storage, payloads, session, agent),
      deleteCheckpoint: (session, agent) => deleteCheckpoint(storage, payloads, session, agent),
    },
    { agent: checkAgent },
  );
}

async function getRun(storage: Storage, id: string): Promise<Run | null> {
  const [row] = await storage.query("run.get", { id });
  if (row === undefined) return null;
  const [error, questions] = [await errorOf(storage, row), await readQuestions(storage, row)];
  return runOf(row, error, storage.environment, questions);
}

async function listDecisions(
  storage: Storage,
  payloads: Payloads,
  list: "runs.pending" | "runs.decisions",
  { run: given, answered, limit, order, cursor }: ValuesOf<typeof RUN_CALLS.decisions>[0],
): Promise<Page<Decision>> {
  const run = given === undefined ? undefined : await namedRun(storage, given);
  const { items, next } = await readPage({
    list,
    order,
    filter: [run, answered],
    limit,
    cursor,
    start: decisionsStart(order),
    read: (last, most) => readDecisions(storage, { run, answered, order, last, limit: most }),
    item: (row) => decisionOf(storage, payloads, row),
    position: (row) => [row.session_no, row.seq],
  });
  return { items: items.filter((one) => one !== null), next };
}

type RunListFilter = ValuesOf<typeof RUN_CALLS.list>[0];

async function listRuns(storage: Storage, filter: RunListFilter): Promise<Page<Run>> {
  const { limit, cursor, order, createdAfter, createdBefore } = filter;
  const { session = null, agent = null, status = null } = filter;
  const times = { after: createdAfter, until: createdBefore };
  return readPage({
    list: "runs.list",
    order,
    filter: [session, agent, status, createdAfter, createdBefore],
    limit,
    cursor,
    start: listStart(order),
    read: ([last], most) => queryRuns(storage, order, { last, session, agent, status, ...times, limit: most }),
    item: (row) => runOf(row, endingOf(row), storage.environment),
    position: ({ no }) => [no],
  });
}

/** Each filter has its own query, which uses the index for that filter. */
async function queryRuns(storage: Storage, order: ListOrder, params: RunListParams): Promise<readonly ListedRunRow[]> {
  const { session, agent, status } = params;
  const suffix = order === "oldest" ? ".oldest" : "";
  if (session !== null) return storage.query(`runs.bySession${suffix}`, { ...params, session });
  if (agent !== null) return storage.query(`runs.byAgent${suffix}`, { ...params, agent });
  if (status !== null) return storage.query(`runs.byStatus${suffix}`, { ...params, status });
  return storage.query(`runs.list${suffix}`, params);
}
