// The log: one append-only, hash-chained list of compact events for each session, with seqs from 1 without gaps.
// Guarantee: the commit that writes an event's rows also assigns its seq and hash; events are never changed.
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
  /** The types of this version, for completion in editors. A later version may have written others. */
  readonly type: EventType | (string & Record<never, never>);
  readonly at: number;
  readonly schemaVersion: number;
  readonly agent?: string;
  readonly run?: string;
  /** Ids and small facts of the rows that this event wrote; never text of a message, never a payload. */
  readonly data: JsonObject;
  /** Payload name → commitment, base64url of SHA-256(salt + payload's sha256). */
  readonly commitments: Readonly<Record<string, string>>;
  /** The chain hash of this event, hex. */
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
      /** The first seq at which the stored log differs from what was written. */
      readonly badSeq: number;
      /** The session whose log has the damage, if the session inherits it from another. */
      readonly source?: string;
      readonly reason: string;
      readonly events: number;
    };

export interface Log {
  /**
   * The events of the session's own log; if the locator names a head, only those on the line that leads to it.
   * Inherited events are in the log of the source.
   */
  read(
    at: At,
    range?: {
      /** Only events with a greater seq. */
      readonly after?: number;
      /** Default 1000; continue with `after`. */
      readonly limit?: number;
      readonly types?: readonly LogEvent["type"][];
    },
  ): Promise<readonly LogEvent[]>;
  /**
   * Follows the log live, with events from this process and from others. It never ends by itself: it ends when the
   * signal aborts, the session is erased or the store closes. The reader pulls: a slow reader falls behind and catches
   * up from the log, so no event is ever skipped. A locator with a head is refused, because nothing comes after a head.
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
  /**
   * Verifies the session's own log and the logs that it inherits from. If the locator names a head, also that the log
   * still contains what the head commits to.
   */
  verify(
    at: At,
    options?: {
      /** Verify only events after this anchor, which the caller trusts; by default from the start. */
      readonly from?: Anchor;
      /** Also require that the log still contains exactly this anchor. */
      readonly anchor?: Anchor;
      /**
       * Which of the inherited stretches of a fork are verified too: all (default), or only those of deleted sessions, for
       * a caller that verifies every session anyway.
       */
      readonly inherited?: "all" | "deleted";
    },
  ): Promise<VerifyReport>;
  /**
   * The hash of the newest event, to keep outside the store: without it, an editor that rehashes the whole log is not
   * detected. If the locator names a head, the hash of the head's event.
   */
  anchor(at: At): Promise<Anchor>;
  /**
   * The payload of an annotation; null if the event of that seq is no annotation, or is not on the line to the named
   * head.
   */
  note(at: At, seq: number): Promise<JsonObject | null>;
  /** Adds a caller's note to the log; its payload is a blob. */
  annotate<T extends object>(
    session: At,
    note: JsonableObject<T>,
    options?: { readonly agent?: string; readonly run?: string },
  ): Promise<LogEvent>;
}
