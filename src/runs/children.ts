// Child runs: begun once under an id that follows from the step, worked on here while that is possible, waited for otherwise.
import type { Json, JsonObject } from "../contracts/json.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { AgentDefinition, RunResult, SpawnOptions } from "../contracts/runs.ts";
import type { Storage } from "../contracts/storage.ts";
import { claimRun, createRun } from "./create.ts";
import type { Execution, Host } from "./execution.ts";
import { atVersion, moveRun } from "./moves.ts";
import { resultOf } from "./results.ts";
import { encodeWaits, existingRun } from "./rows.ts";
import type { Asked, Steps } from "./steps.ts";
import type { Change, Writer } from "./writer.ts";

export interface Parent {
  readonly host: Host;
  readonly writer: Writer;
  readonly steps: Steps;
  readonly leave: (error?: unknown) => Promise<never>;
  readonly signal: AbortSignal;
  /** Works on a run whose lease is ours. */
  readonly work: (agent: AgentDefinition, row: RunRow) => Execution;
}

export async function spawnRun(
  parent: Parent,
  asked: Asked,
  agent: AgentDefinition,
  options: SpawnOptions,
): Promise<RunResult> {
  const { host, writer, steps, leave, signal } = parent;
  const { storage, payloads } = host;
  const identity = steps.identify(asked);
  const found = await steps.recorded(identity);
  try {
    const id = `run_${steps.key(identity, 1)}`;
    if (found?.status !== "done") {
      const child = await ensureChild(parent, agent, id, options);
      if (child.ended_at === null && (await isFree(storage, child))) {
        const own = child.epoch === 1 && child.owner === writer.row.owner ? child : await claimRun(storage, child, writer.row.owner ?? "");
        const execution = parent.work(agent, own);
        const stop = () => execution.stop();
        signal.addEventListener("abort", stop, { once: true });
        await execution.work().finally(() => signal.removeEventListener("abort", stop));
        if (signal.aborted) return await leave();
      }
      const isOver = await waits(parent, id, identity, found);
      if (!isOver) return await leave();
    }
    return await resultOf(storage, payloads, await existingRun(storage, id));
  } catch (error) {
    return leave(error);
  }
}

async function ensureChild(
  { host: { storage, payloads }, writer: { row } }: Parent,
  agent: AgentDefinition,
  id: string,
  { input, session, sameSession = false, limits }: SpawnOptions,
): Promise<RunRow> {
  const [known] = await storage.query("run.get", id);
  if (known !== undefined) return known;
  const given = { id, session: sameSession ? row.session : (session ?? id), ...(limits === undefined ? {} : { limits }) };
  await createRun(storage, payloads, agent, { ...given, input: (input ?? null) as Json }, {
    ...{ parent: row.id, isNested: sameSession, owner: row.owner },
  });
  return existingRun(storage, id);
}

/** Nobody has it, or we do. */
async function isFree(storage: Storage, child: RunRow): Promise<boolean> {
  if (child.status === "paused" && (child.wake_at ?? 0) > storage.environment.now()) return false;
  if (child.status === "waiting") return false;
  return child.owner === null || child.epoch === 1;
}

/** Records that it is over; false when the run waits for it from now on. */
async function waits(
  { host: { storage }, writer, steps }: Parent,
  id: string,
  identity: Parameters<Steps["finish"]>[0],
  found: Parameters<Steps["finish"]>[2],
): Promise<boolean> {
  let isOver = false;
  await writer.move(async (): Promise<Change | null> => {
    const child = await existingRun(storage, id);
    isOver = child.ended_at !== null;
    if (isOver) return null;
    return {
      ...{ type: "run/waiting", at: storage.environment.now() },
      changes: { status: "waiting", owner: null, wake_at: null, waits: encodeWaits({ kind: "run", run: id }) },
      beside: { guards: [atVersion(child)] },
    };
  });
  if (isOver) await steps.finish(identity, { run: id }, found);
  return isOver;
}

/** What the last commit of a child does for who waits for it. */
export async function wakeParent(storage: Storage, child: RunRow): Promise<Pick<Change, "after" | "beside">> {
  if (child.parent === null) return {};
  const [parent] = await storage.query("run.get", child.parent);
  const isWaiting = parent?.status === "waiting" && parent.waits === encodeWaits({ kind: "run", run: child.id });
  if (parent === undefined || !isWaiting) return parent === undefined ? {} : { beside: { guards: [atVersion(parent)] } };
  const at = storage.environment.now();
  const data: JsonObject = { child: child.id };
  const { event } = moveRun(parent, {
    ...{ type: "run/woken", at, data },
    changes: { status: "running", wake_at: 0, waits: null },
  });
  const sessions = parent.session === child.session ? [] : [{ id: parent.session, mode: "existing", at } as const];
  return { after: [event], beside: { guards: [atVersion(parent)], sessions } };
}
