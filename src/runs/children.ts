// Child runs: begun once, under an id that follows from the step, with the invocation that says who asked for them; worked on
// here while that is possible, waited for otherwise.
import { HoldfastError } from "../contracts/errors.ts";
import type { Json } from "../contracts/json.ts";
import type { Prepare } from "../contracts/payloads.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { AgentDefinition, RunResult, SpawnOptions } from "../contracts/runs.ts";
import type { Commit, Storage } from "../contracts/storage.ts";
import { decide } from "../core/decide.ts";
import { rowId } from "../core/row-id.ts";
import { checkSpawn, decideSpawn } from "../sessions/attach.ts";
import { finishInvocation } from "../sessions/invocations.ts";
import { type Birth, beginRun, birthOf } from "./create.ts";
import { StepFailed } from "./errors.ts";
import type { Host } from "./execution.ts";
import type { Record } from "./journal.ts";
import { awaitFree, claimRun } from "./lease.ts";
import { atEpoch, atVersion } from "./moves.ts";
import { refusedBefore, refuseStep } from "./refusals.ts";
import { resultOf } from "./results.ts";
import { existingRun } from "./rows.ts";
import type { Asked, Identity, Steps } from "./steps.ts";
import type { Suspension, Waiter } from "./suspension.ts";
import { verifyRun } from "./verify.ts";
import type { Writer } from "./writer.ts";

export interface Parent {
  readonly host: Host;
  readonly writer: Writer;
  readonly steps: Steps;
  readonly suspension: Suspension;
  readonly leave: (error?: unknown) => Promise<never>;
  readonly signal: AbortSignal;
  /** Works on a run whose lease is ours, until it ends or waits, or the parent is left; gives it back. */
  readonly work: (agent: AgentDefinition, row: RunRow) => Promise<void>;
}

export async function spawnRun(
  parent: Parent,
  asked: Asked,
  agent: AgentDefinition,
  options: SpawnOptions,
): Promise<RunResult> {
  const { host, steps, suspension } = parent;
  const { storage, payloads } = host;
  const identity = steps.identify(asked);
  let step: Record | undefined;
  try {
    // At work from the call on, until the child has ended or waits: perhaps nobody awaits it.
    const child = await suspension.during(async () => {
      const found = await steps.recorded(identity);
      const refused = refusedBefore(identity, found, steps);
      if (refused !== null) throw refused;
      step = await takenFrom(parent, found);
      if (step?.status === "done") return { id: childIn(step), isOver: true };
      const begun = step === undefined ? await begin(parent, identity, agent, options, found) : null;
      const id = begun?.id ?? childIn(step);
      const intent = begun?.intent ?? step?.seq ?? 0;
      await workOn(parent, agent, id, begun !== null);
      const ready = readiness(parent, id, identity, intent);
      return { id, isOver: await ready.ready(), wait: ready };
    });
    if (!child.isOver && child.wait !== undefined) await ended(parent, child.id, child.wait);
    return await resultOf(storage, payloads, await existingRun(storage, child.id));
  } catch (error) {
    if (error instanceof StepFailed) throw error;
    return refuseStep(parent, identity, error, step);
  }
}

/**
 * The journal's step, if its child is still of use: one of a run that this one takes up was cancelled with that run unless
 * it had ended, and another is begun in its place.
 */
async function takenFrom(
  { host: { storage }, writer }: Parent,
  found: Record | undefined,
): Promise<Record | undefined> {
  if (found === undefined || found.status === "failed") return undefined;
  if (found.status === "done" || found.seq >= writer.row.first_seq) return found;
  const [child] = await storage.query("run.get", childIn(found));
  return child?.status === "completed" || child?.status === "failed" ? found : undefined;
}

/** The step names it: its id follows from the run that began it, which may be another. */
function childIn(found: Record | undefined): string {
  return String(found?.data.run ?? "");
}

interface Spawned {
  readonly id: string;
  /** The seq of its intent. */
  readonly intent: number;
}

async function begin(
  { host: { storage, payloads }, writer, steps }: Parent,
  identity: Identity,
  agent: AgentDefinition,
  options: SpawnOptions,
  before: Record | undefined,
): Promise<Spawned> {
  const attempt = (before?.attempt ?? 0) + 1;
  const id = `run_${steps.key(identity, attempt)}`;
  const intent = await payloads.preparing(async (prepare) => {
    const birth = await childOf(storage, prepare, writer.row, agent, id, options);
    const data = { ...steps.said(identity, attempt), run: id };
    return writer.patiently(() =>
      decide<number>(storage, async () => {
        const [known] = await storage.query("run.get", id);
        // The commit that was lost with its connection had happened after all.
        if (known !== undefined) return { answer: (await writer.findStep(identity.path))?.seq ?? 0 };
        await writer.reload();
        const at = storage.environment.now();
        const begun = beginRun(birth, at);
        const draft = steps.draft("step/started", data);
        const { sessions, guards = [], events = [] } = await invoking(storage, writer.row, birth, at);
        return {
          commit: {
            ...begun.commit,
            sessions: sessions ?? [],
            // At its version: a child that begins beside its parent's end would be nobody's.
            guards: [...[atEpoch(writer.row), atVersion(writer.row)], ...[...guards, ...(begun.commit.guards ?? [])]],
            // The invocation's event comes right before the intent.
            events: [...events, draft, ...begun.events],
          },
          answer: (done) => done.events[events.length]?.seq ?? 0,
        };
      }),
    );
  });
  return { id, intent };
}

async function childOf(
  storage: Storage,
  prepare: Prepare,
  row: RunRow,
  agent: AgentDefinition,
  id: string,
  { input, session, sameSession = false, forget = false, limits }: SpawnOptions,
): Promise<Birth> {
  if (forget && !sameSession) {
    throw new HoldfastError("InvalidArgument", "forget is for children that work in the same session", {
      hint: "A child session of its own can be deleted afterwards.",
    });
  }
  if (!sameSession && session === row.session) {
    throw new HoldfastError(
      "InvalidArgument",
      `the run ${JSON.stringify(row.id)} itself works in ${JSON.stringify(session)}`,
      {
        details: { kind: "session", id: session, run: row.id },
        hint: "Say { sameSession: true } for a child that works there too, or leave the session out.",
      },
    );
  }
  const where = sameSession ? row.session : (session ?? id);
  const given = { id, session: where, input: (input ?? null) as Json, leaseMs: row.lease_ms };
  return birthOf(...([storage, prepare, agent, { ...given, ...(limits === undefined ? {} : { limits }) }] as const), {
    parent: row.id,
    nested: sameSession ? (forget ? 2 : 1) : 0,
    owner: row.owner,
  });
}

/** The session it works in, and the row in the caller's log that says why that is there. */
async function invoking(storage: Storage, row: RunRow, birth: Birth, at: number): Promise<Commit> {
  const { session, agent } = birth;
  if (session === row.session) return { sessions: [{ id: session, mode: "existing", at }] };
  const spawn = checkSpawn({ label: agent, session: { id: session, agent } });
  return (await decideSpawn(storage, row.session, spawn, session)).commit;
}

/** The epoch of a child that its parent began: at another one the worker beside it took it, under the same name. */
const BORN = 1;

/** Until it ends or waits; not at all when somebody else does, or it is not its time. */
async function workOn(parent: Parent, agent: AgentDefinition, id: string, isFresh: boolean) {
  const { host, writer, leave, signal, work } = parent;
  const { storage } = host;
  // A child of an earlier try may be at work in this very process, under the same name: it is taken like anybody else's.
  const child = await awaitChild(storage, id, isFresh ? writer.row.owner : null, signal);
  if (child === null) return;
  const owner = writer.row.owner ?? "";
  const isBegunHere = isFresh && child.owner === owner && child.epoch === BORN;
  if (!isBegunHere) await verifyRun(storage, child, "whole");
  const own = isBegunHere ? child : await claimRun(storage, child, owner);
  await work(agent, own);
  if (signal.aborted) await leave();
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
  if (child === null || child.ended_at !== null || child.status === "waiting") return null;
  return child.status === "paused" && (child.wake_at ?? 0) > storage.environment.now() ? null : child;
}

type Readiness = Pick<Waiter, "ready" | "guards">;

/** Once the child has ended, that is recorded. */
function readiness(parent: Parent, id: string, identity: Identity, intent: number): Readiness {
  const { host, steps } = parent;
  let child: RunRow | null = null;
  return {
    ready: async () => {
      [child = null] = await host.storage.query("run.get", id);
      if (child === null) return true;
      if (child.ended_at === null) return false;
      await finishChild(parent, child, intent);
      await steps.finish(identity, { run: id }, { seq: intent } as Record);
      return true;
    },
    guards: () => (child === null ? [] : [atVersion(child)]),
  };
}

/** Resolves when that has happened; never, when the run is put to sleep until then. */
function ended({ suspension }: Parent, run: string, { ready, guards }: Readiness): Promise<void> {
  return new Promise((resolve) => {
    suspension.wait({
      ready: async () => {
        const isOver = await ready();
        if (isOver) resolve();
        return isOver;
      },
      ...{ waits: { kind: "run", run }, until: null, events: () => [] },
      ...(guards === undefined ? {} : { guards }),
    });
  });
}

/** Its invocation ends with it. */
async function finishChild({ host, writer }: Parent, child: RunRow, intent: number): Promise<void> {
  const { storage, payloads } = host;
  const { session } = writer.row;
  if (child.session === session) return;
  const [invocation] = await storage.query("invocation.get", session, intent - 1);
  if (invocation === undefined || invocation.status !== "running") return;
  const { error } = await resultOf(storage, payloads, child);
  const outcome = error === null ? {} : { error: { ...error } };
  await writer.patiently(() =>
    payloads.preparing((prepare) => finishInvocation(storage, prepare, rowId(session, intent - 1), outcome)),
  );
}
