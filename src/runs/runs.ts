// Runs: begun, worked on, looked at, and told what to do.
import { HoldfastError } from "../contracts/errors.ts";
import type { Json } from "../contracts/json.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { AgentDefinition, ResumeOptions, RunError, RunFilter, RunResult, Runs } from "../contracts/runs.ts";
import type { Storage } from "../contracts/storage.ts";
import { checkId, checkInt, checkLimit, checkOneOf, checkOptionalId, checkRecord } from "../core/check.ts";
import { readCursor, writeCursor } from "../core/cursor.ts";
import { newId } from "../core/environment.ts";
import { checkSame, defineAgent } from "./agents.ts";
import { loadCheckpoint, loadEventPayload, saveCheckpoint } from "./checkpoints.ts";
import { claimRun, createRun, releaseRun } from "./create.ts";
import { Execution, type Host } from "./execution.ts";
import { entryOf, errorIn } from "./journal.ts";
import { errorOf, resultOf } from "./results.ts";
import { existingRun, refuseEnded, runOf, STATUSES } from "./rows.ts";
import { answerDecision, cancelRun, pauseRun, pendingDecisions, signalRun, steps, unpauseRun } from "./verbs.ts";
import { verifyRun } from "./verify.ts";

const FOREVER = Number.MAX_SAFE_INTEGER;

export function createRuns(storage: Storage, payloads: Payloads): Runs {
  const host: Host = { storage, payloads, leaseMs: 30_000, token: () => {} };
  const owner = newId(storage.environment, "worker");
  return {
    async execute(agent, input) {
      const row = await createRun(storage, payloads, agent, input, { owner });
      return work(host, agent, await existingRun(storage, row.id));
    },
    async start(agent, input) {
      return runOf(await createRun(storage, payloads, agent, input, { owner: null }));
    },
    async resume(agent, id, options) {
      defineAgent(agent);
      const row = await existingRun(storage, checkId(id, "run"));
      const asked = checkRecord(options, "options", ["allowMismatch", "verify"]) as ResumeOptions;
      refuseEnded(row, "there is nothing to resume");
      checkSame(row, agent, asked);
      await verifyRun(storage, row, asked.verify ?? "whole");
      return work(host, agent, await claimRun(storage, row, owner));
    },
    async get(id) {
      const [row] = await storage.query("run.get", checkId(id, "run"));
      return row === undefined ? null : runOf(row, await errorOf(storage, row));
    },
    list: (filter) => list(storage, filter),
    async steps(id, range) {
      const { iteration } = checkRecord(range, "range", ["iteration"]);
      return steps(
        storage,
        checkId(id, "run"),
        iteration === undefined ? undefined : checkInt(iteration, "iteration", 1, FOREVER),
      );
    },
    async result(id) {
      const [row] = await storage.query("run.get", checkId(id, "run"));
      return row === undefined ? null : resultOf(storage, payloads, row);
    },
    signal: (id, name, payload) => signalRun(storage, payloads, id, name, payload),
    cancel: (id) => cancelRun(storage, id),
    pause: (id, minutes) => pauseRun(storage, id, minutes),
    unpause: (id) => unpauseRun(storage, id),
    async pending(filter) {
      const given = checkRecord(filter, "filter", ["run", "limit"]);
      return pendingDecisions(
        storage,
        payloads,
        checkOptionalId(given.run, "run"),
        checkLimit(given.limit, "page", 100),
      );
    },
    answer: (decision, answer) => answerDecision(storage, payloads, decision, answer),
    saveCheckpoint: (checkpoint) => saveCheckpoint(storage, payloads, checkpoint),
    loadCheckpoint: async (session, agent) =>
      loadCheckpoint(storage, payloads, checkId(session, "session"), checkId(agent, "agent")),
    deleteCheckpoint: () => Promise.reject(new HoldfastError("Internal", "not yet")),
  };
}

async function work(host: Host, agent: AgentDefinition, row: RunRow): Promise<RunResult> {
  const execution = new Execution(host, agent, row);
  try {
    await execution.work();
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "LeaseLost") {
      await releaseRun(host.storage, execution.row).catch((later: unknown) =>
        host.storage.environment.log("warn", "runs.release", { run: row.id, error: String(later) }),
      );
    }
    throw error;
  }
  return resultOf(host.storage, host.payloads, await existingRun(host.storage, row.id));
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
  const rows = await chosen(storage, params as never, session, agent, status);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const items = page.map((row) => runOf(row));
  return { items, next: rows.length > limit && last !== undefined ? writeCursor(last.no) : null };
}

type Params = Parameters<typeof listAll>[1];

function listAll(storage: Storage, params: import("../contracts/run-queries.ts").Listed): Promise<readonly RunRow[]> {
  return storage.query("runs.list", ...params);
}

async function chosen(
  storage: Storage,
  params: Params,
  session: string | null,
  agent: string | null,
  status: string | null,
): Promise<readonly RunRow[]> {
  if (session !== null) return storage.query("runs.bySession", session, ...params);
  if (agent !== null) return storage.query("runs.byAgent", agent, ...params);
  if (status !== null) return storage.query("runs.byStatus", status, ...params);
  return listAll(storage, params);
}
