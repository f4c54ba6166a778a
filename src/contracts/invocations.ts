// Sessions that work for other sessions: the caller spawns or attaches a session, waits for it, and gets an envelope
// with the result. Leaf calls return the same envelope without a session. Promise: an invocation is in its caller's log
// before its work begins, in one commit with the session that it creates; it ends once. If its process dies, the
// invocation stays "running" until finish() is called with its id.
import type { Call, CallInput, CallOutcome } from "./calls.ts";
import type { Counts } from "./heads.ts";
import type { Json } from "./json.ts";
import type { At, LogPosition } from "./locators.ts";
import type { SessionInput } from "./session.ts";

export interface SpawnInput {
  /** One line for lists and traces. */
  readonly label?: string;
  /** The caller's model call that asked for the work. The id of a leaf call is refused, because it has no session. */
  readonly call?: string;
  /** Fields of the new session; its id is made up by default. With "branch", an attachment creates a session too. */
  readonly session?: SessionInput;
}

export interface AttachOptions extends SpawnInput {
  /** Whether to continue the other session or to branch from it. There is no default. */
  readonly mode: NonNullable<Invocation["mode"]>;
}

/** What the function that does the work of an invocation gets. */
export interface Child {
  /** The session to work in. */
  readonly session: string;
  readonly invocation: Invocation;
}

/** The result of an invocation or a leaf call. */
export interface Envelope<T, M = InvocationMeta> {
  /** null when it failed. */
  readonly value: T | null;
  /**
   * The session that did the work: the child, or the caller itself for a leaf call. null if the work could not begin.
   */
  readonly session: string | null;
  /** The current head of that session at the end of the work; null if it has none, and for a leaf call. */
  readonly head: string | null;
  readonly status: "done" | "failed";
  /** What the work threw; only in failed slots of a batch. */
  readonly error?: unknown;
  /**
   * A description made from the written rows, without times, so that the same work on the same ids has the same
   * description. null if the work could not begin, or its end could not be recorded.
   */
  readonly meta: M | null;
}

export interface InvocationMeta extends Pick<Invocation, "type" | "mode" | "label"> {
  readonly invocation: string;
  /** How many rows of each kind the child's lineage had at the end of the work. */
  readonly counts: Counts;
}

export interface LeafMeta
  extends Pick<Call, "model" | "provider" | "inputTokens" | "outputTokens" | "cachedTokens" | "costUsd"> {
  readonly call: string;
  readonly type: "leaf";
}

export interface Invocations {
  /**
   * Creates a session of kind "spawned", runs the work and ends the invocation. If the work throws, the error is
   * recorded, the invocation is "failed", and the error is rethrown. The work itself publishes the child's heads.
   */
  spawn<T>(caller: At, input: SpawnInput, work: (child: Child) => T | Promise<T>): Promise<Envelope<T>>;
  /** Like spawn, but in an existing session or a branch of it; see sessions.attach(). */
  attach<T>(caller: At, at: At, options: AttachOptions, work: (child: Child) => T | Promise<T>): Promise<Envelope<T>>;
  /** Returns results in the order of the inputs. A slot that fails is marked; the others continue. */
  spawnAll<T>(
    caller: At,
    inputs: readonly SpawnInput[],
    work: (child: Child, index: number) => T | Promise<T>,
    options?: {
      /** How many slots run at the same time; 4 by default. */
      readonly concurrency?: number;
    },
  ): Promise<readonly Envelope<T>[]>;
  attachAll<T>(
    caller: At,
    inputs: readonly (AttachOptions & { readonly at: At })[],
    work: (child: Child, index: number) => T | Promise<T>,
    options?: {
      /** How many slots run at the same time; 4 by default. */
      readonly concurrency?: number;
    },
  ): Promise<readonly Envelope<T>[]>;
  /**
   * For your own loops: creates the session and its running invocation in one commit. sessions.attach() does the same
   * for an existing session.
   */
  start(caller: At, input?: SpawnInput): Promise<Invocation>;
  /** Ends the invocation. InvalidTransition if it has ended already. */
  finish(
    id: string,
    outcome?: {
      /** "failed" when an error is given, "done" otherwise. */
      readonly status?: Exclude<Invocation["status"], "running">;
      /** Recorded in the caller's log as an annotation; see `error()`. */
      readonly error?: Json;
    },
  ): Promise<Invocation>;
  get(id: string): Promise<Invocation | null>;
  /** The error that was recorded when the invocation failed; null if none was. */
  error(id: string): Promise<Json | null>;
}

export type LeafInput = Pick<Extract<CallInput, { type: "leaf" }>, "model" | "provider" | "turn" | "request">;

export interface Leaf {
  readonly call: Call;
  /** Reports the cost and the response as soon as they are known. They are recorded even if the work then throws. */
  report(spent: Omit<CallOutcome, "status" | "result" | "error">): void;
}

export interface LeafCalls {
  /**
   * Makes a call without a session: the call is recorded before the work, and its outcome after it. The value is stored
   * as the call's result. If the work throws, the error is recorded together with the report, and rethrown.
   */
  leaf<T extends Json>(
    session: At,
    input: LeafInput,
    work: (leaf: Leaf) => T | Promise<T>,
  ): Promise<Envelope<T, LeafMeta>>;
  /** Returns results in the order of the inputs. A slot that fails is marked; the others continue. */
  leafAll<T extends Json>(
    session: At,
    inputs: readonly LeafInput[],
    work: (leaf: Leaf, index: number) => T | Promise<T>,
    options?: {
      /** How many slots run at the same time; 4 by default. */
      readonly concurrency?: number;
    },
  ): Promise<readonly Envelope<T, LeafMeta>[]>;
}

/** An invocation. Its position is in the log of the caller. */
export interface Invocation extends LogPosition {
  readonly id: string;
  readonly type: "spawn" | "attach";
  /**
   * The mode of an attachment. continue: the work is done in the session itself. branch: in a new session that
   * continues one of its heads.
   */
  readonly mode: ("continue" | "branch") | null;
  readonly status: "running" | "done" | "failed";
  readonly callee: string | null;
  readonly callerHeadBefore: string | null;
  readonly callerHeadAfter: string | null;
  readonly calleeHeadBefore: string | null;
  readonly calleeHeadAfter: string | null;
  readonly call: string | null;
  readonly label: string | null;
  /** The session that it attached to, as it was then. */
  readonly source: {
    readonly session: string;
    readonly head: string | null;
    /** The snapshot of that head's variables. */
    readonly snapshot: string | null;
    readonly fingerprint: string | null;
  } | null;
  readonly createdAt: number;
  readonly completedAt: number | null;
}
