// Runs: an agent's loop whose every step is in its session's log before anything relies on it. After a crash a run
// resumes from its last checkpoint; what its interrupted iteration had done already is taken from the log, never done
// again.

import type { InputOf, RunnableAgent } from "./agent-definitions.ts";
import type { Checkpoint } from "./checkpoints.ts";
import type { AnswerInput, Decision } from "./decisions.ts";
import type { Json, Page, PageOptions } from "./json.ts";
import type { At } from "./locators.ts";
import type { LogEvent } from "./log.ts";
import type { Run, RunError, RunLimits } from "./run-record.ts";
import type { RunResult } from "./run-results.ts";

import type { ExecuteOptions, ResumeOptions } from "./run-waits.ts";
import type { Step } from "./steps.ts";
import type { Token, Worker, WorkerOptions } from "./workers.ts";

export interface RunFilter extends PageOptions {
  readonly session?: At;
  readonly agent?: string;
  readonly status?: Run["status"];
  readonly createdAfter?: number;
  readonly createdBefore?: number;
}

/** What a recovery found before it resumed the run. */
export interface Recovery {
  readonly run: Run;
  /** The iteration it resumes with. */
  readonly resumeIteration: number;
  /** Steps of that iteration whose results are known and are used as they are. */
  readonly cached: readonly Step[];
  readonly inDoubt: readonly Step[];
  /** Steps that wait for a person's approval before their first try. */
  readonly asked: readonly Step[];
  readonly needsPerson: boolean;
}

export type RunInput<Input = Json> = {
  readonly session: At;
  readonly id?: string;
  readonly limits?: RunLimits;
  /** Higher goes first. */
  readonly priority?: number;
  /** How long its worker may show no sign of life before another machine takes over; 10 s. */
  readonly leaseMs?: number;
} & InputOf<Input>;

/** Of an id that was made up here (`run_…`), its beginning is enough, from 4 letters on, while no other begins with it. */
export interface Runs {
  /**
   * Begins the run, continues it where it was, or returns its result: call it again with the same id after any crash.
   * The same id with another session, agent or input is a Conflict. Without an id, an interrupted run of the same agent
   * and input in the session is continued; any other unfinished run there is SessionBusy. The call ends when the run
   * has ended (`wait: false`: when it waits). Only signal() and answer() deliver what a run waits for.
   */
  execute<Input = Json, Output = Json>(
    agent: RunnableAgent<Input, Output>,
    input: RunInput<Input>,
    options?: ExecuteOptions,
  ): Promise<RunResult<Output>>;
  /** Begins a run for a worker to take; with the id of a run that is there, of the same agent and input, that run. */
  start<Input = Json>(agent: RunnableAgent<Input, unknown>, input: RunInput<Input>): Promise<Run>;
  /** Claims a run that no living worker has, and continues it here until it ends, waits or is paused. */
  resume<Output = Json>(
    agent: RunnableAgent<unknown, Output>,
    id: string,
    options?: ExecuteOptions,
  ): Promise<RunResult<Output>>;
  get(id: string): Promise<Run | null>;
  list(filter?: RunFilter): Promise<Page<Run>>;
  /** In the order in which they began. */
  steps(
    id: string,
    range?: {
      /** Only the steps of this one. */
      readonly iteration?: number;
      /** With what each step was given and gave. */
      readonly io?: boolean;
    },
  ): Promise<readonly Step[]>;
  /**
   * The run's events in its session's log, in order; cleared messages are left out. 1000 by default: continue with
   * `after`.
   */
  events(id: string, range?: { readonly after?: number; readonly limit?: number }): Promise<readonly LogEvent[]>;
  result(id: string): Promise<RunResult | null>;
  signal(id: string, name: string, payload?: unknown): Promise<Run>;
  /** With its children. At work: its worker stops it at the next sign of life. */
  cancel(id: string): Promise<Run>;
  /** 1 to 60 minutes, 2 when not given. At work: when its iteration ends. */
  pause(id: string, minutes?: number): Promise<Run>;
  /** Also releases a held run, with its children. */
  unpause(id: string): Promise<Run>;
  /**
   * A new run in the same session that continues from the step the run failed at; what it had done is not done again.
   */
  retry(
    id: string,
    input?: {
      readonly id?: string;
      /** Instead of those it had, one by one. */
      readonly limits?: RunLimits;
    },
  ): Promise<Run>;
  /** A new session, and a run in it that continues after one of the run's iterations. */
  fork(
    id: string,
    input?: {
      /** Goes on after this iteration; 0: from its beginning. The last one completed when not given. */
      readonly iteration?: number;
      /** Instead of the state it had there. */
      readonly state?: unknown;
      /** Of the new session; made up when not given. */
      readonly session?: string;
      readonly id?: string;
      readonly limits?: RunLimits;
    },
  ): Promise<Run>;
  /** Takes the session back to after one of the run's iterations, or to before the run, and begins a run from there. */
  rewind(
    id: string,
    input: {
      /** Goes on after this iteration; 0: from before the run began. */
      readonly iteration: number;
      readonly state?: unknown;
      readonly id?: string;
      readonly limits?: RunLimits;
    },
  ): Promise<Run>;
  /** What it carried goes; that it was stays in the log, and its id is not used again. Of runs that have ended. */
  delete(id: string): Promise<boolean>;
  /**
   * Frees a run whose worker is gone, so that another worker can claim it; returns what was found. Conflict when it is
   * alive.
   */
  recover(id: string, options?: Pick<ResumeOptions, "verify">): Promise<Recovery>;
  /** Every run whose worker is gone. A run that cannot be resumed is reported, and does not block the others. */
  recoverAll(
    options?: Pick<ResumeOptions, "verify">,
  ): Promise<readonly (Recovery | { readonly run: Run; readonly error: RunError })[]>;
  createWorker(options: WorkerOptions): Worker;
  /** Tokens of model calls in progress, of this handle's runs; ends when the signal aborts. */
  tokens(options?: { readonly run?: string; readonly signal?: AbortSignal }): AsyncIterable<Token>;
  /** The open questions, in the order of decisions(). */
  pending(filter?: PageOptions & { readonly run?: string }): Promise<Page<Decision>>;
  /**
   * All questions with their answers, as the log has them. The newest session comes first, and of each session its
   * newest question; `order: "oldest"` is the other way round.
   */
  decisions(
    filter?: PageOptions & {
      readonly run?: string;
      /** true: only answered decisions. false: only open ones. */
      readonly answered?: boolean;
    },
  ): Promise<Page<Decision>>;
  answer(decision: string, answer: AnswerInput): Promise<Run>;
  /** Where the run stood after an iteration, the last one when none is named; null: before its first. */
  checkpoint(id: string, iteration?: number): Promise<Checkpoint | null>;
  /** Checkpoints of loops that are not ours, by session and agent; the last one counts. */
  saveCheckpoint(
    checkpoint: Pick<Checkpoint, "agent" | "iteration"> &
      Partial<
        Omit<Checkpoint, "session" | "agent" | "run" | "iteration" | "checkpointedAt" | "state" | "lastToolResult">
      > & {
        readonly session: At;
        /** JSON. */
        readonly state?: unknown;
        readonly lastToolResult?: unknown;
      },
  ): Promise<Checkpoint>;
  loadCheckpoint(session: At, agent: string): Promise<Checkpoint | null>;
  deleteCheckpoint(session: At, agent: string): Promise<boolean>;
}
