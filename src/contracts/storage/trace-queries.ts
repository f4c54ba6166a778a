// The named reads of the trace; see queries.ts.
import type { EventRow, Read } from "./rows.ts";

export interface TracedEventRow extends EventRow {
  readonly branch: number;
  readonly erased_seq: number | null;
}

export interface TraceQueries {
  "trace.events": Read<{ session: string; after: number; limit: number }, TracedEventRow>;
  /** The last turn that began on the branch before the seq, and the seq at which it ended. */
  "trace.turn": Read<
    { session: string; branch: number; seq: number },
    { readonly first_seq: number; readonly ended: number | null }
  >;
  "trace.invokedBy": Read<{ session: string }, { readonly session: string; readonly first_seq: number }>;
}
