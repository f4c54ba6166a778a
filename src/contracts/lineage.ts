// Sessions as a graph: the work in a session that heads cover, and the edges between sessions.
import type { Call } from "./calls.ts";
import type { Counts, Head, HeadInput } from "./heads.ts";
import type { HistoryRange } from "./history.ts";
import type { Invocation } from "./invocations.ts";
import type { Json, JsonObject } from "./json.ts";
import type { At, LogPosition } from "./locators.ts";
import type { Message } from "./messages.ts";
import type { Session, SessionInput } from "./session.ts";

export interface Turn extends LogPosition {
  readonly id: string;
  readonly status: "open" | "done" | "aborted";
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

export interface Eval extends LogPosition {
  readonly id: string;
  readonly turn: string | null;
  readonly message: string | null;
  readonly status: "running" | "done" | "failed";
  readonly codeRef: string | null;
  readonly resultRef: string | null;
  readonly finalRef: string | null;
  readonly errorRef: string | null;
  readonly at: number;
  readonly erased: boolean;
}

export interface Evals {
  start(
    session: At,
    input: {
      readonly code: string;
      readonly turn?: string;
      /** The message that holds the code. */
      readonly message?: string;
    },
  ): Promise<Eval>;
  finish(
    id: string,
    outcome: {
      readonly result?: Json;
      readonly final?: Json;
      /** Given: it failed. */
      readonly error?: Json;
    },
  ): Promise<Eval>;
  /** Both in one commit, for code that has been run already. */
  add(session: At, input: Parameters<Evals["start"]>[1] & Parameters<Evals["finish"]>[1]): Promise<Eval>;
  get(id: string): Promise<Eval | null>;
}

export interface Snapshot extends LogPosition {
  readonly id: string;
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
export type MessageAt =
  | Message
  | (Pick<Message, "id" | "session" | "agent" | "seq" | "role" | "at"> & { readonly erased: true });

/** What there was at a head, or is now where none is named. Lists are oldest first. */
export interface View {
  readonly session: Session;
  readonly head: Head | null;
  readonly branch: number;
  readonly seq: number;
  counts(): Promise<Counts>;
  /** All messages, the last ones, or those from a point on. What lies before it is not read. */
  messages(
    range?: Pick<HistoryRange, "after" | "limit" | "offset" | "last"> & {
      /** Only this agent's. */
      readonly agent?: string;
    },
  ): Promise<readonly MessageAt[]>;
  turns(): Promise<readonly Turn[]>;
  evals(): Promise<readonly Eval[]>;
  calls(): Promise<readonly Call[]>;
  snapshots(): Promise<readonly Snapshot[]>;
  heads(): Promise<readonly Head[]>;
  invocations(): Promise<readonly Invocation[]>;
  state(): Promise<JsonObject>;
}

export interface ForkInput extends Omit<SessionInput, "origin" | "cacheId"> {
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
