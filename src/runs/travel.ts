// Time travel: retry continues a failed run at the step where it failed; fork continues one of a run's iterations in a
// new session, and rewind in the same session. Each is one commit, and the original run is not changed.
import { HoldfastError } from "../contracts/errors.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import type { Run, RunLimits } from "../contracts/run-record.ts";
import type { EventDraft, FoundRows, Write } from "../contracts/storage/commit.ts";
import type { HeadRow } from "../contracts/storage/lineage-queries.ts";
import type { Payloads, Prepare, PreparedPayload } from "../contracts/storage/payloads.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { FORK_INPUT, RETRY_INPUT, REWIND_INPUT } from "../contracts/verbs/runs.ts";
import type { ValueOf } from "../contracts/verbs/vocabulary.ts";
import { copyJson, encodeJson } from "../core/check.ts";
import { decide } from "../core/decide.ts";
import { jsonObject } from "../core/decode.ts";
import { currentLineage, lineageAt } from "../core/lineage.ts";
import { newId } from "../core/new-id.ts";
import { headGuard, sessionBusy } from "../core/session-guards.ts";
import { existingSession } from "../core/session-lookup.ts";
import { type BranchPoint, branchEvent, forkAt, isAncestor, notAncestor, positionOf } from "../sessions/branching.ts";
import { describeSession } from "../sessions/describe.ts";
import { beginRun, INLINE_JSON, type NewRun, refuseId, refuseTaken } from "./begin.ts";
import { checkpointEvent } from "./checkpoints.ts";
import { cancelChange, endEvents, type RunEnding } from "./ending.ts";
import { encodeState, eventOf, loadEventPayload, randomSeed } from "./journal.ts";
import { livingWorkerError } from "./lease.ts";
import { verifySource } from "./recover.ts";
import { findRetry, readRetryChain } from "./retry-chain.ts";
import { existingRun, namedRun, runOf } from "./rows.ts";
import { atVersion, moveRun } from "./writer.ts";

/** What a new run takes over from the run that it continues. */
interface ContinuedRun {
  readonly row: RunRow;
  readonly iteration: number;
  /** Replaces the state of the iteration. */
  readonly state?: Json | undefined;
  readonly id: string;
  readonly limits: RunLimits;
  readonly isRetry: boolean;
}

/**
 * The end of an iteration: its checkpoint, and the head that was published with it; null for the position before the
 * run began.
 */
interface IterationEnd {
  readonly seq: number;
  readonly head: HeadRow | null;
}

async function findIterationEnd(storage: Storage, row: RunRow, iteration: number): Promise<IterationEnd | null> {
  if (iteration === 0) return null;
  const [point] = await storage.query("checkpoint.at", {
    session: row.session,
    agent: row.agent,
    run: row.id,
    iteration,
  });
  if (point === undefined) throw noIteration(row, iteration);
  checkpointEvent(point);
  if (point.type === "checkpoint/taken") return { seq: point.seq, head: null };
  const [head] = await storage.query("head.before", {
    session: row.session_no,
    branch: point.branch,
    upTo: point.seq + 1,
  });
  if (head === undefined) throw noIteration(row, iteration);
  return { seq: point.seq, head };
}

function noIteration(row: RunRow, iteration: number): HoldfastError {
  return new HoldfastError(
    "NotFound",
    `the run ${JSON.stringify(row.id)} has not completed an iteration ${iteration}`,
    {
      details: { kind: "iteration", run: row.id, iteration, completed: row.iteration },
      hint: forkable(row),
    },
  );
}

/** Says which iterations can be continued, and why no others. */
function forkable({ iteration, ended_at }: RunRow): string {
  const why = `only a completed iteration leaves a checkpoint to continue from${
    ended_at === null ? "" : "; the iteration in which a run ends leaves none"
  }`;
  if (iteration === 0) return `It has completed none (${why}): fork or rewind it with iteration 0, from its beginning.`;
  return `The last it has completed is ${iteration} (${why}); fork and rewind with iteration 0 continue from its beginning.`;
}

/** Copies the state at the call, because the caller may change its object while the run is looked up. */
function copyState(state: unknown): Json | undefined {
  return state === undefined ? undefined : copyJson(state, "state", "payloadBytes");
}

/** Prepares the new run in its session. */
export async function continueFrom(
  storage: Storage,
  payloads: Payloads,
  prepare: Prepare,
  { row, iteration, state, id, limits, isRetry }: ContinuedRun,
  session: string,
): Promise<NewRun> {
  await verifySource(storage, row);
  const end = await findIterationEnd(storage, row, iteration);
  const copy = async (seq: number) => {
    const kept = await loadEventPayload(storage, payloads, row.session, seq);
    return prepare(encodeJson(kept, "state", "payloadBytes"), INLINE_JSON);
  };
  const chance = randomSeed(row.id, await eventOf(storage, row.session, row.first_seq));
  let kept: PreparedPayload | null = null;
  if (state !== undefined) kept = await prepare(encodeState(state, row).bytes, INLINE_JSON);
  else if (end !== null) kept = await copy(end.seq);
  return {
    id,
    session,
    agent: row.agent,
    agentVersion: row.agent_version,
    toolset: row.toolset,
    limits: { ...(jsonObject.read(row.limits) ?? {}), ...limits },
    priority: row.priority,
    leaseMs: row.lease_ms,
    parent: null,
    nested: 0,
    owner: null,
    input: await copy(row.first_seq),
    from: { run: row.id, session: row.session, iteration, state: kept, isRetry, chance },
  };
}

/** Refuses limits at which the new run would end again at once. The time limit starts again for every run. */
function refuseNarrow({ id, stop, limits: kept }: RunRow, limits: RunLimits): void {
  const limit = stop?.startsWith("limit:") ? (stop.slice("limit:".length) as keyof RunLimits) : "wallMs";
  if (limit === "wallMs") return;
  const was = Number(jsonObject.read(kept)?.[limit]);
  if ((limits[limit] ?? was) > was) return;
  throw new HoldfastError("InvalidArgument", `the run ${JSON.stringify(id)} stopped at its limit of ${limit}, ${was}`, {
    details: { kind: "run", id, limit, was },
    hint: `Pass a higher limit: retry(…, { limits: { ${limit}: ${was * 2} } }), or --limits in the CLI.`,
  });
}

/**
 * The error for a run that was retried before. Only the last run of the chain can be retried, because its journal has
 * all completed steps.
 */
async function takenAlready(storage: Storage, { id }: RunRow, by: string): Promise<HoldfastError> {
  const last = await lastAfter(storage, by);
  const chain = by === last.id ? "" : `, and then by ${JSON.stringify(last.id)}`;
  return new HoldfastError(
    "Conflict",
    `the run ${JSON.stringify(id)} was continued by the run ${JSON.stringify(by)}${chain}`,
    {
      details: { kind: "run", id, by, last: last.id, lastStatus: last.status },
      hint: whatOf(last),
    },
  );
}

interface LastRun {
  readonly id: string;
  readonly status: string;
}

async function lastAfter(storage: Storage, id: string): Promise<LastRun> {
  const [row] = await storage.query("run.get", { id });
  if (row === undefined) return { id, status: "deleted" };
  const next = await findRetry(storage, row);
  return next === null ? row : lastAfter(storage, next);
}

function whatOf({ id, status }: LastRun): string {
  const last = JSON.stringify(id);
  if (OVER.has(status)) return `Retry ${last}: it is ${status}, and its journal has the steps done since.`;
  if (status === "completed") return `${last} has completed it. Continue from one of its iterations with runs.fork().`;
  if (status === "deleted")
    return `${last} was deleted. Continue from an iteration of a run that still exists with runs.fork().`;
  return `${last} is ${status}: let a worker finish it.`;
}

const OVER: ReadonlySet<string> = new Set(["failed", "cancelled"]);

export async function retryRun(
  storage: Storage,
  payloads: Payloads,
  run: string,
  { id = newId(storage.environment, "run"), limits = {} }: ValueOf<typeof RETRY_INPUT>,
): Promise<Run> {
  const row = await existingRun(storage, await namedRun(storage, run));
  if (!OVER.has(row.status)) throw notFailed(row);
  if (row.parent !== null) throw isNested(row);
  refuseNarrow(row, limits);
  return payloads.preparing(async (prepare) => {
    const taken = { row, iteration: row.iteration, id, limits, isRetry: true };
    const birth = await continueFrom(storage, payloads, prepare, taken, row.session);
    return decide<Run>(storage, async () => {
      await refuseTaken(storage, birth);
      const past = await readRetryChain(storage, row);
      const newest = await storage.query("runs.newest", { session: row.session });
      const by = await findRetry(storage, row);
      if (by !== null) throw await takenAlready(storage, row, by);
      const session = await existingSession(storage, row.session);
      if (session.branch !== row.branch) throw hasMoved(row);
      const at = storage.environment.now();
      const begun = beginRun(birth, at);
      const guards = [
        { check: "session.branch", key: [session.id], expect: session.branch } as const,
        atVersion(row),
        // These runs must not be deleted meanwhile, because their completed steps count as done.
        ...past.map(atVersion),
        // Guards that no other run retries it meanwhile: two runs would continue the same steps.
        { check: "runs.newest", key: [row.session], expect: newest[0]?.value ?? null } as const,
        ...(begun.commit.guards ?? []),
      ];
      return {
        commit: {
          ...begun.commit,
          sessions: [{ id: row.session, mode: "existing", at }],
          guards,
          events: begun.events,
        },
        answer: ({ events }) => runOf(begun.row(events[0]?.seq ?? 0)),
      };
    });
  });
}

export async function forkRun(
  storage: Storage,
  payloads: Payloads,
  run: string,
  given: ValueOf<typeof FORK_INPUT>,
): Promise<Run> {
  const state = copyState(given.state);
  const row = await existingRun(storage, await namedRun(storage, run));
  const { iteration = row.iteration, limits = {} } = given;
  const session = given.session ?? newId(storage.environment, "ses");
  const id = given.id ?? newId(storage.environment, "run");
  const described = describeSession({ agent: row.agent });
  return payloads.preparing(async (prepare) => {
    const taken = { row, iteration, id, limits, isRetry: false, state };
    const birth = await continueFrom(storage, payloads, prepare, taken, session);
    return decide<Run>(storage, async () => {
      await refuseId(storage, id);
      const head = (await findIterationEnd(storage, row, iteration))?.head ?? null;
      const source = await existingSession(storage, row.session);
      const from = head === null ? before(row) : positionOf(head);
      const fork = await forkAt(storage, { session: source, from, head, id: session, described });
      const begun = beginRun(birth, storage.environment.now());
      const { guards = [], agents = [], events = [], ...rest } = fork.commit;
      return {
        commit: {
          ...rest,
          ...begun.commit,
          agents: [...agents, ...(begun.commit.agents ?? [])],
          guards: [...guards, ...(begun.commit.guards ?? []).filter(({ check }) => check !== "run.active")],
          writes: [...(fork.commit.writes ?? []), ...(begun.commit.writes ?? [])],
          events: [...events, ...begun.events],
        },
        answer: (done) => runOf(begun.row(done.events[events.length]?.seq ?? 0)),
      };
    });
  });
}

/** The position in the log before the run began. */
function before({ session, session_no: no, branch, first_seq }: RunRow): BranchPoint {
  return { session, no, branch, seq: first_seq - 1 };
}

export async function rewindRun(
  storage: Storage,
  payloads: Payloads,
  run: string,
  { iteration, state: given, id = newId(storage.environment, "run"), limits = {} }: ValueOf<typeof REWIND_INPUT>,
): Promise<Run> {
  const state = copyState(given);
  const first = await existingRun(storage, await namedRun(storage, run));
  if (first.nested !== 0) throw isNested(first);
  return payloads.preparing(async (prepare) => {
    const taken = { row: first, iteration, id, limits, isRetry: false, state };
    const birth = await continueFrom(storage, payloads, prepare, taken, first.session);
    let ended: RunEnding | null = null;
    const [run, found] = await decide<readonly [Run, FoundRows]>(storage, async () => {
      await refuseId(storage, id);
      const row = await existingRun(storage, first.id);
      if (row.owner !== null) throw livingWorkerError(row);
      const [busy] = await storage.query("run.active", { session: row.session });
      if (busy !== undefined && busy.id !== row.id) throw sessionBusy(busy, storage.environment);
      const session = await existingSession(storage, row.session);
      const { head, position } = await rewindTarget(storage, session, row, iteration);
      const at = storage.environment.now();
      const data: JsonObject = { head: head?.id ?? null, was: session.head, run: row.id, iteration };
      const moved = branchEvent(session, "head/moved", position, at, data);
      const point: Write = { op: "run", statement: "session.headTo", params: [head?.id ?? null, { slot: "session" }] };
      const begun = beginRun(birth, at);
      const here = await prepareEnding(storage, row, at);
      ended = here;
      const events = [...here.events, { ...moved, writes: [...(moved.writes ?? []), point] }];
      return {
        commit: {
          ...begun.commit,
          ...here.extras,
          wakes: true,
          sessions: [{ id: row.session, mode: "existing", at }, ...(here.extras.sessions ?? [])],
          guards: [
            ...(here.extras.guards ?? []),
            atVersion(row),
            headGuard(session),
            { check: "run.version", key: [id], expect: null } as const,
            { check: "run.active", key: [row.session], expect: busy?.id ?? null },
          ],
          events: [...events, ...begun.events],
        },
        answer: (done) => [runOf(begun.row(done.events[events.length]?.seq ?? 0)), done.found ?? {}],
      };
    });
    await (ended as RunEnding | null)?.afterwards(payloads, found);
    return run;
  });
}

/** The target of a rewind: a head of the run, or the position before the run with the head that was current then. */
async function rewindTarget(
  storage: Storage,
  session: SessionRow,
  row: RunRow,
  iteration: number,
): Promise<{ readonly head: HeadRow | null; readonly position: BranchPoint }> {
  if (iteration === 0) {
    const lineage = await currentLineage(storage, session.id);
    const isOn = lineage.some(
      ({ no, branch, upTo }) => no === session.no && branch === row.branch && row.first_seq <= upTo,
    );
    if (!isOn) throw notBehind(row);
    const position = before(row);
    return { head: await currentHeadAt(storage, position), position };
  }
  const head = (await findIterationEnd(storage, row, iteration))?.head ?? null;
  if (head === null) throw noIteration(row, iteration);
  if (!(await isAncestor(storage, session, head))) throw notAncestor(session, head.id);
  return { head, position: positionOf(head) };
}

/** The newest complete head of the session itself at a position; null if none was published by then. */
async function currentHeadAt(storage: Storage, position: BranchPoint): Promise<HeadRow | null> {
  for (const { no, branch, upTo } of await lineageAt(storage, position)) {
    if (no !== position.no) break;
    for (let last = upTo; ; ) {
      const [head] = await storage.query("head.before", { session: no, branch, upTo: last });
      if (head?.status === "complete") return head;
      if (head === undefined) break;
      last = head.seq - 1;
    }
  }
  return null;
}

function notBehind({ id, session }: RunRow): HoldfastError {
  return new HoldfastError(
    "Conflict",
    `the session ${JSON.stringify(session)} has left the line on which the run ${JSON.stringify(id)} began`,
    {
      details: { kind: "run", id, session },
      hint: "rewind can only go back on the session's line. Continue from an iteration of any run with runs.fork().",
    },
  );
}

/** Ends the run and its children. No worker may have another run in the session. */
async function prepareEnding(
  storage: Storage,
  row: RunRow,
  at: number,
): Promise<RunEnding & { readonly events: readonly EventDraft[] }> {
  for (const child of await storage.query("runs.children", { parent: row.id })) {
    if (child.nested !== 0 && child.owner !== null && child.ended_at === null) throw livingWorkerError(child);
  }
  const ended = await endEvents(storage, row, at);
  const own = row.ended_at === null ? [moveRun(row, cancelChange(at)).event] : [];
  return { ...ended, events: [...ended.before, ...own, ...ended.after] };
}

function notFailed({ id, status }: RunRow): HoldfastError {
  return new HoldfastError("InvalidTransition", `the run ${JSON.stringify(id)} is ${status}: it has not failed`, {
    details: { kind: "run", id, status },
    hint: "Only runs that failed or were cancelled can be retried. Continue from an iteration of any run with runs.fork().",
  });
}

function isNested({ id, parent }: RunRow): HoldfastError {
  return new HoldfastError(
    "InvalidTransition",
    `the run ${JSON.stringify(id)} is a child of the run ${JSON.stringify(parent)}`,
    {
      details: { kind: "run", id, parent },
      hint: "Retry or rewind the parent, which continues its children. runs.fork() continues an iteration of any run.",
    },
  );
}

function hasMoved({ id, session }: RunRow): HoldfastError {
  return new HoldfastError(
    "Conflict",
    `the session ${JSON.stringify(session)} was moved to another line since the run ${JSON.stringify(id)} ended`,
    { details: { kind: "run", id, session }, hint: "Continue from one of its iterations with runs.fork()." },
  );
}
