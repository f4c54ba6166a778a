// Sessions as a graph: branches and heads inside a session, and the edges between sessions.
// Promise: a head is a position in the log that never changes and whose id commits to everything before it; what was at a
// head can be read for ever; current head is the only pointer that moves, and it moves by compare-and-set.

import type { Call } from "./calls.ts";
import type { Context, ContextOptions } from "./context.ts";
import type { AttachInput, AttachMode, AttachSource } from "./invocations.ts";
import type { Json, JsonObject, ListOrder, Page } from "./json.ts";
import type { Message } from "./messages.ts";
import type { Session } from "./sessions.ts";

export type {
  Call,
  CallInput,
  CallOutcome,
  CallStatus,
  Calls,
  CallType,
  LeafCallInput,
  RootCallInput,
  RootDescriptor,
} from "./calls.ts";

/** Names a session, or a head of one. `store` is the URL or id of the store; a handle refuses one that is not its own. */
export interface Locator {
  readonly store?: string;
  readonly session: string;
  readonly head?: string;
}

/**
 * A session's id or alias, `session@head`, `holdfast:store#session@head`, or the same as an object; the first four
 * digits or more of a head's id are enough, as long as no other head of the session begins with them. An id that looks
 * like a locator is preferred to the locator; only older stores and archives have any. Verbs that read accept any of
 * these, and with a head return what there was at it. Verbs that write accept the id, and refuse a head: a session is
 * continued only at its current position (see fork and resume).
 */
export type At = string | Locator;

export type HeadStatus = "complete" | "aborted";

/** How many rows of each kind the lineage holds up to a head; what was erased since is still counted. */
export interface Counts {
  readonly messages: number;
  readonly turns: number;
  readonly evals: number;
  readonly calls: number;
  readonly snapshots: number;
  readonly invocations: number;
}

export interface Head {
  /** `hd-` and the SHA-256 over what the head commits to, hex. */
  readonly id: string;
  readonly session: string;
  readonly branch: number;
  /** Its own event, the last that belongs to it, and the chain hash before that (hex). */
  readonly seq: number;
  readonly chain: string;
  /** The head it was made on, of the same session. */
  readonly basis: string | null;
  readonly status: HeadStatus;
  readonly counts: Counts;
  readonly finalRef: string | null;
  readonly finalSummary: string | null;
  readonly snapshot: string | null;
  readonly fingerprint: string | null;
  readonly turn: string | null;
  readonly cacheId: string | null;
  /** Set when a context made at this head begins with a summary instead of what came before. */
  readonly compaction: Compaction | null;
  readonly at: number;
}

export interface Compaction {
  /** The message that says in short what came before. */
  readonly summary: string;
  /** The last message that it covers. */
  readonly upTo: string;
  /** Earlier summaries that come after that, with what was kept: contexts leave them out. */
  readonly over?: readonly string[];
}

export interface HeadInput {
  /** The value this work ended with; any JSON. */
  readonly final?: Json;
  /** One line for lists. */
  readonly finalSummary?: string;
  /** Variables to restore from: stored as a snapshot. */
  readonly vars?: Json;
  /** What the caller compares code, tools or prompts by. */
  readonly fingerprint?: string;
  readonly cacheId?: string;
  /** Conflict unless this is the current head; null: there is none yet. */
  readonly expect?: string | null;
}

export interface CompactInput {
  readonly agent: string;
  readonly summary: string;
  /**
   * So many of the last messages stay as they are, counted when compact() is called; 0 when not given. What others append
   * from then on stays as well.
   */
  readonly keep?: number;
  /**
   * The last message (its id) that the summary covers, instead of `keep`: messages that arrived while the summary was
   * written stay, however long that took. NotFound unless the session shows it, on its current line.
   */
  readonly upTo?: string;
  readonly expect?: string | null;
}

export interface HeadRange {
  readonly limit?: number;
  readonly cursor?: string | undefined;
  readonly order?: ListOrder;
}

export interface Heads {
  get(id: string): Promise<Head | null>;
  /** Those whose ids begin like this (`hd-` and some digits), at most ten. */
  find(prefix: string): Promise<readonly Head[]>;
  /** Of the session named; with a head, that head. null when none was published yet. */
  current(at: At): Promise<Head | null>;
  /**
   * Every head of the session, newest first, also aborted ones and those of other branches. With a head, those of the
   * session on the line that leads to it. A cursor goes with the order it was given for.
   */
  list(at: At, range?: HeadRange): Promise<Page<Head>>;
  /** Publishes the current position of the session as a head, and makes it the current one. */
  publish(session: At, input?: HeadInput): Promise<Head>;
  /**
   * A head from which on a context begins with a summary; older heads still show everything. Of two at once the later
   * covers the earlier, whose summary is dropped if it comes directly after what the later covers. Conflict when the
   * session left the summarised line meanwhile.
   */
  compact(session: At, input: CompactInput): Promise<Head>;
}

export type TurnStatus = "open" | "done" | "aborted";

export interface Turn {
  readonly id: string;
  readonly session: string;
  readonly seq: number;
  readonly branch: number;
  readonly status: TurnStatus;
  readonly agent: string | null;
  readonly run: string | null;
  readonly at: number;
}

export interface Turns {
  begin(session: At, input?: { readonly agent?: string; readonly run?: string }): Promise<Turn>;
  /** Stores final value and variables and publishes a head; the session continues. */
  finish(turn: string, input?: HeadInput): Promise<Head>;
  /**
   * Publishes an aborted head with what there was; the session continues from its current head (from before the turn
   * when it has none), as if the turn had not been.
   */
  abort(turn: string, input?: HeadInput): Promise<Head>;
}

export type EvalStatus = "running" | "done" | "failed";

export interface Eval {
  readonly id: string;
  readonly session: string;
  readonly seq: number;
  readonly branch: number;
  readonly turn: string | null;
  readonly message: string | null;
  readonly status: EvalStatus;
  readonly codeRef: string | null;
  readonly resultRef: string | null;
  readonly finalRef: string | null;
  readonly errorRef: string | null;
  readonly at: number;
  readonly erased: boolean;
}

export interface EvalInput {
  readonly code: string;
  readonly turn?: string;
  /** The message that holds the code. */
  readonly message?: string;
}

export interface EvalOutcome {
  readonly result?: Json;
  readonly final?: Json;
  /** Given: it failed. */
  readonly error?: Json;
}

export interface Evals {
  start(session: At, input: EvalInput): Promise<Eval>;
  finish(id: string, outcome: EvalOutcome): Promise<Eval>;
  /** Both in one commit, for code that has been run already. */
  add(session: At, input: EvalInput & EvalOutcome): Promise<Eval>;
  get(id: string): Promise<Eval | null>;
}

export interface Snapshot {
  readonly id: string;
  readonly session: string;
  readonly seq: number;
  readonly branch: number;
  readonly turn: string | null;
  readonly varsRef: string | null;
  readonly at: number;
  readonly erased: boolean;
}

export interface Snapshots {
  add(session: At, vars: Json, options?: { readonly turn?: string }): Promise<Snapshot>;
  get(id: string): Promise<Snapshot | null>;
  /** The variables themselves; NotFound when there is no such snapshot or it was erased. */
  vars(id: string): Promise<Json>;
}

/** A message at a head. What was erased since shows that it was there, and nothing else. */
export type MessageAt = Message | ErasedMessage;

export interface ErasedMessage {
  readonly id: string;
  readonly session: string;
  readonly agent: string;
  readonly seq: number;
  readonly role: Message["role"];
  readonly at: number;
  readonly erased: true;
}

/** Which messages of a view: the last ones, or from a point on. What lies before it is not read. */
export interface ViewRange {
  /** Only this agent's. */
  readonly agent?: string;
  /** After this seq of the session's own, or after the message with this id, which may be inherited. */
  readonly after?: number | string;
  readonly limit?: number;
  readonly offset?: number;
  /** Counted from the end; goes without `limit` and `offset`. */
  readonly last?: number;
}

/** What there was at a head, or is now where none is named. Lists are oldest first. */
export interface View {
  readonly session: Session;
  readonly head: Head | null;
  readonly branch: number;
  readonly seq: number;
  counts(): Promise<Counts>;
  messages(range?: ViewRange): Promise<readonly MessageAt[]>;
  turns(): Promise<readonly Turn[]>;
  evals(): Promise<readonly Eval[]>;
  calls(): Promise<readonly Call[]>;
  snapshots(): Promise<readonly Snapshot[]>;
  heads(): Promise<readonly Head[]>;
  invocations(): Promise<readonly Invocation[]>;
  state(): Promise<JsonObject>;
}

export type InvocationType = "spawn" | "attach";
export type InvocationStatus = "running" | "done" | "failed";

export interface Invocation {
  readonly id: string;
  /** The caller's. */
  readonly session: string;
  readonly seq: number;
  readonly branch: number;
  readonly type: InvocationType;
  /** Of an attachment. */
  readonly mode: AttachMode | null;
  readonly status: InvocationStatus;
  readonly callee: string | null;
  readonly callerHeadBefore: string | null;
  readonly callerHeadAfter: string | null;
  readonly calleeHeadBefore: string | null;
  readonly calleeHeadAfter: string | null;
  readonly call: string | null;
  readonly label: string | null;
  /** What it attached to. */
  readonly source: AttachSource | null;
  readonly createdAt: number;
  readonly completedAt: number | null;
}

export type DerivationType = "fork" | "attach";

export interface Derivation {
  readonly id: string;
  readonly type: DerivationType;
  readonly session: string;
  readonly source: {
    readonly session: string;
    readonly branch: number;
    readonly seq: number;
    readonly head: string | null;
  };
  readonly at: number;
}

export interface ForkInput {
  readonly id?: string;
  readonly title?: string;
  readonly tags?: readonly string[];
  readonly metadata?: JsonObject;
  readonly request?: string;
  readonly agent?: string;
  /** The last message (its id) that the fork inherits; not together with a head in the locator. */
  readonly message?: string;
}

/** The position of a session after resume or rewind. */
export interface Moved {
  readonly session: string;
  readonly head: Head | null;
  readonly branch: number;
  /** A branch was begun, because something had come after the head. */
  readonly branched: boolean;
}

/** The verbs that continue a session from a position, and the views of what there was. */
export interface SessionVerbs {
  /** What there was at the head named, or is now where none is. */
  at(at: At): Promise<View>;
  /**
   * A new session that continues the lineage of another: from the head named, at a message, from its current head, or,
   * if it has no head, from its latest state. Rows are shared, not copied; the source gains no event.
   */
  fork(at: At, input?: ForkInput): Promise<Session>;
  /**
   * Continues the same session from the head named (its current one when none is): on a new branch when anything came
   * after that head. The current head stays until the next one is published.
   */
  resume(at: At): Promise<Moved>;
  /** Moves the current head back to the ancestor named; the session continues from there. Nothing is deleted. */
  rewind(at: At): Promise<Moved>;
  /**
   * Lets another session do work for the caller: in that session in its current state ("continue"; Conflict when a head
   * is named that is not its current one), or in a new one of kind "attached" that continues the head named, its
   * current head, or, if it has none, its latest state ("branch"; the source is not touched). The invocation runs until
   * invocations.finish(). Conflict when the session to continue is the caller, or is itself waiting for it.
   */
  attach(at: At, input: AttachInput): Promise<Invocation>;
  /** The messages a model call needs, at the head named or now: repaired, compacted, and cut to a budget. */
  context(at: At, options?: ContextOptions): Promise<Context>;
}
