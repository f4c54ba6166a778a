// Calls: requests to models, and their outcomes.
import type { Json, JsonObject } from "./json.ts";
import type { At, LogPosition } from "./locators.ts";
import type { ModelUsage } from "./models.ts";

export interface Call extends LogPosition {
  readonly id: string;
  readonly turn: string | null;
  /**
   * root: a request made from the session's own conversation, stored as a descriptor. leaf: an independent request,
   * stored as it was sent.
   */
  readonly type: "root" | "leaf";
  readonly status: "started" | "done" | "failed" | "cancelled";
  readonly model: string | null;
  readonly provider: string | null;
  readonly requestRef: string | null;
  readonly responseRef: string | null;
  readonly resultRef: string | null;
  readonly errorRef: string | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cachedTokens: number | null;
  /** null if unknown, which is not 0. */
  readonly costUsd: number | null;
  readonly createdAt: number;
  readonly completedAt: number | null;
  readonly erased: boolean;
}

export type CallInput = {
  readonly model?: string;
  readonly provider?: string;
  readonly turn?: string;
} & (
  | {
      /** An independent request, which has no session of its own. */
      readonly type: "leaf";
      /** The request as it is sent. */
      readonly request?: Json;
      readonly descriptor?: never;
    }
  | {
      /** A request made from the session's own messages. */
      readonly type: "root";
      /** Identifies the request without repeating the transcript. */
      readonly descriptor?: {
        /** The messages of the session that the request was made from, in order. */
        readonly messages: readonly string[];
        readonly system?: string;
        readonly cache?: JsonObject;
      };
      readonly request?: never;
    }
);

export interface CallOutcome extends ModelUsage {
  /** Default: "failed" if an error is given, "done" otherwise. */
  readonly status?: Exclude<Call["status"], "started">;
  readonly response?: Json;
  readonly result?: Json;
  readonly error?: Json;
}

export interface Calls {
  start(session: At, input: CallInput): Promise<Call>;
  finish(id: string, outcome: CallOutcome): Promise<Call>;
  /** Records the begin and the end in one commit, for a call that has ended. */
  add(session: At, input: CallInput & CallOutcome): Promise<Call>;
  get(id: string): Promise<Call | null>;
  /**
   * The call that wrote a message, as recorded by the run that added the message; null if there is none or it was not
   * recorded.
   */
  findByMessage(message: string): Promise<Call | null>;
}
