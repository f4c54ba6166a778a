// What an iteration of a run does with its session: reads that a replay repeats exactly, and a compaction.
import type { Context, ContextOptions } from "./context.ts";
import type { HistoryRange } from "./history.ts";
import type { JsonObject } from "./json.ts";
import type { Message } from "./messages.ts";

export interface SessionSteps {
  /**
   * The messages a model call needs, like sessions.context() of this session. Like all reads of an iteration it is recorded as
   * a position in the log: a replay reads there again and gets the same, whatever was added since. Content that was erased
   * since stops the run with ContentErased, unless it is resumed with `erased: "placeholder"`.
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
  /** From here on contexts begin with the summary. The message and its head are one commit, made once. */
  compact(compaction: {
    /** Stands in contexts for all messages up to and with `upTo`. */
    readonly summary: string;
    /** The id of the last message that the summary covers. */
    readonly upTo: string;
  }): Promise<void>;
}
