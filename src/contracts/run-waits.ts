// The owner of a run, what the run waits for, and how calls that execute it wait.
import type { ErasedContent } from "./session-steps.ts";

/** What an idle run waits for. */
export type Waits =
  | { readonly kind: "signal"; readonly name: string }
  | { readonly kind: "decision"; readonly decision: string }
  | { readonly kind: "run"; readonly run: string };

export interface RunProcess {
  readonly host: string;
  readonly pid: number;
}

/** The process that has the lease of a run. Host and pid are null where the platform does not say. */
export interface RunOwner {
  readonly worker: string;
  readonly host: string | null;
  readonly pid: number | null;
}

export interface RunIdle {
  /**
   * queued: no worker has claimed it yet, or the last one gave it back. owner-gone: the process that had its lease has
   * ended. waiting, paused: its agent said so. held: it came with an archive. retry-later: its last worker failed.
   */
  readonly reason: "queued" | "owner-gone" | "waiting" | "paused" | "held" | "retry-later";
  /** The same for people. */
  readonly message: string;
  /** What continues it. */
  readonly hint: string;
}

/** Why a call of execute() or resume() waits, as passed to `onWait`. */
export interface RunWait {
  readonly run: string;
  readonly session: string;
  /** owner: a worker has its lease. The others: what the run itself waits for. */
  readonly reason: "owner" | "signal" | "decision" | "run" | "paused";
  /** Set when the reason is owner. */
  readonly owner: RunOwner | null;
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
   * What recorded reads return for content that was erased since they were made. "fail", the default: the work stops
   * with ContentErased. "placeholder": a placeholder text is returned, and steps after it may have other arguments.
   */
  readonly erased?: ErasedContent;
}
