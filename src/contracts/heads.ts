// Heads: positions in a session's log that never change.
// Promise: a head's id commits to everything before it; what was at a head can be read for ever; the current head is the only
// pointer that moves, and it moves by compare-and-set.
import type { Context } from "./context.ts";
import type { Json, Page, PageOptions } from "./json.ts";
import type { At, LogPosition } from "./locators.ts";

/** How many rows of each kind the lineage holds up to a head; what was erased since is still counted. */
export interface Counts {
  readonly messages: number;
  readonly turns: number;
  readonly evals: number;
  readonly calls: number;
  readonly snapshots: number;
  readonly invocations: number;
}

/** Its position is that of its own event, the last that belongs to it. */
export interface Head extends LogPosition {
  /** `hd-` and the SHA-256 over what the head commits to, hex. */
  readonly id: string;
  /** The chain hash before its own event, hex. */
  readonly chain: string;
  /** The head it was made on, of the same session. */
  readonly basis: string | null;
  readonly status: "complete" | "aborted";
  readonly counts: Counts;
  readonly finalRef: string | null;
  readonly finalSummary: string | null;
  readonly snapshot: string | null;
  readonly fingerprint: string | null;
  readonly turn: string | null;
  readonly cacheId: string | null;
  /** Set when a context made at this head begins with a summary instead of what came before. */
  readonly compaction: Context["compaction"];
  readonly at: number;
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
  list(at: At, page?: PageOptions): Promise<Page<Head>>;
  /** Publishes the current position of the session as a head, and makes it the current one. */
  publish(session: At, input?: HeadInput): Promise<Head>;
  /**
   * A head from which on a context begins with a summary; older heads still show everything. Of two at once the later
   * covers the earlier, whose summary is dropped if it comes directly after what the later covers. Conflict when the
   * session left the summarised line meanwhile.
   */
  compact(
    session: At,
    input: {
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
    },
  ): Promise<Head>;
}
