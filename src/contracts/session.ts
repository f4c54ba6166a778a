// One session: a long-lived conversation thread, the owner of a log.
import type { JsonableObject, JsonObject, PageOptions } from "./json.ts";

export interface Session {
  readonly id: string;
  readonly agent: string | null;
  readonly title: string | null;
  readonly status: "open" | "closed";
  readonly tags: readonly string[];
  readonly aliases: readonly string[];
  readonly metadata: JsonObject;
  /** The caller's id that groups sessions (and captures): one piece of work for one requester. */
  readonly request: string | null;
  /** How the session was created: on its own, or as a child that a caller spawned or attached. */
  readonly kind: "entry" | "spawned" | "attached";
  /** The caller's text about the origin of the session. */
  readonly origin: string | null;
  /** A key for a provider's cache. A fork has the key of its source. */
  readonly cacheId: string;
  /** The current head; null if none was published yet. */
  readonly head: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The length of the log, and the chain hash of its newest event, hex. */
  readonly seq: number;
  readonly chain: string;
  /**
   * The number of messages that the session shows now: those on its line and those it inherits, without cleared ones.
   * The result of fork() has the number that the head counted, even if some of them were cleared since; for a fork
   * without a head of a past of more than 1,000 events it is 0, and sessions.get() counts.
   */
  readonly messages: number;
  /** Increases with every change of the fields above that update() can change. */
  readonly version: number;
}

export interface SessionInput<M extends object = JsonObject> {
  readonly id?: string;
  readonly agent?: string;
  readonly title?: string;
  readonly tags?: readonly string[];
  readonly metadata?: JsonableObject<M>;
  readonly request?: string;
  readonly origin?: string;
  /** Default: the session's id. */
  readonly cacheId?: string;
}

export interface SessionFilter extends PageOptions {
  readonly agent?: string;
  readonly tag?: string;
  readonly status?: Session["status"];
  readonly request?: string;
  readonly createdAfter?: number;
  readonly createdBefore?: number;
}
