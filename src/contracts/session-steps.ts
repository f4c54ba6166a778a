// What an iteration of a run does with its session: reads that a replay repeats exactly, and a compaction.
import type { Context, ContextOptions } from "./context.ts";
import type { HistoryRange } from "./history.ts";
import type { JsonObject } from "./json.ts";
import type { Message } from "./messages.ts";

export interface SessionSteps {
  /**
   * The messages a model call needs, like sessions.context() of this session. All reads of an iteration are recorded as
   * a position in the log: a replay reads at the same position and gets the same, whatever was added since. If content
   * was erased since, the run stops with ContentErased, unless it is resumed with `erased: "placeholder"`.
   */
  context(options?: ContextOptions): Promise<Context>;
  /** The session's messages, oldest first, of the run's own agent unless another is named (null: of every agent); a recorded read. */
  history(
    range?: HistoryRange & {
      readonly agent?: string | null;
    },
  ): Promise<readonly Message[]>;
  /** The session's state; a recorded read. */
  state(): Promise<JsonObject>;
  /**
   * Adds a summary with which contexts begin from now on. The message and its head are one commit, which happens once.
   */
  compact(compaction: {
    /** Replaces all messages up to and including `upTo` in contexts. */
    readonly summary: string;
    /** The id of the last message that the summary covers. */
    readonly upTo: string;
  }): Promise<void>;
}
