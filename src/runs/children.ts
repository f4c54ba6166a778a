// Child runs. A child is begun once, with an id that is derived from the step, together with the invocation that names
// its caller. The parent's worker executes the child when it can; otherwise the parent waits for it.
import type { AgentDefinition, SpawnOptions } from "../contracts/agent-definitions.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { RunResult } from "../contracts/run-results.ts";
import type { Commit, EventDraft, Guard } from "../contracts/storage/commit.ts";
import type { Payloads, Prepare } from "../contracts/storage/payloads.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { checkId } from "../core/check.ts";
import { decide } from "../core/decide.ts";
import { existingSession } from "../core/session-lookup.ts";
import { checkSpawn, decideSpawn } from "../sessions/attach.ts";
import { finishInvocation } from "../sessions/invocations.ts";
import { checkLimits } from "./agents.ts";
import { beginRun, copyInput, type NewRun, prepareRun } from "./begin.ts";
import { StepFailed } from "./errors.ts";
import type { IterationHost } from "./iteration-host.ts";
import type { StepRecord } from "./journal.ts";
import { awaitFree, isDue } from "./lease.ts";
import { takeOver } from "./recover.ts";
import { refuseStep } from "./refusals.ts";
import { lastInChain } from "./retry-chain.ts";
import { existingRun, resultOf } from "./rows.ts";
import type { StepIdentity, StepRequest, Steps } from "./steps.ts";
import { continueFrom } from "./travel.ts";
import { atEpoch, atVersion } from "./writer.ts";

export async function spawnRun(
  host: IterationHost,
  request: StepRequest,
  agent: AgentDefinition,
  options: SpawnOptions,
): Promise<RunResult> {
  const { storage, payloads, steps, life } = host;
  const identity = steps.identify(request);
  let record: StepRecord | undefined;
  try {
    // Counts as work under way from the call until the child ends or waits, even if the agent does not await it.
    const look = async (): Promise<ChildLook> => {
      const decision = await steps.decide(identity);
      if (decision.action === "reuse" && decision.record.status === "failed") throw steps.failure(decision.record);
      record = decision.record;
      if (decision.action === "reuse") return { id: await endedIn(steps, decision.record), isOver: true };
      const child = await childAt(host, record);
      if (child.id !== null && child.isLeaving)
        return { id: child.id, isOver: false, wait: childEnd(storage, child.id) };
      const begun = child.id === null ? await begin(host, identity, { agent, options }, record, child.cancelled) : null;
      const id = begun?.id ?? child.id ?? "";
      const intent = begun?.intent ?? record?.seq ?? 0;
      const invoked = begun?.since ?? sinceIn(record);
      await workOn(host, agent, id, begun !== null);
      const end = ownChildEnd(host, id, identity, intent, invoked);
      return { id, isOver: await end.isOver(), isOurs: true, wait: end };
    };
    for (;;) {
      const child = await life.during(look);
      if (!child.isOver && child.wait !== undefined) await awaitChildEnd(host, child.id, child.wait);
      if (child.isOver || child.isOurs === true) {
        return await resultOf(storage, payloads, await existingRun(storage, child.id));
      }
    }
  } catch (error) {
    if (error instanceof StepFailed) throw error;
    return refuseStep(host, identity, error, record);
  }
}

interface ChildLook {
  readonly id: string;
  readonly isOver: boolean;
  /** The child has ended, and with it the step. */
  readonly isOurs?: boolean;
  readonly wait?: ChildEnd;
}

/** The child of a step: an existing one, or one to begin, perhaps in place of a cancelled child. */
type StepChild =
  | { readonly id: string; readonly isLeaving: boolean }
  | { readonly id: null; readonly cancelled: RunRow | undefined };

/**
 * Finds the child of a step. A child of a retried run was cancelled with that run, unless it had ended or was itself
 * retried.
 */
async function childAt({ storage, writer }: IterationHost, record: StepRecord | undefined): Promise<StepChild> {
  if (record?.data.run === undefined) return { id: null, cancelled: undefined };
  const id = childIn(record);
  if (record.status !== "failed" && record.seq >= writer.row.first_seq) return { id, isLeaving: false };
  const last = await lastInChain(storage, await existingRun(storage, id));
  if (last.status === "cancelled") return { id: null, cancelled: last };
  // The child's worker has not noticed the cancellation yet.
  return { id: last.id, isLeaving: last.ended_at === null };
}

/**
 * The child's id from the step's record. It cannot be derived, because another run of the retry chain may have begun
 * the child.
 */
function childIn(record: StepRecord | undefined): string {
  return String(record?.data.run ?? "");
}

/** The child's id from the end of the step: it may be a run that retried the original child. */
async function endedIn(steps: Steps, record: StepRecord): Promise<string> {
  const kept = (await steps.payload(record)) as { readonly run?: unknown } | null;
  return typeof kept?.run === "string" ? kept.run : childIn(record);
}

interface BegunChild {
  readonly id: string;
  /** The seq of the step's intent. */
  readonly intent: number;
  /** The seq of the intent that follows the invocation's event. */
  readonly since: number;
}

interface ChildDefinition {
  readonly agent: AgentDefinition;
  readonly options: SpawnOptions;
}

async function begin(
  { storage, payloads, writer, steps }: IterationHost,
  identity: StepIdentity,
  child: ChildDefinition,
  before: StepRecord | undefined,
  cancelled: RunRow | undefined,
): Promise<BegunChild> {
  const attempt = (before?.attempt ?? 0) + 1;
  const id = `run_${steps.key(identity, attempt)}`;
  const intent = await payloads.preparing(async (prepare) => {
    const fresh = await childOf(storage, prepare, writer.row, id, child);
    const birth = cancelled === undefined ? fresh : await inPlaceOf(storage, payloads, prepare, cancelled, fresh);
    const since = cancelled === undefined ? {} : { since: sinceIn(before) };
    const data = { ...steps.describe(identity, attempt), run: id, ...since };
    const begin = (pending: readonly EventDraft[]) =>
      decide<number>(storage, async () => {
        const [known] = await storage.query("run.get", { id });
        // An earlier try of this commit has happened, but its outcome was lost with the connection.
        if (known !== undefined) return { answer: (await writer.findStep(identity.path))?.seq ?? 0 };
        // Use this row below: if the run ends during the reads, the writer has a newer one.
        const row = await writer.reload();
        const at = storage.environment.now();
        const begun = beginRun(birth, at);
        const draft = steps.draft("step/started", data);
        const { sessions, guards = [], events = [] } = await invocationCommit(storage, row, birth, cancelled, at);
        return {
          commit: {
            ...begun.commit,
            sessions: sessions ?? [],
            // Guards the parent's version: a child that begins while its parent ends would never be executed.
            guards: [atEpoch(row), atVersion(row), ...guards, ...(begun.commit.guards ?? [])],
            // The event of the invocation comes directly before the intent.
            events: [...pending, ...events, draft, ...begun.events],
          },
          answer: (done) => done.events[pending.length + events.length]?.seq ?? 0,
        };
      });
    return writer.withPending((pending) => writer.retrying(() => begin(pending)));
  });
  return { id, intent, since: cancelled === undefined ? intent : sinceIn(before) };
}

async function childOf(
  storage: Storage,
  prepare: Prepare,
  row: RunRow,
  id: string,
  { agent, options }: ChildDefinition,
): Promise<NewRun> {
  const { input, session, sameSession = false, forget = false, limits } = options;
  if (forget && !sameSession) {
    throw new HoldfastError("InvalidArgument", "forget is for children that work in the same session", {
      hint: "Leave `forget` out: a separate child session can be deleted afterwards.",
    });
  }
  if (!sameSession && session === row.session) {
    throw new HoldfastError(
      "InvalidArgument",
      `the run ${JSON.stringify(row.id)} itself works in the session ${JSON.stringify(session)}`,
      {
        details: { kind: "session", id: session, run: row.id },
        hint: "Pass { sameSession: true } if the child shall work in the same session, or leave the session out.",
      },
    );
  }
  const where = sameSession ? row.session : (session ?? id);
  const run = {
    id,
    session: checkId(where, "run.session"),
    input: copyInput(input),
    limits: checkLimits(limits, "run.limits"),
    priority: 0,
    leaseMs: row.lease_ms,
  };
  const nested = sameSession ? (forget ? 2 : 1) : 0;
  return prepareRun(storage, prepare, agent, run, { parent: row.id, nested, owner: row.owner });
}

/** Creates the child's session, and the invocation in the caller's log. */
async function invocationCommit(
  storage: Storage,
  row: RunRow,
  { session, agent }: NewRun,
  cancelled: RunRow | undefined,
  at: number,
): Promise<Commit> {
  if (session === row.session) return { sessions: [{ id: session, mode: "existing", at }] };
  // The child continues in the session and under the invocation of the cancelled child.
  if (cancelled !== undefined) return { sessions: [row.session, session].map((id) => ({ id, mode: "existing", at })) };
  const spawn = checkSpawn({ label: agent, session: { id: session, agent } });
  return (await decideSpawn(storage, row.session, spawn, session)).commit;
}

/** A child that continues where the cancelled one ended: the completed steps of that run count as done. */
async function inPlaceOf(
  storage: Storage,
  payloads: Payloads,
  prepare: Prepare,
  cancelled: RunRow,
  { id, parent, nested, owner, limits }: NewRun,
): Promise<NewRun> {
  const { session, branch, iteration } = cancelled;
  if ((await existingSession(storage, session)).branch !== branch) throw sessionRewound(cancelled);
  const retried = { row: cancelled, iteration, id, limits, isRetry: true };
  return { ...(await continueFrom(storage, payloads, prepare, retried, session)), parent, nested, owner };
}

function sessionRewound({ id, session }: RunRow): HoldfastError {
  return new HoldfastError(
    "NotFound",
    `the session of the child ${JSON.stringify(id)} was rewound to before its work`,
    {
      details: { kind: "run", id, session },
      hint: "Continue from one of its parent's iterations with runs.fork().",
    },
  );
}

/** The seq of the intent that first began a child at this step. The event of the invocation comes before it. */
function sinceIn(record: StepRecord | undefined): number {
  return typeof record?.data.since === "number" ? record.data.since : (record?.seq ?? 0);
}

/** The epoch of a child that its parent has begun. A child at another epoch was claimed again since. */
const BORN = 1;

/** Executes the child until it ends or waits. Does nothing if another worker has it, or it is not due. */
async function workOn(host: IterationHost, agent: AgentDefinition, id: string, isFresh: boolean) {
  const { storage, writer, life, signal } = host;
  // A child of an earlier attempt may still be executing in this process, with the same owner. So it is claimed like
  // any other run.
  const child = await awaitChild(storage, id, isFresh ? writer.row.owner : null, signal);
  if (child === null) return;
  const owner = writer.row.owner ?? "";
  const isBegunHere = isFresh && child.owner === owner && child.epoch === BORN;
  const own = isBegunHere ? child : await takeOver(storage, child, owner, "whole");
  await host.workOnChild(agent, own);
  if (signal.aborted) throw life.leave();
}

async function awaitChild(
  storage: Storage,
  id: string,
  owner: string | null,
  signal: AbortSignal,
): Promise<RunRow | null> {
  const now = await existingRun(storage, id);
  const child =
    owner !== null && now.owner === owner && now.epoch === BORN ? now : await awaitFree(storage, id, signal);
  if (child === null || child.ended_at !== null) return null;
  return (await isDue(storage, child)) ? child : null;
}

interface ChildEnd {
  readonly isOver: () => Promise<boolean>;
  readonly guards: () => readonly Guard[];
}

/** Records the end of the child as the end of the step. */
function ownChildEnd(
  host: IterationHost,
  id: string,
  identity: StepIdentity,
  intent: number,
  invoked: number,
): ChildEnd {
  let child: RunRow | null = null;
  return {
    isOver: async () => {
      [child = null] = await host.storage.query("run.get", { id });
      if (child === null) return true;
      if (child.ended_at === null) return false;
      await finishChild(host, child, invoked);
      await host.steps.finish(identity, { run: id }, { intent });
      return true;
    },
    guards: () => (child === null ? [] : [atVersion(child)]),
  };
}

/** The end of a child that another run of the retry chain has begun. */
function childEnd(storage: Storage, id: string): ChildEnd {
  let child: RunRow | null = null;
  return {
    isOver: async () => {
      [child = null] = await storage.query("run.get", { id });
      return child === null || child.ended_at !== null;
    },
    guards: () => (child === null ? [] : [atVersion(child)]),
  };
}

function awaitChildEnd({ life }: IterationHost, run: string, { isOver, guards }: ChildEnd): Promise<void> {
  return life.wait<void>({
    ready: async (resume) => {
      const isReady = await isOver();
      if (isReady) resume();
      return isReady;
    },
    waits: { kind: "run", run },
    until: null,
    events: () => [],
    guards,
  });
}

/** Ends the child's invocation. */
async function finishChild({ storage, payloads, writer }: IterationHost, child: RunRow, intent: number): Promise<void> {
  const { session } = writer.row;
  if (child.session === session) return;
  const [invocation] = await storage.query("invocation.get", { session, first: intent - 1 });
  if (invocation === undefined || invocation.status !== "running") return;
  const { error } = await resultOf(storage, payloads, child);
  const outcome = error === null ? {} : { error: { ...error } };
  await writer.retrying(() =>
    payloads.preparing((prepare) => finishInvocation(storage, prepare, { session, seq: intent - 1 }, outcome)),
  );
}
