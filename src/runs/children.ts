// Child runs: begun once, under an id that follows from the step, with the invocation that says who asked for them; worked on
// here while that is possible, waited for otherwise.
import { HoldfastError } from "../contracts/errors.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import type { Prepare } from "../contracts/payloads.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { AgentDefinition, RunResult, SpawnOptions } from "../contracts/runs.ts";
import type { Commit, Storage } from "../contracts/storage.ts";
import { checkRecord } from "../core/check.ts";
import { decide } from "../core/decide.ts";
import { rowId } from "../core/row-id.ts";
import { checkSpawn, decideSpawn } from "../sessions/attach.ts";
import { finishInvocation } from "../sessions/invocations.ts";
import { type Birth, beginRun, birthOf } from "./create.ts";
import type { Execution, Host } from "./execution.ts";
import type { Record } from "./journal.ts";
import { awaitFree, claimRun, releaseRun } from "./lease.ts";
import { atEpoch, atVersion, moveRun } from "./moves.ts";
import { resultOf } from "./results.ts";
import { existingRun, waitsFor } from "./rows.ts";
import type { Asked, Identity, Steps } from "./steps.ts";
import type { Suspension } from "./suspension.ts";
import { verifyRun } from "./verify.ts";
import type { Change, Writer } from "./writer.ts";

export interface Parent {
  readonly host: Host;
  readonly writer: Writer;
  readonly steps: Steps;
  readonly suspension: Suspension;
  readonly leave: (error?: unknown) => Promise<never>;
  readonly signal: AbortSignal;
  /** Works on a run whose lease is ours. */
  readonly work: (agent: AgentDefinition, row: RunRow) => Execution;
}

/** What the caller got wrong is thrown at him; anything else is trouble with the store or the lease. */
const CALLERS: ReadonlySet<string> = new Set([
  ...["InvalidArgument", "InvalidJson", "LimitExceeded", "AlreadyExists", "SessionDeleted", "NotFound"],
]);

export async function spawnRun(
  parent: Parent,
  asked: Asked,
  agent: AgentDefinition,
  options: SpawnOptions,
): Promise<RunResult> {
  const { host, steps, suspension, leave } = parent;
  const { storage, payloads } = host;
  const identity = steps.identify(asked);
  const found = await steps.recorded(identity);
  const id = `run_${steps.key(identity, 1)}`;
  try {
    if (found?.status !== "done") {
      const intent = found?.seq ?? (await suspension.during(() => begin(parent, identity, agent, id, options)));
      await suspension.during(() => workOn(parent, agent, id, found === undefined));
      await ended(parent, id, identity, intent);
    }
    return await resultOf(storage, payloads, await existingRun(storage, id));
  } catch (error) {
    if (error instanceof HoldfastError && CALLERS.has(error.code)) throw error;
    return leave(error);
  }
}

const OPTIONS = ["input", "session", "sameSession", "forget", "limits"];

/** The seq of its intent. */
async function begin(
  { host: { storage, payloads }, writer, steps }: Parent,
  identity: Identity,
  agent: AgentDefinition,
  id: string,
  options: SpawnOptions,
): Promise<number> {
  checkRecord(options, "spawn", OPTIONS);
  return payloads.preparing(async (prepare) => {
    const birth = await childOf(storage, prepare, writer.row, agent, id, options);
    const data = { ...steps.said(identity, 1), run: id };
    return writer.patiently(() =>
      decide<number>(storage, async () => {
        const [known] = await storage.query("run.get", id);
        // The commit that was lost with its connection had happened after all.
        if (known !== undefined) return { answer: (await writer.findStep(identity.path))?.seq ?? 0 };
        await writer.reload();
        const at = storage.environment.now();
        const begun = beginRun(birth, at);
        const intent = steps.draft("step/started", data);
        const { sessions, guards = [], events = [] } = await invoking(storage, writer.row, birth, at);
        return {
          commit: {
            ...begun.commit,
            sessions: sessions ?? [],
            guards: [atEpoch(writer.row), ...guards, ...(begun.commit.guards ?? [])],
            // The invocation's event comes right before the intent.
            events: [...events, intent, ...begun.events],
          },
          answer: (done) => done.events[events.length]?.seq ?? 0,
        };
      }),
    );
  });
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
async function workOn(
  { host: { storage }, writer, leave, signal, work }: Parent,
  agent: AgentDefinition,
  id: string,
  isFresh: boolean,
) {
  // A child of an earlier try may be at work in this very process, under the same name: it is taken like anybody else's.
  const child = await awaitChild(storage, id, isFresh ? writer.row.owner : null, signal);
  if (child === null) return;
  const owner = writer.row.owner ?? "";
  const isBegunHere = isFresh && child.owner === owner && child.epoch === BORN;
  if (!isBegunHere) await verifyRun(storage, child, "whole");
  const own = isBegunHere ? child : await claimRun(storage, child, owner);
  const execution = work(agent, own);
  const stop = () => execution.stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    await execution.work();
  } finally {
    signal.removeEventListener("abort", stop);
    await releaseRun(storage, execution.row).catch((error: unknown) =>
      storage.environment.log("warn", "runs.release", { run: id, error: String(error) }),
    );
  }
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

/** Resolves when the child has ended and that is recorded; never, when the run is put to sleep until then. */
async function ended(parent: Parent, id: string, identity: Identity, intent: number): Promise<void> {
  const { host, steps, suspension } = parent;
  const { storage } = host;
  let child: RunRow | null = null;
  const ready = async () => {
    [child = null] = await storage.query("run.get", id);
    if (child === null) return true;
    if (child.ended_at === null) return false;
    await finishChild(parent, child, intent);
    await steps.finish(identity, { run: id }, { seq: intent } as Record);
    return true;
  };
  if (await suspension.during(ready)) return;
  return new Promise((resolve) => {
    suspension.wait({
      ready: async () => {
        const isOver = await ready();
        if (isOver) resolve();
        return isOver;
      },
      ...{ waits: { kind: "run", run: id }, until: null, events: () => [] },
      guards: () => (child === null ? [] : [atVersion(child)]),
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

/** What the last commit of a child does for who waits for it. */
export async function wakeParent(storage: Storage, child: RunRow): Promise<Pick<Change, "after" | "beside">> {
  if (child.parent === null) return {};
  const [parent] = await storage.query("run.get", child.parent);
  if (parent === undefined) return {};
  if (!waitsFor(parent, { kind: "run", run: child.id })) return { beside: { guards: [atVersion(parent)] } };
  const at = storage.environment.now();
  const data: JsonObject = { child: child.id };
  const { event } = moveRun(parent, {
    ...{ type: "run/woken", at, data },
    changes: { status: "running", wake_at: 0, waits: null },
  });
  const sessions = parent.session === child.session ? [] : [{ id: parent.session, mode: "existing", at } as const];
  return { after: [event], beside: { guards: [atVersion(parent)], sessions, wakes: true } };
}
