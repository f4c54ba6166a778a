// The log: one append-only, hash-chained list of compact events per session, seq contiguous from 1.
// Promise: seq and hash are assigned inside the commit that writes the rows an event names; events are insert-only.
import type { JsonableObject, JsonObject } from "./json.ts";
import type { At } from "./locators.ts";

export const EVENT_SCHEMA_VERSION = 1;

export type EventType =
  | "session/created"
  | "session/updated"
  | "alias/set"
  | "alias/removed"
  | "message/added"
  | "messages/cleared"
  | "turn/begun"
  | "eval/started"
  | "eval/added"
  | "call/started"
  | "call/put"
  | "snapshot/added"
  | "head/created"
  | "head/moved"
  | "branch/begun"
  | "invocation/started"
  | "invocation/finished"
  | "derivation/added"
  | "state/set"
  | "state/patched"
  | "state/cleared"
  | "board/created"
  | "board/replaced"
  | "task/added"
  | "task/updated"
  | "task/removed"
  | "annotation";

export interface LogEvent {
  readonly session: string;
  readonly seq: number;
  /** Those of this version, for completion; a later version may have written others. */
  readonly type: EventType | (string & Record<never, never>);
  readonly at: number;
  readonly schemaVersion: number;
  readonly agent?: string;
  readonly run?: string;
  /** Ids and small facts of the rows this event wrote; never text of a message, never a payload. */
  readonly data: JsonObject;
  /** Payload name → commitment, base64url of SHA-256(salt + payload's sha256). */
  readonly commitments: Readonly<Record<string, string>>;
  /** This event's chain hash, hex. */
  readonly hash: string;
}

export interface Anchor {
  readonly session: string;
  readonly seq: number;
  /** Chain hash at seq, hex. */
  readonly hash: string;
}

export type VerifyReport =
  | {
      readonly ok: true;
      readonly session: string;
      readonly events: number;
      readonly seq: number;
      readonly hash: string;
    }
  | {
      readonly ok: false;
      readonly session: string;
      /** First seq at which what is stored is not what was written. */
      readonly badSeq: number;
      /** Whose log it is the seq of, when the damage is in what the session inherits from another. */
      readonly source?: string;
      readonly reason: string;
      readonly events: number;
    };

export interface Log {
  /** Of the session's own log; with a head, what lies on the line that leads to it. What a fork inherits is its source's. */
  read(
    at: At,
    range?: {
      /** Only events with a greater seq. */
      readonly after?: number;
      /** 1000 when not given: read on with `after`. */
      readonly limit?: number;
      readonly types?: readonly LogEvent["type"][];
    },
  ): Promise<readonly LogEvent[]>;
  /**
   * Live, from this process and others; never ends by itself: it ends when the signal aborts, the session is erased or
   * the store closes. The reader pulls: a slow one falls behind and catches up from the log itself, so no event is ever
   * skipped. A head has no end to wait for, and is refused.
   */
  tail(
    at: At,
    options?: {
      /** Start after this seq; 0 (default) replays the log first, "end" starts with the next event. */
      readonly after?: number | "end";
      readonly types?: readonly LogEvent["type"][];
      readonly signal?: AbortSignal;
    },
  ): AsyncIterable<LogEvent>;
  /** The session's own log and what it inherits from others. With a head, also that the log still holds what the head commits to. */
  verify(
    at: At,
    options?: {
      /** Verify only what follows this point, which the caller trusts; whole from the start otherwise. */
      readonly from?: Anchor;
      /** Also require that the log still holds exactly this point. */
      readonly anchor?: Anchor;
      /**
       * Which of the inherited stretches of a fork are verified too: all (default), or only those of deleted sessions, for
       * a caller that verifies every session anyway.
       */
      readonly inherited?: "all" | "deleted";
    },
  ): Promise<VerifyReport>;
  /**
   * The chain head to keep elsewhere: without it, an editor that rehashes everything is not detected. With a head: the
   * hash of the head's event.
   */
  anchor(at: At): Promise<Anchor>;
  /** What an annotation says; null when the event of that seq is none, or not on the line to the head named. */
  note(at: At, seq: number): Promise<JsonObject | null>;
  /** A note of the caller's in the log; its payload is a blob. */
  annotate<T extends object>(
    session: At,
    note: JsonableObject<T>,
    options?: { readonly agent?: string; readonly run?: string },
  ): Promise<LogEvent>;
}
