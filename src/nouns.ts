// All nouns of a store except its history, in one module, because they share most of their code. open.ts loads this
// module with the first call of any of these nouns.
import { createAgents, type LoadMemories } from "./agents/agents.ts";
import type { BlobBackend } from "./contracts/blobs.ts";
import type { Holdfast } from "./contracts/holdfast.ts";
import type { LiveSessions } from "./contracts/sessions.ts";
import type { Payloads } from "./contracts/storage/payloads.ts";
import type { Storage } from "./contracts/storage/storage.ts";
import { CALL_VERBS } from "./contracts/verbs/lineage.ts";
import type { SessionLookup } from "./core/session-lookup.ts";
import type { LoadSystemSource } from "./core/system-source.ts";
import { bindVerbs } from "./core/verbs.ts";
import { createLog } from "./log/log.ts";
import { createCalls } from "./sessions/calls.ts";
import { createEvals } from "./sessions/evals.ts";
import { createHeads } from "./sessions/heads.ts";
import { createInvocations } from "./sessions/invocations.ts";
import { createLeafCalls } from "./sessions/leaf-calls.ts";
import { createSessions } from "./sessions/sessions.ts";
import { createSnapshots } from "./sessions/snapshots.ts";
import { shrinkTombstones } from "./sessions/tombstones.ts";
import { createTurns } from "./sessions/turns.ts";
import { createState } from "./state/state.ts";
import { createBlobs } from "./storage/blobs/store.ts";
import { createTasks } from "./tasks/tasks.ts";

export interface Nouns
  extends Pick<
    Holdfast,
    | ("agents" | "heads" | "turns" | "calls" | "evals" | "snapshots" | "invocations")
    | ("state" | "tasks" | "blobs" | "log")
  > {
  readonly sessions: LiveSessions;
}

export interface NounsBase {
  readonly storage: Storage;
  readonly payloads: Payloads;
  readonly lookup: SessionLookup;
  readonly systemSource: LoadSystemSource;
  readonly memories: LoadMemories;
  readonly blobTtlMs: number | null;
  readonly backend: BlobBackend | undefined;
}

export function createNouns({
  storage,
  payloads,
  lookup,
  systemSource,
  memories,
  blobTtlMs,
  backend,
}: NounsBase): Nouns {
  const calls = createCalls(storage, payloads);
  const blobs = createBlobs(storage, {
    ttlMs: blobTtlMs,
    ...(backend === undefined ? {} : { backend }),
    // First remove what deleted sessions keep although no session inherits it any more.
    freeBefore: async () => (await shrinkTombstones(storage, payloads)).bytes ?? 0,
  });
  return {
    agents: createAgents(storage, payloads, memories),
    sessions: createSessions(storage, payloads, lookup, systemSource),
    heads: createHeads(storage, payloads, lookup),
    turns: createTurns(storage, payloads, lookup),
    calls: bindVerbs(CALL_VERBS, lookup, { ...calls, ...createLeafCalls(storage, calls) }),
    evals: createEvals(storage, payloads, lookup),
    snapshots: createSnapshots(storage, payloads, lookup),
    invocations: createInvocations(storage, payloads, lookup),
    state: createState(storage, payloads, lookup),
    tasks: createTasks(storage, lookup),
    blobs,
    log: createLog(storage, payloads, lookup),
  };
}
