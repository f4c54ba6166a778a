// The trace: a session's events, each with what it is about and what it was caused by. For people and audits: it never
// resolves a payload, and nothing is ever restored from it.

import type { Json } from "./json.ts";
import type { At } from "./locators.ts";
import type { Log, LogEvent } from "./log.ts";

/** A row that an event wrote or was caused by: its kind and its id. */
export interface TraceName {
  readonly kind: string;
  readonly id: string;
}

export interface TraceEvent extends LogEvent {
  /** `<session>#<seq>`. */
  readonly id: string;
  readonly branch: number;
  /** One short line. */
  readonly summary: string;
  /** null where an event is about no single row. */
  readonly row:
    | (TraceName & {
        /** Small facts of it: statuses, numbers, names. Never text of a message, never a payload. */
        readonly facts: Readonly<Record<string, Json>>;
      })
    | null;
  readonly causes: readonly TraceName[];
  /** The events that wrote those rows; of other sessions too. */
  readonly causeEventIds: readonly string[];
}

export interface Causes {
  readonly event: TraceEvent;
  /** What led to it, nearest first, each once; events that were erased are left out. */
  readonly causes: readonly TraceEvent[];
  /** There are more than the limit. */
  readonly more: boolean;
}

export interface Tracing {
  /** Like log.read(): oldest first, 1000 when no limit is given, and with a head those on the line that leads to it. */
  trace(at: At, range?: Parameters<Log["read"]>[1]): Promise<readonly TraceEvent[]>;
  /** Walks the causes of an event (its id) breadth first, across sessions; at most `limit` of them, 100 when not given. */
  causes(event: string, options?: { readonly limit?: number }): Promise<Causes>;
}
