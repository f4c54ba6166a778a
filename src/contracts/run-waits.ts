// The owner of a run, what the run waits for, and how calls that execute it wait.

/** What an idle run waits for. */
export type WaitCondition =
  | { readonly kind: "signal"; readonly name: string }
  | { readonly kind: "decision"; readonly decision: string }
  | { readonly kind: "run"; readonly run: string };

/** Why a call of execute() or resume() waits. Passed to `onWait`. */
export interface RunWait {
  readonly run: string;
  readonly session: string;
  /** owner: a worker has the run's lease. The other reasons: what the run itself waits for. */
  readonly reason: "owner" | "signal" | "decision" | "run" | "paused";
  /**
   * Set if the reason is owner: the process that has the lease of the run. Host and pid are null if the platform does
   * not report them.
   */
  readonly owner: {
    readonly worker: string;
    readonly host: string | null;
    readonly pid: number | null;
  } | null;
  readonly waitsFor: readonly WaitCondition[];
  /** The call continues after this time at the latest; null if it depends on a signal, a run or a person. */
  readonly atMostMs: number | null;
  /** The reason as a sentence for people, and what to do. */
  readonly message: string;
}

export interface ExecuteOptions extends ResumeOptions {
  /**
   * true: the call waits until the run has ended. false: the call returns as soon as the run waits or is paused.
   * Default: true for `execute`, false for `resume`.
   */
  readonly wait?: boolean;
  /** Called whenever the reason for waiting changes. */
  readonly onWait?: (wait: RunWait) => void;
  /** When it aborts, the call rejects with Aborted, and the run is released for another call or worker. */
  readonly signal?: AbortSignal;
}

export interface ResumeOptions {
  /** Continue although the agent has another version or other tools than when the run began. */
  readonly allowMismatch?: boolean;
  /** "checkpoint": verifies the log from the last checkpoint on, and the event that began the run. */
  readonly verify?: "whole" | "checkpoint";
  /**
   * What a recorded read returns for content that was erased since the read was recorded. "fail", the default: the work
   * stops with ContentErased. "placeholder": the read returns a placeholder text (null for a value of the state), and
   * later steps may have other arguments than before.
   */
  readonly erased?: "fail" | "placeholder";
}
