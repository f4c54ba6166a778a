// Sessions that work for other sessions: spawned or attached to, waited for, and answered with an envelope; and leaf
// calls, which answer in the same shape and make no session. Promise: an invocation is in its caller's log before its
// work begins, in one commit with the session it creates; it ends once. If its process dies, the invocation stays
// "running" until it is finished by its id.

import type { Call, CallInput, CallOutcome } from "./calls.ts";
import type { Counts } from "./heads.ts";
import type { Json } from "./json.ts";
import type { At, LogPosition } from "./locators.ts";
import type { SessionInput } from "./session.ts";

export interface SpawnInput {
  /** One line for lists and traces. */
  readonly label?: string;
  /** The caller's call that asked for it. A leaf call has no session and is refused. */
  readonly call?: string;
  /** What the new session says of itself; its id is given when left out. An attachment makes one with "branch". */
  readonly session?: SessionInput;
}

export interface AttachOptions extends SpawnInput {
  /** There is no default: continuing another session and branching from it are different things. */
  readonly mode: NonNullable<Invocation["mode"]>;
}

/** What the work of an invocation is given. */
export interface Child {
  /** The session to work in. */
  readonly session: string;
  readonly invocation: Invocation;
}

/** The result of work, wherever it was done. */
export interface Envelope<T, M = InvocationMeta> {
  /** null when it failed. */
  readonly value: T | null;
  /** Where it was done: the child, or the caller itself for a leaf call. null when it could not begin. */
  readonly session: string | null;
  /** The current head of that session when the work had ended; null when it has none, and for a leaf call. */
  readonly head: string | null;
  readonly status: "done" | "failed";
  /** What was thrown; only in slots of a batch that failed. */
  readonly error?: unknown;
  /**
   * Read from the rows that were written, without times: the same work on the same ids has the same. null when it could
   * not begin, or its end could not be recorded.
   */
  readonly meta: M | null;
}

export interface InvocationMeta extends Pick<Invocation, "type" | "mode" | "label"> {
  readonly invocation: string;
  /** How many rows of each kind the child's lineage held when the work had ended. */
  readonly counts: Counts;
}

export interface LeafMeta
  extends Pick<Call, "model" | "provider" | "inputTokens" | "outputTokens" | "cachedTokens" | "costUsd"> {
  readonly call: string;
  readonly type: "leaf";
}

export interface Invocations {
  /**
   * Creates a session of kind "spawned", does the work and ends the invocation. What the work throws is recorded, the
   * invocation is "failed", and the same thing is thrown on. The work publishes heads of the child where it wants them.
   */
  spawn<T>(caller: At, input: SpawnInput, work: (child: Child) => T | Promise<T>): Promise<Envelope<T>>;
  /** Like spawn, in a session that is there already or in a branch of it; see sessions.attach(). */
  attach<T>(caller: At, at: At, options: AttachOptions, work: (child: Child) => T | Promise<T>): Promise<Envelope<T>>;
  /** Returns results in the order of the inputs. A slot that fails is marked; the others continue. */
  spawnAll<T>(
    caller: At,
    inputs: readonly SpawnInput[],
    work: (child: Child, index: number) => T | Promise<T>,
    options?: {
      /** How many slots are worked on at the same time; 4 when not given. */
      readonly concurrency?: number;
    },
  ): Promise<readonly Envelope<T>[]>;
  attachAll<T>(
    caller: At,
    inputs: readonly (AttachOptions & { readonly at: At })[],
    work: (child: Child, index: number) => T | Promise<T>,
    options?: {
      /** How many slots are worked on at the same time; 4 when not given. */
      readonly concurrency?: number;
    },
  ): Promise<readonly Envelope<T>[]>;
  /** For loops of your own: the spawned session and its running invocation, in one commit. sessions.attach() is its twin. */
  start(caller: At, input?: SpawnInput): Promise<Invocation>;
  /** Once; InvalidTransition when it has ended already. */
  finish(
    id: string,
    outcome?: {
      /** "failed" when an error is given, "done" otherwise. */
      readonly status?: Exclude<Invocation["status"], "running">;
      /** Kept in the caller's log as an annotation; see `error()`. */
      readonly error?: Json;
    },
  ): Promise<Invocation>;
  get(id: string): Promise<Invocation | null>;
  /** What was recorded when it failed; null when nothing was. */
  error(id: string): Promise<Json | null>;
}

export type LeafInput = Pick<Extract<CallInput, { type: "leaf" }>, "model" | "provider" | "turn" | "request">;

export interface Leaf {
  readonly call: Call;
  /** Its cost and its response, reported as soon as they are known: they are recorded even if the work then throws. */
  report(spent: Omit<CallOutcome, "status" | "result" | "error">): void;
}

export interface LeafCalls {
  /**
   * A call without a session: recorded before the work, its outcome after. The value is kept as the call's result. If
   * the work throws, the error is recorded with what was reported, and rethrown.
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
      /** How many slots are worked on at the same time; 4 when not given. */
      readonly concurrency?: number;
    },
  ): Promise<readonly Envelope<T, LeafMeta>[]>;
}

/** Its position is in the log of the caller. */
export interface Invocation extends LogPosition {
  readonly id: string;
  readonly type: "spawn" | "attach";
  /**
   * Of an attachment. continue: the work is done in the session itself. branch: in a new session that continues one of its
   * heads.
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
  /** What it attached to, as that was then. */
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
