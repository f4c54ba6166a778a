// Heads: positions in a session's log that never change.
// Promise: a head's id commits to everything before it; what was at a head can be read for ever; the current head is the only
// pointer that moves, and it moves by compare-and-set.
import type { Context } from "./context.ts";
import type { Json, Page, PageOptions } from "./json.ts";
import type { At, LogPosition } from "./locators.ts";

/** How many rows of each kind the lineage has up to a head. Rows that were erased since are still counted. */
export interface Counts {
  readonly messages: number;
  readonly turns: number;
  readonly evals: number;
  readonly calls: number;
  readonly snapshots: number;
  readonly invocations: number;
}

/** A head. Its position is that of its own event, the last event that it covers. */
export interface Head extends LogPosition {
  /** `hd-` and the SHA-256 over what the head commits to, hex. */
  readonly id: string;
  /** The chain hash before its own event, hex. */
  readonly chain: string;
  /** The head before it, of the same session. */
  readonly basis: string | null;
  readonly status: "complete" | "aborted";
  readonly counts: Counts;
  readonly finalRef: string | null;
  readonly finalSummary: string | null;
  readonly snapshot: string | null;
  readonly fingerprint: string | null;
  readonly turn: string | null;
  readonly cacheId: string | null;
  /** Set if a context at this head begins with a summary instead of the earlier messages. */
  readonly compaction: Context["compaction"];
  readonly at: number;
}

export interface HeadInput {
  /** The result of the work so far; any JSON. */
  readonly final?: Json;
  /** One line for lists. */
  readonly finalSummary?: string;
  /** Variables to restore later; stored as a snapshot. */
  readonly vars?: Json;
  /** A text by which the caller recognises a change of code, tools or prompts. */
  readonly fingerprint?: string;
  readonly cacheId?: string;
  /** Conflict unless this is the current head; null: unless there is none yet. */
  readonly expect?: string | null;
}

export interface Heads {
  get(id: string): Promise<Head | null>;
  /** The heads whose ids begin with this text (`hd-` and some digits), at most ten. */
  find(prefix: string): Promise<readonly Head[]>;
  /** The current head of the session; if the locator names a head, that head. null if none was published yet. */
  current(at: At): Promise<Head | null>;
  /**
   * Every head of the session, newest first, also aborted ones and those of other branches. If the locator names a
   * head, only the session's heads on the line that leads to it. A cursor is valid only with the order that it came
   * from.
   */
  list(at: At, page?: PageOptions): Promise<Page<Head>>;
  /** Publishes the current position of the session as a head, and makes it the current one. */
  publish(session: At, input?: HeadInput): Promise<Head>;
  /**
   * Publishes a head at which contexts begin with a summary from then on; older heads still show everything. If two
   * compactions run at once, the later one covers the earlier one, and the earlier summary is dropped if it directly
   * follows the messages that the later one covers. Conflict if the session left the summarised line meanwhile.
   */
  compact(
    session: At,
    input: {
      readonly agent: string;
      readonly summary: string;
      /**
       * How many of the last messages are kept, counted when compact() is called; 0 by default. Messages that other
       * writers append after the call are kept too.
       */
      readonly keep?: number;
      /**
       * Instead of `keep`: the id of the last message that the summary covers. Messages that arrived while the summary
       * was written are kept. NotFound unless the session shows this message on its current line.
       */
      readonly upTo?: string;
      readonly expect?: string | null;
    },
  ): Promise<Head>;
}
