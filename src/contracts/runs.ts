// Runs: an agent's loop in which every step is in the session's log before anything relies on it. After a crash a run
// resumes from its last checkpoint. The results of steps that its interrupted iteration had completed are taken from
// the log; these steps are never executed again.
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

/** What a recovery found before it released the run. */
export interface Recovery {
  readonly run: Run;
  /** The iteration that the run resumes with. */
  readonly resumeIteration: number;
  /** The steps of that iteration that have ended. A replay reuses their results. */
  readonly cached: readonly Step[];
  /** The steps of which it is unknown whether their effect happened. */
  readonly inDoubt: readonly Step[];
  /** The steps that wait for a person's approval before their first try. */
  readonly asked: readonly Step[];
  readonly needsPerson: boolean;
}

export type RunInput<Input = Json> = {
  readonly session: At;
  readonly id?: string;
  readonly limits?: RunLimits;
  /** Runs with a higher priority are claimed first. */
  readonly priority?: number;
  /** How long the worker may go without a heartbeat before another machine takes over; default 10 s. */
  readonly leaseMs?: number;
} & InputOf<Input>;

/**
 * Every verb that takes a run accepts the beginning of a generated id (`run_…`), from 4 characters on, if no other id
 * begins with it.
 */
export interface Runs {
  /**
   * Begins the run, continues it, or returns its result: call it again with the same id after any crash. The same id
   * with another session, agent or input is a Conflict. Without an id, the call continues an interrupted run of the
   * same agent and input in the session; any other unfinished run there is SessionBusy. The call returns when the run
   * has ended (`wait: false`: also when it waits). Only signal() and answer() deliver what a run waits for.
   */
  execute<Input = Json, Output = Json>(
    agent: RunnableAgent<Input, Output>,
    input: RunInput<Input>,
    options?: ExecuteOptions,
  ): Promise<RunResult<Output>>;
  /** Begins a run for a worker to claim. If a run with this id, agent and input exists already, returns that run. */
  start<Input = Json>(agent: RunnableAgent<Input, unknown>, input: RunInput<Input>): Promise<Run>;
  /** Claims a run that has no living worker, and continues it in this process until it ends, waits or is paused. */
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
      /** Only the steps of this iteration. */
      readonly iteration?: number;
      /** Include the input and the result of each step. */
      readonly io?: boolean;
    },
  ): Promise<readonly Step[]>;
  /**
   * The run's events in its session's log, in order; cleared messages are left out. Default 1000; continue with
   * `after`.
   */
  events(id: string, range?: { readonly after?: number; readonly limit?: number }): Promise<readonly LogEvent[]>;
  result(id: string): Promise<RunResult | null>;
  signal(id: string, name: string, payload?: unknown): Promise<Run>;
  /** Ends the run and its children. If a worker has the run, the worker stops it at its next heartbeat. */
  cancel(id: string): Promise<Run>;
  /**
   * Pauses the run for 1 to 60 minutes, 2 by default. If a worker has the run, the pause begins when its iteration
   * ends.
   */
  pause(id: string, minutes?: number): Promise<Run>;
  /** Ends a pause. Also releases a held run and its children. */
  unpause(id: string): Promise<Run>;
  /**
   * Begins a new run in the same session that continues from the step at which the run failed. Completed steps are not
   * executed again.
   */
  retry(
    id: string,
    input?: {
      readonly id?: string;
      /** Limits that replace those of the failed run, each by its name. */
      readonly limits?: RunLimits;
    },
  ): Promise<Run>;
  /** Creates a new session, and begins a run in it that continues after one of the run's iterations. */
  fork(
    id: string,
    input?: {
      /** The iteration to continue after; 0: from the beginning. Default: the last completed iteration. */
      readonly iteration?: number;
      /** Replaces the state of that iteration. */
      readonly state?: unknown;
      /** The id of the new session; generated by default. */
      readonly session?: string;
      readonly id?: string;
      readonly limits?: RunLimits;
    },
  ): Promise<Run>;
  /**
   * Rewinds the session to the end of one of the run's iterations, or to before the run, and begins a run from there.
   */
  rewind(
    id: string,
    input: {
      /** The iteration to continue after; 0: from before the run began. */
      readonly iteration: number;
      readonly state?: unknown;
      readonly id?: string;
      readonly limits?: RunLimits;
    },
  ): Promise<Run>;
  /** Erases the payloads of a run that has ended. Its events stay in the log, and its id cannot be used again. */
  delete(id: string): Promise<boolean>;
  /**
   * Releases a run whose worker is gone, so that another worker can claim it, and reports its steps. Conflict if the
   * worker is alive.
   */
  recover(id: string, options?: Pick<ResumeOptions, "verify">): Promise<Recovery>;
  /**
   * Releases every run whose worker is gone. A run that cannot be resumed is reported, and does not block the others.
   */
  recoverAll(
    options?: Pick<ResumeOptions, "verify">,
  ): Promise<readonly (Recovery | { readonly run: Run; readonly error: RunError })[]>;
  createWorker(options: WorkerOptions): Worker;
  /** Tokens of model calls in progress in this handle's runs. Ends when the signal aborts. */
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
  /** The state of the run after an iteration, by default the last one; null if the run has completed none. */
  checkpoint(id: string, iteration?: number): Promise<Checkpoint | null>;
  /** Checkpoints of the caller's own loops, by session and agent. Only the last one is kept. */
  saveCheckpoint(
    checkpoint: Pick<Checkpoint, "agent" | "iteration"> &
      Partial<
        Omit<Checkpoint, "session" | "agent" | "run" | "iteration" | "checkpointedAt" | "state" | "lastToolResult">
      > & {
        readonly session: At;
        /** Any JSON. */
        readonly state?: unknown;
        readonly lastToolResult?: unknown;
      },
  ): Promise<Checkpoint>;
  loadCheckpoint(session: At, agent: string): Promise<Checkpoint | null>;
  deleteCheckpoint(session: At, agent: string): Promise<boolean>;
}
