// What the verbs of one iteration need. An execution makes a new one for every iteration.
import type { AgentDefinition } from "../contracts/agent-definitions.ts";
import type { Json } from "../contracts/json.ts";
import type { ResumeOptions } from "../contracts/run-waits.ts";
import type { EventDraft } from "../contracts/storage/commit.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { LoadSystemSource } from "../core/system-source.ts";
import type { HeadPlan } from "../sessions/publish.ts";
import type { Spending } from "./limits.ts";
import type { Steps, StepsHost } from "./steps.ts";
import type { Tokens } from "./tokens.ts";

/** The parts of a handle that all code of runs needs. */
export interface RunHost {
  readonly storage: Storage;
  readonly payloads: Payloads;
  readonly tokens: Tokens;
  readonly systemSource: LoadSystemSource;
}

export interface IterationHost extends RunHost, StepsHost {
  readonly agent: AgentDefinition;
  readonly iteration: number;
  readonly input: Json;
  /** The seed of random(), the same for all runs of a retry chain. */
  readonly seed: string;
  readonly steps: Steps;
  readonly spending: Spending;
  /** What a recorded read does if content was erased since. */
  readonly erased: NonNullable<ResumeOptions["erased"]>;
  /** Ends the work if the run has reached one of its limits or a caller has cancelled it. */
  readonly leaveAtLimit: () => undefined;
  readonly draftHead: (at: number, compaction: NonNullable<HeadPlan["compaction"]>) => readonly EventDraft[];
  /**
   * Executes a child whose lease this handle has, until the child ends or waits, or the work on its parent ends; then
   * releases it.
   */
  readonly workOnChild: (agent: AgentDefinition, row: RunRow) => Promise<void>;
}
