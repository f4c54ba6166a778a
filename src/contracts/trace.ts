// The trace: a session's events, each with its subject and its causes. It is for people and audits: it never resolves a
// payload, and nothing is ever restored from it.
import type { Json } from "./json.ts";
import type { At } from "./locators.ts";
import type { Log, LogEvent } from "./log.ts";

/** The kind and the id of a row that an event wrote or was caused by. */
export interface TraceName {
  readonly kind: string;
  readonly id: string;
}

export interface TraceEvent extends LogEvent {
  /** `<session>#<seq>`. */
  readonly id: string;
  readonly branch: number;
  /** A one-line description of the event. */
  readonly summary: string;
  /** The row that the event is about; null if there is no single one. */
  readonly row:
    | (TraceName & {
        /** Small facts of the event: statuses, numbers, names. Never text of a message, never a payload. */
        readonly facts: Readonly<Record<string, Json>>;
      })
    | null;
  readonly causes: readonly TraceName[];
  /** The events that wrote those rows, also in other sessions. */
  readonly causeEventIds: readonly string[];
}

export interface Causes {
  readonly event: TraceEvent;
  /** The events that led to it, nearest first, each once; erased events are left out. */
  readonly causes: readonly TraceEvent[];
  /** True if there are more than the limit. */
  readonly more: boolean;
}

export interface Tracing {
  /**
   * Like log.read(): oldest first, 1000 by default; if the locator names a head, only the events on the line that leads
   * to it.
   */
  trace(at: At, range?: Parameters<Log["read"]>[1]): Promise<readonly TraceEvent[]>;
  /**
   * Walks the causes of an event (given by its id) breadth first, across sessions; at most `limit` events, 100 by
   * default.
   */
  causes(event: string, options?: { readonly limit?: number }): Promise<Causes>;
}
