// The named reads of the text index; see queries.ts.
import type { Read, StoredPayload } from "./rows.ts";

/** A live message, as the index reads it. */
export interface IndexedMessageRow extends StoredPayload {
  /** The number of its event. */
  readonly no: number;
  readonly session_no: number;
  readonly session: string;
  readonly agent: string;
  readonly seq: number;
  readonly role: string;
  readonly at: number;
}

export interface IndexQueries {
  /** Live messages of all sessions, in the order of the numbers of their events. */
  "index.messages": Read<{ after: number; upTo: number; limit: number }, IndexedMessageRow>;
}
