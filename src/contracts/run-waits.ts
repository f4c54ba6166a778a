// The owner of a run, what the run waits for, and how calls that execute it wait.

/** What an idle run waits for. */
export type Waits =
  | { readonly kind: "signal"; readonly name: string }
  | { readonly kind: "decision"; readonly decision: string }
  | { readonly kind: "run"; readonly run: string };

/** Why a call of execute() or resume() waits, as passed to `onWait`. */
export interface RunWait {
  readonly run: string;
  readonly session: string;
  /** owner: a worker has its lease. The others: what the run itself waits for. */
  readonly reason: "owner" | "signal" | "decision" | "run" | "paused";
  /**
   * Set when the reason is owner. The process that has the lease of a run. Host and pid are null where the platform does
   * not say.
   */
  readonly owner: {
    readonly worker: string;
    readonly host: string | null;
    readonly pid: number | null;
  } | null;
  readonly waitsFor: readonly Waits[];
  /** It continues after this long at the latest; null: that depends on others. */
  readonly atMostMs: number | null;
  /** The same for people, with what to do. */
  readonly message: string;
}

export interface ExecuteOptions extends ResumeOptions {
  /**
   * Whether the call waits through everything the run waits for, and ends when the run has ended. `execute` does unless this
   * is false; `resume` does only when this is true. Without it the call returns as soon as the run waits or is paused.
   */
  readonly wait?: boolean;
  /** Called whenever the call begins to wait for something else. */
  readonly onWait?: (wait: RunWait) => void;
  /** Aborted: the call rejects with Aborted, and the run is given back for another call or worker to continue. */
  readonly signal?: AbortSignal;
}

export interface ResumeOptions {
  /** Goes on although the agent has another version or other tools than the run began with. */
  readonly allowMismatch?: boolean;
  /** "checkpoint": verifies the log from the last checkpoint on, and the event that began the run. */
  readonly verify?: "whole" | "checkpoint";
  /**
   * What recorded reads return for content that was erased since they were made. "fail", the default: the work stops with
   * ContentErased. "placeholder": a placeholder text is returned, and steps after it may have other arguments. What a
   * recorded read returns for content that was erased since it was made. "fail": the work stops with ContentErased.
   * "placeholder": a placeholder text is returned (for a value of the state: null), and steps after it may have other
   * arguments than they had before.
   */
  readonly erased?: "fail" | "placeholder";
}
