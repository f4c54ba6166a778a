// Child runs: begun once, under an id that follows from the step, with the invocation that says who asked for them; worked on
// here while that is possible, waited for otherwise.
import { HoldfastError } from "../contracts/errors.ts";
import type { Json } from "../contracts/json.ts";
import type { Payloads, Prepare } from "../contracts/payloads.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { RunResult } from "../contracts/run-results.ts";
import type { AgentDefinition, SpawnOptions } from "../contracts/runs.ts";
import type { Commit, EventDraft, Storage } from "../contracts/storage.ts";
import { decide } from "../core/decide.ts";
import { existingSession } from "../core/existing.ts";
import { checkSpawn, decideSpawn } from "../sessions/attach.ts";
import { finishInvocation } from "../sessions/invocations.ts";
import { type Birth, beginRun, birthOf } from "./create.ts";
import { isDue } from "./due.ts";
import { StepFailed } from "./errors.ts";
import type { Host } from "./execution.ts";
import type { Record } from "./journal.ts";
import { awaitFree, claimRun } from "./lease.ts";
import { atEpoch, atVersion } from "./moves.ts";
import { lastOfChain } from "./past.ts";
import { refusedBefore, refuseStep } from "./refusals.ts";
import { resultOf } from "./results.ts";
import { existingRun } from "./rows.ts";
import type { Asked, Identity, Steps } from "./steps.ts";
import type { Suspension, Waiter } from "./suspension.ts";
import { taking } from "./travel.ts";
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
    const look = async (): Promise<Looked> => {
      const found = await steps.recorded(identity);
      const refused = refusedBefore(identity, found, steps);
      if (refused !== null) throw refused;
      step = found;
      if (found?.status === "done") return { id: await endedIn(steps, found), isOver: true };
      const place = await placeOf(parent, found);
      if (place.step !== undefined && place.isLeaving)
        return { id: place.id, isOver: false, wait: leaving(storage, place.id) };
      const begun = place.step === undefined ? await begin(parent, identity, agent, options, found, place.past) : null;
      const id = begun?.id ?? (place.step === undefined ? "" : place.id);
      const intent = begun?.intent ?? step?.seq ?? 0;
      const invoked = begun?.since ?? sinceIn(step);
      await workOn(parent, agent, id, begun !== null);
      const ready = readiness(parent, id, identity, intent, invoked);
      return { id, isOver: await ready.ready(), isOurs: true, wait: ready };
    };
    for (;;) {
      const child = await suspension.during(look);
      if (!child.isOver && child.wait !== undefined) await ended(parent, child.id, child.wait);
      if (child.isOver || child.isOurs === true) {
        return await resultOf(storage, payloads, await existingRun(storage, child.id));
      }
    }
  } catch (error) {
    if (error instanceof StepFailed) throw error;
    return refuseStep(parent, identity, error, step);
  }
}

interface Looked {
  readonly id: string;
  readonly isOver: boolean;
  /** Its end is that of the step. */
  readonly isOurs?: boolean;
  readonly wait?: Readiness;
}

/** The child at a place of the journal: there, to be waited for or looked at; or to be begun, perhaps in place of another. */
type Place =
  | { readonly step: Record; readonly id: string; readonly isLeaving: boolean }
  | { readonly step: undefined; readonly past: RunRow | undefined };

/** A child of a run that this one takes up was cancelled with that run, unless it had ended or somebody has taken it up. */
async function placeOf({ host: { storage }, writer }: Parent, found: Record | undefined): Promise<Place> {
  if (found?.data.run === undefined) return { step: undefined, past: undefined };
  const id = childIn(found);
  if (found.status !== "failed" && found.seq >= writer.row.first_seq) return { step: found, id, isLeaving: false };
  const last = await lastOfChain(storage, await existingRun(storage, id));
  if (last.status === "cancelled") return { step: undefined, past: last };
  // Its worker has yet to hear that it is cancelled.
  return { step: found, id: last.id, isLeaving: last.ended_at === null };
}

/** The step names it: its id follows from the run that began it, which may be another. */
function childIn(found: Record | undefined): string {
  return String(found?.data.run ?? "");
}

/** As its end says: perhaps one that took up the child that was begun. */
async function endedIn(steps: Steps, found: Record): Promise<string> {
  const kept = (await steps.payload(found)) as { readonly run?: unknown } | null;
  return typeof kept?.run === "string" ? kept.run : childIn(found);
}

interface Spawned {
  readonly id: string;
  /** The seq of its intent. */
  readonly intent: number;
  /** Of the intent that its invocation stands in front of. */
  readonly since: number;
}

async function begin(
  { host: { storage, payloads }, writer, steps }: Parent,
  identity: Identity,
  agent: AgentDefinition,
  options: SpawnOptions,
  before: Record | undefined,
  past: RunRow | undefined,
): Promise<Spawned> {
  const attempt = (before?.attempt ?? 0) + 1;
  const id = `run_${steps.key(identity, attempt)}`;
  const intent = await payloads.preparing(async (prepare) => {
    const fresh = await childOf(storage, prepare, writer.row, agent, id, options);
    const birth = past === undefined ? fresh : await inPlaceOf(storage, payloads, prepare, past, fresh);
    const since = past === undefined ? {} : { since: sinceIn(before) };
    const data = { ...steps.said(identity, attempt), run: id, ...since };
    const begin = (held: readonly EventDraft[]) =>
      decide<number>(storage, async () => {
        const [known] = await storage.query("run.get", id);
        // The commit that was lost with its connection had happened after all.
        if (known !== undefined) return { answer: (await writer.findStep(identity.path))?.seq ?? 0 };
        // The row that was looked at: should the run end during the reads below, the writer knows a newer one.
        const row = await writer.reload();
        const at = storage.environment.now();
        const begun = beginRun(birth, at);
        const draft = steps.draft("step/started", data);
        const { sessions, guards = [], events = [] } = await invoking(storage, row, birth, past, at);
        return {
          commit: {
            ...begun.commit,
            sessions: sessions ?? [],
            // At its version: a child that begins beside its parent's end would be nobody's.
            guards: [...[atEpoch(row), atVersion(row)], ...[...guards, ...(begun.commit.guards ?? [])]],
            // The invocation's event comes right before the intent.
            events: [...held, ...events, draft, ...begun.events],
          },
          answer: (done) => done.events[held.length + events.length]?.seq ?? 0,
        };
      });
    return writer.withHeld((held) => writer.patiently(() => begin(held)));
  });
  return { id, intent, since: past === undefined ? intent : sinceIn(before) };
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
async function invoking(
  storage: Storage,
  row: RunRow,
  { session, agent }: Birth,
  past: RunRow | undefined,
  at: number,
): Promise<Commit> {
  if (session === row.session) return { sessions: [{ id: session, mode: "existing", at }] };
  // The invocation is still that of the child before it.
  if (past !== undefined) return { sessions: [row.session, session].map((id) => ({ id, mode: "existing", at })) };
  const spawn = checkSpawn({ label: agent, session: { id: session, agent } });
  return (await decideSpawn(storage, row.session, spawn, session)).commit;
}

/** What the child before it had done is done: it goes on where that one was cancelled. */
async function inPlaceOf(
  storage: Storage,
  payloads: Payloads,
  prepare: Prepare,
  past: RunRow,
  { id, parent, nested, owner, limits }: Birth,
): Promise<Birth> {
  const { branch } = await existingSession(storage, past.session);
  if (branch !== past.branch) throw goneElsewhere(past);
  const taken = { row: past, iteration: past.iteration, id, limits, isRetry: true };
  return { ...(await taking(storage, payloads, prepare, taken, past.session)), ...{ parent, nested, owner } };
}

function goneElsewhere({ id, session }: RunRow): HoldfastError {
  return new HoldfastError("NotFound", `what the child ${JSON.stringify(id)} had done was taken back in its session`, {
    details: { kind: "run", id, session },
    hint: "runs.fork() goes on from one of its parent's iterations.",
  });
}

/** The step that first began a child at this place: the invocation is in front of it. */
function sinceIn(found: Record | undefined): number {
  return typeof found?.data.since === "number" ? found.data.since : (found?.seq ?? 0);
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
  if (child === null || child.ended_at !== null) return null;
  return (await isDue(storage, child)) ? child : null;
}

type Readiness = Pick<Waiter, "ready" | "guards">;

/** Once the child has ended, that is recorded. */
function readiness(parent: Parent, id: string, identity: Identity, intent: number, invoked: number): Readiness {
  const { host, steps } = parent;
  let child: RunRow | null = null;
  return {
    ready: async () => {
      [child = null] = await host.storage.query("run.get", id);
      if (child === null) return true;
      if (child.ended_at === null) return false;
      await finishChild(parent, child, invoked);
      await steps.finish(identity, { run: id }, { seq: intent } as Record);
      return true;
    },
    guards: () => (child === null ? [] : [atVersion(child)]),
  };
}

/** Of somebody else's child: until it has ended. */
function leaving(storage: Storage, id: string): Readiness {
  let child: RunRow | null = null;
  return {
    ready: async () => {
      [child = null] = await storage.query("run.get", id);
      return child === null || child.ended_at !== null;
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
    payloads.preparing((prepare) => finishInvocation(storage, prepare, { session, seq: intent - 1 }, outcome)),
  );
}
