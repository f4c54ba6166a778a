// Sessions as a graph: the work in a session that heads cover, and forks, resumes and rewinds.
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
  /** Stores the final value and the variables, and publishes a head. The session can continue. */
  finish(turn: string, input?: HeadInput): Promise<Head>;
  /**
   * Publishes an aborted head with the work so far. The session continues from its current head (or, if it has none,
   * from before the turn), as if the turn had not happened.
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
      /** The message that contains the code. */
      readonly message?: string;
    },
  ): Promise<Eval>;
  finish(
    id: string,
    outcome: {
      readonly result?: Json;
      readonly final?: Json;
      /** If an error is given, the eval failed. */
      readonly error?: Json;
    },
  ): Promise<Eval>;
  /** Records the begin and the end in one commit, for code that has run already. */
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
  /** The variables; NotFound if there is no such snapshot or it was erased. */
  vars(id: string): Promise<Json>;
}

/** A message at a head. If it was erased since, only the fact that it existed is shown. */
export type MessageAt =
  | Message
  | (Pick<Message, "id" | "session" | "agent" | "seq" | "role" | "at"> & { readonly erased: true });

/** The contents of a session at a head, or now if the locator names no head. Lists are oldest first. */
export interface View {
  readonly session: Session;
  readonly head: Head | null;
  readonly branch: number;
  readonly seq: number;
  counts(): Promise<Counts>;
  /** All messages, the last ones, or those from a position on. Earlier messages are not read. */
  messages(
    range?: Pick<HistoryRange, "after" | "limit" | "offset" | "last"> & {
      /** Only this agent's messages. */
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
  /** The id of the last message that the fork inherits. Not allowed together with a head in the locator. */
  readonly message?: string;
}

/** The position of a session after resume or rewind. */
export interface Moved {
  readonly session: string;
  readonly head: Head | null;
  readonly branch: number;
  /** True if a new branch was begun, because events came after the head. */
  readonly branched: boolean;
}
