// Calls: requests to models, and their outcomes.
import type { Json, JsonObject } from "./json.ts";
import type { At, LogPosition } from "./locators.ts";
import type { ModelUsage } from "./models.ts";

export interface Call extends LogPosition {
  readonly id: string;
  readonly turn: string | null;
  /** root: of the session's own conversation, kept as a descriptor; leaf: bounded and independent, kept as it was sent. */
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
  /** null: unknown, which is not 0. */
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
      /** A request without a session of its own. */
      readonly type: "leaf";
      /** As it is sent. */
      readonly request?: Json;
      readonly descriptor?: never;
    }
  | {
      /** A request made of the session's own messages. */
      readonly type: "root";
      /** What identifies it without repeating the transcript. */
      readonly descriptor?: {
        /** Messages of the session it was rendered from, in order. */
        readonly messages: readonly string[];
        readonly system?: string;
        readonly cache?: JsonObject;
      };
      readonly request?: never;
    }
);

export interface CallOutcome extends ModelUsage {
  /** "failed" when an error is given, "done" otherwise. */
  readonly status?: Exclude<Call["status"], "started">;
  readonly response?: Json;
  readonly result?: Json;
  readonly error?: Json;
}

export interface Calls {
  start(session: At, input: CallInput): Promise<Call>;
  finish(id: string, outcome: CallOutcome): Promise<Call>;
  /** Both in one commit, for a call that is over. */
  add(session: At, input: CallInput & CallOutcome): Promise<Call>;
  get(id: string): Promise<Call | null>;
  /** The call that wrote a message, as the run that added it recorded; null: none, or not recorded. */
  findByMessage(message: string): Promise<Call | null>;
}
